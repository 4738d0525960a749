"""Rules and dashboard ask for metrics that a run writes, images and workflows for files and commands that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from deltalake import DeltaTable

from pipelines.jobs.operations.metrics import BUCKETS, DURATIONS, RunMetrics, gauge, metrics_text, table_metrics
from pipelines.schema.tables import TABLES as TABLE_OF
from tests.pipelines.cli.conftest import sample_warehouse

__all__ = ["sample_warehouse"]

ROOT = Path(__file__).resolve().parent.parent
MONITORING = ROOT / "docs" / "monitoring"
IMAGES = ROOT / "docs" / "images"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ASKED = ("incidents", "rebalances", "partition_outages")
TABLES = [
    gauge(name, "", [({}, 1.0)])
    for name in (
        "groupscope_incidents",
        "groupscope_incidents_open",
        "groupscope_rebalances",
        "groupscope_stopped_seconds",
        "groupscope_partition_outages_open",
        DURATIONS,
    )
]


def rules() -> list[dict[str, Any]]:
    loaded = yaml.safe_load((MONITORING / "rules.yml").read_text(encoding="utf-8"))
    return [rule for group in loaded["groups"] for rule in group["rules"]]


def written() -> set[str]:
    """Metrics that a run writes, and those that rules record."""
    text = metrics_text(RunMetrics(0, 1.0, {"x": 1}, {"x": 1.0}), TABLES, 1.0)
    names = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    return names | {f"{DURATIONS}{end}" for end in ("_bucket", "_sum", "_count")} | {rule["record"] for rule in rules() if "record" in rule}


def asked(expression: str) -> set[str]:
    return set(re.findall(r"\bgroupscope[\w:]*", expression))


def expressions() -> dict[str, str]:
    board = json.loads((MONITORING / "grafana.json").read_text(encoding="utf-8"))
    targets = {f"panel {panel['title']} {t['refId']}": t["expr"] for panel in board["panels"] for t in panel["targets"]}
    variables = {each["name"]: each["query"]["query"] for each in board["templating"]["list"] if isinstance(each["query"], dict)}
    return {rule.get("record") or rule["alert"]: rule["expr"] for rule in rules()} | targets | variables


@pytest.mark.parametrize("name", expressions())
def test_what_is_asked_is_written(name: str) -> None:
    assert asked(expressions()[name]) <= written()


def test_panels_do_not_overlap() -> None:
    board = json.loads((MONITORING / "grafana.json").read_text(encoding="utf-8"))
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in board["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]

    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_durations_are_a_histogram_of_each_group(sample_warehouse: Path) -> None:
    path = sample_warehouse / TABLE_OF["rebalances"].path
    versions = {name: DeltaTable(str(sample_warehouse / TABLE_OF[name].path)).version() for name in ASKED}
    tables = table_metrics(str(sample_warehouse), versions)
    text = metrics_text(RunMetrics(0, 1.0), tables, None)
    lasted = [row["duration_seconds"] for row in DeltaTable(str(path)).to_pyarrow_table(columns=["duration_seconds"]).to_pylist()]
    lines = dict(re.findall(rf'^{DURATIONS}_(\w+){{[^}}]*?group="shipping-e"(?:,le="\+Inf")?}} (\S+)$', text, re.MULTILINE))

    assert {name: float(value) for name, value in lines.items()} == {
        "bucket": len(lasted),
        "sum": pytest.approx(sum(lasted)),
        "count": len(lasted),
    }
    assert text.count(f"# TYPE {DURATIONS} histogram") == 1
    buckets = [float(value) for value in re.findall(rf"^{DURATIONS}_bucket\S+ (\S+)$", text, re.MULTILINE)]
    assert buckets == sorted(buckets)
    assert len(buckets) == len(BUCKETS) + 1


def test_bounds_of_the_histogram_rise() -> None:
    assert list(BUCKETS) == sorted(set(BUCKETS))


@pytest.mark.parametrize("name", ["cli", "spark"])
def test_images_are_made_from_files_that_exist(name: str) -> None:
    text = (IMAGES / f"{name}.Dockerfile").read_text(encoding="utf-8")
    sources = [word for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE) for word in line.split()[:-1]]

    assert all((ROOT / source).exists() for source in sources)
    assert f"-r {name}.lock" in text
    assert "--require-hashes" in text
    assert re.findall(r"^USER (\d+)$", text, re.MULTILINE) == ["10001"]


@pytest.mark.parametrize("name", ["cli", "spark"])
def test_locks_of_images_hold_the_versions_of_the_tests(name: str) -> None:
    def pins(path: Path) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for package, version in re.findall(r"^([\w.-]+)==([\w.]+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            found.setdefault(package, set()).add(version)
        return found

    tested, image = pins(ROOT / "requirements.lock"), pins(IMAGES / f"{name}.lock")

    assert {package for package, versions in image.items() if not versions <= tested.get(package, set())} == set()
    assert ("pyspark" in image) is (name == "spark")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_what_exists(path: Path) -> None:
    loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    steps = [step for job in loaded["jobs"].values() for step in job["steps"]]
    targets = {target for step in steps for target in re.findall(r"\bmake (\w+)", step.get("run", ""))}
    suites = [suite for job in loaded["jobs"].values() for suite in job.get("strategy", {}).get("matrix", {}).get("suite", [])]

    assert loaded["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] for job in loaded["jobs"].values())
    assert targets <= set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for suite in suites:
        module = ROOT / suite.split()[0].replace(".", "/")
        assert module.with_suffix(".py").is_file() or (module / "__main__.py").is_file(), suite
