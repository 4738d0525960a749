"""Examples of schedules are what their programs read, and the options in them are ours."""

from __future__ import annotations

import ast
import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar
from xml.etree import ElementTree

import pyspark
import pytest
import typer
import yaml

from pipelines.cli import spark_submit as job
from pipelines.cli.registry import whole_app
from pipelines.spark.session import delta_artifacts, delta_settings
from tests.cluster.object_stores import SDK

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "docs" / "examples"
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
VERSION = re.findall(r"^## \[(\d\S+)\]", CHANGELOG, re.MULTILINE)[0]
"""The newest release."""
WHEEL = f"groupscope-{VERSION}-py3-none-any.whl"


def check_command(words: list[str]) -> None:
    """The command line is one that groupscope takes; nothing is run."""
    name, *arguments = words
    command = typer.main.get_command(whole_app()).commands[name]  # type: ignore[attr-defined]
    assert command.make_context(name, list(arguments)).params


def job_command(arguments: list[str]) -> list[str]:
    """What the entry for platforms makes of its arguments."""
    return arguments if arguments[0] in job.SUBMITTED_COMMANDS else ["run", *arguments]


def commands_in(text: str) -> Iterator[list[str]]:
    """Command lines of groupscope in a text, without the program."""
    for found in re.finditer(r"(?:^|[ /])groupscope ((?:run|maintain) [^\n]*)", text, re.MULTILINE):
        yield shlex.split(found[1])


@pytest.mark.parametrize("name", ["crontab", "groupscope.service", "groupscope-maintain.service"])
def test_commands_are_ours(name: str) -> None:
    found = list(commands_in((EXAMPLES / name).read_text(encoding="utf-8")))

    assert found
    for words in found:
        check_command(words)


def test_commands_of_the_manual_are_ours() -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs" / "operations.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    found = [words for block in blocks for words in commands_in(block.replace("\\\n", " "))]

    assert len(found) >= 4
    for words in found:
        check_command([word for word in words if not word.startswith("#")])


def test_upkeep_starts_in_a_minute_in_which_no_run_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """And waits for a run that is at work, or tries again."""
    read = {name: (EXAMPLES / name).read_text(encoding="utf-8") for name in ("crontab", *UNITS)}
    kubernetes = yaml.safe_load((EXAMPLES / "spark_application_upkeep.yaml").read_text(encoding="utf-8"))["spec"]
    databricks = json.loads((EXAMPLES / "databricks_upkeep.json").read_text(encoding="utf-8"))
    [upkeep] = [line for line in read["crontab"].splitlines() if " maintain " in line]
    airflow_tasks(monkeypatch)
    [dag] = [made for made in Recorded.made if made.get("dag_id") == "groupscope_upkeep"]

    assert upkeep.startswith("17 3 * * * flock /tmp/groupscope.lock /opt/")
    assert "OnCalendar=*-*-* 03:17\n" in read["groupscope-maintain.timer"]
    assert re.search(r"^After=.*\bgroupscope\.service$", read["groupscope-maintain.service"], re.MULTILINE)
    assert (kubernetes["schedule"], dag["schedule"]) == ("17 3 * * *", "17 3 * * *")
    assert databricks["schedule"]["quartz_cron_expression"] == "0 17 3 * * ?"
    retries = [
        kubernetes["template"]["restartPolicy"]["onFailureRetries"],
        databricks["tasks"][0]["max_retries"],
        dag["default_args"]["retries"],
    ]
    assert min(retries) >= 10


def test_cron_has_five_fields_and_a_command() -> None:
    lines = [line for line in (EXAMPLES / "crontab").read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]

    for line in lines:
        assert re.fullmatch(r"((\*|\d+)(/\d+)? ){5}\S.*", line), line


UNITS = [f"{name}.{kind}" for name in ("groupscope", "groupscope-maintain") for kind in ("service", "timer")]


@pytest.mark.parametrize(
    ("name", "sections"),
    [(name, {"Unit", "Service"}) for name in UNITS if name.endswith(".service")]
    + [(name, {"Unit", "Timer", "Install"}) for name in UNITS if name.endswith(".timer")],
)
def test_units_of_systemd(name: str, sections: set[str]) -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string((EXAMPLES / name).read_text(encoding="utf-8"))

    assert set(unit.sections()) == sections


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd on this machine to ask")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    for name in UNITS:
        text = (EXAMPLES / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace("/opt/groupscope/bin/groupscope", "/bin/true"), encoding="utf-8")
    asked = ["systemd-analyze", "verify", *(str(tmp_path / name) for name in UNITS)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["spark_application.yaml", "spark_application_upkeep.yaml"])
def test_the_applications_of_kubernetes(name: str) -> None:
    found = yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))
    template = found["spec"]["template"]

    assert (found["kind"], template["type"], template["sparkVersion"]) == ("ScheduledSparkApplication", "Python", "4.2.0")
    check_command(job_command(template["arguments"]))


@pytest.mark.parametrize("name", ["databricks_job.json", "databricks_upkeep.json"])
def test_the_jobs_of_databricks_name_an_entry_point_of_the_wheel(name: str) -> None:
    found = json.loads((EXAMPLES / name).read_text(encoding="utf-8"))
    [task] = found["tasks"]
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]

    assert task["python_wheel_task"]["entry_point"] in scripts
    assert task["libraries"][0]["whl"].endswith(WHEEL)
    check_command(job_command(task["python_wheel_task"]["parameters"]))


class Recorded:
    """Stands for a class of Airflow: keeps what it was made with."""

    made: ClassVar[list[dict[str, Any]]] = []

    def __init__(self, **values: Any) -> None:
        self.made.append(values)

    def __enter__(self) -> Recorded:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def airflow_tasks(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the DAG's tasks are made with. Airflow is no dependency of ours, so its three classes are stood in for."""
    text = (EXAMPLES / "airflow_dag.py").read_text(encoding="utf-8")
    imported = {node.module: [alias.name for alias in node.names] for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    for module, names in imported.items():
        if module and module.startswith("airflow"):
            stub = ModuleType(module)
            for name in names:
                setattr(stub, name, Recorded)
            monkeypatch.setitem(sys.modules, module, stub)
    Recorded.made.clear()
    exec(compile(text, "airflow_dag.py", "exec"), {})  # noqa: S102 - our own example
    return [made for made in Recorded.made if "task_id" in made]


def test_the_dag_of_airflow_is_made_of_what_airflow_has(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = airflow_tasks(monkeypatch)

    assert [task["task_id"] for task in tasks] == ["run", "maintain"]
    assert tasks[0]["archives"].endswith("#environment")
    check_command(["run", *tasks[0]["application_args"]])
    for words in commands_in(tasks[1]["bash_command"]):
        check_command(words)


def test_the_driver_has_a_python_where_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Archives are unpacked for executors only, and `spark.pyspark.python` would go before the environment's PYSPARK_DRIVER_PYTHON."""
    conf = airflow_tasks(monkeypatch)[0]["conf"]
    manual = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")

    assert Path(conf["spark.pyspark.driver.python"]).is_absolute()
    assert conf["spark.pyspark.python"] == "./environment/bin/python"
    assert "spark.pyspark.driver.python=./environment/bin/python" in manual
    assert "PYSPARK_DRIVER_PYTHON=" not in manual


def s3a_jars() -> set[str]:
    """Artifacts without which Spark has no Delta and no s3a: of the versions that fit the installed Spark."""
    [hadoop] = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    return {delta_artifacts()[0], f"org.apache.hadoop:hadoop-aws:{hadoop.stem.removeprefix('hadoop-client-api-')}"}


def test_what_submits_a_job_to_a_warehouse_in_s3_brings_delta_and_s3a(monkeypatch: pytest.MonkeyPatch) -> None:
    manual = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    [command] = [block for block in re.findall(r"^```sh\n(.*?)^```", manual, re.MULTILINE | re.DOTALL) if "s3a://" in block]
    [packages] = re.findall(r"--packages (\S+)", command)
    tasks = airflow_tasks(monkeypatch)

    assert set(packages.split(",")) == s3a_jars()
    assert set(tasks[0]["packages"].split(",")) == s3a_jars()
    [maintained] = re.findall(r"spark\.jars\.packages=(\S+)", tasks[1]["bash_command"])
    settings = delta_settings({"spark.jars.packages": maintained}, ROOT)
    assert {*maintained.split(","), delta_artifacts()[0]} == s3a_jars()
    assert "delta-spark" in "".join(settings.values())


def test_the_jars_for_an_image_are_those_that_fit_spark() -> None:
    """Also those that hadoop-aws needs and Spark has not."""
    space = "{http://maven.apache.org/POM/4.0.0}"
    found = ElementTree.parse(EXAMPLES / "jars.xml").getroot()  # noqa: S314 - our own file
    named = {":".join(part.text or "" for part in each) for each in found.iter(f"{space}dependency")}
    chosen = set((found.findtext(f"{space}properties/{space}includeArtifactIds") or "").split(","))

    assert named == s3a_jars()
    assert chosen == {*SDK.split(","), *(each.split(":")[1] for each in delta_artifacts())}
    assert "jars.xml" in (EXAMPLES / "spark_application.yaml").read_text(encoding="utf-8")
