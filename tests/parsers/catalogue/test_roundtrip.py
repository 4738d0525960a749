"""What the catalogue writes it reads back, whatever the ids hold; and reading costs no more than the line is long."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parsers.catalogue.catalogue import Catalogue, Pattern, catalogue
from parsers.catalogue.templates import COLUMNS, MAX_STEPS, Template, TooManyReadings
from tests.conftest import examples

CATALOGUE: Catalogue = catalogue()
BODIES = {"join_body", "join_answer", "sync_body"}
PATTERNS = [pattern for pattern in CATALOGUE.patterns if not BODIES & {slot.kind for slot in pattern.template.slots}]
IDS = [f"{pattern.message.id}-{pattern.prefix or 'plain'}-{pattern.seen_in[0]}-{number}" for number, pattern in enumerate(PATTERNS)]
OWNED = {"member_id", "old_member_id"}
"""Ids that a coordinator makes of the instance id or, where there is none, of the client id."""
NAMED_IN_REASONS = frozenset().union(*(template.names() for _, template in CATALOGUE.reasons.templates))
BLOCK = 8
"""Patterns of one test. Hypothesis wraps the settings once per parameter, and fails beyond a thousand."""
BLOCKS = [PATTERNS[start : start + BLOCK] for start in range(0, len(PATTERNS), BLOCK)]
BLOCK_IDS = IDS[::BLOCK]
LIMITS = settings(max_examples=examples(2, 5), deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))

_ODD = "aZ09_- .,;:()[]{}<>'\"`/\\|=+*%$#@!?&~^éßя中文😀\u00a0\u202e"
_ABSENT = {"None", "null", "Optional.empty"}
plain_ids = st.text(st.sampled_from(_ODD), min_size=1, max_size=30).filter(lambda text: text not in _ABSENT)
uuids = st.uuids(version=4).map(str)
topics = st.from_regex(re.compile(r"[a-zA-Z0-9._]{1,12}", re.ASCII), fullmatch=True)
names = st.from_regex(re.compile(r"[a-zA-Z0-9_-]{1,12}", re.ASCII), fullmatch=True)
words = st.sampled_from(["Stable", "Empty", "PreparingRebalance", "consumer", "UNKNOWN_MEMBER_ID", "2.8.2", "JOINING"])


nodes = st.lists(st.integers(0, 10**6).map(str), max_size=4)
partition_names = st.builds("{}-{}".format, topics, st.integers(0, 99))
leaders = st.integers(0, 999).map(str)


def id_with(words_of_messages: list[str]) -> st.SearchStrategy[str]:
    """Ids that hold fixed words of messages."""
    pieces = st.lists(st.one_of(plain_ids, st.sampled_from(words_of_messages)), min_size=1, max_size=4)
    return pieces.map("".join).filter(lambda text: text not in _ABSENT)


def fixed_words(pattern: Pattern) -> list[str]:
    found = [literal for literal in pattern.template.literals if literal]
    prefix = pattern.prefix
    while prefix:
        for template in CATALOGUE.prefixes[prefix].texts:
            found.extend(literal for literal in template.literals if literal)
        prefix = CATALOGUE.prefixes[prefix].inside
    return [*found, " in group ", " for group ", "] ", " due to: "]


BY_KIND: dict[str, st.SearchStrategy[Any]] = {
    "word": words,
    "int": st.integers(0, 10**12),
    "int32": st.integers(0, 2**31 - 1),
    "count": st.integers(0, 2**31 - 1),
    "millis": st.integers(0, 10**13),
    "span_ms": st.integers(0, 10**12 - 1),
    "gen": st.none() | st.integers(0, 2**31 - 1),
    "epoch": st.none() | st.integers(0, 2**31 - 1),
    "digits": st.integers(0, 10**6).map(str),
    "coordinator_node": st.integers(0, 10**6).map(str),
    "flag": st.booleans(),
    "name": names,
    "assignments": st.none()
    | st.lists(st.builds("MessageQueue [topic={}, brokerName={}, queueId={}]".format, names, names, st.integers(-1, 99)), max_size=3),
    "grpc_client": st.builds("{}@{}@{}@{}".format, names, st.integers(0, 99999), st.integers(0, 9), names),
    "nodes": nodes,
    "dense_nodes": nodes,
    "node_set": nodes,
    "voters": nodes,
    "fetchers": st.lists(st.tuples(partition_names, leaders, st.integers(0, 9999)).map(list), max_size=4),
    "old_fetchers": st.lists(st.tuples(partition_names, leaders, st.none()).map(list), max_size=4),
    "partition_names": st.lists(partition_names, max_size=6),
    "old_partition_names": st.lists(partition_names, max_size=6),
    "list": st.lists(topics.map(lambda topic: f"{topic}-3"), max_size=3),
    "partitions": st.lists(topics.map(lambda topic: f"{topic}-3"), max_size=3),
    "tasks": st.lists(
        st.builds("{} {}-{}".format, st.sampled_from(["active", "standby", "warmup"]), topics, st.integers(0, 99)), max_size=4
    ).map(sorted),
    "bare_list": st.lists(topics, max_size=3),
    "scala_list": st.lists(topics, max_size=3),
    "protocols": st.lists(topics, min_size=1, max_size=2),
    "box": st.lists(topics, max_size=3).map(lambda drawn: f"┌{'─'.join(drawn)}┐"),
    "ruby_hash": st.lists(st.builds("{}: {}".format, topics, st.integers(0, 99)), max_size=3).map(lambda drawn: f"{{{', '.join(drawn)}}}"),
}
"""What may stand in slots that hold no ids."""


@cache
def value_of(name: str, kind: str, ids: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Values that may stand in a slot."""
    members = st.builds(lambda owner, end: f"{owner}-{end}", ids, uuids)
    if name in {"member_id", "old_member_id", "new_leader", "leader_id"}:
        ids = members
    if kind in BY_KIND:
        return BY_KIND[kind]
    if kind in {"members", "bare_members", "scala_members"}:
        return st.lists(members, max_size=3)
    if kind in {"some", "option", "optional", "nullable", "quoted", "blank", "blank_or_null"}:
        return st.none() | ids
    return ids


IDS_WITH_WORDS = {id(pattern): id_with(fixed_words(pattern)) for pattern in PATTERNS}
"""Ids that hold the words of a pattern, made once for all its events, since that takes longer than to draw them."""


@st.composite
def events_of(draw: st.DrawFn, pattern: Pattern, nasty: bool) -> dict[str, Any]:
    """Fields of an event that a wording can say."""
    ids = IDS_WITH_WORDS[id(pattern)] if nasty else plain_ids
    fields: dict[str, Any] = {}
    templates = [pattern.template]
    prefix = pattern.prefix
    while prefix:
        texts = CATALOGUE.prefixes[prefix].texts
        templates.append(draw(st.sampled_from(texts)))
        prefix = CATALOGUE.prefixes[prefix].inside
    for template in templates:
        for slot in template.slots:
            if slot.type.several:
                fields.update(draw(several(slot.kind)))
            elif slot.is_reported:
                fields[slot.name] = draw(value_of(slot.name, slot.kind, ids))
    owners = [owner for owner in (fields.get("instance_id"), fields.get("client_id")) if owner is not None]
    if owners:
        for name in OWNED & fields.keys():
            fields[name] = f"{owners[0]}-{draw(uuids)}"
    return fields


@cache
def several(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    """Fields of slots that give several."""
    if kind == "reason":
        return st.sampled_from(CATALOGUE.reasons.templates).flatmap(lambda known: reason(known[1]))
    fields: dict[str, st.SearchStrategy[Any]] = {
        "topic": topics,
        "partition": st.integers(0, 9999),
        "leader": st.integers(-1, 10**6).map(str),
        "leader_before": st.integers(-1, 10**6).map(str),
        "leader_epoch": st.integers(0, 10**6),
        "partition_epoch": st.integers(0, 10**6),
        "isr": nodes,
        "isr_before": nodes,
        "replicas": nodes,
        "unclean": st.booleans(),
    }
    if kind in {"partition_assignment", "topic_assignment"}:
        made = st.dictionaries(st.integers(0, 99).map(str), nodes.filter(bool), min_size=1, max_size=5).map(
            lambda drawn: {"assignment": drawn, "partition_count": max(map(int, drawn)) + 1}
        )
        return made if kind == "partition_assignment" else st.builds(lambda topic, rest: {"topic": topic, **rest}, topics, made)
    if kind == "quorum_turn":
        states = st.sampled_from(("Unattached", "Voted", "Candidate", "Resigned"))
        turned = {"state": states, "epoch": st.integers(0, 10**6), "voters": nodes.filter(bool)}
        return st.fixed_dictionaries(turned)
    if kind == "vote_states":
        voters = st.lists(st.integers(0, 10**6).map(str), min_size=1, max_size=4, unique=True)
        return st.fixed_dictionaries({"silent": voters, "refusing": nodes})
    if kind in {"queue", "go_queue"}:
        return st.fixed_dictionaries({"topic": names, "broker": names, "partition": st.integers(-1, 9999)})
    if kind == "share_partition":
        return st.fixed_dictionaries({"group": topics, "topic": topics, "partition": st.integers(0, 9999)})
    if kind == "dead_letters":
        records = {"group": topics, "topic": topics, "partition": st.integers(0, 9999), "offset": st.integers(0, 2**63 - 1)}
        return st.fixed_dictionaries(records)
    if kind == "sink_task":
        return st.builds(
            lambda name, n: {"group": f"connect-{name}", "client_id": f"connector-consumer-{name}-{n}"}, topics, st.integers(0, 99)
        )
    if kind == "old_consumer":
        host = st.from_regex(r"[a-z0-9.]{1,12}-[0-9]{13}-[0-9a-f]{1,8}", fullmatch=True)
        return st.fixed_dictionaries({"group": topics, "client_id": host})
    if kind == "stream_client":
        return st.fixed_dictionaries({"group": topics})
    if kind == "stream_thread":
        name = "{}-{}-StreamThread-1-consumer".format
        named = st.builds(lambda group, end: {"group": group, "client_id": name(group, end)}, topics, uuids)
        return named | st.builds(lambda client: {"group": None, "client_id": f"{client}-StreamThread-1-consumer"}, topics)
    leadership = ("leader", "leader_epoch", "isr", "partition_epoch")
    wanted = {
        "topic_partition": ("topic", "partition"),
        "replica": ("topic", "partition"),
        "leader_and_isr": leadership,
        "leader_isr": leadership,
        "encoded_leader_and_isr": leadership[:3],
        "change": (*leadership, "leader_before", "isr_before"),
        "topic_settings": ("unclean",),
        "change_record": ("leader", "isr"),
        "election": ("leader", "leader_before", "leader_epoch", "isr", "isr_before", "replicas"),
    }
    return st.fixed_dictionaries({name: fields[name] for name in wanted.get(kind, (*leadership, "replicas"))})


def reason(template: Template) -> st.SearchStrategy[dict[str, Any]]:
    """A reason with what it names."""
    values = {
        slot.name: value_of(slot.name, slot.kind, member_like if slot.name == "reason_member_id" else plain_ids) for slot in template.slots
    }
    return st.fixed_dictionaries(values).map(
        lambda drawn: {"reason": template.render(drawn), **{name: value for name, value in drawn.items() if name[0] != "_"}}
    )


member_like = st.builds(lambda owner, end: f"{owner}-{end}", plain_ids, uuids)


def read_back(pattern: Pattern, fields: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    line = CATALOGUE.wordings.write(pattern, fields)
    found = CATALOGUE.match(min(pattern.message.loggers), line)
    assert found is not None, line
    expected = {**pattern.constants, **fields}
    return found, expected


@pytest.mark.parametrize("patterns", BLOCKS, ids=BLOCK_IDS)
@LIMITS
@given(data=st.data())
def test_what_is_written_is_read_back(patterns: list[Pattern], data: st.DataObject) -> None:
    """Ids of any characters, as long as they don't hold the words of the message."""
    for pattern in patterns:
        fields = data.draw(events_of(pattern, nasty=False))
        # A group that begins with a bracket makes the newer wording read like the older one, `({group})`.
        if pattern.message.id == "kafka.python.leave_sent" and fields["group"].startswith("("):
            continue
        found, expected = read_back(pattern, fields)
        # An id with a blank in it may end where a shorter wording ends, or go on to its end.
        if found.is_ambiguous and any(" " in value for value in expected.values() if isinstance(value, str)):
            continue
        read = {**found.columns, **found.fields}
        read.pop("reason_id", None)
        assert (found.message_id, found.is_ambiguous, read) == (pattern.message.id, False, expected)


@pytest.mark.parametrize("patterns", BLOCKS, ids=BLOCK_IDS)
@LIMITS
@given(data=st.data())
def test_ids_with_the_words_of_messages_are_read_right_or_called_ambiguous(patterns: list[Pattern], data: st.DataObject) -> None:
    for pattern in patterns:
        found, expected = read_back(pattern, data.draw(events_of(pattern, nasty=True)))
        if found.is_ambiguous:
            assert found.event is None
            assert {name: expected.get(name) for name in found.columns} == found.columns
        else:
            read = {**found.columns, **found.fields}
            read.pop("reason_id", None)
            # What a reason names is left out where that can't be told.
            told = {name: value for name, value in expected.items() if name in read or name not in NAMED_IN_REASONS}
            assert (found.message_id, read) == (pattern.message.id, told)


TEMPLATES = list({pattern.template.text: pattern.template for pattern in PATTERNS}.values())


TEMPLATE_BLOCKS = [TEMPLATES[start : start + BLOCK] for start in range(0, len(TEMPLATES), BLOCK)]


@settings(LIMITS, max_examples=examples(2, 4))
@pytest.mark.parametrize("templates", TEMPLATE_BLOCKS, ids=range(len(TEMPLATE_BLOCKS)))
@given(data=st.data())
def test_many_texts_are_cut_as_each_by_itself(templates: list[Template], data: st.DataObject) -> None:
    """Also among texts of other wordings, with the fixed words twice, and with line breaks."""
    for template in templates:
        texts = data.draw(texts_like(template))

        assert [each and tuple(each) for each in template.pieces_of(texts)] == [
            each and tuple(each) for each in (template.pieces(text, 0) for text in texts)
        ]


def texts_like(template: Template) -> st.SearchStrategy[list[str]]:
    pieces = st.one_of(plain_ids, st.sampled_from(["", "7", "\n", "a b"]), st.sampled_from([words for words in template.literals if words]))
    ids = st.one_of(st.sampled_from(["a-0", "[a-1]", "12", "None", "true"]), pieces)
    slots = st.lists(ids, min_size=len(template.slots), max_size=len(template.slots))
    fitting = slots.map(lambda drawn: "".join(part for pair in zip(template.literals, [*drawn, ""], strict=True) for part in pair))
    return st.lists(st.one_of(fitting, fitting, fitting, pieces), min_size=1, max_size=5)


def test_a_text_that_repeats_the_words_around_its_free_slot_is_looked_at_more_closely_among_others_too() -> None:
    refused = 0
    for template in (each for each in TEMPLATES if each.spaced >= 0):
        before, after = template.literals[template.spaced : template.spaced + 2]
        for free in ("a", f"a{before}b", f"a{after}b"):
            slots = [free if at == template.spaced else "7" for at in range(len(template.slots))]
            text = "".join(part for pair in zip(template.literals, [*slots, ""], strict=True) for part in pair)
            alone = template.pieces(text, 0)
            assert [each and tuple(each) for each in template.pieces_of([text, text])] == [alone and tuple(alone)] * 2
            refused += alone is None
    assert refused > 20


# -- cost -------------------------------------------------------------------------------------------------------


class Counted(str):
    """A line that counts the searches in it."""

    __slots__ = ("searches",)

    def __new__(cls, text: str) -> Counted:
        line = super().__new__(cls, text)
        line.searches = 0
        return line

    def find(self, *args: Any) -> int:
        self.searches += 1
        return super().find(*args)

    def rfind(self, *args: Any) -> int:
        self.searches += 1
        return super().rfind(*args)


def hostile_lines(template: Template) -> Iterator[Counted]:
    """Lines with the fixed words of a template repeated, interleaved, and cut by a letter."""
    literals = template.literals
    middle = "".join(literals[1:-1])
    for body in (middle * 500, "".join(each * 125 for each in literals[1:-1]), middle[:-1] * 500):
        yield Counted(literals[0] + body + "x" + literals[-1])


@pytest.mark.parametrize("message_id", sorted({pattern.message.id for pattern in PATTERNS}))
def test_hostile_lines_cost_a_bounded_number_of_searches(message_id: str) -> None:
    """Each search passes the line once, so a bound on their number is a bound in the length of the line."""
    for template in (pattern.template for pattern in PATTERNS if pattern.message.id == message_id):
        for line in hostile_lines(template):
            try:
                for number, _ in enumerate(template.readings(line, 0)):
                    assert number < 100
            except TooManyReadings:
                pass
            template.pieces(line, 0)
            assert line.searches <= 2 * MAX_STEPS + 8 * len(template.literals) + 8, template.text


def test_regular_expressions_have_no_part_that_can_trade_characters_with_another() -> None:
    """At most one `.*`, no group inside a repeated group, and words with a space between slots that exclude spaces."""
    for pattern in CATALOGUE.patterns:
        template = pattern.template
        if not template.is_regular:
            continue
        source = template.expression().pattern
        assert source.count(".*") <= 1
        assert not re.search(r"\)[*+{]", source)
        assert all(" " in literal for literal in template.literals[1:-1])


@pytest.mark.parametrize("size", [1_000, 100_000])
def test_a_prefix_that_never_closes_or_closes_everywhere(size: int) -> None:
    assert CATALOGUE.match(None, "[Consumer clientId=" + "]" * size) is None
    found = CATALOGUE.match(None, "[Consumer clientId=a, groupId=" + "] " * size + "(Re-)joining group")
    assert found is None or found.is_ambiguous or found.columns["client_id"] == "a"


def test_columns_of_a_match_are_columns() -> None:
    line = f"[GroupCoordinator 1]: Member a-{uuid.UUID(int=1)} in group g has failed, removing it from the group"
    found = CATALOGUE.match(None, line)
    assert found is not None
    assert found.columns.keys() <= COLUMNS
    assert not found.fields.keys() & COLUMNS
