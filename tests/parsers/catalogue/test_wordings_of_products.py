"""What products log is compared with the catalogue, and what it lacks is named."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from parsers.catalogue.catalogue import catalogue
from parsers.formats.detection import FileFormat
from parsers.formats.time_zones import ZoneConverter
from parsers.reading.forms import choose_form
from parsers.reading.reader import FileReader, ReadOptions, find_files
from parsers.records.chunks import parse_chunk
from parsers.records.context import ChunkContext
from tests.conftest import SHARED
from tests.jars import Logged, texts_of
from tests.source_texts import texts_below, texts_in
from tests.wording import Wordings, compare, page

NEXT = SHARED / "corpora" / "kafka-next"
MANAGER = "org.apache.kafka.coordinator.group.GroupMetadataManager"
ROCKETMQ = "org.apache.rocketmq.client.impl.consumer."
SOURCE = """package org.apache.kafka.coordinator.group;
class GroupConfig {
    void check() {
        log.warn("The group config '{}' for group '{}' has value {} which is below the broker's allowed minimum {}. " +
            "The effective value will be capped to {}.", name, group, value, bound, bound);
        log.info("A line of a version to come about group {}.", group);
        log.debug("Only for developers {}", group);
        throw new IllegalStateException("no log line");
    }
}
"""


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ('package a.b\nlogger.info(s"Loaded ${group.id} of $count in " + took + " ms")', ["Loaded {} of {} in {} ms"]),
        ('package a.b\nlog.info("one {} " +\n  "two {}", first(x, "no text"), y)', ["one {} two {}"]),
        ('package a.b\nwarn(f"took $millis%d ms")', ["took {} ms"]),
        ('package a.b\nlog.error(String.format("failed %s of %d", a, b))', ["failed {} of {}"]),
        ("package a.b\nlog.info(message)", []),
    ],
)
def test_texts_of_sources_are_put_together(source: str, texts: list[str]) -> None:
    assert [each.text for each in texts_in(source.replace("\\\n", "\n"), "C")] == texts


HELPER = """
public class Manager {
    static class Logger {
        public void info(String text) {}
        public void info(String text, Object... values) {}
        public void error(String text) {}
    }
    static final Logger log = new Logger();
    void frame(String message, long millis) { logInfo(message, millis); }
    void logInfo(String message, long millis) { log.info("{} in {}ms", message, millis); }
    void refused(String member) {
        String message = String.format("Heartbeat failed because member %s is unknown.", member);
        logInfo(message, 3L);
    }
    void kept(String topics) {
        String text = String.format("Missing source topics: %s.", topics);
        log.error(text);
    }
}
"""


@pytest.mark.skipif(shutil.which("javac") is None, reason="there is no Java compiler")
def test_texts_from_variables_and_helpers_count(tmp_path: Path) -> None:
    (tmp_path / "Manager.java").write_text(HELPER)
    subprocess.run(["javac", "-d", str(tmp_path), str(tmp_path / "Manager.java")], check=True)
    with zipfile.ZipFile(tmp_path / "a.jar", "w") as jar:
        jar.write(tmp_path / "Manager.class", "Manager.class")
    assert {(each.level, each.text) for each in texts_of(tmp_path / "a.jar")} == {
        ("INFO", "{} in {}ms"),
        ("INFO", "Heartbeat failed because member {} is unknown. in {}ms"),
        ("ERROR", "Missing source topics: {}."),
    }


def test_a_folder_of_sources_is_compared_as_a_jar_is(tmp_path: Path) -> None:
    (tmp_path / "GroupConfig.java").write_text(SOURCE)
    found = compare(texts_below(tmp_path), Wordings(catalogue()), every=False, parts=())
    known, ignored, missing = found["org.apache.kafka.coordinator.group.GroupConfig"]
    assert (known, ignored, [each.text for each in missing]) == (1, 0, ["A line of a version to come about group {}."])
    assert "| coordinator.group.GroupConfig | 1 | 0 | 1 |" in page({"sources": found})


def test_a_page_of_rocketmq_has_its_name_and_its_classes() -> None:
    text = "doRebalance, {}, add a new mq, {}"
    classes = compare([Logged(f"{ROCKETMQ}RebalanceImpl", "INFO", text)], Wordings(catalogue()), every=False, parts=())
    told = page({"client": classes})
    assert told.startswith("# Wordings of the newest RocketMQ\n")
    assert "| client.impl.consumer.RebalanceImpl | 1 | 0 | 0 |" in told


@pytest.mark.parametrize(
    ("logger", "text", "known"),
    [
        (MANAGER, "[GroupId {}] Bumped group epoch to {} with metadata hash {}.", True),
        (MANAGER, "[GroupId {}] Bumped group epoch in another way to {}.", False),
        (
            "org.apache.kafka.clients.consumer.internals.AbstractCoordinator$HeartbeatThread",
            "Heartbeat thread failed due to unexpected error",
            True,
        ),
        ("org.apache.kafka.streams.processor.internals.StreamThread", "State transition from {} to {}", True),
    ],
)
def test_a_text_is_known_if_its_lines_are_read(logger: str, text: str, known: bool) -> None:
    assert Wordings(catalogue()).knows(Logged(logger, "INFO", text)) is known


@pytest.mark.parametrize(
    ("logger", "level", "message", "shown"),
    [
        ("org.apache.kafka.coordinator.group.modern.TopicRegexResolver", "WARN", "A new thing about regular expressions", True),
        ("org.apache.kafka.coordinator.group.streams.topics.InternalTopicManager", "INFO", "A new thing about topics", True),
        ("o.a.k.controller.ReplicationControlManager", "INFO", "[QuorumController id=1] A new kind of election for orders-0", True),
        ("org.apache.kafka.controller.ReplicationControlManager", "INFO", "[QuorumController id=1] CreateTopics result(s): x", False),
        ("org.apache.kafka.controller.ReplicationControlManager", "DEBUG", "[QuorumController id=1] A new kind of election", False),
        ("org.apache.kafka.raft.KafkaRaftClient", "INFO", "[RaftManager id=1] Registered the listener x", False),
        ("org.apache.kafka.raft.LeaderState", "INFO", "[RaftManager id=1] Something new about voters", True),
        ("org.apache.kafka.connect.runtime.distributed.DistributedHerder", "INFO", "[Worker clientId=a, groupId=b] Starting task x", False),
        (
            "org.apache.kafka.connect.runtime.distributed.DistributedHerder",
            "INFO",
            "[Worker clientId=a, groupId=b] Voting for a leader",
            True,
        ),
        ("org.apache.kafka.streams.processor.internals.StreamThread", "INFO", "stream-thread [a] Handing over all tasks", True),
        ("org.apache.kafka.coordinator.share.ShareCoordinatorService", "WARN", "Share coordinator is already running.", False),
        ("o.a.r.c.i.c.RebalanceImpl", "INFO", "doRebalance in a way of a version to come, billing", True),
        ("o.a.r.c.i.f.MQClientInstance", "WARN", "No broker takes heartbeats of billing", True),
        ("o.a.r.c.i.f.MQClientInstance", "WARN", "the producer group[billing] exist already.", False),
        ("o.a.r.c.i.p.DefaultMQProducerImpl", "INFO", "Something new about messages", False),
        ("org.apache.rocketmq.broker.lite.LiteEventDispatcher$LiteCtlListenerImpl", "INFO", "A new thing about lite topics", True),
        ("org.apache.rocketmq.broker.BrokerController$20", "WARN", "A new thing about the set's master", True),
        ("org.apache.rocketmq.broker.schedule.ScheduleMessageService", "WARN", "A new thing about delayed messages", False),
    ],
)
def test_what_speaks_of_groups_is_shown_unless_a_reason_is_given(logger: str, level: str, message: str, shown: bool) -> None:
    assert catalogue().match(logger, message) is None
    assert catalogue().group_loggers.shows(logger, level, message) is shown


@pytest.mark.skipif(not NEXT.is_dir(), reason="the labelled corpora are not beside the checkout")
@pytest.mark.parametrize("folder", sorted(NEXT.glob("*/")), ids=lambda folder: folder.name)
def test_nothing_that_the_newest_broker_and_clients_say_of_groups_is_unknown(folder: Path) -> None:
    read = 0
    for source in find_files([str(folder)]).files:
        reader = FileReader(source, ReadOptions())
        for _ in reader:
            pass
        assert reader.report.counts.unknown == 0, source.name
        read += reader.report.counts.recognised
    assert read


@pytest.mark.parametrize(
    ("line", "unknown"),
    [
        ("WARN ClientManageThread_3 - no member of consumer group billing is left in a way of a version to come", 1),
        ("INFO main - balance of queues changed, group: billing, by a rule to come", 1),
        ("DEBUG main - balance of queues changed, group: billing, by a rule to come", 0),
        ("INFO HeartbeatThread_2 - new producer connected, group: CLIENT_INNER_PRODUCER channel: x", 0),
        ("INFO main - a thing of a version to come that is none of groups\n\tconsumer group of a stack", 0),
        ("INFO main - dLegerGroup=billing", 0),
    ],
)
def test_a_server_that_names_no_logger_is_heard_by_words_of_groups(line: str, unknown: int) -> None:
    gone = "INFO main - unregister consumer ok, no any connection, and remove consumer group, a"
    data = f"2029-04-25 21:01:50 {gone}\n2029-04-25 21:01:51 {line}\n"
    told = choose_form(data.encode(), is_complete=True)
    assert isinstance(told, FileFormat)
    assert told.layout_name == "rocketmq_server"
    parsed = parse_chunk(data.encode(), ChunkContext("f", "f", told, ZoneConverter("UTC"), is_final=True))
    assert (parsed.events.num_rows, parsed.unknown.num_rows) == (1, unknown)
