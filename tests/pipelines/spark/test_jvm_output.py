"""A local JVM prints errors only, to standard error, and nothing that it says is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.spark.jvm_output import LOG_OPTIONS, quiet_environment
from tests.conftest import LONG

ROOT = Path(__file__).resolve().parents[3]
INCUBATOR = "WARNING: Using incubator modules: jdk.incubator.vector"

FETCH = """\
:: loading settings :: url = jar:file:/x/ivy-2.5.3.jar!/org/apache/ivy/core/settings/ivysettings.xml
Ivy Default Cache set to: /x/.ivy2.5.2/cache
The jars for the packages stored in: /x/.ivy2.5.2/jars
io.delta#delta-spark_4.2_2.13 added as a dependency
:: resolving dependencies :: org.apache.spark#spark-submit-parent-a8939d1e;1.0
\tconfs: [default]
\tfound io.delta#delta-storage;4.4.0 in central
downloading https://repo.example/delta-storage-4.4.0.jar ...
\t[SUCCESSFUL ] io.delta#delta-storage;4.4.0!delta-storage.jar (145ms)
:: resolution report :: resolve 755ms :: artifacts dl 915ms
\t:: modules in use:
\tio.delta#delta-storage;4.4.0 from central in [default]
\t---------------------------------------------------------------------
\t|                  |            modules            ||   artifacts   |
\t|      default     |   2   |   2   |   2   |   0   ||   2   |   2   |
\t---------------------------------------------------------------------
:: retrieving :: org.apache.spark#spark-submit-parent-a8939d1e
\tconfs: [default]
\t2 artifacts copied, 0 already retrieved (9404kB/20ms)
"""
FAILED = """\
:: resolving dependencies :: org.apache.spark#spark-submit-parent-a8939d1e;1.0
\tconfs: [default]
:: resolution report :: resolve 755ms :: artifacts dl 0ms
:: problems summary ::
:::: WARNINGS
\t\tmodule not found: io.delta#delta-storage;4.4.0
\t\t::::::::::::::::::::::::::::::::::::::::::::::
\t\t::          UNRESOLVED DEPENDENCIES         ::
"""

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
    "a fetch of jars": (f"print({FETCH!r}, end='')", ""),
    "a fetch that failed": (f"print({FAILED!r}, end='')", "\n".join(FAILED.splitlines()[3:]) + "\n"),
    "a line in two parts": (f"import sys; sys.stderr.write({INCUBATOR[:9]!r}); sys.stderr.write({INCUBATOR[9:]!r} + chr(10))", ""),
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
@LONG
def test_a_session_is_silent_but_for_errors() -> None:
    script = "from pipelines.spark.session import get_session; session = get_session(); print(session.range(3).count())"
    failing = f"{script}\ntry: session.sql(\"select raise_error('boom')\").collect()\nexcept Exception: pass"
    good, bad = (
        subprocess.run([sys.executable, "-c", each], cwd=ROOT, capture_output=True, text=True, check=False) for each in (script, failing)
    )

    assert (good.returncode, good.stdout, good.stderr) == (0, "3\n", "")
    assert "ERROR" in bad.stderr
    assert "boom" in bad.stderr
