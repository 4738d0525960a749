"""Versions that results depend on: product, catalogue, models, options.

Catalogue and models have fingerprints of what their code and data mean, so nobody has to raise a number, and a changed
docstring has no effect. The modules are found by following imports from those listed here.
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

from pipelines.source_fingerprints import DIGEST_BYTES, Forms, Sources, as_in_checkout, digest_of

SCHEMA_VERSION = 1
"""Version of the tables and the JSON contract.

Stored with each table, and raised when a column changes its meaning or is removed.
"""

_SHOWN = (".py", ".yaml", ".toml", ".j2", ".css", ".js")

_BELOW = __name__.rpartition("pipelines.")[0]
"""Prefix of the packages' names: empty in a checkout."""

ROOTS = ("parsers", "models", "dashboards", "pipelines")
"""Packages in which imports are followed."""

READING = (
    "parsers.reading.reader",
    "parsers.reading.spark_source",
    "pipelines.analysis.log_file_rows",
    "pipelines.transforms.events",
    "pipelines.transforms.few_records",
    "pipelines.transforms.read.kept_records",
    "pipelines.transforms.read.records",
    "pipelines.transforms.rejected_records",
    "pipelines.transforms.unknown_messages",
)
"""Modules that turn bytes into events and other permanent rows.

Everything that they import counts.
"""

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
    "pipelines.transforms.replay_checkpoints",
    "pipelines.transforms.unknown_messages",
)
"""Modules that turn events into gold rows, and that compare checkpoints.

Everything that they import counts, except the parsers, which `READING` covers.
"""

DECIDE_NOTHING = (
    "models.stored_classes",
    "pipelines.warehouse.delta.arrow_files",
    "pipelines.warehouse.rows.arrow_diff",
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
"""Modules that store, split and write rows, without deciding their content.

Imports are not followed beyond them. The same holds for commands, pages, gates, the session, and the jobs that choose
which rows to replace; they need no entry, because no listed module imports them. Tests compare a run in steps with a
single one.
"""

DECLARED = "pipelines.schema.tables"
"""The declarations of tables.

A parser with new content is itself in `READING`, and gold is rebuilt with its columns.
"""


def product_version() -> str:
    """Version of the installed product."""
    try:
        return metadata.version("groupscope")
    except metadata.PackageNotFoundError:
        return "not installed"


@cache
def catalogue_version() -> str:
    """Fingerprint of everything that turns bytes into events."""
    return _kept(catalogue_version_of)


@cache
def model_version() -> str:
    """Fingerprint of everything that turns events into rows."""
    return _kept(model_version_of)


def catalogue_version_of(sources: Sources) -> str:
    """The catalogue's version in these sources."""
    return sources.fingerprint(READING, {*DECIDE_NOTHING, DECLARED}, data=["parsers"])


def model_version_of(sources: Sources) -> str:
    """The version of the models and their stages in these sources."""
    return sources.fingerprint(REPLAY, {*DECIDE_NOTHING, "parsers"}, data=["models"])


def sources_of(roots: Mapping[str, Traversable | Path], kept_in: Path | None = None) -> Sources:
    """Packages of the product below these folders.

    Forms of files are cached in `kept_in`.
    """
    from parsers.catalogue.loading import COMPILED, deciding_parts

    return Sources(roots, Forms(kept_in, deciding_parts), left_out=[COMPILED])


# Like Python's bytecode: recreated if lost, and valid for one version of Python.
_KEPT_IN = Path(cache_from_source(__file__)).with_suffix(".forms.json")


@cache
def _installed() -> Sources:
    return sources_of({name: resources.files(f"{_BELOW}{name}") for name in ROOTS}, _KEPT_IN)


def _kept(version_of: Callable[[Sources], str]) -> str:
    sources = _installed()
    version = version_of(sources)
    if not sys.dont_write_bytecode:
        sources.forms.save()
    return version


def keep_forms() -> None:
    """Cache the forms of all sources at installation.

    Corresponds to `compileall`, for users who may not write there later.
    """
    catalogue_version(), model_version()
    _installed().forms.save()


@cache
def pages_version() -> str:
    """Fingerprint of everything that turns rows into pages."""
    folders = ("dashboards", "conf")
    files = (file for name in folders for file in _files(resources.files(f"{_BELOW}{name}"), f"{name}/"))
    return digest_of(*(part for name, file in files for part in (name, as_in_checkout(file.read_bytes()))))


def fingerprint_of(value: object) -> str:
    """Fingerprint of options: equal if their JSON is equal."""
    return blake2b(json.dumps(value, sort_keys=True, default=str).encode(), digest_size=DIGEST_BYTES).hexdigest()


def _files(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda path: path.name):
        name = f"{prefix}{entry.name}"
        if entry.is_dir():
            yield from _files(entry, f"{name}/")
        elif entry.name.endswith(_SHOWN):
            yield name, entry


if __name__ == "__main__":
    keep_forms()
