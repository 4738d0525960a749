"""What clients in Go, C++, C#, Python, Rust and TypeScript log is found in their sources and compared with the catalogue."""

from __future__ import annotations

from pathlib import Path

import pytest

from parsers.catalogue.catalogue import catalogue
from parsers.formats.detection import FileFormat
from parsers.formats.time_zones import ZoneConverter
from parsers.reading.forms import choose_form
from parsers.records.chunks import parse_chunk
from parsers.records.context import ChunkContext
from tests.jars import Logged
from tests.language_texts import LANGUAGES, texts_of_language, texts_of_languages
from tests.wording import Wordings, compare, page


@pytest.mark.parametrize(
    ("suffix", "source", "texts"),
    [
        (".go", 'cli.log.Infof("took %d of %s, 100%%", n, name)', [("INFO", "took {} of {}, 100%")]),
        (".go", 'sugarBaseLogger.Warn("left ", name, " early")', [("WARN", "left")]),
        (
            ".go",
            'rlog.Warning("lock failed", map[string]interface{}{\n  rlog.LogKeyGroup: g,\n  "count": len(qs),\n})',
            [("WARN", "lock failed; consumerGroup: {}, count: {}")],
        ),
        (".cpp", 'SPDLOG_WARN("lost {} after "\n  "{:.2f}ms", host, ms);', [("WARN", "lost {} after {}ms")]),
        (".cpp", 'LOG_INFO("drop mq:%s", mq.toString().c_str());', [("INFO", "drop mq:{}[{}:{}]")]),
        (".cs", 'Logger.LogError(e, $"no heartbeat, {Name(client, "x")}" + $" at {at:O}");', [("ERROR", "no heartbeat, {} at {}")]),
        (".py", "logger.error(\n  f\"{self} send to {endpoints['a']} failed: \"\n  f'{e}')", [("ERROR", "{} send to {} failed: {}")]),
        (".py", 'logger.warn("left %s" % name)', [("WARN", "left {}")]),
        (".rs", 'error!(self.logger, "failed: {:?}", e)', [("ERROR", "failed: {}")]),
        (".ts", "this.logger.info('took %s, mq=' +\n  `${mq.name}`, ms);", [("INFO", "took {}, mq={}")]),
        (".ts", "this.logger.info(message);", []),
        (".py", 'raise ValueError("no log line")', []),
    ],
)
def test_texts_are_put_together(suffix: str, source: str, texts: list[tuple[str, str]]) -> None:
    found = texts_of_language(source, f"a{suffix}", LANGUAGES[suffix], {"LogKeyGroup": "consumerGroup"})
    assert [(each.level, each.text) for each in found] == texts


def test_a_folder_of_sources_is_compared_by_its_files(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "a_test.go").write_text('log.Infof("consumerGroup=%s", group)')
    (tmp_path / "consumer.go").write_text(
        'const (\n  LogKeyGroup = "consumerGroup"\n)\n'
        'rlog.Info("[BALANCE-SKIP] since consumer paused", map[string]interface{}{ rlog.LogKeyGroup: g })\n'
        'rlog.Info("push consumer close pullMessage.", map[string]interface{}{ rlog.LogKeyGroup: g })\n'
        'rlog.Info("balance of a version to come", map[string]interface{}{ rlog.LogKeyGroup: g })\n'
        'rlog.Info("a line of no groups")\n'
    )
    found = compare(texts_of_languages(tmp_path), Wordings(catalogue()), every=False, parts=())
    known, ignored, missing = found["consumer.go"]
    assert (known, ignored, [each.text for each in missing]) == (1, 1, ["balance of a version to come; consumerGroup: {}"])
    told = page({"sources": found})
    assert told.startswith("# Wordings of the newest RocketMQ's clients in other languages\n")
    assert "| consumer.go | 1 | 1 | 1 |" in told


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("{} send heartbeat to {} error, response is none.", True),
        ("{} send heartbeat to {} in a way to come", False),
        ("Failed to read from telemetry stream from {}", True),
    ],
)
def test_texts_of_languages_are_known_if_their_lines_are_read(text: str, known: bool) -> None:
    assert Wordings(catalogue()).knows(Logged("a.py", "INFO", text)) is known


@pytest.mark.parametrize(
    ("form", "layout"),
    [
        ("2026-11-21T09:07:5{}.040+0800\tWARN\tgolang/push_consumer.go:450\t{}", "zap_console"),
        ("2026-11-21 09:07:5{}.0401 WARN  [7311] [12] [Org.Apache.Rocketmq.PushConsumer.ScanAssignments:334] {}", "nlog_callsite"),
        ("2026-11-21 09:07:5{}.040 [--W--] [   7311] {} [source/rocketmq/PushConsumerImpl.cpp:98]", "spdlog_rocketmq"),
        ("[2026-Nov-21 09:07:5{}.040123](warning):{}[main:190]", "boost_log"),
    ],
)
def test_layouts_of_clients_are_heard_by_words_of_groups(form: str, layout: str) -> None:
    lines = (
        "Assignments of topic=orders have changed in a way to come",
        "Failed to select an addressable message queue for topic[orders]",
        "a line of a version to come that is none of groups",
    )
    data = "".join(form.format(number, line) + "\n" for number, line in enumerate(lines)).encode()
    told = choose_form(data, is_complete=True)
    assert isinstance(told, FileFormat)
    assert told.layout_name == layout
    parsed = parse_chunk(data, ChunkContext("f", "f", told, ZoneConverter("UTC"), is_final=True))
    assert (parsed.events.num_rows, parsed.unknown.num_rows) == (0, 1)
