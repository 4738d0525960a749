package shop;

import java.nio.file.Files;
import java.nio.file.Path;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.kafka.annotation.KafkaListener;

/** A Spring Boot application with one listener, as its defaults have it; settings come from the command line. */
@SpringBootApplication
public class Member {
    public static void main(String[] arguments) {
        SpringApplication.run(Member.class, arguments);
    }

    @KafkaListener(id = "listener", idIsGroup = false, topics = "${lab.topic}")
    public void take(String value) throws Exception {
        Path stall = Path.of(System.getenv("STALL"));
        if (Files.exists(stall)) {
            long seconds = Long.parseLong(Files.readString(stall).strip());
            Files.delete(stall);
            Thread.sleep(seconds * 1000);
        }
    }
}
