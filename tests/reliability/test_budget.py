"""A short, fixed part of `python -m tests.reliability`."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from pathlib import Path

import pytest

import groupscope
from tests.conftest import ROOT
from tests.reliability import many_groups, supply_chain
from tests.reliability.flipped_bits import compare
from tests.reliability.growing_log import KEPT, GrowingLog
from tests.reliability.mutants import Mutant, mutants, survives
from tests.reliability.reached_lines import unchanged
from tests.reliability.soak import Soak, means_of_blocks, trend


def test_flipped_bits_lose_no_file_and_leave_no_verdict_unmarked(samples: Path) -> None:
    dice, tally = random.Random(4), Counter[str]()  # noqa: S311 - repeatable
    for _ in range(6):
        compare([samples / "kafka" / "3.9.1" / "frozen-process" / "broker-1" / "server.log"], dice, tally)
    assert tally["files truncated"] + tally["files rejected"] == tally["files"] == 6
    assert tally["marked"] > 0
    assert tally["unmarked"] == 0


def test_a_growing_log_is_one_that_groupscope_reads(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, 400_000, rebalances_per_second=1.0)
    for second in range(120):
        log.step(1_795_250_000.0 + second, 1.0)
    assert log.rotations == 2
    assert {path.name for path in tmp_path.iterdir()} == {"server.log", "server.log.1", "server.log.2.gz"}
    assert len(groupscope.analyze([str(tmp_path)]).rebalances) == log.rebalances


def test_rotation_keeps_so_many_files(tmp_path: Path) -> None:
    log = GrowingLog(tmp_path, 1_000)
    for turn in range(KEPT + 3):
        log.step(1_795_250_000.0 + turn, 1.0)
        log.rotate()
    assert {path.name for path in tmp_path.iterdir()} == {"server.log.1", *(f"server.log.{number}.gz" for number in range(2, KEPT + 1))}
    assert gzip.decompress((tmp_path / "server.log.2.gz").read_bytes()).startswith(b"[2026")


def test_a_trend_is_told_with_its_error() -> None:
    slope, error = trend([(second, 100.0 + 2.0 * second + (second % 2)) for second in range(100)])
    assert slope == pytest.approx(2.0, abs=0.01)
    assert 0 < error < 0.01
    found = Soak(
        [(float(second), {"driver": 200.0, "java": 300.0}) for second in range(10)],
        [(10.0, 2.0, 0), (40.0, 3.0, 0), (75.0, 4.0, 70)],
        1_000_000,
        1,
    )
    assert found.delays() == [32.0, 38.0]
    assert "1 failed" in found.told()


def test_a_trend_is_that_of_minutes_because_memory_rises_and_falls_with_each_run() -> None:
    """A saw of 30 s around 300 MiB has no trend, and no error that its many samples would make look small."""
    saw = [(float(second), 300.0 + second % 30) for second in range(0, 1200, 5)]
    assert len(means_of_blocks(saw)) == 20
    slope, error = trend(means_of_blocks(saw))
    assert abs(slope) < 2 * error + 1e-9
    rising = [(at, value + at / 60) for at, value in saw]
    slope, error = trend(means_of_blocks(rising))
    assert slope == pytest.approx(1 / 60, rel=0.05)
    told = Soak([(at, {"driver": value}) for at, value in rising], [], 1).told()
    assert "memory by quarter of the time: 315, 320, 325, 330 MiB" in told
    assert "slope +60 ±" in told
    assert "least by quarter 300, 305, 310, 315" in told


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        (
            "def f(a: int = 3) -> bool:\n    return a < 2 and not a",
            {"a < 2", "a < 2 and (not a)", "2", "not a", "return a < 2 and (not a)"},
        ),
        ("LIMIT = 3\ndef f() -> None:\n    g(1)\n", {"g(1)", "1"}),
    ],
)
def test_mutants_change_what_functions_do(tmp_path: Path, source: str, changes: set[str]) -> None:
    path = tmp_path / "module.py"
    path.write_text(source, encoding="utf-8")
    found = list(mutants(path))
    assert {mutant.change.partition(" -> ")[0] for mutant in found} == changes
    assert len({mutant.source for mutant in found}) == len(found)
    for mutant in found:
        compile(mutant.source, "module.py", "exec")


def test_a_test_kills_a_mutant_and_spares_the_module(tmp_path: Path) -> None:
    test = tmp_path / "test_units.py"
    test.write_text("from models.units import SURE\n\ndef test_sure() -> None:\n    assert SURE < 1\n", encoding="utf-8")
    path = ROOT / "models" / "units.py"
    changed = path.read_text(encoding="utf-8").replace("SURE = ", "SURE = 2 + ")
    assert survives(None, [str(test)])
    assert not survives(Mutant(path, 1, "SURE + 2", changed), [str(test)])


def test_a_mutant_that_never_ends_is_told_from_one_that_fails(tmp_path: Path) -> None:
    test = tmp_path / "test_units.py"
    test.write_text("from models.units import SURE\n\ndef test_sure() -> None:\n    assert SURE < 1\n", encoding="utf-8")
    path = ROOT / "models" / "units.py"
    endless = path.read_text(encoding="utf-8") + "\nwhile True:\n    pass\n"
    with pytest.raises(TimeoutError):
        survives(Mutant(path, 1, "endless", endless), [str(test)], seconds_max=5)


def test_a_mutant_is_tested_by_the_tests_that_reach_it(tmp_path: Path) -> None:
    path, test = ROOT / "models" / "durations.py", tmp_path / "test_durations.py"
    test.write_text(
        "import pytest\nfrom models.durations import span_us, spell\n\n"
        "@pytest.fixture(scope='module')\ndef told():\n    return spell(213)\n\n"
        "def test_shared(told):\n    assert told\n\n"
        "def test_own():\n    assert span_us('1s')\n",
        encoding="utf-8",
    )
    reach = unchanged(path.parent, [str(test)])
    assert reach is not None
    begins = path.read_text(encoding="utf-8").splitlines().index("def spell(seconds: float) -> str:")
    own, shared = (
        {found for mutant in mutants(path) if (mutant.line > begins) is is_spelled for found in reach.tests(path, mutant.statement)}
        for is_spelled in (False, True)
    )
    assert [found.rpartition("/")[2] for found in own] == ["test_durations.py::test_own"]
    assert [found.rpartition("/")[2] for found in shared] == ["test_durations.py"]


def test_each_package_has_hashes_and_a_licence_that_we_may_pass_on() -> None:
    for package in supply_chain.packages():
        assert package.hashes, package.name
        assert supply_chain.is_allowed(package.licence), (package.name, package.licence)


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [("MIT", True), ("Apache-2.0 OR GPL-3.0", True), ("MIT AND GPL-3.0", False), ("GPL-3.0", False), ("", False), ("BSD License", True)],
)
def test_licences_of_the_list_are_allowed(licence: str, allowed: bool) -> None:
    assert supply_chain.is_allowed(licence) is allowed


def test_each_dependency_has_a_reason_on_the_page() -> None:
    assert sorted(supply_chain.reasons()) == supply_chain.direct()


def test_the_bill_of_materials_names_packages_and_jars(tmp_path: Path) -> None:
    supply_chain.write(tmp_path / "bill.json")
    bill = json.loads((tmp_path / "bill.json").read_text(encoding="utf-8"))
    names = {each["name"] for each in bill["components"]}
    assert {"pyarrow", "pyspark", "hadoop-aws"} <= names
    assert all(each["version"] for each in bill["components"])


def test_logs_of_many_groups_hold_the_same_rebalances_however_they_are_divided(tmp_path: Path) -> None:
    for groups, each in ((30, 1), (3, 10)):
        many_groups.write(tmp_path / str(groups), groups, each)
        rows = groupscope.analyze([str(tmp_path / str(groups))]).rebalances
        assert (len({row.group for row in rows}), len(rows)) == (groups, 30)
