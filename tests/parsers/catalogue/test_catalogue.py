"""The catalogue proves itself: its entries' own samples, and what every entry must keep to."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from models.event_kinds import EVENTS
from parsers.catalogue.ambiguity import java_hash
from parsers.catalogue.catalogue import Catalogue, Match, Pattern, catalogue, last_segment
from parsers.catalogue.loading import COMPILED, MESSAGES_FOLDER, compiled_catalogue, read_yaml, without_explanations
from parsers.catalogue.templates import BadTemplate, compile_template
from parsers.records.line_templates import template_of

SOURCE = read_yaml()
CATALOGUE = Catalogue(without_explanations(SOURCE))
SAMPLES = [
    (entry["id"], sample["line"], sample["fields"])
    for area in SOURCE["areas"]
    for entry in area["messages"]
    for sample in entry.get("samples", ())
]
REASONS = [(entry["id"], sample["line"], sample["fields"]) for entry in SOURCE["reasons"] for sample in entry["samples"]]
UUID = "6d2f0b2e-57aa-45a7-85fb-85adbdbf2a2c"


def a_logger(message_id: str) -> str:
    return min(CATALOGUE.messages[message_id].loggers)


@cache
def patterns_that_fit(line: str, logger: str) -> list[Pattern]:
    """Every wording that can be read out of a line, found without any dispatch."""
    head = line.split("\n", 1)[0]
    return [
        pattern
        for opening in CATALOGUE.all_openings(CATALOGUE.plain, head, 0)
        for pattern in CATALOGUE.patterns
        if pattern.prefix == opening.bucket.name
        and CATALOGUE.allows(pattern.message, logger)
        and next(pattern.template.readings(head, opening.at), None) is not None
    ]


def match(line: str, logger: str | None = None) -> Match | None:
    return CATALOGUE.match(logger, line)


@pytest.mark.parametrize("message_id", sorted(CATALOGUE.messages))
def test_each_sample_matches_its_message_with_these_fields_and_no_other(message_id: str) -> None:
    for line, fields in ((line, fields) for of_id, line, fields in SAMPLES if of_id == message_id):
        found = match(line, a_logger(message_id))
        assert found is not None, line
        assert (found.message_id, found.is_ambiguous, {**found.columns, **found.fields}) == (message_id, False, fields), line
        fitting = patterns_that_fit(line, a_logger(message_id))
        assert {pattern.message.id for pattern in fitting if not pattern.is_generic} <= {message_id}, line


def test_each_wording_has_a_sample() -> None:
    shown = {id(pattern) for message_id, line, _ in SAMPLES for pattern in patterns_that_fit(line, a_logger(message_id))}
    assert [
        f"{pattern.message.id}: {pattern.prefix} {pattern.template.text}" for pattern in CATALOGUE.patterns if id(pattern) not in shown
    ] == []


def test_each_message_has_a_sample() -> None:
    assert CATALOGUE.messages.keys() - {message_id for message_id, _, _ in SAMPLES} == set()


def fields_of(pattern: Pattern) -> frozenset[str]:
    names = pattern.template.names() | pattern.constants.keys()
    prefix = pattern.prefix
    while prefix:
        for template in CATALOGUE.prefixes[prefix].texts:
            names |= template.names()
        prefix = CATALOGUE.prefixes[prefix].inside
    return names | (pattern.message.block.fields if pattern.message.block else frozenset())


@pytest.mark.parametrize("message_id", sorted(CATALOGUE.messages))
def test_each_message_emits_an_event_that_may_carry_its_fields(message_id: str) -> None:
    message = CATALOGUE.messages[message_id]
    kind = EVENTS[message.emits]
    assert message.witness == kind.witness
    for pattern in CATALOGUE.patterns:
        if pattern.message is message:
            assert fields_of(pattern) - kind.fields == set()
    for sample_id, _, fields in SAMPLES:
        if sample_id == message_id:
            assert fields.keys() - kind.fields == set()


@pytest.mark.parametrize(("reason_id", "line", "fields"), REASONS, ids=lambda value: value[:50] if isinstance(value, str) else "")
def test_each_reason_is_told_apart(reason_id: str, line: str, fields: dict[str, Any]) -> None:
    assert CATALOGUE.reasons.parse(line) == {"reason": line, **fields}
    fitting = {known for known, template in CATALOGUE.reasons.templates if next(template.readings(line, 0), None) is not None}
    assert fitting == {reason_id}


def test_each_wording_of_a_reason_has_a_sample() -> None:
    for reason_id, template in CATALOGUE.reasons.templates:
        assert any(reason_id == known and next(template.readings(line, 0), None) is not None for known, line, _ in REASONS), template.text


def test_ids_are_unique() -> None:
    ids = [entry["id"] for area in SOURCE["areas"] for entry in area["messages"]]
    assert len(ids) == len(set(ids))


def test_the_compiled_form_is_in_step_with_the_yaml() -> None:
    """Write it anew with `python -m parsers.catalogue.loading`."""
    assert (MESSAGES_FOLDER / COMPILED).read_bytes() == compiled_catalogue()


def test_a_line_of_each_sample_passes_the_prefilter() -> None:
    for message_id, line, _ in SAMPLES:
        record = f"[2026-01-01 00:00:00,000] INFO {line} ({full_logger(message_id)})".encode()
        assert any(literal in record for literal in CATALOGUE.literals), line


def full_logger(message_id: str) -> str:
    for area in SOURCE["areas"]:
        for entry in area["messages"]:
            if entry["id"] == message_id:
                return str(entry.get("loggers", area["loggers"])[0])
    raise LookupError(message_id)


# -- loggers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("logger", "found"),
    [
        ("kafka.coordinator.group.GroupCoordinator", True),
        ("o.a.k.c.g.GroupMetadataManager", True),
        ("GroupCoordinator", True),
        ("kafka.coordinator.group.GroupMetadata$", True),
        ("com.example.SomethingElse", True),
        (None, True),
        ("org.apache.kafka.clients.consumer.internals.ConsumerCoordinator", False),
    ],
)
def test_a_logger_narrows_only_where_the_catalogue_knows_it(logger: str | None, found: bool) -> None:
    assert (match("[GroupCoordinator 1]: Stabilized group g generation 5 (__consumer_offsets-12)", logger) is not None) is found


def test_a_text_that_says_little_needs_its_logger() -> None:
    assert match("starting") is None
    assert match("starting", "com.example.App") is None
    found = match("starting", "kafka.server.KafkaServer")
    assert found is not None
    assert found.event == "BrokerStarting"


@pytest.mark.parametrize(
    ("logger", "known"),
    [
        ("kafka.coordinator.group.GroupCoordinator", True),
        ("kafka.coordinator.group.GroupMetadata$", True),
        ("o.a.k.c.c.internals.ConsumerCoordinator", True),
        ("org.apache.kafka.clients.consumer.internals.AbstractCoordinator$HeartbeatThread", True),
        ("org.apache.kafka.coordinator.group.streams.topics.InternalTopicManager", True),
        ("o.a.k.c.g.GroupConfig", True),
        ("TopicRegexResolver", True),
        ("org.apache.kafka.connect.runtime.distributed.DistributedHerder$RebalanceListener", True),
        ("o.a.k.s.processor.internals.StreamThread", True),
        ("org.apache.flink.runtime.taskexecutor.TaskManager", False),
        ("kafka.coordinator.transaction.TransactionCoordinator", False),
        ("kafka.log.LogManager", False),
        (None, False),
        ("", False),
    ],
)
def test_lines_about_groups_must_not_be_missed(logger: str | None, known: bool) -> None:
    assert CATALOGUE.group_loggers.concerns(logger) is known


@pytest.mark.parametrize(
    ("logger", "level", "shown"),
    [
        ("org.apache.kafka.coordinator.group.GroupConfig", "WARN", True),
        ("org.apache.kafka.coordinator.group.GroupConfig", None, True),
        ("org.apache.kafka.coordinator.group.GroupConfig", "DEBUG", False),
        ("org.apache.kafka.coordinator.group.GroupMetadataManager", "DEBUG", True),
        ("org.apache.kafka.clients.consumer.internals.SubscriptionState", "INFO", False),
        ("kafka.log.LogManager", "ERROR", False),
    ],
)
def test_what_nobody_knows_of_groups_is_shown_unless_it_is_too_detailed_or_passed_over(logger: str, level: str | None, shown: bool) -> None:
    assert CATALOGUE.group_loggers.shows(logger, level, "what no version says") is shown


def test_last_segment_of_a_logger() -> None:
    assert last_segment("kafka.coordinator.group.GroupMetadata$") == "GroupMetadata"
    assert last_segment("a.b.Outer$Inner") == "Inner"
    assert last_segment("kafka.request.logger") != last_segment("state.change.logger")


# -- ids that are hard to read ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "group",
    [
        "my group",
        "a (b)",
        "it's",
        'say "hi"',
        "a/b",
        "заказы",
        "注文",
        "x" * 255,
        "a, b",
        "a] b",
        "[x]",
        "in state Stable",
        "g: 1",
        "%s{}<*>",
        " a ",
    ],
)
@pytest.mark.parametrize("version", ["1.1", "2.8.2", "4.1"])
def test_group_ids_come_out_whole(group: str, version: str) -> None:
    fields = {"node": "1", "group": group, "generation": 4, "partition": 7, "member_count": 3}
    line = CATALOGUE.wordings.render("kafka.group.generation_started", version, fields)
    found = match(line)
    assert found is not None
    assert (found.columns["group"], found.columns["generation"]) == (group, 4)


def test_numbers_decide_between_readings() -> None:
    found = match("[GroupCoordinator 1]: Stabilized group a generation b generation 7 (__consumer_offsets-2)")
    assert found is not None
    assert (found.columns["group"], found.columns["generation"]) == ("a generation b", 7)


def test_an_id_that_holds_the_words_of_its_message_is_ambiguous_and_names_no_event() -> None:
    line = "[GroupCoordinator 1]: Member a in group b in group c has failed, removing it from the group"
    found = match(line)
    assert found is not None
    assert (found.is_ambiguous, found.event, found.columns) == (True, None, {"node": "1"})
    assert found.fields["readings"] == 2


def test_a_member_id_ends_with_a_uuid() -> None:
    line = f"[GroupCoordinator 1]: Member a in group b-{UUID} in group c has failed, removing it from the group"
    found = match(line)
    assert found is not None
    assert (found.columns["member_id"], found.columns["group"]) == (f"a in group b-{UUID}", "c")


def test_the_offsets_partition_decides_between_readings() -> None:
    line = (
        "[GroupCoordinator 1]: Preparing to rebalance group a in state Stable with old generation 1 (__consumer_offsets-{}) (reason: x) "
        "in state Stable with old generation 1 (__consumer_offsets-{}) (reason: x)"
    )
    home = java_hash("a") % 50
    text = line.format(home, home)
    assert match(text) is not None
    assert CATALOGUE.match(None, text).is_ambiguous  # type: ignore[union-attr]
    found = CATALOGUE.match(None, text, offsets_partitions=50)
    assert found is not None
    assert found.columns["group"] == "a"


def test_a_client_prefix_whose_ids_hold_brackets_and_commas() -> None:
    found = match("[Consumer clientId=a] b, groupId=c, d] (Re-)joining group")
    assert found is not None
    assert (found.columns["client_id"], found.columns["group"]) == ("a] b", "c, d")


def test_a_client_without_group() -> None:
    found = match("[Consumer clientId=a, groupId=null] Subscribed to topic(s): x, y")
    assert found is not None
    assert (found.columns, found.fields) == ({"client_id": "a", "group": None}, {"topics": ["x", "y"]})


@pytest.mark.parametrize("kind", ["Worker", "Schema registry", "ShareConsumer"])
def test_other_members_of_groups_speak_like_consumers(kind: str) -> None:
    found = match(f"[{kind} clientId=connect-1, groupId=connect-cluster] (Re-)joining group")
    assert found is not None
    assert found.columns == {"client_id": "connect-1", "group": "connect-cluster"}


@pytest.mark.parametrize("scope", ["worker", "validate", "task-0", "task-12|offsets"])
@pytest.mark.parametrize(
    "message",
    [
        "[Consumer clientId=connector-consumer-cdc-sink-0, groupId=connect-cdc-sink] (Re-)joining group",
        "[Consumer instanceId=a, clientId=b, groupId=connect-cdc-sink] Lost previously assigned partitions orders-0",
        "[Worker clientId=connect-1, groupId=workers] Rebalance started",
        "Kafka version: 4.3.1",
    ],
)
def test_what_a_connect_worker_puts_before_messages_changes_nothing(message: str, scope: str) -> None:
    assert CATALOGUE.match(None, f"[cdc sink|{scope}] {message}") == CATALOGUE.match(None, message) is not None


@pytest.mark.parametrize("before", ["[cdc|sink|task-0] ", "[|task-0] ", "[cdc|task-] ", "[cdc|other] "])
def test_other_brackets_are_no_connector(before: str) -> None:
    assert CATALOGUE.match(None, f"{before}[Consumer clientId=a, groupId=b] (Re-)joining group") is None


def test_hash_of_a_group_is_javas() -> None:
    """Values of String.hashCode: ASCII, beyond ASCII, and a pair of surrogates."""
    assert [java_hash(text) for text in ("", "orders", "é", "😀")] == [0, 3286196965, 233, 1772899]


# -- records of many lines --------------------------------------------------------------------------------------


def test_of_a_configuration_block_only_known_settings_are_kept() -> None:
    block = (
        "KafkaConfig values: \n\tadvertised.listeners = SASL_SSL://10.0.0.1:9092\n\tbroker.id = 3\n"
        '\tgroup.initial.rebalance.delay.ms = 0\n\tlistener.name.sasl_ssl.plain.sasl.jaas.config = org.x required password="hunter2";\n'
        "\toffsets.topic.num.partitions = 8\n\tssl.keystore.password = hunter2\n\tunclean.leader.election.enable = false\n"
        " (kafka.server.KafkaConfig)"
    )
    found = match(block, "kafka.server.KafkaConfig")
    assert found is not None
    assert found.columns == {"node": "3"}
    assert found.fields == {"initial_rebalance_delay_ms": 0, "offsets_partitions": 8, "unclean_election": False}
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize("no_node", ["-1", "99999999999", "one", ""])
def test_a_configuration_block_names_a_node_only_by_an_id_that_brokers_have(no_node: str) -> None:
    """A broker with ZooKeeper prints `node.id = -1` beside its `broker.id`, in the order of the alphabet."""
    found = match(f"KafkaConfig values: \n\tbroker.id = 3\n\tnode.id = {no_node}\n (kafka.server.KafkaConfig)", "kafka.server.KafkaConfig")
    assert found is not None
    assert found.columns == {"node": "3"}


def test_the_lines_after_the_first_tell_what_is_reconciled() -> None:
    record = (
        "[Consumer clientId=a, groupId=g] Reconciling assignment with local epoch 3\n"
        "\tMember:                                    pZjPiQCcREKL_m2swv5mjQ\n"
        "\tAssigned partitions:                       [t-0, t-1]\n"
        "\tCurrent owned partitions:                  []\n"
    )
    found = match(record)
    assert found is not None
    assert found.columns["member_id"] == "pZjPiQCcREKL_m2swv5mjQ"
    assert found.fields == {"member_epoch": 3, "partitions": ["t-0", "t-1"]}


# -- the rest ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "template"),
    [
        (f"Member app-1-{UUID} of group orders did 3 things", "Member <*> of group <*> did <*> things"),
        ("[GroupCoordinator 12]: Odd news of 'x' and \"y\"", "<*>: Odd news of <*> and <*>"),
        ("first line\n\tat a.b.C", "first line"),
    ],
)
def test_a_mask_hides_what_differs(message: str, template: str) -> None:
    assert template_of(message) == template


def test_render_refuses_a_version_without_a_wording() -> None:
    with pytest.raises(KeyError, match="no wording"):
        CATALOGUE.wordings.render("kafka.group.emptied", "0.9", {"node": "1", "group": "g", "generation": 1})


def test_render_picks_the_wording_of_the_version() -> None:
    fields = {"node": "1", "group": "g", "generation": 2, "partition": 3}
    assert (
        CATALOGUE.wordings.render("kafka.group.emptied", "2.8.2", fields)
        == "[GroupCoordinator 1]: Group g with generation 2 is now empty (__consumer_offsets-3)"
    )
    assert CATALOGUE.wordings.render("kafka.group.emptied", "4.1.1", fields).endswith(
        "partition=3] Group g with generation 2 is now empty."
    )


@pytest.mark.parametrize("text", ["{a}{b}", "{a:nonsense}"])
def test_a_text_that_says_nothing_definite_is_refused(text: str) -> None:
    with pytest.raises(BadTemplate):
        compile_template(text)


@pytest.mark.parametrize(
    "message", ["", "\n", "[", "]", "[]", "[GroupCoordinator", "[GroupCoordinator 1]:", "Completed request:", "Processor 1"]
)
def test_scraps_match_nothing(message: str) -> None:
    assert match(message) is None


def test_the_catalogue_is_read_once() -> None:
    assert catalogue() is catalogue()


@pytest.mark.parametrize(
    ("reason", "reason_id"),
    [
        ("Removing member app-1-6d2f0b2e-57aa-45a7-85fb-85adbdbf2a2c on heartbeat expiration", "heartbeat_expiration"),
        ("removing member app-1-6d2f0b2e-57aa-45a7-85fb-85adbdbf2a2c on heartbeat expiration", "heartbeat_expiration"),
        ("Something that no coordinator writes", None),
        ("", None),
    ],
)
def test_a_reason_with_another_first_letter_is_the_same_reason(reason: str, reason_id: str | None) -> None:
    found = CATALOGUE.reasons.parse(reason)
    assert (found["reason"], found["reason_id"]) == (reason, reason_id)
