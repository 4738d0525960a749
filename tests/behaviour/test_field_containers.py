"""Small stories of Spring's containers that stop, as their application's log tells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.analysis.in_process import AnalysisResult, analyze

CONTAINER = "[ntainer#0-0-C-1] o.s.k.l.KafkaMessageListenerContainer    :"
AT = "2029-04-02 10:20:13."
ERRORS = "org.apache.kafka.common.errors"
ASSIGNED = f"2029-04-02 10:15:01.130  INFO 1 --- {CONTAINER} mill: partitions assigned: [bolts-0, bolts-1]\n"
FATAL = f"{AT}421 ERROR 1 --- {CONTAINER} Fatal consumer exception; stopping container\n"
DENIED = f"{AT}420 ERROR 1 --- {CONTAINER} Authentication/Authorization Exception and no authExceptionRetryInterval set\n\n{ERRORS}."
FENCED = f"{AT}420 ERROR 1 --- {CONTAINER} 'group.instance.id' has been fenced\n\n{ERRORS}.FencedInstanceIdException: The broker rejected "
FENCED += "this static consumer since another consumer with the same group.instance.id has registered with a different member.id.\n"
NO_MEMORY = f"{AT}420 ERROR 1 --- {CONTAINER} Stopping container due to an Error\n\njava.lang.OutOfMemoryError: Java heap space\n"


def told(folder: Path, text: str) -> AnalysisResult:
    path = folder / "app.log"
    path.write_text(text, encoding="utf-8")
    return analyze([str(path)])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"{DENIED}GroupAuthorizationException: Not authorized to access group: mill\n{FATAL}", "not_authorized"),
        (f"{ASSIGNED}{DENIED}TopicAuthorizationException: Not authorized to access topics: [bolts]\n{FATAL}", "not_authorized"),
        (f"{ASSIGNED}{FENCED}{FATAL}", "static_member_fenced"),
        (f"{ASSIGNED}{NO_MEMORY}", "client_failed"),
        (f"{ASSIGNED}{FATAL}", "client_failed"),
    ],
    ids=["group denied", "topic denied", "fenced", "error", "unknown"],
)
def test_why_a_container_stops_is_told_once(tmp_path: Path, text: str, kind: str) -> None:
    analysis = told(tmp_path, text)
    (incident,) = (each for each in analysis.incidents if each.rebalance_count == 0)
    assert (incident.kind, incident.severity, incident.groups) == (kind, "warning", ["mill"])
    assert "times" not in incident.headline
    assert len(incident.evidence) == text.count(" ERROR ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{DENIED}TopicAuthorizationException: Not authorized to access topics: [bolts]\n", "may not read as its group, or its topics;"),
        (NO_MEMORY, "met an error that stops it;"),
    ],
)
def test_why_a_container_of_no_named_group_stops_is_told(tmp_path: Path, text: str, words: str) -> None:
    (incident,) = told(tmp_path, text).incidents
    assert words in incident.headline


def test_a_message_with_a_blank_behind_it_is_recognised(tmp_path: Path) -> None:
    thread = "stream-thread [mill-4f1c2a80-0d2e-4c11-9b1e-2f6a1a7c9d10-StreamThread-1]"
    failed = "Encountered the following exception during processing and the thread is going to shut down:"
    line = f"[2029-04-02 10:20:13,420] ERROR {thread} {failed}  (org.apache.kafka.streams.processor.internals.StreamThread)\n"
    analysis = told(tmp_path, f"{line}java.lang.IllegalStateException: no such tariff\n\tat mill.Tariffs.find(Tariffs.java:12)\n")
    assert [each.kind for each in analysis.incidents] == ["client_failed"]
