"""Get the Spark session: a running one unchanged, or a new one with Delta.

Settings by the user (spark-submit, spark-defaults.conf, `--conf`) always take precedence. pyspark is imported inside
functions, so that the command line can look for jars without a JVM.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import Enum
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines import exit_codes as codes
from pipelines.errors import JobError
from pipelines.spark.jvm_output import LOG_OPTIONS, jvm_talks_to_stderr, quiet_environment

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

SCALA_VERSION = "2.13"
DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"

# Further dependencies of delta-spark serve Unity Catalog and the kernel connector; neither is used here.
_NOT_NEEDED = (
    "io.delta:delta-kernel-api",
    "io.delta:delta-kernel-defaults",
    "io.delta:delta-kernel-unitycatalog",
    "io.unitycatalog:unitycatalog-client",
    "io.unitycatalog:unitycatalog-hadoop",
    "com.google.code.findbugs:jsr305",
)

# Spark changed the default for Arrow between patch releases, and type coercions differ between the two paths.
_ALWAYS = {
    "spark.sql.session.timeZone": "UTC",
    # Recording the origin of each column expression costs over a millisecond for each of thousands.
    "spark.sql.dataFrameQueryContext.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.pythonUDF.arrow.enabled": "true",
    "spark.sql.execution.pythonUDTF.arrow.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.extensions": DELTA_EXTENSION,
    "spark.sql.catalog.spark_catalog": DELTA_CATALOG,
}

# Spark's defaults suit clusters: 200 shuffle partitions and 50 for each Delta log cost seconds on one machine.
_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # What nobody looks at is kept as well: by default, of the last 1,000 queries.
    "spark.sql.ui.retainedExecutions": "20",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "1000",
    "spark.log.level": "ERROR",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.databricks.delta.snapshotPartitions": "1",
    # VACUUM lists a table's files in this many tasks; the default of 10,000 exceeds the number of files.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
    "spark.sql.adaptive.enabled": "false",
}


class Workload(Enum):
    """Expected amount of work for a new session."""

    USUAL = "usual"
    LARGE = "large"


# A run consists of hundreds of different queries, and Python reads the records. Compiling the queries takes a third of the
# time of a small run, and fully optimising the code costs more than it saves until there are many rows. A single run fills
# the 48 MB of code cache in a JVM without optimisation; when it is full, the JVM only interprets.
#
# A repeated run must not need more memory each time. Each broadcast takes at least one page of memory, by default 16 MB, and
# is forgotten only after a full collection. G1, compiled queries and their optimised code grow to all that they may have. By
# default up to 70 % of the heap may be free after a collection: what the largest run needed would never be given back.
_OF_WORKLOAD: Mapping[Workload, Mapping[str, str]] = {
    Workload.USUAL: {
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
        " -XX:+UseSerialGC -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=25",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.buffer.pageSize": "1m",
    },
    Workload.LARGE: {},
}

_MAX_LOCAL_SHUFFLE_PARTITIONS = 8

# Spark itself lacks this statement; Delta reports a missing table, or its missing catalog.
_DELTA_PROBE = "OPTIMIZE delta.`/groupscope/asks/whether/there/is/delta`"
_NO_DELTA = ("PARSE_SYNTAX_ERROR", "DELTA_CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG")

_SETTING = re.compile(r"(?P<key>[^#\s=][^\s=]*)(?:\s*=\s*|\s+)(?P<value>.*)")


class NoDelta(JobError):
    """The running session cannot read or write Delta tables."""


class SparkGone(JobError):
    """Spark has stopped, and this process cannot start it again."""

    exit_code = codes.CANNOT_WRITE


def delta_artifacts() -> tuple[str, ...]:
    """Maven coordinates of the jars for the installed pyspark and delta-spark."""
    spark_minor = ".".join(version("pyspark").split(".")[:2])
    delta = version("delta-spark")
    return f"io.delta:delta-spark_{spark_minor}_{SCALA_VERSION}:{delta}", f"io.delta:delta-storage:{delta}"


def jar_folders() -> list[Path]:
    """Folders that may contain jars.

    The user's choice first, then the caches of Ivy and Maven.
    """
    home = Path.home()
    folders_text = os.environ.get("GROUPSCOPE_JARS")
    return [*([Path(folders_text)] if folders_text else []), *sorted(home.glob(".ivy2*/jars"), reverse=True), home / ".m2" / "repository"]


def find_delta_jars(folders: list[Path] | None = None) -> list[Path]:
    """Delta's jars on this machine, empty unless all are present."""
    jars = [_find_jar(coordinates, jar_folders() if folders is None else folders) for coordinates in delta_artifacts()]
    return [jar for jar in jars if jar is not None] if all(jars) else []


def _find_jar(coordinates: str, folders: list[Path]) -> Path | None:
    organisation, artifact, revision = coordinates.split(":")
    names = [
        f"{artifact}-{revision}.jar",
        f"{organisation}_{artifact}-{revision}.jar",
        f"{organisation.replace('.', '/')}/{artifact}/{revision}/{artifact}-{revision}.jar",
    ]
    return next((path for folder in folders for name in names if (path := folder / name).is_file()), None)


def delta_settings(configured: Mapping[str, str], spark_home: Path) -> dict[str, str]:
    """Settings that load Delta's jars.

    None if the platform provides them; local files take precedence over a download.
    """
    packages = _listed(configured, "spark.jars.packages")
    named = [*packages, configured.get("spark.jars", "")]
    if any("delta" in name for name in named) or any(spark_home.glob("jars/delta-spark*.jar")):
        return {}
    jars = find_delta_jars()
    if not jars:
        excludes = dict.fromkeys([*_listed(configured, "spark.jars.excludes"), *_NOT_NEEDED])
        return {"spark.jars.packages": ",".join([*packages, delta_artifacts()[0]]), "spark.jars.excludes": ",".join(excludes)}
    return {"spark.jars": ",".join([*_listed(configured, "spark.jars"), *map(str, jars)])}


def _listed(configured: Mapping[str, str], name: str) -> list[str]:
    """Elements of a setting that is a list."""
    return [name.strip() for name in configured.get(name, "").split(",") if name.strip()]


def read_defaults(text: str) -> dict[str, str]:
    """Parse settings in the form of spark-defaults.conf: key, white space or `=`, value."""
    pairs = (_SETTING.fullmatch(line.strip()) for line in text.splitlines())
    return {pair["key"]: pair["value"] for pair in pairs if pair is not None}


def _configured(conf: Mapping[str, str], spark_home: Path) -> dict[str, str]:
    """The user's settings, in increasing precedence."""
    defaults = _conf_dir(spark_home) / "spark-defaults.conf"
    settings = read_defaults(defaults.read_text(encoding="utf-8")) if defaults.is_file() else {}
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # below spark-submit the JVM is there and knows
        from pyspark import SparkConf, SparkContext

        SparkContext._ensure_initialized()
        settings |= dict(SparkConf().getAll())
    return settings | dict(conf)


def _conf_dir(spark_home: Path) -> Path:
    return Path(os.environ.get("SPARK_CONF_DIR") or spark_home / "conf")


def known_settings(conf: Mapping[str, str]) -> dict[str, str]:
    """All Spark settings by the user that are known without a session."""
    return _configured(conf, _spark_home())


def session_settings(
    conf: Mapping[str, str], configured: Mapping[str, str], spark_home: Path, work: Workload = Workload.USUAL
) -> dict[str, str]:
    """Settings of a new session.

    `conf` is unchanged; our own apply only if the user has set nothing.
    """
    master = configured.get("spark.master", "local[*]")
    settings = {"spark.master": master, "spark.app.name": "groupscope", **_ALWAYS}
    if master.startswith("local"):
        partitions = max(2, min(os.cpu_count() or 2, _MAX_LOCAL_SHUFFLE_PARTITIONS))
        settings |= {**_LOCAL, **_OF_WORKLOAD[work], "spark.sql.shuffle.partitions": str(partitions)}
    extensions = configured.get("spark.sql.extensions", "")
    if DELTA_EXTENSION not in extensions:
        extensions = ",".join(filter(None, [extensions, DELTA_EXTENSION]))
    needed = {"spark.sql.extensions": extensions, **delta_settings(configured, spark_home)}
    return {key: value for key, value in settings.items() if key not in configured} | dict(conf) | needed


def _prepare_workers() -> None:
    """Make local Python workers use this interpreter and its packages.

    Without PYSPARK_PYTHON they start the system's `python3`. They also lack folders that only this process has added to
    its path.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    root = str(Path(__file__).resolve().parents[__name__.count(".")])
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if root not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([root, *paths])


_REMOTE = ("SPARK_REMOTE", "DATABRICKS_RUNTIME_VERSION")
"""Environment variables that indicate sessions on a server."""


def import_spark() -> None:
    """Import Spark's session modules before another thread imports parts of Spark.

    Two concurrent imports could see partially initialised modules.
    """
    import pyspark.sql

    if any(map(os.environ.get, _REMOTE)):
        with suppress(ImportError):
            import pyspark.sql.connect.session  # noqa: F401


def get_session(conf: Mapping[str, str] | None = None, work: Workload = Workload.USUAL) -> SparkSession:
    """Return the session of this process; a running one is not changed.

    Raises NoDelta if a session made by others lacks the features of Delta that are needed.
    """
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    # Under Spark Connect and on Databricks the settings belong to the server and the platform.
    if running is None and any(map(os.environ.get, _REMOTE)):
        running = SparkSession.builder.getOrCreate()
    if running is not None:
        _must_have_delta(running)
        return running
    spark_home = _spark_home()
    configured = _configured(conf or {}, spark_home)
    settings = session_settings(conf or {}, configured, spark_home, work)
    if settings.get("spark.master", configured.get("spark.master", "")).startswith("local"):
        _prepare_workers()
        quiet = quiet_environment(os.environ, _conf_dir(spark_home))
        os.environ |= quiet
        if LOG_OPTIONS in quiet and "spark.log.level" not in configured:  # said already, and Spark prints what is set
            del settings["spark.log.level"]
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    with jvm_talks_to_stderr(), _interrupts_stay():
        return builder.getOrCreate()


def _must_have_delta(session: SparkSession) -> None:
    """Raise NoDelta if a session has no Delta.

    Settings are not conclusive, because platforms have their own Delta, and programs add extensions without settings.
    So if they name none, a statement known only to Delta is tried on a table that does not exist.
    """
    from pyspark.errors import AnalysisException

    named = {name: session.conf.get(name, "") or "" for name in ("spark.sql.extensions", "spark.sql.catalog.spark_catalog")}
    if DELTA_EXTENSION in named["spark.sql.extensions"] and named["spark.sql.catalog.spark_catalog"] == DELTA_CATALOG:
        return
    try:
        session.sql(_DELTA_PROBE).collect()
    except AnalysisException as error:
        if (error.getCondition() or "").split(".")[0] in _NO_DELTA:
            raise NoDelta(
                "the running Spark session has no Delta: start it with Delta's jar, "
                f"spark.sql.extensions={DELTA_EXTENSION} and spark.sql.catalog.spark_catalog={DELTA_CATALOG}"
            ) from error


def collect_garbage() -> None:
    """Let a JVM that this process has started collect its garbage.

    Spark forgets broadcasts and shuffles only after a full collection, which the JVM puts off until its heap is full. Spark
    itself asks for one every 30 minutes.
    """
    if "pyspark" not in sys.modules:
        return
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is not None and getattr(gateway, "proc", None) is not None:
        with suppress(Exception):  # the next run replaces a dead session
            gateway.jvm.System.gc()


def let_go_of_dead() -> None:
    """After an unexplained error, discard a dead session.

    Then `get_session` starts another one. Raises SparkGone if its JVM is dead and was not started by this process.
    """
    if "pyspark" not in sys.modules:
        return
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if os.environ.get("SPARK_REMOTE"):
        remote = SparkSession.getActiveSession()
        if remote is not None:  # the server cannot be asked in time whether it still has the session, and a new one is cheap
            remote.stop()
        return
    context, gateway = SparkContext._active_spark_context, SparkContext._gateway
    if gateway is None or (context is not None and _works(context)):
        return
    if context is not None:
        with suppress(Exception):
            context.stop()
        SparkContext._active_spark_context = None
    if _answers(gateway):
        return
    if getattr(gateway, "proc", None) is None:
        raise SparkGone("the JVM of Spark has ended, and was started by another: start the command again")
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def _works(context: SparkContext) -> bool:
    try:
        return context._jsc is not None and not context._jsc.sc().isStopped()
    except Exception:  # errors of py4j and of the network have no common base class
        return False


def _answers(gateway: Any) -> bool:
    try:
        return bool(gateway.jvm.java.lang.System.getProperty("java.version"))
    except Exception:
        return False


@contextmanager
def _interrupts_stay() -> Iterator[None]:
    """Restore the handler of SIGINT after the block.

    A context created in the main thread sets its own, which ends the run. Python's default handler is not restored,
    because Spark's also cancels the jobs.
    """
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if before not in (None, signal.default_int_handler) and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


def _spark_home() -> Path:
    import pyspark

    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
