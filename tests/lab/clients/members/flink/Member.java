import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/** A job in a local cluster that reads a topic and commits its offsets with each checkpoint. */
public class Member {
    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(1);
        environment.enableCheckpointing(5000);
        KafkaSource<String> source = KafkaSource.<String>builder()
                .setBootstrapServers(System.getenv("BOOTSTRAP"))
                .setTopics(System.getenv("TOPIC"))
                .setGroupId(System.getenv("GROUP"))
                .setClientIdPrefix(System.getenv("CLIENT"))
                .setStartingOffsets(OffsetsInitializer.earliest())
                .setValueOnlyDeserializer(new SimpleStringSchema())
                .build();
        environment.fromSource(source, WatermarkStrategy.noWatermarks(), "orders").sinkTo(new DiscardingSink<>());
        environment.execute("orders");
    }
}
