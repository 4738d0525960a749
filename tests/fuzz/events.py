"""Impossible sequences of events for the models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from models.event_kinds import COMMON_EVENT_FIELDS, EVENTS
from models.events import Event, LogPosition
from models.incidents.incidents import Limits
from models.kafka.cluster.facts import CLUSTER_EVENTS, learn
from models.kafka.outages.outage_stage import Outages
from models.kafka.partitions.event_fields import PARTITION_EVENTS
from models.kafka.verdicts.history import GroupHistory
from models.rocketmq.event_partitions import ROCKET_EVENTS
from models.rocketmq.rocketmq_history import RocketHistory, history_of_groups
from parsers.catalogue.slots import NARROWER, SPANS_MS
from pipelines.analysis.stages import HISTORY_TABLES, OUTAGE_TABLES, ROCKET_TABLES, rows_by_table
from pipelines.schema.row_conversion import to_batch
from tests.fuzz.lines import Tally
from tests.models.kafka.outages.whole_replay import replay_outages
from tests.models.rocketmq.event_parts import EventParts
from tests.replaying import replay_group

VERSIONS = ("0.11.0.3", "1.1.1", "2.8.2", "3.9.1", "4.1.1")
KINDS = {
    "group": sorted(name for name, kind in EVENTS.items() if "group" in kind.fields and name not in ROCKET_EVENTS),
    "partitions": sorted(PARTITION_EVENTS),
    "rocketmq": sorted(ROCKET_EVENTS),
}
GROUP = "g"
_QUEUES = "[MessageQueue [topic=t, brokerName=a, queueId=%s]]"
_ROUTE = "TopicRouteData [queueDatas=[QueueData [brokerName=a, readQueueNums=%s, writeQueueNums=4, perm=6]]]"

int32s = st.sampled_from([-(2**31), -1, 0, 1, 2, 3, 7, 2**31 - 1]) | st.integers(-(2**31), 2**31 - 1)
int64s = int32s | st.sampled_from([-(2**63), 10**12, 253_402_300_799_999, 2**63 - 1])
names = st.sampled_from(["", "a", "b", "1", "2", "t", "t-0", "t-1", "t-999999999", "t-" + "9" * 30, "-1", "null", "é", "c1@x", "c2@x"])
lists = st.lists(names, max_size=4)
values: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    int64s,
    st.floats(0, 1e12),
    names,
    lists,
    st.lists(st.tuples(names, names, int32s | st.none()).map(list), max_size=3),
    st.dictionaries(st.integers(0, 999_999_999).map(str), lists, max_size=3),
    st.sampled_from([_ROUTE % 4, _ROUTE % 4_000_000, _ROUTE % 10**20, "null", _QUEUES % 0, _QUEUES % ("9" * 5_000)]),
    st.just("subVersion=" + "9" * 40),
)
"""Possible JSON values of fields, within the bounds of the parsers' types."""
_INT32S = values.map(lambda value: (value + 2**31) % 2**32 - 2**31 if isinstance(value, int) and not isinstance(value, bool) else value)
_SPANS = values.map(lambda value: value % SPANS_MS.stop if isinstance(value, (int, float)) and not isinstance(value, bool) else value)


def values_of(name: str) -> st.SearchStrategy[Any]:
    """Possible values of one field."""
    return {"span_ms": _SPANS, "int32": _INT32S}.get(NARROWER.get(name, ""), values)


_COLUMNS: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("node", "member_id", "client_id", "instance_id", "topic"), st.none() | names),
    "group": st.just(GROUP),
    "generation": st.none() | int32s,
    "partition": st.none() | int32s,
}
_STEPS = st.sampled_from([0, 1, 1_000, 3_000_000, 60_000_000, 10**12, 10**16])


@st.composite
def sequences(draw: st.DrawFn, kind: str) -> list[Event]:
    """Events for one kind of model in order of time, some far apart."""
    at, made = draw(st.sampled_from([-(10**15), 0, 1_700_000_000_000_000])), []
    told = draw(st.lists(st.tuples(st.sampled_from(KINDS[kind]), _STEPS, st.booleans()), min_size=1, max_size=14))
    for number, (name, step, timed) in enumerate(told):
        at += step
        kinds = EVENTS[name]
        columns = {each: draw(_COLUMNS[each]) for each in sorted(kinds.fields & COMMON_EVENT_FIELDS)}
        fields = {each: draw(values_of(each)) for each in sorted(kinds.fields - COMMON_EVENT_FIELDS) if draw(st.booleans())}
        text = draw(st.sampled_from([name, _QUEUES % 1, _QUEUES % ("9" * 5_000), "subVersion=" + "9" * 40, "subVersion=5"]))
        place = LogPosition(f"{number % 3}.log", number + 1, 100 * number)
        made.append(Event(name, at if timed else None, at, place, kinds.witness, "", text, fields=fields, **columns))
    return made


def replayed(kind: str, version: str, events: Sequence[Event]) -> None:
    """Replay events, and convert all rows to Arrow, with the tables' bounds."""
    started = Event("KafkaVersion", 0, -(10**17), LogPosition("0.log", 0, 0), EVENTS["KafkaVersion"].witness, fields={"version": version})
    facts = learn([started, *(event for event in events if event.name in CLUSTER_EVENTS)])
    if kind == "group":
        histories: Iterable[GroupHistory | Outages | RocketHistory] = [replay_group("c", GROUP, events, facts, Limits(group_states=True))]
    elif kind == "partitions":
        histories = [replay_outages("c", events, {"0.log": "1", "1.log": "2"}, facts)]
    else:
        histories = history_of_groups("c", EventParts(events))
    for history in histories:
        for table, rows in rows_by_table(history, TABLES[kind]).items():
            to_batch(table, rows)


TABLES = {"group": HISTORY_TABLES, "partitions": OUTAGE_TABLES, "rocketmq": ROCKET_TABLES}


def feed(count: int, seed: int, tally: Tally) -> None:
    """Replay `count` sequences, distributed among kinds of models and versions."""
    cases = [(kind, version) for kind in KINDS for version in (VERSIONS if kind != "rocketmq" else VERSIONS[-1:])]
    for kind, version in cases:
        _feed_one(kind, version, -(-count // len(cases)), seed, tally)


def _feed_one(kind: str, version: str, count: int, seed: int, tally: Tally) -> None:
    @seeded(seed)
    @settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(sequences(kind))
    def run(events: list[Event]) -> None:
        tally.lines += 1
        try:
            replayed(kind, version, events)
        except Exception as problem:
            tally.note(problem, repr(events).encode())

    run()
