import java.io.FileWriter;
import java.io.PrintWriter;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;

/**
 * A push consumer in order that writes down which queues it holds the lock of: one line for each change.
 *
 * Arguments: name server, group, file for the truth, name of the client, topics. Ends in good order when its input ends.
 */
public class Ordered {
    static PrintWriter truth;

    static synchronized void say(String what, String rest) {
        truth.printf("{\"at\": %d, \"what\": \"%s\"%s}%n", System.currentTimeMillis(), what, rest);
        truth.flush();
    }

    public static void main(String[] args) throws Exception {
        truth = new PrintWriter(new FileWriter(args[2], true));
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(args[1]);
        consumer.setNamesrvAddr(args[0]);
        consumer.setInstanceName(args[3]);
        for (int index = 4; index < args.length; index++) {
            consumer.subscribe(args[index], "*");
        }
        consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> ConsumeOrderlyStatus.SUCCESS);
        consumer.start();
        say("started", String.format(", \"client_id\": \"%s\"", consumer.buildMQClientId()));
        Thread watcher = new Thread(() -> watch(consumer));
        watcher.setDaemon(true);
        watcher.start();
        while (System.in.read() >= 0) {
            continue;
        }
        say("stopping", "");
        consumer.shutdown();
        say("stopped", "");
        System.exit(0);
    }

    static void watch(DefaultMQPushConsumer consumer) {
        String last = null;
        try {
            while (true) {
                List<String> locked = consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().entrySet().stream()
                    .filter(each -> each.getValue().isLocked() && !each.getValue().isLockExpired())
                    .map(each -> String.format("\"%s.%s.%d\"", each.getKey().getBrokerName(), each.getKey().getTopic(), each.getKey().getQueueId()))
                    .filter(each -> !each.contains("%RETRY%"))
                    .sorted().collect(Collectors.toList());
                String held = String.join(", ", locked);
                if (!held.equals(last)) {
                    say("holds", ", \"queues\": [" + held + "]");
                    last = held;
                }
                Thread.sleep(50);
            }
        } catch (InterruptedException ended) {
            say("blind", "");
        }
    }
}
