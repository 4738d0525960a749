import java.io.FileWriter;
import java.io.PrintWriter;
import java.lang.reflect.Field;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.FilterExpressionType;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;

/**
 * A push consumer that writes down what it really holds: one line for each change of its table of process queues.
 *
 * Arguments: endpoints, group, file for the truth, milliseconds that a message takes, topics. Ends in good order when its input ends.
 */
public class Member {
    static PrintWriter truth;

    static synchronized void say(String what, String rest) {
        truth.printf("{\"at\": %d, \"what\": \"%s\"%s}%n", System.currentTimeMillis(), what, rest);
        truth.flush();
    }

    static Map<?, ?> table(Object consumer) throws Exception {
        for (Class<?> each = consumer.getClass(); each != null; each = each.getSuperclass()) {
            try {
                Field field = each.getDeclaredField("processQueueTable");
                field.setAccessible(true);
                return (Map<?, ?>) field.get(consumer);
            } catch (NoSuchFieldException none) {
                continue;
            }
        }
        throw new IllegalStateException("no table of process queues");
    }

    static String clientId(Object consumer) throws Exception {
        for (Class<?> each = consumer.getClass(); each != null; each = each.getSuperclass()) {
            try {
                Field field = each.getDeclaredField("clientId");
                field.setAccessible(true);
                return field.get(consumer).toString();
            } catch (NoSuchFieldException none) {
                continue;
            }
        }
        return "";
    }

    public static void main(String[] args) throws Exception {
        truth = new PrintWriter(new FileWriter(args[2], true));
        long takes = Long.parseLong(args[3]);
        Map<String, FilterExpression> topics = new HashMap<>();
        for (int index = 4; index < args.length; index++) {
            topics.put(args[index], new FilterExpression("*", FilterExpressionType.TAG));
        }
        ClientConfiguration configuration = ClientConfiguration.newBuilder()
            .setEndpoints(args[0]).setRequestTimeout(Duration.ofSeconds(3)).enableSsl(false).build();
        say("starting", "");
        PushConsumer consumer = ClientServiceProvider.loadService().newPushConsumerBuilder()
            .setClientConfiguration(configuration)
            .setConsumerGroup(args[1])
            .setSubscriptionExpressions(topics)
            .setMessageListener(message -> {
                try {
                    Thread.sleep(takes);
                } catch (InterruptedException ended) {
                    return ConsumeResult.FAILURE;
                }
                return ConsumeResult.SUCCESS;
            })
            .build();
        say("started", String.format(", \"client_id\": \"%s\"", clientId(consumer)));
        Thread watcher = new Thread(() -> watch(consumer));
        watcher.setDaemon(true);
        watcher.start();
        while (System.in.read() >= 0) {
            continue;
        }
        say("stopping", "");
        consumer.close();
        say("stopped", "");
    }

    static void watch(Object consumer) {
        List<String> last = null;
        try {
            while (true) {
                List<String> held = new ArrayList<>();
                for (Object queue : table(consumer).keySet()) {
                    held.add(queue.toString());
                }
                Collections.sort(held);
                if (!held.equals(last)) {
                    say("holds", ", \"queues\": [" + (held.isEmpty() ? "" : "\"" + String.join("\", \"", held) + "\"") + "]");
                    last = held;
                }
                Thread.sleep(50);
            }
        } catch (Exception ended) {
            say("blind", "");
        }
    }
}
