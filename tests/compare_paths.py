"""The same rows from every path: `analyze`, the Spark job as Spark reads its tables, and its tables without Spark.

`python -m tests.compare_paths [FOLDER...]` takes folders of labelled scenarios, makes each scenario a cluster of its
own, runs both paths over all of them and lists where their rows differ; it ends with 1 where they do.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pipelines.exit_codes import SOME_REJECTED
from pipelines.schema.tables import CONTRACT, TABLES, json_row
from tests.conftest import SHARED

# Key of the JSON of `analyze` -> table; inputs have an object of their own.
COMPARED = {**CONTRACT, "inputs": "log_files"}
SHOWN = 8
LOG_FOLDERS = ("broker-*", "controller-*", "clients")

Rows = dict[str, list[dict[str, Any]]]


def analyzed(logs: Path, settings: Path) -> Rows:
    """Rows by table from one process without a JVM."""
    done = groupscope("analyze", logs, "--settings", settings, "--json")
    found = json.loads(done.stdout)
    found["inputs"] = found["inputs"]["log_files"]
    return {table: found[key] for key, table in COMPARED.items()}


def ran(logs: Path, settings: Path, warehouse: Path) -> None:
    """Run the Spark job."""
    groupscope("run", "--input", logs, "--warehouse", warehouse, "--settings", settings)


def groupscope(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("groupscope")), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, SOME_REJECTED):
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-4000:]}")
    return done


def published(warehouse: Path | str, options: dict[str, str] | None = None) -> dict[str, int]:
    """Version of each table in the last published run.

    `options` are those of an object store.
    """
    from deltalake import DeltaTable

    table = DeltaTable(f"{warehouse}/{TABLES['runs'].path}", storage_options=options)
    runs = table.to_pyarrow_table(columns=["run_number", "status", "table_versions"]).to_pylist()
    last = max((run for run in runs if run["status"] == "published"), key=lambda run: run["run_number"])
    return dict(last["table_versions"])


def by_delta_rs(warehouse: Path) -> Rows:
    """Rows by table, read without a JVM."""
    from deltalake import DeltaTable

    versions = published(warehouse)
    return {
        table: documents_of(table, DeltaTable(str(warehouse / TABLES[table].path), version=versions[table]).to_pyarrow_table().to_pylist())
        for table in COMPARED.values()
    }


def by_spark(warehouse: Path) -> Rows:
    """Rows by table, read by Spark."""
    from pipelines.spark.session import get_session

    reader = get_session().read.format("delta")
    versions = published(warehouse)
    return {
        table: documents_of(
            table, reader.option("versionAsOf", versions[table]).load(str(warehouse / TABLES[table].path)).toArrow().to_pylist()
        )
        for table in COMPARED.values()
    }


def documents_of(table: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [json_row(table, {name: value for name, value in row.items() if name != "run_id"}) for row in rows]


def differences(expected: Rows, actual: Rows) -> Iterator[str]:
    """Some rows of each table on one side only, and some differing columns."""
    for table in COMPARED.values():
        ours, theirs = by_key(table, expected[table]), by_key(table, actual[table])
        found = [f"only first: {key}" for key in ours.keys() - theirs.keys()]
        found += [f"only second: {key}" for key in theirs.keys() - ours.keys()]
        for key in ours.keys() & theirs.keys():
            found += [f"{key}: {column}" for column in differing(ours[key], theirs[key])]
        if found:
            yield f"{table}: {len(expected[table])} rows against {len(actual[table])}, {len(found)} differences"
            yield from (f"  {line[:800]}" for line in sorted(found)[:SHOWN])


def by_key(table: str, rows: list[dict[str, Any]], names: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """Rows by key, or by the columns `names`.

    Repeated keys get a number.
    """
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        key = json.dumps([row[name] for name in names or TABLES[table].key], ensure_ascii=False)
        while key in found:
            key += "+"
        found[key] = row
    return found


def differing(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Columns with different values, with both.

    The run that wrote a row is ignored.
    """
    columns = (ours.keys() | theirs.keys()) - {"run_id"}
    return [f"{name} {ours.get(name)!r} against {theirs.get(name)!r}" for name in sorted(columns) if ours.get(name) != theirs.get(name)]


def gather(folders: Sequence[Path], target: Path) -> Path:
    """Copy the logs of each labelled scenario to a folder of its own.

    Returns settings that make each a cluster.
    """
    clusters, zones = [], []
    for truth in sorted(path for folder in folders for path in folder.rglob("truth.json")):
        name = "-".join(truth.parent.parts[-2:])
        for part in (found for pattern in LOG_FOLDERS for found in sorted(truth.parent.glob(pattern))):
            shutil.copytree(part, target / "logs" / name / part.name, ignore=shutil.ignore_patterns("*.properties", "*.TRUNCATED"))
        told = json.loads(truth.read_text(encoding="utf-8"))
        clusters.append(f"{name}/*={name}")
        zones += [f"{name}/*={told['log_timezone']}", f"{name}/clients/*={told.get('client_log_timezone') or told['log_timezone']}"]
    settings = target / "settings.toml"
    settings.write_text(f"[input]\nclusters = {json.dumps(clusters)}\nlog_time_zones = {json.dumps(zones)}\n", encoding="utf-8")
    return settings


def main(folders: Sequence[Path]) -> int:
    """Compare all paths over whole corpora and print the differences."""
    with tempfile.TemporaryDirectory() as place:
        target = Path(place)
        settings = gather(folders, target)
        alone = analyzed(target / "logs", settings)
        ran(target / "logs", settings, target / "warehouse")
        stored, spark = by_delta_rs(target / "warehouse"), by_spark(target / "warehouse")
    counts = ", ".join(f"{len(rows):,} {table}" for table, rows in alone.items() if rows)
    short = [f"analyze against the tables: {line}" for line in differences(alone, stored)]
    short += [f"the tables against Spark: {line}" for line in differences(stored, spark)]
    sys.stdout.write("\n".join([counts, *short, "the paths differ" if short else "all paths give the same rows", ""]))
    return 1 if short else 0


if __name__ == "__main__":
    raise SystemExit(main([Path(argument) for argument in sys.argv[1:]] or [SHARED / "corpora" / "kafka"]))
