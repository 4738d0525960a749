"""Redacting names changes no verdict, and leaves no name: over all samples, in this process."""

from __future__ import annotations

import dataclasses
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conf.settings import load_settings
from models import clear_names as names
from models.kafka.hypotheses import departures, rejoins
from models.kafka.hypotheses.context import assignment_write
from models.kafka.observations import first_joins as clients
from models.kafka.reconstruction.epochs import lines as epoch_lines
from parsers.reading.reader import find_files, read_file
from parsers.redaction.pseudonyms import PSEUDONYM, REDACTED_KINDS, Redaction
from pipelines.analysis.in_process import AnalysisResult, analyze
from pipelines.cli.arguments.option_parsing import ReadArguments, analyze_options
from pipelines.schema.row_conversion import row_values
from pipelines.schema.tables import CONTRACT
from tests.conftest import spread

KEY = b"a key of sixteen bytes"
VERDICTS = (*(set(CONTRACT) - {"inputs", "unknown", "rejected"}), "rebalance_members")
NAMES = {"group": "groups", "topic": "topics", "client_id": "client_ids", "instance_id": "client_ids", "host": "hosts"}
OF_THE_PRODUCT = (
    "__consumer_offsets",
    "TBW102",
    "SCHEDULE_TOPIC_XXXX",
    "BenchmarkTest",
    "RMQ_SYS_",
    "OFFSET_MOVED_EVENT",
    "SELF_TEST_TOPIC",
)
CUT = ("trigger_text", "evidence")
"""Texts of a limited length, which names of another length cut elsewhere."""


@pytest.fixture(scope="module")
def clear(samples: Path) -> AnalysisResult:
    return analyzed(samples, None)


def analyzed(samples: Path, redaction: Redaction | None) -> AnalysisResult:
    settings = samples / "settings.toml"
    options = analyze_options(load_settings(settings if settings.exists() else None), ReadArguments())
    names.PLAINTEXTS.clear()
    try:
        return analyze([str(samples)], dataclasses.replace(options, read=dataclasses.replace(options.read, redaction=redaction)))
    finally:
        names.PLAINTEXTS.clear()


def rows_of(analysis: AnalysisResult, table: str) -> list[dict[str, Any]]:
    return [row_values(row) if dataclasses.is_dataclass(row) else dict(row) for row in getattr(analysis, table)]


def told(rows: list[dict[str, Any]], redaction: Redaction | None = None) -> list[str]:
    """Rows as sorted texts, without ids made of names, and with names in place of pseudonyms."""
    return sorted(json.dumps(_revealed(_verdict(row), redaction), sort_keys=True, default=str) for row in rows)


def _verdict(row: dict[str, Any]) -> dict[str, Any]:
    made = {name for name in row if name.endswith(("_id", "_ids")) and name not in NAMES and name != "member_id"}
    return {name: value for name, value in row.items() if name not in made and name not in CUT}


def _revealed(value: Any, redaction: Redaction | None) -> Any:
    if isinstance(value, str) and redaction is not None:
        return PSEUDONYM.sub(lambda found: redaction.clear.get(found[0], found[0]), value)
    if isinstance(value, list | tuple):
        told = [_revealed(each, redaction) for each in value]
        return sorted(told) if all(isinstance(each, str) for each in told) else told  # names are listed in their own order
    if isinstance(value, dict):
        return {_revealed(name, redaction): _revealed(each, redaction) for name, each in value.items()}
    return value


@pytest.mark.parametrize("kinds", [REDACTED_KINDS, *spread([(kind,) for kind in REDACTED_KINDS], 3)], ids=",".join)
def test_verdicts_are_the_same_up_to_pseudonyms(samples: Path, clear: AnalysisResult, kinds: tuple[str, ...]) -> None:
    redaction = Redaction(kinds, KEY)
    hidden = analyzed(samples, redaction)
    for table in VERDICTS:
        assert told(rows_of(hidden, table), redaction) == told(rows_of(clear, table)), table
    gone = {each for each in names_in(clear) if each[1] in kinds}
    assert gone or kinds == ("users",)
    assert not gone & names_in(hidden)


@pytest.mark.parametrize("word", ["consumer", "poll", "member", "is", "1", "order_events", "UserService", "user.events"])
def test_a_group_called_after_a_word_of_messages_gets_the_same_verdicts(samples: Path, tmp_path: Path, word: str) -> None:
    for path in (samples / "kafka" / "2.8.2" / "rolling-restart").rglob("*.log*"):
        text = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()
        copy = tmp_path / path.parent.name / path.name.removesuffix(".gz")
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(text.replace("email-sender-h", word), encoding="utf-8")
    redaction = Redaction(REDACTED_KINDS, KEY)
    clear, hidden = analyzed(tmp_path, None), analyzed(tmp_path, redaction)
    assert {row["group"] for row in rows_of(clear, "rebalances")} == {word}
    for table in VERDICTS:
        assert told(rows_of(hidden, table), redaction) == told(rows_of(clear, table)), table
    assert word not in {row["group"] for row in rows_of(hidden, "rebalances")}
    texts = json.dumps([rows_of(hidden, table) for table in (*VERDICTS, "unknown")], default=str)
    assert word not in texts or re.fullmatch("[a-z]+|1", word)  # a single plain word, which messages hold themselves


UUID = "6d2f0b2e-57aa-45a7-85fb-85adbdbf2a2c"
TELLING = f"""\
[2026-11-21 10:00:00,000] INFO [GroupCoordinator 1]: Preparing to rebalance group zorba-g in state PreparingRebalance with old \
generation 3 (__consumer_offsets-17) (reason: Removing member zorba-1-{UUID} on LeaveGroup; client reason: scale down by zorbaop of \
zorba-api on kafka-7) (kafka.coordinator.group.GroupCoordinator)
[2026-11-21 10:00:00,100] INFO [Consumer clientId=zorba-1, groupId=zorba-g] Request joining group due to: cached metadata has changed from \
(version4: {{zorba-t=[NO_RACKS]}}) at the beginning of the rebalance to (version5: {{zorba-t=[NO_RACKS], zorba-u=[NO_RACKS]}}) \
(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)
[2026-11-21 10:00:00,300] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=4] [GroupId zorba-g] Computed new subscription \
metadata: {{zorba-t=TopicMetadata(id=HGQef8yRTTatswyaE-plUw, name=zorba-t, numPartitions=3)}}. \
(org.apache.kafka.coordinator.group.GroupMetadataManager)
[2026-11-21 10:00:00,400] WARN [ReplicaManager broker=1] Stopping serving replicas in dir /data/kafka-7/logs (kafka.server.ReplicaManager)
[2026-11-21 10:00:00,500] INFO Successfully joined group zorba-g with generation 3 (zorba.worker)
"""


def test_what_clients_and_operators_say_is_hidden_wherever_it_goes(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(TELLING, encoding="utf-8")
    analysis = analyzed(tmp_path, Redaction(REDACTED_KINDS, KEY))
    options = dataclasses.replace(analyze_options(load_settings(), ReadArguments()).read, redaction=Redaction(REDACTED_KINDS, KEY))
    [source] = find_files([str(tmp_path)], options).files
    events = [row for chunk in read_file(source, options) for row in chunk.events.to_pylist()]
    told = json.dumps([events, *(rows_of(analysis, table) for table in (*VERDICTS, "unknown"))], default=str)
    assert "zorba" not in told
    assert "kafka-7" not in json.dumps([row["fields"] for row in events])
    fields = json.loads(events[0]["fields"])
    assert PSEUDONYM.sub("X", fields["client_reason"]) == "scale down by X of X on X"
    assert {row["event"] for row in events} >= {"RebalanceStarted", "ClientRejoinRequested", "SubscriptionMetadataChanged", "LogDirFailed"}


def test_what_verdicts_compare_in_free_text_is_plain() -> None:
    fixed = [each for each, _ in (*departures.LEAVE_TEXTS, *rejoins.REJOIN_TEXTS, *epoch_lines.FENCING_TEXTS)]
    fixed += [*rejoins.REJOIN_AFTER_TROUBLE_TEXTS, *assignment_write.STORE_ERROR_TEXTS, *clients.UNKNOWN_MEMBER_TEXTS, "not provided"]
    for each in fixed:
        assert Redaction(REDACTED_KINDS, KEY).text(each, {}, strict=True) == each


def test_no_name_is_left_in_anything_that_is_told(samples: Path, clear: AnalysisResult) -> None:
    redaction = Redaction(REDACTED_KINDS, KEY)
    hidden = analyzed(samples, redaction)
    texts = [json.dumps(rows_of(hidden, table), default=str) for table in (*VERDICTS, "log_files", "unknown", "rejected")]
    options = dataclasses.replace(analyze_options(load_settings(samples / "settings.toml"), ReadArguments()).read, redaction=redaction)
    for source in find_files([str(samples)], options).files:
        for chunk in read_file(source, options):
            texts += [json.dumps(batch.to_pylist(), default=str) for batch in (chunk.events, chunk.unknown, chunk.rejected)]
    told_names = {name for name, _ in names_in(clear)}
    assert len(told_names) > 40
    assert not {name for name in told_names if any(name in text for text in texts)}


def names_in(analysis: AnalysisResult) -> set[tuple[str, str]]:
    """All names that an analysis tells in columns of their own, with their kinds."""
    found = {(name.strip("/"), kind) for table in VERDICTS for row in rows_of(analysis, table) for name, kind in _names(row)}
    return {(name, kind) for name, kind in found if name and not name.startswith(("%RETRY%name-", *OF_THE_PRODUCT))}


def _names(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for column, value in row.items():
        if column in NAMES and isinstance(value, str):
            yield value, NAMES[column]
        for inner in value if isinstance(value, list) else ():
            if isinstance(inner, dict):
                yield from _names(inner)


def test_a_redacted_record_is_redacted_by_itself(samples: Path) -> None:
    """However much is read at once, and in one pass or in two, records come out the same."""
    [source] = find_files([str(samples / "kafka" / "1.1.1" / "poll-timeout" / "broker-1" / "server.log")]).files
    options = dataclasses.replace(
        analyze_options(load_settings(), ReadArguments()).read, redaction=Redaction(REDACTED_KINDS, KEY), fold_runs=False
    )

    def records(chunk_bytes: int) -> list[dict[str, Any]]:
        reader = read_file(source, dataclasses.replace(options, chunk_bytes=chunk_bytes))
        return [row for chunk in reader for row in chunk.events.to_pylist()]

    assert records(4_096) == records(1 << 20)
