"""A part of the corpora's digests on each change; `make digests` compares all of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.corpus import digests

PART = ["kafka/1.1.1-zk/_boot_s2", "kafka/3.9.1-zk/a_new_group", "rocketmq/4.9.7/b_join"]


@pytest.fixture(scope="module")
def corpora(shared: Path) -> Path:
    folder = shared / "corpora"
    if not folder.is_dir():
        pytest.skip("no labelled corpora in ../shared")
    return folder


@pytest.mark.corpus
@pytest.mark.parametrize("scenario", PART)
def test_a_scenario_has_the_rows_of_before(corpora: Path, scenario: str) -> None:
    now = {scenario: digests.digests_of(corpora, scenario)}

    assert list(digests.differences({scenario: digests.stored()[scenario]}, now)) == []


@pytest.mark.corpus
def test_every_scenario_is_written_down(corpora: Path) -> None:
    assert digests.scenarios(corpora) == sorted(digests.stored())


def test_a_digest_is_the_same_in_another_place(samples: Path, tmp_path: Path) -> None:
    sample = samples / "kafka" / "1.1.1"
    shutil.copytree(sample / "poll-timeout", tmp_path / "elsewhere" / "poll-timeout")

    found = digests.digests_of(sample, "poll-timeout")
    assert found["rebalances"]
    assert digests.digests_of(tmp_path / "elsewhere", "poll-timeout") == found


BEFORE = {"a": {"rebalances": "2 aa"}}
CHANGES = {
    "other rows": ({"a": {"rebalances": "2 bb"}}, "a: rebalances: golden 2 aa, found 2 bb"),
    "no rows": ({"a": {}}, "a: rebalances: golden 2 aa, found 0 -"),
    "no scenario": ({}, "a: is not among the corpora any more"),
    "new scenario": ({**BEFORE, "b": {}}, "b: is not written down yet; --rewrite does so"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_difference_names_scenario_and_table(change: str) -> None:
    now, told = CHANGES[change]

    assert list(digests.differences(BEFORE, now)) == [told]
