"""What is said where a few lines tell of no rebalance: calm only where a broker's log could have shown one."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboards.answer.build import build_answer
from dashboards.wording.summary import summary_lines
from dashboards.wording.units import Clock
from pipelines.analysis.in_process import analyze

CLIENT = "[Consumer clientId=consumer-mills-8, groupId=mills]"
VERSION = "Kafka version: 2.6.0 (org.apache.kafka.common.utils.AppInfoParser)"
CLUSTER = f"{CLIENT} Cluster ID: EVoHjOG8SwG7x5F-8y2cYA (org.apache.kafka.clients.Metadata)"
STARTED = "[KafkaServer id=1] started (kafka.server.KafkaServer)"


@pytest.mark.parametrize(
    ("lines", "is_calm"),
    [([VERSION], False), ([CLUSTER], False), ([VERSION, CLUSTER], False), ([VERSION, STARTED], True)],
    ids=["version", "a client's cluster", "both", "a broker"],
)
def test_what_any_process_says_shows_no_calm(lines: list[str], is_calm: bool, tmp_path: Path) -> None:
    text = "".join(f"[2029-04-02 10:15:{second:02d},120] INFO {line}\n" for second, line in enumerate(lines))
    (tmp_path / "paste.log").write_text(text, encoding="utf-8")
    sentences = " ".join(summary_lines(build_answer(analyze([str(tmp_path)])), Clock("UTC"), ()))
    assert ("No rebalance and no outage is in these logs." in sentences, "is not known" in sentences) == (is_calm, not is_calm)


LATE = "Local: Maximum application poll interval (max.poll.interval.ms) exceeded (max_poll_exceeded)"


@pytest.mark.parametrize("words", ["Data polling error occurred: ", "librdkafka internal error occurred: "])
def test_a_late_poll_that_karafka_tells_is_said(words: str, tmp_path: Path) -> None:
    (tmp_path / "karafka.log").write_text(f"E, [2023-10-02T11:02:15.001010 #17] ERROR -- : {words}{LATE}\n", encoding="utf-8")
    (incident,) = analyze([str(tmp_path)]).incidents
    assert "exceeded max.poll.interval.ms and left its group" in incident.headline
