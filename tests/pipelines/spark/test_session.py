"""Whose settings win, and where jars are found."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession

from pipelines.jobs.schedule import until_stopped
from pipelines.spark import session
from pipelines.spark.shuffle_partitions import partitions_of
from tests.conftest import LONG, ROOT


@pytest.fixture
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Delta's jars as Ivy keeps them, in a folder of our own."""
    files = []
    for coordinates in session.delta_artifacts():
        organisation, artifact, revision = coordinates.split(":")
        files.append(tmp_path / f"{organisation}_{artifact}-{revision}.jar")
        files[-1].touch()
    monkeypatch.setattr(session, "jar_folders", lambda: [tmp_path])
    return files


def test_jars_on_this_machine_are_preferred_to_a_download(jars: list[Path], tmp_path: Path) -> None:
    assert session.delta_settings({}, tmp_path) == {"spark.jars": ",".join(map(str, jars))}
    assert session.delta_settings({"spark.jars": "/own.jar"}, tmp_path)["spark.jars"] == ",".join(["/own.jar", *map(str, jars)])


def test_one_jar_is_not_enough(jars: list[Path], tmp_path: Path) -> None:
    jars[1].unlink()
    assert session.delta_settings({}, tmp_path)["spark.jars.packages"] == session.delta_artifacts()[0]


def test_jars_of_the_user_s_choice_come_beside_delta_s(jars: list[Path], tmp_path: Path) -> None:
    configured = {"spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.5.0", "spark.jars.excludes": "some:thing"}
    assert session.delta_settings(configured, tmp_path) == {"spark.jars": ",".join(map(str, jars))}
    jars[0].unlink()
    found = session.delta_settings(configured, tmp_path)
    assert found["spark.jars.packages"] == f"org.apache.hadoop:hadoop-aws:3.5.0,{session.delta_artifacts()[0]}"
    assert found["spark.jars.excludes"].startswith("some:thing,io.delta:")


def test_maven_repository_is_known(tmp_path: Path) -> None:
    for coordinates in session.delta_artifacts():
        _, artifact, revision = coordinates.split(":")
        jar = tmp_path / "io" / "delta" / artifact / revision / f"{artifact}-{revision}.jar"
        jar.parent.mkdir(parents=True)
        jar.touch()
    assert len(session.find_delta_jars([tmp_path])) == 2


@pytest.mark.parametrize(
    "configured", [{"spark.jars.packages": "io.delta:delta-spark_4.2_2.13:4.4.0"}, {"spark.jars": "/opt/delta-spark.jar"}]
)
def test_no_jar_is_forced_on_who_brings_one(configured: dict[str, str], tmp_path: Path) -> None:
    assert session.delta_settings(configured, tmp_path) == {}


def test_no_jar_is_forced_on_a_platform_that_has_delta(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "delta-spark_2.13-9.9.jar").touch()
    assert session.delta_settings({}, tmp_path) == {}


@pytest.mark.usefixtures("jars")
def test_settings_of_the_user_win(tmp_path: Path) -> None:
    configured = {"spark.master": "local[1]", "spark.driver.memory": "9g", "spark.sql.extensions": "some.Extension"}
    settings = session.session_settings({"spark.sql.shuffle.partitions": "3"}, configured | {"spark.sql.shuffle.partitions": "3"}, tmp_path)
    assert "spark.master" not in settings
    assert "spark.driver.memory" not in settings
    assert settings["spark.sql.shuffle.partitions"] == "3"
    assert settings["spark.sql.extensions"] == f"some.Extension,{session.DELTA_EXTENSION}"
    assert settings["spark.ui.enabled"] == "false"


@pytest.mark.usefixtures("jars")
def test_settings_for_one_machine_stay_off_clusters(tmp_path: Path) -> None:
    settings = session.session_settings({}, {"spark.master": "yarn"}, tmp_path)
    assert not settings.keys() & {"spark.sql.shuffle.partitions", "spark.ui.enabled", "spark.driver.host", "spark.driver.memory"}
    assert settings["spark.sql.session.timeZone"] == "UTC"


@pytest.mark.usefixtures("jars")
def test_the_more_there_is_to_do_the_more_is_compiled_on_one_machine(tmp_path: Path) -> None:
    def of(work: session.Workload, **configured: str) -> dict[str, str]:
        return session.session_settings({}, {name.replace("_", "."): value for name, value in configured.items()}, tmp_path, work)

    never, whole = "spark.sql.codegen.factoryMode", "spark.sql.codegen.wholeStage"
    told = {work: (of(work).get(never), of(work).get(whole)) for work in session.Workload}
    assert told == {
        session.Workload.USUAL: ("NO_CODEGEN", "false"),
        session.Workload.LARGE: (None, None),
    }
    assert all(of(work)["spark.driver.host"] == "127.0.0.1" for work in session.Workload)
    assert never not in of(session.Workload.USUAL, spark_master="yarn")
    assert never not in session.session_settings({}, {never: "FALLBACK"}, tmp_path, session.Workload.USUAL)


def test_spark_defaults_are_read_in_all_their_forms() -> None:
    text = "# comment\n\nspark.master   yarn\nspark.a=b=c\nspark.d = e f\nspark.flag\n  spark.x\ty\n"
    assert session.read_defaults(text) == {"spark.master": "yarn", "spark.a": "b=c", "spark.d": "e f", "spark.x": "y"}


@pytest.mark.spark
def test_a_running_session_is_taken_as_it_is(spark: SparkSession) -> None:
    assert session.get_session({"spark.sql.shuffle.partitions": "77"}) is spark
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"


_STARTED = """
import sys
from pathlib import Path
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession
from pipelines.spark import session

told = {"spark.master": "local[1]", "spark.log.level": "ERROR", "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}
told |= session.delta_settings({}, Path("nowhere")) | dict(each.split("=", 1) for each in sys.argv[2:])
context = SparkContext(conf=SparkConf().setAll(told.items()))
builder = context._jvm.org.apache.spark.sql.classic.SparkSession.builder()
if sys.argv[1] == "in code":
    builder = builder.withExtensions(context._jvm.io.delta.sql.DeltaSparkSessionExtension())
running = SparkSession(context, builder.getOrCreate())
SparkSession._instantiatedSession = running
running._jvm.SparkSession.setActiveSession(running._jsparkSession)
try:
    print("taken" if session.get_session() is not None else "none")
except session.NoDelta as error:
    print(error)
"""


@pytest.mark.spark
@pytest.mark.usefixtures("spark")  # whose jars are there, then
@pytest.mark.parametrize(
    ("how", "settings", "answer"),
    [
        pytest.param("in code", [f"spark.sql.catalog.spark_catalog={session.DELTA_CATALOG}"], "taken", marks=LONG),
        pytest.param(
            "by nobody", [], "the running Spark session has no Delta: start it with Delta's jar, spark.sql.extensions=", marks=LONG
        ),
        pytest.param(
            "by nobody",
            [f"spark.sql.extensions={session.DELTA_EXTENSION}"],
            "the running Spark session has no Delta: start it with Delta's jar",
            marks=LONG,
        ),
    ],
)
def test_a_running_session_is_asked_whether_it_has_delta(how: str, settings: list[str], answer: str) -> None:
    command = [sys.executable, "-c", _STARTED, how, *settings]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
    assert done.stdout.startswith(answer), (done.stdout, done.stderr[-4000:])


@pytest.mark.spark
def test_a_platform_s_own_session_is_taken(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Databricks, whose Delta no setting names, and whose session may be that of another thread."""
    monkeypatch.setattr(session, "DELTA_EXTENSION", "another.Extension")
    assert session.get_session() is spark
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "18.0")
    assert session.get_session() is spark


@pytest.mark.spark
def test_local_workers_run_this_interpreter_and_see_our_packages(spark: SparkSession) -> None:
    def where(_: object) -> object:
        import pandas as pd

        import pipelines

        yield pd.DataFrame({"text": [sys.executable, str(pipelines.__file__)]})

    rows = spark.range(1, numPartitions=1).mapInPandas(where, "text string").collect()  # type: ignore[arg-type]
    assert [row.text for row in rows] == [sys.executable, str(Path(session.__file__).parents[1] / "__init__.py")]


class MadeUp:
    """Stands for Spark: a session that sets a handler of SIGINT of its own as it is made, as SparkContext does."""

    def config(self, *_: str) -> MadeUp:
        return self

    def getOrCreate(self) -> MadeUp:
        def cancels_all_jobs(*_: object) -> None:
            raise KeyboardInterrupt

        signal.signal(signal.SIGINT, cancels_all_jobs)
        return self


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_session_leaves_a_schedule_its_signals(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr("pyspark.sql.SparkSession", SimpleNamespace(getActiveSession=lambda: None, builder=MadeUp()))
    before, over = signal.getsignal(signal.SIGINT), threading.Event()
    with until_stopped(over):
        session.get_session({"spark.master": "spark://elsewhere:7077"})
        signal.raise_signal(number)  # the run that is under way goes on
        assert over.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(signal.SIGINT) is before


def test_without_a_schedule_the_handler_is_that_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.sql.SparkSession", SimpleNamespace(getActiveSession=lambda: None, builder=MadeUp()))
    monkeypatch.setattr(signal, "default_int_handler", signal.getsignal(signal.SIGINT))
    before = signal.getsignal(signal.SIGINT)
    session.get_session({"spark.master": "spark://elsewhere:7077"})
    assert signal.getsignal(signal.SIGINT) is not before
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(("told", "parts"), [("8", 8), ("auto", 200), (None, 200), ("", 200), ("0", 1)])
def test_a_platform_may_find_the_number_of_partitions_by_itself(told: str | None, parts: int) -> None:
    conf = SimpleNamespace(get=lambda name, default: told if name == "spark.sql.shuffle.partitions" else default)
    assert partitions_of(SimpleNamespace(conf=conf)) == parts  # type: ignore[arg-type]


@pytest.mark.spark
def test_a_jvm_of_our_own_collects_its_garbage(spark: SparkSession) -> None:
    management = spark.sparkContext._gateway.jvm.java.lang.management.ManagementFactory  # type: ignore[union-attr]
    collectors = list(management.getGarbageCollectorMXBeans())
    before = sum(collector.getCollectionCount() for collector in collectors)

    session.collect_garbage()

    assert sum(collector.getCollectionCount() for collector in collectors) > before


@pytest.mark.parametrize("process", [None, "ours"], ids=["another's", "dead"])
def test_a_jvm_that_is_not_ours_or_dead_is_left_alone(process: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gateway:
        proc = process
        asked = 0

        @property
        def jvm(self) -> object:
            Gateway.asked += 1
            raise ConnectionError("nobody answers")

    monkeypatch.setattr("pyspark.SparkContext._gateway", Gateway())

    session.collect_garbage()

    assert Gateway.asked == (process is not None)
