"""Command `groupscope doctor`: checks of the installation, with fixes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from pipelines import exit_codes as codes
from pipelines.cli.arguments import options as o
from pipelines.extras import EXTRAS, NEEDED_BY, found_version
from pipelines.scratch import scratch

PYTHON_NEEDED: tuple[int, ...] = (3, 11)
JAVA_SUPPORTED = (17, 21)
_PACKAGES = ("pyarrow", "numpy", "orjson", "ahocorasick-rs")
"""Packages that every command needs."""


@dataclass(frozen=True, slots=True)
class InstallationProblem:
    """Result of one check.

    `needed_by` names the commands that fail without it; `fix` says what to do.
    """

    name: str
    state: Literal["ok", "warning", "missing"]
    found: str
    needed_by: str = "all commands"
    fix: str = ""


def doctor(
    warehouse: Annotated[
        str | None, typer.Option("--warehouse", metavar="FOLDER", help="Check also that this folder can be written.")
    ] = None,
    as_json: o.AsJson = False,
) -> int:
    """Check this machine, and name the fix for each problem.

    Python, packages, Java, Delta's jars, write access and PYSPARK_PYTHON.
    """
    findings = examine(warehouse)
    if as_json:
        from pipelines.cli.output.json_csv import write_object

        write_object({"findings": [asdict(finding) for finding in findings]})
    else:
        _show(findings)
    return codes.FINDINGS if any(finding.state == "missing" for finding in findings) else codes.GOOD


def examine(warehouse: str | None) -> list[InstallationProblem]:
    """Run all checks; none starts a JVM."""
    of_spark = [_java, _jars, _pyspark_python] if not _versions(EXTRAS["spark"])[1] else []
    extras = [partial(_extra, extra) for extra in EXTRAS]
    checks: list[Callable[[], InstallationProblem]] = [_python, _packages, *extras, _time_zones, *of_spark, _temporary]
    findings = [check() for check in checks]
    return [*findings, _writable(warehouse)] if warehouse else findings


def _python() -> InstallationProblem:
    version = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro} at {sys.executable}"
    if sys.version_info[:2] >= PYTHON_NEEDED:
        return InstallationProblem("Python", "ok", version)
    return InstallationProblem("Python", "missing", version, fix="install Python 3.11 or later and make a new environment with it")


def _packages() -> InstallationProblem:
    versions, missing = _versions(_PACKAGES)
    if missing:
        return InstallationProblem(
            "Packages", "missing", f"not installed: {', '.join(missing)}", fix="pip install groupscope, in a fresh environment"
        )
    return InstallationProblem("Packages", "ok", ", ".join(versions))


def _extra(extra: str) -> InstallationProblem:
    """Report an extra; its absence is no fault."""
    versions, missing = _versions(EXTRAS[extra])
    if missing:
        fix = f"pip install 'groupscope[{extra}]'"
        return InstallationProblem(f"Extra {extra}", "warning", f"not installed: {', '.join(missing)}", NEEDED_BY[extra], fix)
    return InstallationProblem(f"Extra {extra}", "ok", ", ".join(versions), NEEDED_BY[extra])


def _versions(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Installed distributions with versions, and those that are absent."""
    versions = {name: found_version(name) for name in names}
    return [f"{name} {version}" for name, version in versions.items() if version], [
        name for name, version in versions.items() if not version
    ]


def _time_zones() -> InstallationProblem:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo("Europe/Berlin")
    except (ZoneInfoNotFoundError, OSError):
        return InstallationProblem("Time zones", "missing", "no time zone database", needed_by="--log-tz, --tz", fix="pip install tzdata")
    return InstallationProblem("Time zones", "ok", "found")


def _java() -> InstallationProblem:
    needed = "run"
    fix = "install Java 17 (Debian: apt-get install openjdk-17-jre-headless) or point JAVA_HOME to it"
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if command is None or not Path(command).exists():
        where = f"JAVA_HOME={home} holds no bin/java" if home else "no java on the PATH, and JAVA_HOME is not set"
        return InstallationProblem("Java", "missing", where, needed, fix)
    try:
        done = subprocess.run([command, "-version"], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - the user's own java
    except (OSError, subprocess.TimeoutExpired) as error:
        return InstallationProblem("Java", "missing", f"{command} does not start: {error}", needed, fix)
    version_text = (done.stderr or done.stdout).strip()
    release = re.search(r'version "(?:1\.)?(\d+)', version_text)
    java = f"{release[1] if release else 'version unknown'} at {command}"
    if release and int(release[1]) in JAVA_SUPPORTED:
        return InstallationProblem("Java", "ok", java, needed)
    return InstallationProblem("Java", "warning", java, needed, "Spark 4 is tested with Java 17 and 21; set JAVA_HOME to one of them")


def _jars() -> InstallationProblem:
    from pipelines.spark.session import delta_artifacts, find_delta_jars, jar_folders

    jars = find_delta_jars()
    names = ", ".join(jar.name for jar in jars)
    if jars:
        return InstallationProblem("Delta jars", "ok", f"{names} in {jars[0].parent}", "run")
    wanted = ", ".join(delta_artifacts())
    folders = ", ".join(str(folder) for folder in jar_folders()) or "no folder"
    fix = f"the first groupscope run downloads {wanted}; without a network put them into a folder and name it in GROUPSCOPE_JARS"
    return InstallationProblem("Delta jars", "warning", f"not in {folders}", "run", fix)


def _pyspark_python() -> InstallationProblem:
    chosen = os.environ.get("PYSPARK_PYTHON")
    if chosen is None:
        return InstallationProblem("PYSPARK_PYTHON", "ok", f"not set; local workers start {sys.executable}", "run")
    resolved = shutil.which(chosen)
    if resolved is None:
        return InstallationProblem(
            "PYSPARK_PYTHON", "missing", f"{chosen} is no program", "run", f"unset PYSPARK_PYTHON, or set it to {sys.executable}"
        )
    if Path(resolved).absolute() != Path(sys.executable).absolute():
        fix = f"local workers would start another Python than this one: unset PYSPARK_PYTHON, or set it to {sys.executable}"
        return InstallationProblem("PYSPARK_PYTHON", "warning", resolved, "run", fix)
    return InstallationProblem("PYSPARK_PYTHON", "ok", resolved, "run")


def _temporary() -> InstallationProblem:
    spark = scratch()
    folder, setting = (Path(tempfile.gettempdir()), "TMPDIR") if spark is None else (Path(spark), "SPARK_LOCAL_DIRS")
    free = shutil.disk_usage(folder).free
    try:
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        fix = f"set {setting} to a folder that can be written"
        return InstallationProblem("Temporary files", "missing", f"{folder}: {error.strerror}", "analyze, run", fix)
    state: Literal["ok", "warning"] = "ok" if free > 1 << 30 else "warning"
    fix = "" if state == "ok" else f"large inputs need room there: free some, or set {setting} to another folder"
    return InstallationProblem("Temporary files", state, f"{folder}, {free / (1 << 30):.1f} GiB free", "analyze, run", fix)


def _writable(warehouse: str) -> InstallationProblem:
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", warehouse):
        return InstallationProblem("Warehouse", "warning", f"{warehouse} is a URI; it is only tried by groupscope run", "run")
    folder = Path(warehouse).absolute()
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    try:
        with tempfile.NamedTemporaryFile(dir=existing):
            pass
    except OSError as error:
        fix = "give the user who runs groupscope the right to write there, or choose another --warehouse"
        return InstallationProblem("Warehouse", "missing", f"{existing}: {error.strerror}", "run", fix)
    return InstallationProblem("Warehouse", "ok", f"{folder} can be written", "run")


def _show(findings: list[InstallationProblem]) -> None:
    from pipelines.cli.output import screens
    from pipelines.cli.output.standard_streams import screen

    console = screen()
    styles = {"ok": "green", "warning": "yellow", "missing": "bold red"}
    for finding in findings:
        label = f"{finding.state:<8} {finding.name:<16} "
        screens.labelled(console, label, styles[finding.state], finding.found)
        if finding.fix:
            screens.say(console, f"needed by {finding.needed_by}: {finding.fix}", indent=len(label))
