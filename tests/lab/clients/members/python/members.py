"""Consumers of aiokafka, kafka-python and confluent-kafka: `python members.py LIBRARY`."""

import asyncio
import logging
import os
import signal
import sys
import time
from pathlib import Path

STALL = Path(os.environ["STALL"])
TOPIC = os.environ["TOPIC"]
SETTINGS = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 1500, "max_poll_interval_ms": 8000, "auto_offset_reset": "earliest"}
NAMES = {"bootstrap_servers": os.environ["BOOTSTRAP"], "group_id": os.environ["GROUP"], "client_id": os.environ["CLIENT"]}
logging.basicConfig(level=logging.INFO, format="%(asctime)s - %(name)s - %(levelname)s - %(message)s")
end = False


def close(*_):
    global end
    end = True


def stall_seconds():
    if not STALL.exists():
        return 0.0
    seconds = float(STALL.read_text())
    STALL.unlink()
    return seconds


async def aiokafka_member():
    from aiokafka import AIOKafkaConsumer

    consumer = AIOKafkaConsumer(TOPIC, **NAMES, **SETTINGS)
    await consumer.start()
    while not end:
        await consumer.getmany(timeout_ms=200)
        await asyncio.sleep(stall_seconds())
    await consumer.stop()


def kafka_python_member():
    from kafka import KafkaConsumer

    consumer = KafkaConsumer(TOPIC, **NAMES, **SETTINGS)
    while not end:
        consumer.poll(timeout_ms=200)
        time.sleep(stall_seconds())
    consumer.close()


def confluent_kafka_member():
    from confluent_kafka import Consumer

    consumer = Consumer({name.replace("_", "."): value for name, value in {**NAMES, **SETTINGS}.items()}, logger=logging.getLogger("kafka"))
    consumer.subscribe([TOPIC])
    while not end:
        message = consumer.poll(0.2)
        if message is not None and message.error():
            logging.error("Consumer error: %s", message.error())
        time.sleep(stall_seconds())
    consumer.close()


signal.signal(signal.SIGTERM, close)
if sys.argv[1] == "aiokafka":
    asyncio.run(aiokafka_member())
else:
    {"kafka-python": kafka_python_member, "confluent-kafka": confluent_kafka_member}[sys.argv[1]]()
