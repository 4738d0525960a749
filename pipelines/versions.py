"""What results depend on beside the input: the product's version, and fingerprints of catalogue, models and options.

Fingerprints are of what the code and data mean, so that nobody has to remember to raise a number, and nobody pays for a
docstring. Which modules count is found by following imports from those that are named here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from hashlib import blake2b
from importlib import metadata, resources
from importlib.resources.abc import Traversable
from importlib.util import cache_from_source
from pathlib import Path

from pipelines.source_fingerprints import DIGEST_BYTES, Forms, Sources, digest_of

SCHEMA_VERSION = 1
"""Version of the tables and the JSON contract; stored with each table, raised when a column changes its meaning or goes away."""

_SHOWN = (".py", ".yaml", ".toml", ".j2", ".css", ".js")

ROOTS = ("parsers", "models", "pipelines")
"""Packages in which imports are followed."""

READING = (
    "parsers.reading.reader",
    "parsers.reading.spark_source",
    "pipelines.analysis.log_files",
    "pipelines.transforms.events",
    "pipelines.transforms.read.carried_over",
    "pipelines.transforms.read.records",
    "pipelines.transforms.rejected_records",
    "pipelines.transforms.unknown_messages",
)
"""Where bytes become events and the other rows that are not made anew in each run; all that these import counts."""

REPLAY = (
    "models.kafka.cluster.fact_fingerprints",
    "models.kafka.outages.broker_fingerprints",
    "models.kafka.outages.reader_fingerprints",
    "pipelines.analysis.in_process",
    "pipelines.jobs.replay.cluster_inputs",
    "pipelines.transforms.clusters",
    "pipelines.transforms.outage_replay",
    "pipelines.transforms.consumed_topics",
    "pipelines.transforms.group_replay",
    "pipelines.transforms.sightings",
    "pipelines.transforms.snapshots",
    "pipelines.transforms.unknown_messages",
)
"""Where events become rows of gold, in this process and in Spark, and by what stored states are compared.

All that these import counts, but for the parsers, which `READING` covers.
"""

DECIDE_NOTHING = (
    "models.stored_classes",
    "pipelines.warehouse.arrow_files",
    "pipelines.warehouse.arrow_diff",
    "pipelines.gc_tuning",
    "pipelines.spark.caching",
    "pipelines.jobs.ingest.file_rows",
    "pipelines.spark.scoped_settings",
    "pipelines.spark.shuffle_partitions",
    "pipelines.scratch",
    "pipelines.source_fingerprints",
    "pipelines.warehouse.warehouse",
    "pipelines.versions",
)
"""Where and how rows and states are held, sorted into parts and written, not what they say: imports end here.

The same holds, and needs no entry since nothing above imports them, of commands, pages, gates, the session, and of those jobs
that choose which rows to make anew: tests hold a run in steps against one in a single go.
"""

DECLARED = "pipelines.schema.tables"
"""What tables are declared as. A parser that tells more is in `READING` itself, and gold is made anew with its columns."""


def product_version() -> str:
    """Version of the installed product."""
    try:
        return metadata.version("groupscope")
    except metadata.PackageNotFoundError:
        return "not installed"


@cache
def catalogue_version() -> str:
    """Fingerprint of all that turns bytes into events."""
    return _kept(catalogue_version_of)


@cache
def model_version() -> str:
    """Fingerprint of all that turns events into rows."""
    return _kept(model_version_of)


def catalogue_version_of(sources: Sources) -> str:
    """The catalogue's version as it is in these sources."""
    return sources.fingerprint(READING, {*DECIDE_NOTHING, DECLARED}, data=["parsers"])


def model_version_of(sources: Sources) -> str:
    """The version of the models, and of the stages that run them, as it is in these sources."""
    return sources.fingerprint(REPLAY, {*DECIDE_NOTHING, "parsers"}, data=["models"])


def sources_of(roots: Mapping[str, Traversable | Path], kept_in: Path | None = None) -> Sources:
    """Packages of the product below these folders; forms of files are kept in `kept_in`."""
    from parsers.catalogue.loading import COMPILED, deciding

    return Sources(roots, Forms(kept_in, deciding), left_out=[COMPILED])


# As Python's own: made anew where it is lost, and valid for one version of Python.
_KEPT_IN = Path(cache_from_source(__file__)).with_suffix(".forms.json")


@cache
def _installed() -> Sources:
    return sources_of({name: resources.files(name) for name in ROOTS}, _KEPT_IN)


def _kept(version_of: Callable[[Sources], str]) -> str:
    sources = _installed()
    found = version_of(sources)
    if not sys.dont_write_bytecode:
        sources.forms.save()
    return found


def keep_forms() -> None:
    """Keep the forms of all sources, as `compileall` keeps bytecode, also where starts may write none."""
    catalogue_version(), model_version()
    _installed().forms.save()


@cache
def pages_version() -> str:
    """Fingerprint of all that turns rows into pages."""
    folders = ("dashboards", "conf")
    files = (file for name in folders for file in _files(resources.files(name), f"{name}/"))
    return digest_of(*(part for name, file in files for part in (name, file.read_bytes())))


def fingerprint_of(value: object) -> str:
    """Fingerprint of options: equal where their JSON is."""
    return blake2b(json.dumps(value, sort_keys=True, default=str).encode(), digest_size=DIGEST_BYTES).hexdigest()


def _files(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        name = f"{prefix}{entry.name}"
        if entry.is_dir():
            yield from _files(entry, f"{name}/")
        elif entry.name.endswith(_SHOWN):
            yield name, entry


if __name__ == "__main__":
    keep_forms()
