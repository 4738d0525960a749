"""Examples of schedules, read by the programs that they are for, where these are at hand."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
AIRFLOW, OPERATOR = os.environ.get("GROUPSCOPE_AIRFLOW"), os.environ.get("GROUPSCOPE_SPARK_OPERATOR")
LOADED = """
from airflow.dag_processing.dagbag import DagBag
import json, sys
bag = DagBag(dag_folder=sys.argv[1])
print(json.dumps([{name: dag.task_ids for name, dag in bag.dags.items()}, bag.import_errors]))
"""


@pytest.mark.skipif(AIRFLOW is None, reason="GROUPSCOPE_AIRFLOW names no Python with Airflow 3")
def test_airflow_loads_the_dags(tmp_path: Path) -> None:
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "groupscope.py").write_bytes((EXAMPLES / "airflow_dag.py").read_bytes())
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }

    done = subprocess.run(
        [str(AIRFLOW), "-c", LOADED, str(tmp_path / "dags")], env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [{"groupscope": ["run"], "groupscope_upkeep": ["maintain"]}, {}]


@pytest.mark.skipif(OPERATOR is None, reason="GROUPSCOPE_SPARK_OPERATOR names no folder with the definitions of Kubeflow's operator")
@pytest.mark.parametrize("name", ["spark_application.yaml", "spark_application_upkeep.yaml"])
def test_the_operator_of_kubernetes_knows_each_field(name: str) -> None:
    found = yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))
    [definition] = [kind for kind in definitions(Path(str(OPERATOR))) if kind["spec"]["names"]["kind"] == found["kind"]]
    [version] = [each for each in definition["spec"]["versions"] if found["apiVersion"].endswith(f"/{each['name']}")]

    jsonschema.validate(found["spec"], strict(version["schema"]["openAPIV3Schema"]["properties"]["spec"]))


def definitions(folder: Path) -> list[dict[str, Any]]:
    return [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("sparkoperator*.yaml"))]


def strict(schema: Any) -> Any:
    """The schema without fields that it does not name."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: strict(each) for name, each in schema.items()}
    if schema.get("x-kubernetes-int-or-string"):
        closed = {name: each for name, each in closed.items() if name not in {"type", "anyOf"}}
    if "properties" in schema and "additionalProperties" not in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        closed["additionalProperties"] = False
    return closed
