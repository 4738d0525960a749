"""Clients in Go through the loggers of their programs: franz-go (kzerolog, kslog), Sarama by zap, and what kafka-go does when refused.

After twmb/franz-go (consumer_group.go, plugin/kzerolog, plugin/kslog), IBM/sarama (consumer_group.go) and segmentio/kafka-go
(consumergroup.go, 0.3: it leaves after any error of nextGeneration).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.behaviour.test_field_excerpts import Row, said
from tests.behaviour.test_pasted_excerpts import excerpt

Fields = dict[str, object]
MEMBER = "kgo-0c0c0c0c-0000-4000-8000-0c0c0c0c0c0c"
ERROR = "REBALANCE_IN_PROGRESS: The group is rebalancing, so a rejoin is needed."
SESSION: list[tuple[str, str, Fields]] = [
    ("23.662", "new group session begun", {"added": {}, "lost": {}}),
    ("35.663", "heartbeat errored", {"err": ERROR}),
    ("35.665", "joining group", {}),
    (
        *("38.665", "joined, balancing group"),
        {"member_id": MEMBER, "instance_id": None, "generation": 63, "balance_protocol": "cooperative-sticky", "leader": True},
    ),
    ("38.665", "syncing", {"protocol_type": "consumer", "protocol": "cooperative-sticky"}),
    ("38.675", "synced", {"assigned": "ledger[0 1 2]"}),
]


def attribute(key: str, value: object) -> object:
    """A value as a logger prints it that knows no slog.Attr, nor errors."""
    return {"Key": key, "Value": {}} if key in {"err", "instance_id"} else value


LOGGERS: dict[str, Callable[[str, str, Fields], Fields]] = {
    "zerolog": lambda at, text, values: {"level": "info", "time": at, "caller": "kgo/x.go:8", **values, "message": text},
    "slog": lambda at, text, values: {"time": at, "level": "INFO", "msg": text, **values},
    "slog with a group": lambda at, text, values: {"time": at, "level": "INFO", "msg": text, "kgo": values},
    "zap": lambda at, text, values: {"level": "info", "ts": at, "caller": "kgo/x.go:8", "msg": text, **values},
    "a logger that can't print errors": lambda at, text, values: {
        "level": "info",
        "time": at,
        "message": text,
        **{key: attribute(key, value) for key, value in values.items()},
    },
    "a logger whose errors are empty": lambda at, text, values: {
        "level": "info",
        "time": at,
        "message": text,
        **{key: {} if key == "err" else value for key, value in values.items()},
    },
}


@pytest.mark.parametrize("name", LOGGERS)
def test_franz_go_is_read_through_any_logger(tmp_path: Path, name: str) -> None:
    lines = (json.dumps(LOGGERS[name](f"2030-10-12T21:24:{at}Z", text, {"group": "ledger", **values})) for at, text, values in SESSION)
    rows = excerpt(tmp_path, *lines).rebalances
    assert [(said(row), row.confidence < 0.5) for row in rows] == [(Row((62, 63), 3.0, "stable", "member_join"), True)]


def pair(value: object, absent: str) -> str:
    """A value behind its key; text with blanks is quoted."""
    if isinstance(value, bool):
        return str(value).lower()
    text = absent if value is None else "map[]" if value == {} else str(value)
    return json.dumps(text) if {" ", '"', "="} & set(text) else text


def in_turn(values: Fields, absent: str = "<nil>", before: str = "") -> str:
    return " ".join(f"{before}{key}={pair(value, absent)}" for key, value in values.items())


def by_name(values: Fields) -> str:
    return in_turn({key: values[key] for key in sorted(values)}, "null")


Form = Callable[[str, str, Fields], str]
TEXTS: dict[str, Form] = {
    "zerolog's console": lambda at, text, values: f"2030-10-12T21:24:{at[:2]}Z INF {text} {by_name(values)}",
    "zerolog's console with a caller": lambda at, text, values: f"2030-10-12T21:24:{at[:2]}Z DBG kgo/x.go:8 > {text} {by_name(values)}",
    "zerolog's console in colours": lambda at, text, values: (
        f"\x1b[90m2030-10-12T21:24:{at[:2]}Z\x1b[0m \x1b[32mINF\x1b[0m {text} {by_name(values)}".replace("group=", "\x1b[36mgroup=\x1b[0m")
    ),
    "slog's default": lambda at, text, values: f"2030/10/12 21:24:{at[:2]} INFO {text} {in_turn(values)}",
    "slog's default with microseconds": lambda at, text, values: f"2030/10/12 21:24:{at}000 INFO {text} {in_turn(values)}",
    "slog's text": lambda at, text, values: f"time=2030-10-12T21:24:{at}Z level=INFO msg={pair(text, '')} {in_turn(values)}",
    "slog's text with a group": lambda at, text, values: (
        f"time=2030-10-12T21:24:{at}Z level=INFO msg={pair(text, '')} {in_turn(values, before='kgo.')}"
    ),
    "zap's console": lambda at, text, values: f"2030-10-12T21:24:{at}Z\tINFO\t{text}\t{json.dumps(values)}",
    "zap's console with a caller": lambda at, text, values: f"2030-10-12T21:24:{at}+0000\tDEBUG\tkgo/x.go:8\t{text}\t{json.dumps(values)}",
    "zap's console with a name": lambda at, text, values: f"2030-10-12T21:24:{at}Z\tinfo\tkgo\tkgo/x.go:8\t{text}\t{json.dumps(values)}",
}


@pytest.mark.parametrize("others", [0, 20], ids=["alone", "among others"])
@pytest.mark.parametrize("form", TEXTS.values(), ids=list(TEXTS))
def test_franz_go_is_read_as_text_of_any_logger(tmp_path: Path, form: Form, others: int) -> None:
    """What the program says of itself, in the same form, is no line of the library."""
    lines = [form(f"{number:02d}.000", "took the next batch", {"worker": 3}) for number in range(others)]
    lines += [form(at, text, {"group": "ledger", **values}) for at, text, values in SESSION]
    rows = excerpt(tmp_path, *lines).rebalances

    assert [(said(row), row.confidence < 0.5) for row in rows] == [(Row((62, 63), 3.0, "stable", "member_join"), True)]


@pytest.mark.parametrize("form", TEXTS.values(), ids=list(TEXTS))
def test_a_program_that_joins_something_else_is_not_the_library(tmp_path: Path, form: Form) -> None:
    lines = [form(f"{number:02d}.000", "joined the pool of", {"group": "ledger", "generation": number}) for number in range(9)]

    assert list(excerpt(tmp_path, *lines).rebalances) == []


SARAMA = (
    ("03.100", "client/coordinator coordinator for consumergroup mint is #2 (kb2:9092)"),
    ("03.200", "consumergroup/session/sarama-6d2f0b2e-57aa-45a7-85fb-85adbdbf2a2c/12 released"),
    ("49.200", "consumergroup/mint loop check partition number goroutine will exit, topics [oats]"),
)
ZAP = {
    "console": "2030-02-26T10:00:{}+0100\tINFO\tsarama/utils.go:44\t{}",
    "console with a name": "2030-02-26T10:00:{}+0100\tINFO\tsarama\tlog/log.go:44\t{}",
    "console with a prefix": "2030-02-26T10:00:{}+0100\tDEBUG\tkafka/log.go:3\t[sarama] {}",
    "JSON": '{{"level":"info","ts":"2030-02-26T10:00:{}+0100","msg":"{}"}}',
    "JSON with a prefix": '{{"level":"info","ts":"2030-02-26T10:00:{}+0100","msg":"sarama: {}"}}',
}


@pytest.mark.parametrize("form", ZAP.values(), ids=list(ZAP))
def test_sarama_is_read_through_zap(tmp_path: Path, form: str) -> None:
    (row,) = excerpt(tmp_path, *(form.format(at, text) for at, text in SARAMA)).rebalances
    assert row.group == "mint"


REFUSED = "[27] Rebalance In Progress: the coordinator has begun rebalancing the group, the client should rejoin the group"


@pytest.mark.parametrize("stamp", ["2030/02/26 10:00:{:02d} ", "2030/02/26 10:00:{:02d}.{:06d} "], ids=["whole seconds", "microseconds"])
@pytest.mark.parametrize("back_in", [None, 8, 9])
def test_who_leaves_after_a_refused_sync_began_no_rebalance(tmp_path: Path, stamp: str, back_in: int | None) -> None:
    """Another member had begun the next one before; the leave only ends the wait for this one."""
    was, now = (f"oats@h1 (github.com/segmentio/kafka-go)-{digit}d2f0b2e-57aa-45a7-85fb-85adbdbf2a2c" for digit in (6, 7))
    messages = [
        (3, f"Joined group granary as member {was} in generation 7"),
        (3, f"Failed to sync group granary: {REFUSED}"),
        (3, f"Leaving group granary, member {was}"),
    ]
    if back_in is not None:
        messages += [(11, f"Joined group granary as member {now} in generation {back_in}"), (11, "sync group finished for group, granary")]
    lines = (f"{stamp.format(second, number)}{text}" for number, (second, text) in enumerate(messages))
    rows = sorted(excerpt(tmp_path, *lines).rebalances, key=lambda row: row.generation_before or 0)
    between = [] if back_in == 8 else [(7, 8, "stable")]
    last = [] if back_in is None else [(back_in - 1, back_in, "stable")]
    assert [(row.generation_before, row.generation_after, row.outcome) for row in rows] == [(6, 7, "superseded"), *between, *last]
    assert all(row.cause == "member_join" and row.confidence < 0.5 for row in rows)
