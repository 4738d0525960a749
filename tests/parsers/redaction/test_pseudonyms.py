"""Names are replaced by pseudonyms that stay the same, wherever they stand, and nothing else is."""

from __future__ import annotations

import pickle
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from parsers.reading.reader import CHANGED_WHILE_READ, ReadOptions, find_files, read_file
from parsers.redaction.pseudonyms import PSEUDONYM, REDACTED_KINDS, BadKeyError, Redaction
from parsers.redaction.records import redacted_list
from parsers.sources.compression import READ_ERROR
from parsers.sources.files import UNREADABLE

KEY = b"a key of sixteen bytes"
ALL = Redaction(REDACTED_KINDS, KEY)
UUID = "df8b1893-2908-40e9-ad6e-979237b5e06a"


def name(text: str) -> str:
    return ALL.pseudonym(text)


@pytest.mark.parametrize(
    ("told", "given", "expected"),
    [
        (ALL.group, "orders", name("orders")),
        (ALL.group, "", ""),
        (ALL.topic, "orders.v1", name("orders.v1")),
        (ALL.topic, "__consumer_offsets", "__consumer_offsets"),
        (ALL.topic, "__of_ours", "__" + name("of_ours")),
        (ALL.topic, "%RETRY%orders", "%RETRY%" + name("orders")),
        (ALL.topic_partition, "orders-eu-12", name("orders-eu") + "-12"),
        (ALL.client, "web 1", name("web 1")),
        (ALL.member, f"web-1-{UUID}", f"{name('web-1')}-{UUID}"),
        (ALL.member, UUID, UUID),
        (ALL.member, "n8ulF8E-TuafXnWzSLrIEA", "n8ulF8E-TuafXnWzSLrIEA"),
        (ALL.member, "payments-consumer-0001", name("payments-consumer-0001")),
        (ALL.member, "PaymentsConsumerNumber", name("PaymentsConsumerNumber")),
        (ALL.host, "/10.0.3.17", "/" + name("10.0.3.17")),
        (ALL.host, "kafka-1.example:9092", name("kafka-1.example") + ":9092"),
        (ALL.host, "3", "3"),
        (Redaction(["groups"], KEY).client, "consumer-orders-1", f"consumer-{name('orders')}-1"),
        (Redaction(["groups"], KEY).client, f"pay-{UUID}-StreamThread-1-consumer", f"{name('pay')}-{UUID}-StreamThread-1-consumer"),
        (Redaction(["groups"], KEY).member, f"pay-{UUID}-admin-{UUID}", f"{name('pay')}-{UUID}-admin-{UUID}"),
        (Redaction(["groups"], KEY).client, f"pay-{UUID}", f"pay-{UUID}"),
        (Redaction(["hosts"], KEY).client, "10.0.3.17@4711#99", f"{name('10.0.3.17')}@4711#99"),
        (Redaction(["topics"], KEY).group, "orders", "orders"),
    ],
)
def test_a_name_becomes_its_pseudonym(told: object, given: str, expected: str) -> None:
    assert told(given, {}) == expected  # type: ignore[operator]


def test_one_name_has_one_pseudonym_per_key_whatever_its_kind() -> None:
    assert ALL.group("orders", {}) == ALL.topic("orders", {}) == ALL.client("orders", {})
    assert PSEUDONYM.fullmatch(name("orders"))
    assert Redaction(REDACTED_KINDS, KEY + b"!").pseudonym("orders") != name("orders")
    assert pickle.loads(pickle.dumps(ALL)).pseudonym("orders") == name("orders")  # noqa: S301 - our own bytes


@pytest.mark.parametrize(
    ("text", "own", "expected"),
    [
        ("group orders (reason: orders-api left)", {"orders": "A", "orders-api": "B"}, "group A (reason: B left)"),
        ("preorders and orders_2, orders-3", {"orders": "A"}, "preorders and orders_2, A-3"),
        ("connection to 10.0.3.17:9092 at 10:00:00,123", {}, f"connection to {name('10.0.3.17')}:9092 at 10:00:00,123"),
        ("from fe80::1ff:fe23:4567:890a at", {}, f"from {name('fe80::1ff:fe23:4567:890a')} at"),
        (
            "group is already rebalancing, member 1 left",
            {"is": "A", "member": "B", "1": "C"},
            "group is already rebalancing, member 1 left",
        ),
        ("UNKNOWN_MEMBER_ID since PreparingRebalance", {"UNKNOWN_MEMBER_ID": "A", "PreparingRebalance": "B"}, None),
        (f"consumer-{UUID} of consumer", {"consumer": "A", f"consumer-{UUID}": f"A-{UUID}"}, f"A-{UUID} of consumer"),
        ("groupId=consumer, group 'consumer'", {"consumer": "A"}, f"groupId={name('consumer')}, group 'consumer'"),
        ("partitions=[events-0] of partition events-1", {}, f"partitions=[{name('events')}-0] of partition {name('events')}-1"),
        ("topics [events, a-x] of events", {}, f"topics [{name('events')}, {name('a-x')}] of events"),
        ("lost 10.0.3.17.", {}, f"lost {name('10.0.3.17')}."),
        ("lost 10.0.3.17_9092 (10.0.3.18-1)", {}, f"lost {name('10.0.3.17')}_9092 ({name('10.0.3.18')}-1)"),
        ("lost 10.0.3.1, 10.0.3.17 and 110.0.3.1", {}, f"lost {name('10.0.3.1')}, {name('10.0.3.17')} and {name('110.0.3.1')}"),
        ("version 5.1.4.0.1 at 10.0.3.17", {}, f"version 5.1.4.0.1 at {name('10.0.3.17')}"),
        (
            "from /2001:db8:0:0:0:0:0:1:9092 and /0:0:0:0:0:0:0:2",
            {},
            f"from /{name('2001:db8::1')}:9092 and /{name('::2')}",
        ),
        ("lost ip-10-0-3-17, ip-10-0-3-18.ec2.internal.", {}, f"lost {name('ip-10-0-3-17')}, {name('ip-10-0-3-18.ec2.internal')}."),
        ("principal:User:jo;session:User:ANONYMOUS", {}, f"principal:User:{name('jo')};session:User:ANONYMOUS"),
        ("assigned [a-x-0, b-y-1] to it", {}, f"assigned [{name('a-x')}-0, {name('b-y')}-1] to it"),
        (f"member payroll-{UUID} joins", {}, f"member {name('payroll')}-{UUID} joins"),
        ("\tclient.id = payroll\n\tsend.buffer.bytes = 131072", {}, f"\tclient.id = {name('payroll')}\n\tsend.buffer.bytes = 131072"),
        ("MessageQueue [topic=payroll, brokerName=broker-a, queueId=3]", {}, None),
    ],
)
def test_names_in_a_text_are_found_by_what_tells_them(text: str, own: dict[str, str], expected: str | None) -> None:
    if expected is None:
        expected = text if own else f"MessageQueue [topic={name('payroll')}, brokerName={name('broker-a')}, queueId=3]"
    assert Redaction(REDACTED_KINDS, KEY).text(text, own, strict=False) == expected


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("assignment metadata has changed from (version4: {a-x=3, b.y=2}) to (version5: {a-x=3})", ["a-x", "b.y"]),
        ("cached metadata has changed from (version4: {a-x=[NO_RACKS, NO_RACKS], b.y=[NO_RACKS]})", ["a-x", "b.y"]),
        ("the subscription has changed from [a-x] at the beginning of the rebalance to [a-x, b.y]", ["a-x", "b.y"]),
        ("the subscription has changed from [user-events] to [payment-events]", ["user-events", "payment-events"]),
        ("Computed new subscription metadata: {a-x=TopicMetadata(id=HGQef8yRTTatswyaE-plUw, name=a-x, numPartitions=3)}", ["a-x"]),
        ("{user-events=TopicMetadata(id=HGQef8yRTTatswyaE-plUw, name=user-events, numPartitions=3)}", ["user-events"]),
        ("Setting offset for partition payroll-1 to the committed offset", ["payroll"]),
        ("Setting offset for partition user-events-1 to the committed offset", ["user-events"]),
        ("Assignment(partitions=[user-events-0, user-events-1])", ["user-events"]),
        ("PULL_OFFSET_MOVED, key=payroll@pay-group, queueId=3", ["payroll", "pay-group"]),
    ],
)
@pytest.mark.parametrize("kinds", [REDACTED_KINDS, ["topics", "groups"]], ids=["all", "some"])
def test_topics_are_found_where_messages_tell_them(kinds: list[str], text: str, gone: list[str]) -> None:
    hidden = text
    for each in gone:
        hidden = hidden.replace(each, name(each))
    assert Redaction(kinds, KEY).text(text, {}, strict=False) == hidden


@pytest.mark.parametrize(
    "text", ["OffsetAndMetadata{offset=10, leaderEpoch=null, metadata=''}", "[kafka-request-handler-0] metadata {size=3}"]
)
def test_what_only_looks_like_a_topic_stays(text: str) -> None:
    assert Redaction(["topics"], KEY).text(text, {}) == text


def test_a_name_of_two_kinds_is_hidden_in_texts_if_either_is() -> None:
    own: dict[str, str] = {}
    groups = Redaction(["groups"], KEY)
    assert (groups.group("a-x", own), groups.topic("a-x", own)) == (name("a-x"), "a-x")
    assert groups.text("a-x and a-x-1", own) == f"{name('a-x')} and {name('a-x')}-1"


def test_partitions_and_members_called_after_plain_words_are_known_again() -> None:
    own: dict[str, str] = {}
    assert ALL.topic_partition("events-3", own) == f"{name('events')}-3"
    assert ALL.member(f"consumer-{UUID}", own) == f"{name('consumer')}-{UUID}"
    assert ALL.text(f"events-3 of consumer-{UUID}, no events", own) == f"{name('events')}-3 of {name('consumer')}-{UUID}, no events"


def test_a_topic_that_ends_as_a_partition_does_has_one_pseudonym() -> None:
    """Verdicts look for a topic's readers by its name."""
    listed, part = (
        redacted_list(ALL.topic, ALL, ["orders-3", "a"], {}, strict=False),
        redacted_list(ALL.topic_partition, ALL, ["orders-3-0"], {}, strict=False),
    )
    assert listed == [ALL.topic("orders-3", {}), ALL.topic("a", {})]
    assert part == [f"{listed[0]}-0"]


def test_of_a_record_with_many_names_each_is_found() -> None:
    own = {f"topic.{number}": f"T{number}" for number in range(300)}
    text = ", ".join(f"{each}-{number}" for number, each in enumerate(own))
    assert ALL.text(text, own, strict=False) == ", ".join(f"T{number}-{number}" for number in range(300))


def test_of_a_record_with_many_names_each_address_is_found() -> None:
    told = [f"10.0.3.{number}" for number in range(100)]
    text = "_9092, ".join(told) + "."
    assert ALL.text(text, {}, strict=False) == "_9092, ".join(map(name, told)) + "."


def test_internal_topics_of_others_are_names() -> None:
    text = "topics __payments_internal, __consumer_offsets-3 and __consumer_offsets"
    assert ALL.topic("__payments_internal", {}) == "__" + name("payments_internal")
    assert ALL.text(text, {}, strict=True) == text.replace("payments_internal", name("payments_internal"))


def test_in_a_text_that_nobody_understands_only_plain_words_stay() -> None:
    text = "Could not rebalance payroll on kafka-1 because of quota 17 in 3 attempts (org.apache.kafka.common.Cluster)"
    hidden = ALL.text(text, {}, strict=True)
    expected = text.replace("payroll", name("payroll")).replace("kafka-1", name("kafka-1"))
    assert hidden == expected


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("Connection to kafka.acme.corp:9092 and kafka.payments.svc:9092 failed", ["kafka.acme.corp", "kafka.payments.svc"]),
        ("connect to kafka.server.host:9092", ["kafka.server.host"]),
        ("connect to message-broker:9092, kafka-broker:9092", ["message-broker", "kafka-broker"]),
        ("http://user-service:8080 or https://broker:8081/", ["user-service", "broker"]),
        ("user-service/10.0.3.17:9092, broker/10.0.3.18", ["user-service", "10.0.3.17", "broker", "10.0.3.18"]),
        ("\tbootstrap.servers = [broker:9092, message-broker]", ["message-broker", "broker"]),
        ("\tlisteners = PLAINTEXT://:9092,SSL://broker:9093", ["broker"]),
        ("line:120 of localhost:9092 and localhost/10.0.3.17", ["10.0.3.17"]),
        ("connect to kafka.payments.svc/10.0.3.17", ["kafka.payments.svc", "10.0.3.17"]),
        ("\tbootstrap.servers = [kafka.acme.corp:9092, kafka.server.host]", ["kafka.acme.corp", "kafka.server.host"]),
    ],
)
@pytest.mark.parametrize("kinds", [REDACTED_KINDS, ["hosts"]], ids=["all", "hosts"])
def test_a_host_may_be_called_as_a_class_begins(kinds: list[str], text: str, gone: list[str]) -> None:
    hidden = text
    for each in gone:
        hidden = re.sub(rf"(?<![\w-]){re.escape(each)}(?![\w-])", name(each), hidden)
    assert Redaction(kinds, KEY).text(text, {}, strict=False) == hidden


DN = "CN=app,OU=Finance and Tax, O=Acme,C=DE"


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("connect to BrokerEndPoint(3,kafka1.acme.corp,9092)", ["kafka1.acme.corp"]),
        ("on EndPoint(kafka1.acme.corp,9092,ListenerName(PLAINTEXT),PLAINTEXT)", ["kafka1.acme.corp"]),
        ("connect to payroll-1/<unresolved>:9092", ["payroll-1"]),
        ("java.net.UnknownHostException: kafka1: Name or service not known", ["kafka1"]),
        (f'"principal":"User:{DN}","session"', [DN]),
        (f"Principal = User:{DN} is Denied Operation = Describe", [DN]),
        (f"principal:User:{DN};session:User:ANONYMOUS", [DN]),
        ('"principal":"User:CN=app,O=Acme Corp","session"', ["CN=app,O=Acme Corp"]),
        ("principal:User:alice/kafka1@ACME.CORP;", ["alice", "kafka1", "ACME.CORP"]),
        ("principal:User:jo@acme.corp;", ["jo@acme.corp"]),
    ],
)
@pytest.mark.parametrize("kinds", [REDACTED_KINDS, ["hosts", "users"]], ids=["all", "some"])
def test_hosts_and_users_are_found_where_messages_tell_them(kinds: list[str], text: str, gone: list[str]) -> None:
    hidden = text
    for each in gone:
        hidden = hidden.replace(each, name(each))
    assert Redaction(kinds, KEY).text(text, {}, strict=False) == hidden


@pytest.mark.parametrize("topic", ["kafka.acme.orders", "java.acme.orders", "scala.acme.orders", "sun.acme.Orders", "kafka.acme.Orders"])
def test_a_topic_may_be_called_as_a_class_begins(topic: str) -> None:
    assert ALL.text(f"topic {topic} is gone", {}) == ALL.text(f"topic {topic} is gone", {}, strict=True) == f"topic {name(topic)} is gone"


def test_classes_and_their_methods_stay() -> None:
    text = (
        "at java.util.concurrent.ThreadPoolExecutor$Worker.run(ThreadPoolExecutor.java:624) "
        "at kafka.server.KafkaRequestHandler.run(KafkaRequestHandler.scala:74) org.apache.kafka.common.Cluster@1f2e3d4c kafka.Kafka"
    )
    assert ALL.text(text, {}, strict=True) == text


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("logs/kafka/server.log.2026-11-21.gz", "logs/kafka/server.log.2026-11-21.gz"),
        ("/srv/kafka-1/controller.log", f"/srv/{name('kafka-1')}/controller.log"),
        ("kafka-1.example/payroll.log.3.gz", f"{name('kafka-1.example')}/{name('payroll')}.log.3.gz"),
        ("logs/10.77.3.21/server.log", f"logs/{name('10.77.3.21')}/server.log"),
        ("192.168.1.5.log", f"{name('192.168.1.5')}.log"),
        ("10-0-3-17.log", f"{name('10-0-3-17')}.log"),
        ("10_0_3_17/server.log", f"{name('10_0_3_17')}/server.log"),
        ("server.log.10.0.3.17", f"server.log.{name('10.0.3.17')}"),
        ("server.log.10.0.3.17.1.gz", f"server.log.{name('10.0.3.17')}.1.gz"),
        ("broker-10.0.3.17.log", f"broker-{name('10.0.3.17')}.log"),
        ("10.0.3.17-2026-11-21.log", f"{name('10.0.3.17')}-2026-11-21.log"),
        ("payroll-10.0.3.17.log", f"{name('payroll-10.0.3.17')}.log"),
        ("ip-10-0-3-17.ec2.internal/server.log", f"{name('ip-10-0-3-17.ec2.internal')}/server.log"),
        ("2001:db8::1/fe80:0:0:0:1ff:fe23:4567:890a.log", f"{name('2001:db8::1')}/{name('fe80::1ff:fe23:4567:890a')}.log"),
        ("server-2026-11-21-1.log.gz", "server-2026-11-21-1.log.gz"),
        ("server.log.2026-11-21-13", "server.log.2026-11-21-13"),
        ("server.2026.11.21.13.05.log", "server.2026.11.21.13.05.log"),
        ("server.20261121T130533.log", "server.20261121T130533.log"),
        ("server.log.2026-11-21-13-05-33", "server.log.2026-11-21-13-05-33"),
        ("server.2026-11-21-13.1.log.gz", "server.2026-11-21-13.1.log.gz"),
        ("2026-11-21-10.20.30.40.log", f"2026-11-21-{name('10.20.30.40')}.log"),
    ],
)
def test_of_a_path_only_plain_words_and_endings_stay(path: str, expected: str) -> None:
    assert ALL.path(path) == expected
    assert ALL.path(ALL.path(path)) == ALL.path(path)


@pytest.mark.parametrize("shape", [".log" * 10_000 + "x", ".1" * 20_000 + "x", ".20261121" * 4_000 + "x", "1-" * 20_000])
def test_hostile_paths_take_no_longer_than_long_ones(shape: str) -> None:
    assert ALL.path(shape) is not None


LINE = b"[2026-11-21 10:00:00,000] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)\n"


def zipped(path: Path, *, flag: int = 0, damaged: bool = False) -> Path:
    """An archive of one log, in a folder that is called after customer and host."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("payments-prod/zorbahost.acme/server.log", LINE * 50)
    data = bytearray(path.read_bytes())
    data[6] |= flag
    data[data.index(b"PK\x01\x02") + 8] |= flag
    if damaged:
        data[data.index(b"started")] ^= 1
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("made", "says"), [({"flag": 1}, "is encrypted, password required for extraction"), ({"damaged": True}, "Bad CRC-32 for file")]
)
def test_why_a_file_is_not_read_names_nothing_that_is_in_it(tmp_path: Path, made: dict[str, Any], says: str) -> None:
    told = []
    for options in (ReadOptions(), ReadOptions(redaction=ALL)):
        found = find_files([str(zipped(tmp_path / "bundle.zip", **made))], options)
        readers = [read_file(source, options) for source in found.files]
        assert sum(chunk.events.num_rows for reader in readers for chunk in reader) in {0, 50}
        told.append(" ".join([*(skip.reason for skip in found.skipped), *(reader.report.reason or "" for reader in readers)]))
    clear, hidden = told
    assert says in clear
    assert "zorbahost.acme" in clear
    assert says in hidden
    assert not any(each in hidden for each in ("zorbahost", "acme", "prod"))


@pytest.mark.parametrize(
    ("reason", "gone"),
    [
        ("When reading information for key 'zorbahost/server.log' in bucket 'acme-prod': AWS Error", ["zorbahost", "acme-prod"]),
        ("Bad CRC-32 for file '10-0-3-17/server.log'", ["10-0-3-17"]),
    ],
)
def test_reasons_of_a_store_lose_their_names(reason: str, gone: list[str]) -> None:
    hidden = reason
    for each in gone:
        hidden = hidden.replace(each, name(each))
    assert ALL.text(reason, {}, strict=True) == hidden


@pytest.mark.parametrize(
    "reason",
    [
        *(CHANGED_WHILE_READ, UNREADABLE, f"{READ_ERROR} at byte 12: Input/output error", f"{UNREADABLE}: Permission denied", "empty"),
        *("the same file was named before", "bz2 stream ends early after byte 7"),
        *("an archive in 3 others is not read: unpack the outer one first", "not a log: no line is in a known layout"),
        "not read: no line is in a known layout, though line 3 contains known text",
        "more than 100,000 files in the archive: the rest is not read; unpack it, or split it",
        "more than 68,719,476,736 bytes in the archive and those in it: the rest is not read; unpack it",
        "damaged tar archive: no header at byte 512",
    ],
)
def test_our_own_reasons_stay_as_they_are(reason: str) -> None:
    assert ALL.text(reason, {}, strict=True) == reason


def test_sealed_names_are_read_by_who_has_the_key_and_nobody_else() -> None:
    sealed = ALL.seal(["orders", "Größe"])
    assert ALL.open_sealed(sealed) == ["orders", "Größe"]
    assert ALL.seal(["orders", "Größe"]) == sealed
    assert "orders" not in sealed
    with pytest.raises(BadKeyError):
        Redaction(REDACTED_KINDS, KEY + b"!").open_sealed(sealed)


@pytest.mark.parametrize(("kinds", "key"), [(["names"], KEY), ([], KEY), (["hosts"], b"short")])
def test_bad_kinds_and_keys_are_refused(kinds: list[str], key: bytes) -> None:
    with pytest.raises(BadKeyError):
        Redaction(kinds, key)


def test_the_key_is_not_shown() -> None:
    shown = f"{ALL!r} {ALL} {ALL.facts}"
    assert KEY.decode() not in shown
    assert KEY.hex() not in shown


@pytest.mark.parametrize(
    "shape",
    [
        "a" * 40_000,
        "a-" * 20_000,
        "[" * 20_000,
        "), " * 10_000,
        "group " * 8_000,
        "topics    " * 5_000,
        "1.2." * 9_000,
        "ip-1-" * 8_000,
        "partition " * 5_000,
        "partition-" * 5_000,
        "metadata has changed {" * 2_000,
        "has changed from [" * 3_000,
        "User:A=" + "b " * 20_000,
        "User:a/" * 8_000,
        "User:A=b," * 6_000,
    ],
)
def test_hostile_texts_take_no_longer_than_long_ones(shape: str) -> None:
    """Each would take minutes with a pattern that tries again from every place."""
    assert ALL.text(shape, {}, strict=True) is not None
