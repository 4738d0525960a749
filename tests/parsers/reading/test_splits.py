"""Work shared out: a file read in ranges gives what it gives as a whole, wherever it is cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parsers.reading import splits as ranges
from parsers.reading.file_reports import merge_reports, report_row
from parsers.reading.reader import FileReader, ReadOptions
from parsers.reading.resume import Start
from parsers.reading.splits import Range, share_out, split
from parsers.sources.files import SourceFile
from tests.conftest import ROOT, examples
from tests.parsers.reading.source_files import Row, find, read_source

SAMPLES = ROOT / "data_samples" / "kafka"
LOG = SAMPLES / "2.8.2" / "coordinator-failover" / "broker-1" / "server.log"
HEAD = b"[2026-11-21 09:07:55,%03d] INFO [GroupCoordinator 1]: Group g-%d with generation 5 is now empty (__consumer_offsets-12) (x)\n"
PARTS = [b"\tat kafka.Kafka.main(Kafka.scala)\n", b"\n", b"\r\n", b"no header\n", b"x" * 300, b"[2026-11-21 09:07:55,1", b"\xc3\xa4\n"]


def rows(source: SourceFile, parts: list[Range]) -> tuple[list[Row], list[Row], list[Row], list[Row]]:
    events: list[Row] = []
    unknown: list[Row] = []
    rejected: list[Row] = []
    reports = []
    for part in parts:
        reader = FileReader(
            source, ReadOptions(max_record_bytes=2000, chunk_bytes=1 << 12), start=part.start or None, line=part.line, stop=part.stop
        )
        for chunk in reader:
            events += chunk.events.drop_columns(["file_time_max_at"]).to_pylist()
            unknown += chunk.unknown.to_pylist()
            rejected += chunk.rejected.to_pylist()
        reports.append(report_row(reader.report, part.start))
    return events, unknown, rejected, merge_reports(reports)


def check(source: SourceFile, share_bytes: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "FOLD_BLOCK_BYTES", 1)
        parts = split(source, share_bytes)
        [*first, rest] = parts
        assert [*first, *split(source, share_bytes, Start(rest.start, rest.line))] == parts
        if first:  # what is read on is cut at the same places
            second = parts[1]
            assert [parts[0], *split(source, share_bytes, Start(second.start, second.line))] == parts

    assert rows(source, parts) == rows(source, [Range(source)])


@pytest.mark.parametrize("share_bytes", [1000, 4321, 40_000, 1 << 30])
@pytest.mark.parametrize("name", ["2.8.2/coordinator-failover/broker-1/server.log", "2.8.2/rolling-restart/clients/main.log"])
def test_ranges_of_samples_give_what_the_whole_gives(name: str, share_bytes: int) -> None:
    (source,) = find(SAMPLES / name).files

    check(source, share_bytes)


@settings(max_examples=examples(30, 80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_ranges_of_made_logs_give_what_the_whole_gives(tmp_path: Path, data: st.DataObject) -> None:
    head = st.builds(lambda a, b: HEAD % (a, b), st.integers(0, 999), st.integers(0, 9))
    made = b"".join(data.draw(st.lists(st.one_of(head, head, st.sampled_from(PARTS)), max_size=30)))
    path = tmp_path / "server.log"
    path.write_bytes(HEAD % (0, 0) + made)
    (source,) = find(path).files

    check(source, data.draw(st.integers(20, 800)))


def made(tmp_path: Path, name: str, content: bytes) -> SourceFile:
    (tmp_path / name).write_bytes(content)
    return find(tmp_path / name).files[0]


def test_files_that_cannot_be_cut_are_read_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "FOLD_BLOCK_BYTES", 1)
    text = LOG.read_bytes()
    hours_only = b"".join(b"[" + line[12:] for line in text.splitlines(keepends=True) if line.startswith(b"["))

    for source in (
        made(tmp_path, "wide.log", text.decode().encode("utf-16")),
        made(tmp_path, "wrapped.log", b"".join(b"kafka-1  | " + line for line in text.splitlines(keepends=True))),
        made(tmp_path, "hours.log", hours_only),
        made(tmp_path, "zeros.log", text[:4000] + b"\x00" * 50 + text[4000:]),
        find(SAMPLES / "2.8.2" / "rolling-restart" / "broker-1" / "server.log.1.gz").files[0],
    ):
        assert split(source, 500) == [Range(source)], source.name
    assert len(split(made(tmp_path, "plain.log", text), 500)) > 100


def test_work_is_shared_out_evenly() -> None:
    sources = find(SAMPLES).files
    shares = share_out([(source, None) for source in sources], 4, 1 << 27)

    assert len(shares) == 4
    assert sorted(part.source.name for share in shares for part in share) == sorted(source.name for source in sources)
    weights = [sum(part.weight for part in share) for share in shares]
    assert max(weights) <= 1.5 * min(weights)


def test_a_report_says_the_same_whole_or_merged() -> None:
    (source,) = find(LOG).files
    whole = read_source(source).report
    (row,) = merge_reports([report_row(whole)])

    assert (row["node"], row["kind"], row["recognised"]) == (whole.node, "server", whole.counts.recognised)
