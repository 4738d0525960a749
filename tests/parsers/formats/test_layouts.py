"""Layouts and envelopes are data, and each brings lines that show what is read from it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from parsers.formats.envelopes import regex_wrappers
from parsers.formats.layout_votes import vote
from parsers.formats.layouts import Header, compile_layout, json_layout, layouts
from parsers.formats.timestamps import read_iso
from tests.conftest import ROOT

FOLDER = ROOT / "parsers" / "formats" / "data"
LAYOUT_SAMPLES = [(layout, sample) for layout in layouts() for sample in layout.samples]
ENVELOPE_SAMPLES = [(wrapper, sample) for wrapper in regex_wrappers() for sample in wrapper.samples]


def read_at(header: Header) -> datetime | None:
    """The time as the stamp says it, as UTC where it says a zone."""
    if header.stamp is None or header.date is None:
        return None
    local, offset = header.date.read(header.stamp)
    assert local is not None
    return datetime.fromtimestamp((local - (offset or 0)) / 1e6, UTC).replace(tzinfo=None if offset is None else UTC)


def expected_at(sample: dict[str, Any]) -> datetime | None:
    return datetime.fromisoformat(sample["at"]) if "at" in sample else None


@pytest.mark.parametrize(("layout", "sample"), LAYOUT_SAMPLES, ids=lambda each: getattr(each, "name", ""))
def test_a_layout_reads_its_samples(layout: Any, sample: dict[str, Any]) -> None:
    header = layout.read(sample["line"])

    assert header is not None
    assert header.is_whole
    assert (header.level, header.logger, header.thread, header.message) == (
        sample["level"],
        sample.get("logger"),
        sample.get("thread"),
        sample["message"],
    )
    assert read_at(header) == expected_at(sample)


@pytest.mark.parametrize(("layout", "sample"), LAYOUT_SAMPLES, ids=lambda each: getattr(each, "name", ""))
def test_no_other_layout_takes_a_sample(layout: Any, sample: dict[str, Any]) -> None:
    found = vote([sample["line"]]).layout

    assert found is not None
    assert found.name == layout.name


@pytest.mark.parametrize("sample", json_layout().samples, ids=lambda sample: sample["name"])
def test_json_records_are_read(sample: dict[str, Any]) -> None:
    header = json_layout().read(sample["line"])

    assert header is not None
    assert (header.level, header.logger, header.thread, header.message) == tuple(
        sample.get(name) for name in ("level", "logger", "thread", "message")
    )
    assert read_at(header) == expected_at(sample)


@pytest.mark.parametrize(("wrapper", "sample"), ENVELOPE_SAMPLES, ids=lambda each: getattr(each, "name", ""))
def test_envelopes_give_their_lines(wrapper: Any, sample: dict[str, Any]) -> None:
    peeled = wrapper.peel(sample["line"].encode())

    assert peeled is not None
    assert peeled.line.decode() == sample["inner"]
    assert (peeled.stamp or b"").decode() == sample.get("stamp", "")
    assert peeled.is_partial == sample.get("partial", False)
    assert not sample.get("stamp") or read_iso(sample["stamp"]).local_us is not None


def test_every_layout_and_envelope_has_a_sample() -> None:
    silent = [
        f"{path.name}: {each['name']}"
        for path in sorted(FOLDER.glob("*.yaml"))
        for part in ("layouts", "envelopes")
        for each in yaml.safe_load(path.read_text()).get(part, ())
        if not each["samples"]
    ]

    assert silent == []


def test_names_are_unique() -> None:
    names = [layout.name for layout in layouts()]

    assert sorted(set(names)) == sorted(names)


def test_a_new_layout_is_a_line_of_data() -> None:
    layout = compile_layout("mine", "%d{dd.MM.yyyy HH:mm:ss.SSS} <%t> %p %c{1} | %m")
    header = layout.read("21.11.2026 09:07:55.040 <main> WARN ConsumerCoordinator | [Consumer clientId=a, groupId=b] lost | it")

    assert header is not None
    assert (header.level, header.logger, header.thread, header.message) == (
        "WARN",
        "ConsumerCoordinator",
        "main",
        "[Consumer clientId=a, groupId=b] lost | it",
    )
    assert read_at(header) == datetime(2026, 11, 21, 9, 7, 55, 40_000)


def test_a_pattern_without_a_message_is_refused() -> None:
    with pytest.raises(ValueError, match="no %m"):
        compile_layout("mine", "%d %p %c")


@pytest.mark.parametrize("start", range(0, len(LAYOUT_SAMPLES), 12))
def test_the_layout_is_the_same_whichever_was_best_before(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also among lines of several layouts, which may be equally good."""
    few = [sample["line"] for _, sample in LAYOUT_SAMPLES[start : start + 12]]
    for lines in ([few[0]], few[:2], few[1:3] * 2, few):
        votes = set()
        for before in range(0, len(layouts()) + 2, 5):
            monkeypatch.setattr("parsers.formats.layout_votes._last_best", [before])
            best = vote(lines)
            votes.add((best.layout and best.layout.name, best.headers, best.score))

        assert len(votes) == 1
