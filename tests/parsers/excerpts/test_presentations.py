"""The same four records as people show them: marks, tails, pages, tables, boxes, mails, quotes, dates."""

from __future__ import annotations

import html
import json
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.parsers.excerpts.pieces import ENDINGS
from tests.parsers.reading.source_files import read_bytes

GROUP = "ledger-sync"
COORDINATOR = "kafka.coordinator.group.GroupCoordinator"
CONSUMER = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
MEMBER = "app-1-6d2f0b2e-8f0e-4f5b-9c0f-3a1c1d1c2a11"
BROKER = (
    f"[GroupCoordinator 3]: Preparing to rebalance group {GROUP} in state PreparingRebalance with old generation 11 "
    "(__consumer_offsets-7) (reason: Adding new member app-1f0e-77 with group instance id None)",
    f"[GroupCoordinator 3]: Member app-9a-12 in group {GROUP} has failed, removing it from the group",
    f"[GroupCoordinator 3]: Stabilized group {GROUP} generation 12 (__consumer_offsets-7) with 3 members",
    f"[GroupCoordinator 3]: Assignment received from leader app-1f0e-77 for group {GROUP} for generation 12. "
    "The group has 3 members, 0 of which are static.",
)
CLIENT = (
    f"[Consumer clientId=app-1, groupId={GROUP}] (Re-)joining group",
    f"[Consumer clientId=app-1, groupId={GROUP}] Successfully joined group with generation "
    f"Generation{{generationId=12, memberId='{MEMBER}', protocol='range'}}",
    f"[Consumer clientId=app-1, groupId={GROUP}] Attempt to heartbeat failed since group is rebalancing",
    f"[Consumer clientId=app-1, groupId={GROUP}] Member {MEMBER} sending LeaveGroup request to coordinator "
    "kafka-1:9092 (id: 2147483646 rack: null) due to the consumer is being closed",
)
TIMES = tuple(f"2026-11-21 09:07:5{n},04{n}" for n in range(4))
EACH = range(4)
Records = Sequence[tuple[str, str, str]]
"""Times, messages and whole lines."""
WITNESSES: dict[str, tuple[str, Records]] = {
    "broker": (COORDINATOR, [(at, said, f"[{at}] INFO {said} ({COORDINATOR})") for at, said in zip(TIMES, BROKER, strict=True)]),
    "client": (
        CONSUMER,
        [
            (at, said, f"{at.replace(',', '.')}  INFO 1 --- [ntainer#0-0-C-1] o.a.k.c.c.internals.ConsumerCoordinator : {said}")
            for at, said in zip(TIMES, CLIENT, strict=True)
        ],
    ),
}
MESSAGES = {
    "broker": ["rebalance_started", "member_failed", "generation_started", "assignment_received"],
    "client": ["joining", "joined", "heartbeat_rebalancing", "leave_sent"],
}
BEHIND = (*ENDINGS, "  ", " [thread-1]", "</td></tr>", "'", '",', "`", "**", "_", " #1", " (edited)")
BEFORE = (
    *("# ", "// ", "-- ", "; ", "REM ", "| ", "│ ", "** ", "$ ", '"', "'", "<p>", "a) ", "host1 ", "09:07:55.040 ", "\u00a0", "\u200b"),
    *("\ufeff", " * ", ">> ", "+ ", "- ", "1. ", "name: ", "name | ", "[x] ", "[ERROR] >>> ", "kafka_1  | ", "2/ ", "• ", "→ ", "=> "),
    *("&gt; ", "@ops ", "[ops 10:03 AM] ", "  10:03 ", "<td>", "!", "%% ", "\\item ", "--> ", "/* ", "L12: ", "12:34 kafka> ", "[1/4] "),
)
MILLIS = 1795252075040


def _cut(text: str, width: int) -> list[str]:
    return [text[at : at + width] for at in range(0, len(text), width)]


def _wrapped(line: str, width: int, indent: str = "") -> str:
    return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _mailed(line: str) -> str:
    return "=\n".join(_cut(line.replace("=", "=3D"), 75))


Shown = Callable[[str, Records], str | bytes]
PAGES: dict[str, Shown] = {
    "page": lambda _, told: "<html><body><pre>" + "\n".join(html.escape(line) for *_, line in told) + "</pre></body></html>\n",
    "page without line breaks": lambda _, told: "<html><body>" + "".join(f"<p>{html.escape(line)}</p>" for *_, line in told) + "</body>",
    "page of divisions": lambda _, told: "".join(f'<div class="line"><span>x</span>{html.escape(line)}</div>' for *_, line in told),
    "table of a page": lambda _, told: (
        "<table>\n" + "\n".join(f"<tr><td>{at}</td><td>INFO</td><td>{html.escape(said)}</td></tr>" for at, said, _ in told)
    ),
    "a tracker's block": lambda _, told: "{noformat}" + "\n".join(line for *_, line in told) + "{noformat}\n",
    "log4j's XML": lambda logger, told: "\n".join(
        f'<log4j:event logger="{logger}" timestamp="{MILLIS + n}" level="INFO" thread="t">\n'
        f"<log4j:message><![CDATA[{told[n][1]}]]></log4j:message>\n</log4j:event>\n"
        for n in EACH
    ),
    "log4j's XML, an event a line": lambda logger, told: "".join(
        f'<log4j:event logger="{logger}" timestamp="{MILLIS + n}" level="INFO"><log4j:message><![CDATA[{told[n][1]}]]></log4j:message>'
        "</log4j:event>\n"
        for n in EACH
    ),
    "log4j2's XML": lambda logger, told: (
        "<Events>\n"
        + "\n".join(
            f'<Event timeMillis="{MILLIS + n}" thread="t" level="INFO" loggerName="{logger}">\n'
            f"  <Message>{html.escape(told[n][1])}</Message>\n</Event>"
            for n in EACH
        )
        + "\n</Events>\n"
    ),
    "java.util.logging's XML": lambda logger, told: (
        "<log>\n"
        + "\n".join(
            f"<record>\n  <date>2026-11-21T09:07:5{n}.040Z</date>\n  <millis>{MILLIS + n}</millis>\n  <level>INFO</level>\n"
            f"  <logger>{logger}</logger>\n  <message>{html.escape(told[n][1])}</message>\n</record>"
            for n in EACH
        )
        + "\n</log>\n"
    ),
    "Markdown's table": lambda _, told: (
        "| time | level | message |\n|---|---|---|\n" + "\n".join(f"| {at} | INFO | {said} |" for at, said, _ in told)
    ),
    "a table": lambda _, told: "+---+\n" + "\n".join(f"| {line.ljust(330)} |" for *_, line in told) + "\n+---+",
    "a box of a terminal": lambda _, told: (
        f"┌{'─' * 100}┐\n" + "\n".join(f"│{part.ljust(100)}│" for *_, line in told for part in _cut(line, 100)) + f"\n└{'─' * 100}┘"
    ),
    "wrapped at words": lambda _, told: "\n".join(_wrapped(line, 72) for *_, line in told),
    "wrapped with an indent": lambda _, told: "\n".join(_wrapped(line, 100, "    ") for *_, line in told),
    "cut at a width": lambda _, told: "\n".join(part for *_, line in told for part in _cut(line, 80)),
    "cut and quoted": lambda _, told: "\n".join(f"> {part}" for *_, line in told for part in _cut(line, 118)),
    "a quoted mail": lambda _, told: (
        "On Monday they wrote:\n" + "\n".join(f">> {part}" for *_, line in told for part in _wrapped(line, 70).split("\n"))
    ),
    "quoted-printable": lambda _, told: "\n".join(_mailed(line) for *_, line in told),
    "a list of strings": lambda _, told: repr([line for *_, line in told]),
    "a string": lambda _, told: json.dumps("\n".join(line for *_, line in told)),
    "bytes": lambda _, told: repr("\n".join(line for *_, line in told).encode()),
    "a string in a document in a string": lambda _, told: json.dumps({"body": json.dumps({"logs": "\n".join(line for *_, line in told)})}),
    "a result of a playbook": lambda _, told: (
        "broker-1 | SUCCESS => "
        + json.dumps({"changed": True, "stdout": "\n".join(line for *_, line in told), "lines": [line for *_, line in told]}, indent=4)
    ),
    "SQL": lambda _, told: "\n".join(
        "INSERT INTO logs VALUES (7, '{}', '{}');".format(at, said.replace("'", "''")) for at, said, _ in told
    ),
    "carriage returns": lambda _, told: "\r".join(line for *_, line in told),
    "one line": lambda _, told: "".join(line for *_, line in told),
    "caret colours": lambda _, told: "\n".join(f"^[[32m{line}^[[0m" for *_, line in told),
    "tail of two files": lambda _, told: (
        "==> /var/log/a.log <==\n"
        + "\n".join(line for *_, line in told[:2])
        + "\n\n==> /var/log/b.log <==\n"
        + told[2][2]
        + "\n"
        + told[3][2]
    ),
    "keys and values, one a line": lambda logger, told: "\n\n".join(
        f"time: {at}\nlevel: INFO\nlogger: {logger}\nmessage: {said}" for at, said, _ in told
    ),
    "a struct": lambda _, told: "\n".join(f"{{Time:{at} Level:info Msg:{said}}}" for at, said, _ in told),
    "a hash": lambda _, told: "\n".join(f'{{:time=>"{at}", :level=>"info", :message=>"{said}"}}' for at, said, _ in told),
    **{f"{text!r} behind": lambda _, told, text=text: "\n".join(line + text for *_, line in told) + "\n" for text in BEHIND},  # type: ignore[misc]
    **{f"{text!r} before": lambda _, told, text=text: "\n".join(text + line for *_, line in told) + "\n" for text in BEFORE},  # type: ignore[misc]
}
DATES = {
    "seconds since 1970": "179525207{n}",
    "parts of seconds since 1970": "179525207{n}.040",
    "compact": "20261121T09075{n}.040Z",
    "more compact": "2026112109075{n}",
    "Japanese": "2026年11月21日 09時07分5{n}秒",
    "Chinese": "2026/11/21 上午 9:07:5{n}",
    "American": "11/21/2026 09:07:5{n} AM",
    "German": "21.11.2026 09:07:5{n},123",
    "Apache's": "21/Nov/2026:09:07:5{n} +0000",
}


@pytest.mark.parametrize("witness", WITNESSES)
@pytest.mark.parametrize("page", PAGES)
def test_all_records_are_read_once_with_times_and_groups(tmp_path: Path, page: str, witness: str) -> None:
    shown = PAGES[page](*WITNESSES[witness])
    events = read_bytes(tmp_path, shown if isinstance(shown, bytes) else shown.encode()).rows()
    assert [each["message"].rpartition(".")[2] for each in events] == MESSAGES[witness]
    assert {each["group"] for each in events} == {GROUP}
    assert all(each["at"] is not None for each in events)


@pytest.mark.parametrize("witness", WITNESSES)
@pytest.mark.parametrize("date", DATES)
def test_times_are_read_in_many_forms(tmp_path: Path, date: str, witness: str) -> None:
    lines = [f"{DATES[date].format(n=n)} INFO {WITNESSES[witness][1][n][1]}" for n in EACH]
    events = read_bytes(tmp_path, "\n".join(lines).encode()).rows()
    assert [f"{each['at']:%Y-%m-%d %H:%M:%S}" for each in events] == [f"2026-11-21 09:07:5{n}" for n in EACH]
