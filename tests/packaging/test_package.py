"""The wheel holds the product and nothing else, below one name, and answers as the checkout does."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import groupscope
from hatch_build import AS_IN_CHECKOUT, BELOW, PACKAGES, rewritten
from pipelines.cli.registry import COMMANDS as REGISTERED
from tests.conftest import LONG, spread
from tests.pipelines.cli.conftest import Cli

ROOT = Path(__file__).resolve().parents[2]
FROZEN = str(ROOT / "data_samples" / "rocketmq" / "4.9.7" / "frozen-consumer")
RESTART = str(ROOT / "data_samples" / "kafka" / "2.8.2" / "rolling-restart")
POLL_TIMEOUT = str(ROOT / "data_samples" / "kafka" / "1.1.1" / "poll-timeout")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree, with the version of the checkout that it is compared with."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    settings = {"SOURCE_DATE_EPOCH": "1700000000", "SETUPTOOLS_SCM_PRETEND_VERSION": groupscope.__version__}
    subprocess.run(command, cwd=ROOT, check=True, env=os.environ | settings)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> list[str]:
    """Files of the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.fixture(scope="module")
def project(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose own packages have the names of ours, and the wheel beside it."""
    place = tmp_path_factory.mktemp("project")
    for name in PACKAGES:
        (place / name).mkdir()
        (place / name / "__init__.py").write_text(f"OWN = {name!r}\n", encoding="utf-8")
    (place / "plotly.py").write_text("raise ImportError('a wheel holds what it needs of Plotly')\n", encoding="utf-8")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place / "site")
    # What a first start keeps; where no bytecode may be written, each of many starts would compile anew.
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(place / "site")], check=True)
    kept = in_project(place, "-c", f"from {BELOW}pipelines.versions import keep_forms; keep_forms()")
    assert kept.returncode == 0, kept.stderr
    return place


def _is_metadata(name: str) -> bool:
    """Whether a file of a wheel is none of its packages."""
    return ".dist-info/" in name or ".data/" in name


def in_project(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the project, with its own packages first."""
    path = os.pathsep.join([str(project), str(project / "site")])
    environment = os.environ | {"PYTHONPATH": path, "COLUMNS": "100"}
    return subprocess.run([sys.executable, *arguments], cwd=project, env=environment, capture_output=True, text=True, check=False)


def test_only_one_name_is_taken(names: list[str]) -> None:
    assert {name.split("/")[0] for name in names if not _is_metadata(name)} == {"groupscope"}


def test_every_file_of_the_packages_is_in_it(names: list[str]) -> None:
    below = BELOW.replace(".", "/")
    wanted = {
        ("" if package == "groupscope" else below) + path.relative_to(ROOT).as_posix()
        for package in ("groupscope", *PACKAGES)
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.endswith(".forms.json")
    }

    assert {name for name in names if not _is_metadata(name)} == {*wanted, f"{below}__init__.py", f"{below}plotly.min.js.zlib"}


def test_the_licence_the_commands_and_the_marker_of_types_come_along(names: list[str]) -> None:
    in_metadata = {name.split(".dist-info/")[1] for name in names if ".dist-info/" in name}

    assert {"entry_points.txt", "licenses/LICENSE"} <= in_metadata
    assert "groupscope/py.typed" in names
    assert [name for name in names if name.endswith(".data/data/share/man/man1/groupscope.1")]


SCRIPTS = {
    "packages of the project": (
        "import groupscope, conf, models, parsers, pipelines, dashboards\n"
        f"found = groupscope.analyze({POLL_TIMEOUT!r}, log_tz='UTC')\n"
        "print(len(found.rebalances), conf.OWN, models.OWN, parsers.OWN, pipelines.OWN, dashboards.OWN)\n"
        "print(groupscope.analysis.analyze.__module__, 'plotly' in found.report())"
    ),
    "stored states": (
        f"from {BELOW}models.stored_classes import STORED, class_of, stable_name\n"
        "print(all(stable_name(class_of(name)) == name for name in STORED))"
    ),
}
SAID = {"packages of the project": "4 conf models parsers pipelines dashboards\ngroupscope.analysis True\n", "stored states": "True\n"}


@pytest.mark.parametrize("case", SCRIPTS)
def test_a_project_keeps_its_own_packages(project: Path, case: str) -> None:
    done = in_project(project, "-c", SCRIPTS[case])

    assert (done.returncode, done.stdout) == (0, SAID[case]), done.stderr


COMMANDS = {
    "analyze": ["analyze", POLL_TIMEOUT],
    "explain": ["explain", "shipping-e/2", POLL_TIMEOUT],
    "advise": ["advise", POLL_TIMEOUT],
    "sql": ["sql", "select cause from rebalances", POLL_TIMEOUT],
    "allocate": ["allocate", FROZEN, "--group", "CG_pay_worker", "--with-client", "c"],
    "compare": ["compare", POLL_TIMEOUT, "--at", "2026-11-21T09:08:50"],
    "deploys": ["deploys", RESTART],
    "events": ["events", POLL_TIMEOUT],
    "finished rebalances": ["events", POLL_TIMEOUT, "--rebalances", "--jsonl"],
    "gate": ["gate", POLL_TIMEOUT, "--rule", "*: rebalances > 9 per 1h"],
    "groups": ["groups", POLL_TIMEOUT, "--budget", "10m"],
    "markdown": ["analyze", POLL_TIMEOUT, "--markdown"],
    "offenders": ["offenders", POLL_TIMEOUT],
    "outages": ["outages", POLL_TIMEOUT, "--if-down", "1"],
    "ownership": ["ownership", FROZEN],
    "proof": ["explain", "shipping-e/2", POLL_TIMEOUT, "--proof"],
    "rebalances": ["rebalances", POLL_TIMEOUT, "--json"],
    "schema": ["schema", "analyze"],
    "spans": ["spans", POLL_TIMEOUT],
    "state": ["state", "shipping-e", "--at", "09:08:50", POLL_TIMEOUT],
    "timeline": ["timeline", POLL_TIMEOUT],
    "trend": ["trend", POLL_TIMEOUT],
    "what if": ["whatif", POLL_TIMEOUT, "--static-membership"],
    "redacted": ["analyze", POLL_TIMEOUT, "--redact", "client_ids,hosts"],
}


@pytest.mark.parametrize("case", spread(COMMANDS, 3))
def test_the_wheel_answers_as_the_checkout_does(project: Path, case: str, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUPSCOPE_REDACT_KEY", "5f" * 32)
    there = in_project(project, "-m", "groupscope", *COMMANDS[case])
    here = cli(*COMMANDS[case], columns=100)

    assert (there.returncode, there.stdout) == (here.code, here.out), there.stderr
    assert here.code == 0


def test_versions_are_those_of_the_checkout(project: Path) -> None:
    """So a warehouse need not be rebuilt between the two."""
    call = "pipelines import versions as v; print(v.catalogue_version(), v.model_version(), v.pages_version())"
    there = in_project(project, "-c", f"from {BELOW}{call}")
    here = subprocess.run([sys.executable, "-c", f"from {call}"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert there.stdout == here.stdout != "", there.stderr


APART = {"doctor", "maintain", "mcp", "report", "run", "simulate"}
"""Commands that write files, or tell of the installation."""


def test_each_command_is_tried_from_the_wheel() -> None:
    assert REGISTERED.keys() - {words[0] for words in COMMANDS.values()} == APART


@LONG
@pytest.mark.spark
def test_the_job_runs_from_the_wheel(project: Path) -> None:
    """Its workers find the packages below groupscope, and a project's own ones stay theirs."""
    logs = ["--input", POLL_TIMEOUT, "--warehouse", str(project / "warehouse")]
    done = in_project(project, "-m", "groupscope", "run", *logs)
    asked = in_project(project, "-m", "groupscope", "rebalances", "--warehouse", str(project / "warehouse"))

    assert (done.returncode, done.stderr) == (0, "")
    assert "1 group, 4 rebalances." in done.stdout
    assert "shipping-e" in asked.stdout


MODULES = {"parsers.records", "models.rows", "pipelines.cli.main"}
SOURCES = {
    "import from": (b"from models.rows import Row\n", b"from groupscope._packages.models.rows import Row\n"),
    "inside a function": (b"def f():\n    from models import rows\n", b"def f():\n    from groupscope._packages.models import rows\n"),
    "with another name": (b"import models.rows as r\n", b"import groupscope._packages.models.rows as r\n"),
    "of others": (b"from modelsx.rows import Row\nimport conftest\n", b"from modelsx.rows import Row\nimport conftest\n"),
    "name in a string": (b"X = 'models.rows:Row'\n", b"X = 'groupscope._packages.models.rows:Row'\n"),
    "a package whose files are read": (b"X = files('models'), f('models')\n", b"X = files('groupscope._packages.models'), f('models')\n"),
    "no module": (b"X = 'models.nothing', 'models', 'see models.rows'\n", b"X = 'models.nothing', 'models', 'see models.rows'\n"),
    "after other characters": ('X = "ä", "models.rows"\n'.encode(), 'X = "ä", "groupscope._packages.models.rows"\n'.encode()),
}


@pytest.mark.parametrize("case", SOURCES)
def test_only_names_of_modules_are_rewritten(case: str) -> None:
    source, expected = SOURCES[case]

    assert rewritten(source, MODULES) == expected


@pytest.mark.parametrize("source", [b"import models\n", b"import models.rows\n", b"X = ''', '''; Y = r'models.rows'\n"])
def test_what_cannot_be_rewritten_stops_the_build(source: bytes) -> None:
    with pytest.raises(ValueError, match="line 1"):
        rewritten(source, MODULES)


def test_files_with_names_of_the_checkout_are_there() -> None:
    assert all((ROOT / name).is_file() for name in AS_IN_CHECKOUT)
