"""A local JVM prints errors only, to standard error, and nothing that it says is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.spark.jvm_output import LOG_OPTIONS, quiet_environment

ROOT = Path(__file__).resolve().parents[3]
INCUBATOR = "WARNING: Using incubator modules: jdk.incubator.vector"

TALK = """
import subprocess, sys
from pipelines.spark.jvm_output import jvm_talks_to_stderr
with jvm_talks_to_stderr():
    child = subprocess.Popen([sys.executable, "-c", {child!r}], stdin=subprocess.PIPE)
child.communicate(b"go")
print("answer")
"""

SAID = {
    "expected line": (f"print({INCUBATOR!r})", ""),
    "lines around it": (f"print('one'); print({INCUBATOR!r}); print('two')", "one\ntwo\n"),
    "the same words and more": (f"print({INCUBATOR + ', foreign.module'!r})", f"{INCUBATOR}, foreign.module\n"),
    "no end of line": ("import sys; sys.stderr.write('dump')", "dump"),
    "later, when the block is over": ("import sys; sys.stdin.read(); print('ERROR late', file=sys.stderr)", "ERROR late\n"),
    "many lines": ("print('x' * 100_000)", "x" * 100_000 + "\n"),
}


@pytest.mark.parametrize("case", SAID)
def test_what_a_jvm_prints_goes_to_standard_error(case: str) -> None:
    child, expected = SAID[case]
    done = subprocess.run([sys.executable, "-c", TALK.format(child=child)], cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "answer\n"), done.stderr
    assert done.stderr == expected


@pytest.mark.parametrize(
    ("environment", "files", "expected"),
    [
        ({}, [], {"SPARK_LOCAL_IP", LOG_OPTIONS}),
        ({"SPARK_LOCAL_IP": "10.0.0.5"}, [], {LOG_OPTIONS}),
        ({LOG_OPTIONS: "-Dx=y"}, [], {"SPARK_LOCAL_IP"}),
        ({}, ["log4j2.xml"], {"SPARK_LOCAL_IP"}),
        ({}, ["spark-defaults.conf"], {"SPARK_LOCAL_IP", LOG_OPTIONS}),
    ],
)
def test_choices_of_the_user_stay(environment: dict[str, str], files: list[str], expected: set[str], tmp_path: Path) -> None:
    for name in files:
        (tmp_path / name).touch()

    assert quiet_environment(environment, tmp_path).keys() == expected


@pytest.mark.spark
def test_a_session_is_silent_but_for_errors() -> None:
    script = "from pipelines.spark.session import get_session; session = get_session(); print(session.range(3).count())"
    failing = f"{script}\ntry: session.sql(\"select raise_error('boom')\").collect()\nexcept Exception: pass"
    good, bad = (
        subprocess.run([sys.executable, "-c", each], cwd=ROOT, capture_output=True, text=True, check=False) for each in (script, failing)
    )

    assert (good.returncode, good.stdout, good.stderr) == (0, "3\n", "")
    assert "ERROR" in bad.stderr
    assert "boom" in bad.stderr
