//! A consumer as rust-rdkafka's own example has it: env_logger, and a context that logs rebalances.

use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, Rebalance, StreamConsumer};
use rdkafka::error::KafkaResult;
use rdkafka::{ClientContext, TopicPartitionList};
use std::{env, fs, thread, time::Duration};
use tokio::signal::unix::{signal, SignalKind};

struct Context;

impl ClientContext for Context {}

impl ConsumerContext for Context {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        log::info!("Pre rebalance {:?}", rebalance);
    }

    fn post_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        log::info!("Post rebalance {:?}", rebalance);
    }

    fn commit_callback(&self, result: KafkaResult<()>, _: &TopicPartitionList) {
        if let Err(error) = result {
            log::warn!("Error while committing offsets: {:?}", error);
        }
    }
}

fn stall() {
    let path = env::var("STALL").unwrap();
    if let Ok(seconds) = fs::read_to_string(&path) {
        fs::remove_file(&path).unwrap();
        thread::sleep(Duration::from_secs(seconds.trim().parse().unwrap()));
    }
}

#[tokio::main]
async fn main() {
    env_logger::init();
    let topic = env::var("TOPIC").unwrap();
    let consumer: StreamConsumer<Context> = ClientConfig::new()
        .set("group.id", env::var("GROUP").unwrap())
        .set("client.id", env::var("CLIENT").unwrap())
        .set("bootstrap.servers", env::var("BOOTSTRAP").unwrap())
        .set("session.timeout.ms", "6000")
        .set("heartbeat.interval.ms", "1500")
        .set("max.poll.interval.ms", "8000")
        .set("auto.offset.reset", "earliest")
        .set_log_level(RDKafkaLogLevel::Info)
        .create_with_context(Context)
        .expect("Consumer creation failed");
    consumer.subscribe(&[&topic]).expect("Can't subscribe to specified topics");
    let mut terminated = signal(SignalKind::terminate()).unwrap();
    loop {
        tokio::select! {
            _ = terminated.recv() => break,
            received = consumer.recv() => match received {
                Err(error) => log::warn!("Kafka error: {}", error),
                Ok(_) => stall(),
            },
        }
    }
}
