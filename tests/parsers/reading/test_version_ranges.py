"""The version of a file, told from its wordings."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

from parsers.catalogue.catalogue import catalogue
from parsers.catalogue.wording_versions import wording_versions
from parsers.catalogue.wordings import version_key
from parsers.formats.layouts import layouts
from parsers.reading.file_reports import range_of_file
from parsers.reading.reader import FileReader, ReadOptions, find_files
from parsers.reading.version_ranges import VersionRanges, intersection, of_parts, range_in_words
from tests.conftest import SHARED

CORPORA = SHARED / "corpora"
ONE_OF = ("a_new_group", "h2_kill_restart", "i_coordinator_failover", "m_empty_expire")
OF_ROCKETMQ = ("b_join", "c2_orderly_join_leave", "h_broker_down_restart")
FOLDERS = sorted(
    [
        *(each for name in ONE_OF for each in CORPORA.glob(f"kafka/*/{name}")),
        *(each for name in OF_ROCKETMQ for each in CORPORA.glob(f"rocketmq/*/{name}")),
    ]
)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (("2.8", "3.9"), ("3.0", "4.1"), ("3.0", "3.9")),
        (("1.0", "2.8.0"), ("2.8", "4.0"), ("2.8", "2.8.0")),
        (("2.8.1", "4.0"), ("1.0", "2.8"), ("2.8.1", "2.8")),
        (("1.0", "2.3"), ("2.4", "4.4"), None),
        (("0.9", "0.11"), ("0.10.2", "2.0"), ("0.10.2", "0.11")),
    ],
)
def test_two_wordings_have_in_common_where_both_were_seen(one: tuple[str, str], other: tuple[str, str], both: object) -> None:
    assert intersection(one, other) == intersection(other, one) == both


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (("3.8", "4.1"), "3.8 to 4.1"),
        (("4.1", "4.1"), "4.1"),
        (("4.2", "4.4"), "4.2 or later"),
        (("4.4", "4.4"), "4.4 or later"),
    ],
)
def test_the_newest_version_stands_for_all_that_follow(found: tuple[str, str], words: str) -> None:
    assert range_in_words(found, "4.4") == words


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (["2.8 to 3.9", "3.0 or later"], "3.0 to 3.9"),
        (["3.8 or later", "3.0 or later"], "3.8 or later"),
        (["2.8", "3.0 or later"], "2.8 and 3.0 or later"),
        (["1.0 to 3.1", "2.8 to 3.9", "3.7 or later"], "2.8 to 3.1 and 3.7 or later"),
        (["2.8 to 3.9", "2.8 to 3.9"], "2.8 to 3.9"),
    ],
)
def test_parts_of_a_file_narrow_its_range_however_it_is_divided(parts: list[str], words: str) -> None:
    for divided in itertools.permutations(parts):
        for at in range(len(parts)):
            first = of_parts({"kafka": each} for each in divided[: at + 1])
            whole = of_parts([first, *({"kafka": each} for each in divided[at + 1 :])])
            assert range_of_file("server", whole) == words


@pytest.mark.parametrize("repeated", ['"', ' "', "]", "(", " (a", " "], ids=repr)
def test_an_end_of_any_length_is_searched_once(repeated: str) -> None:
    """A search that began anew at each character would take hours."""
    text = f"[2030-01-16 23:28:50,746] INFO [Controller 0] {KRAFT}{repeated * 1_000_000}x"
    *_, whole = VersionRanges(layouts()[0])._messages_in(text)
    assert whole == " ".join(text.split())


def test_a_part_without_a_range_leaves_the_others() -> None:
    assert of_parts([{}, {"sarama": "1.40"}]) == {"sarama": "1.40"}


KRAFT = "Fencing broker 1 because its session has timed out. (org.apache.kafka.controller.ReplicationControlManager)"
STABILIZED = "Stabilized group orders generation 3 (__consumer_offsets-32) (kafka.coordinator.group.GroupCoordinator)"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"[2030-01-16 23:28:50,746] INFO [Controller 0] {KRAFT}\n", "3.0 to 3.9"),
        (f"[2030-01-16 23:28:50,746] INFO [GroupCoordinator 5]: \n\t{STABILIZED}\n" * 2, "0.11 to 2.7"),
        (json.dumps({"logs": [f"[2030-01-16 23:28:50,746] INFO [GroupCoordinator 5]: {STABILIZED}"] * 2}, indent=4), "0.11 to 2.7"),
    ],
    ids=["prefix read as a field", "message on the next line", "quoted in a document"],
)
def test_a_wording_is_found_wherever_its_message_stands(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "server.log").write_text(text)
    assert {of_file for _, of_file in ranges_below(tmp_path).values()} == {words}


def test_a_server_is_not_told_by_its_clients() -> None:
    told = {"kafka client": "3.3 or later", "kafka": "2.8 to 3.9"}
    assert (range_of_file("server", told), range_of_file("client", told)) == ("2.8 to 3.9", "3.3 or later")
    assert range_of_file("request", {"kafka client": "3.3"}) is None


GROUP = "[GroupCoordinator id=1 topic=__consumer_offsets partition=3] [GroupId orders] "


@pytest.mark.parametrize(
    ("message", "text", "seen"),
    [
        ("kafka.modern.epoch_bumped", f"{GROUP}Bumped group epoch to 3.", ("3.7", "4.0")),
        ("kafka.modern.epoch_bumped", f"{GROUP}Bumped group epoch to 3 with metadata hash 7.", ("4.1", "4.4")),
        ("kafka.modern.epoch_bumped", f"# 2030-01-25 worker-3: {GROUP}Bumped group epoch to 3.", ("3.7", "4.0")),
        ("kafka.request.heartbeat_completed", 'Completed request:{"isForwarded":false,"requestHeader":{}}', ("2.7", "4.4")),
        ("kafka.request.heartbeat_completed", "Completed request:RequestHeader(apiKey=HEARTBEAT, apiVersion=1)", ("1.0", "2.6")),
        ("kafka.request.share_group_heartbeat_completed", 'Completed request:{"isForwarded":false}', ("4.0", "4.4")),
        ("kafka.modern.epoch_bumped", "no line of the catalogue", None),
        ("no such message", f"{GROUP}Bumped group epoch to 3.", None),
    ],
)
def test_a_line_tells_its_own_wording(message: str, text: str, seen: tuple[str, str] | None) -> None:
    assert wording_versions(catalogue()).seen_in(message, text) == seen


def ranges_below(folder: Path) -> dict[str, tuple[str, str | None]]:
    found = {}
    for source in find_files([str(folder)]).files:
        reader = FileReader(source, ReadOptions())
        for _ in reader:
            pass
        if reader.report.witnesses:
            found[source.name] = (reader.report.kind, range_of_file(reader.report.kind, reader.report.version_ranges))
    return found


@pytest.mark.skipif(not FOLDERS, reason="the labelled corpora are not beside the checkout")
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_the_version_of_a_corpus_is_within_the_range_of_each_file(folder: Path) -> None:
    version = version_key(folder.parent.name.partition("-")[0])
    for name, (kind, words) in ranges_below(folder).items():
        assert words is not None, (name, kind)
        low, *high = re.findall(r"\d[\d.]*", words)
        assert version_key(low) <= version, (name, words)
        assert "later" in words or version <= (*version_key(high[0] if high else low), 999), (name, words)
