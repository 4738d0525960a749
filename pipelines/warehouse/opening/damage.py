"""Find broken files in a local warehouse after a command failed.

Delta, Arrow and Spark report damage in many ways, some of them without a file name. Checking the files themselves gives
one message that names table and file.
"""

from __future__ import annotations

import logging
import shutil
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pipelines.errors import DamagedWarehouse, JobError
from pipelines.schema.tables import TABLES
from pipelines.storage.uris import is_uri, warehouse_uri
from pipelines.warehouse.delta.files import LOG_FOLDER, DeltaFiles, set_aside, set_commit_aside, why_no_parquet
from pipelines.warehouse.opening.migrations import RETIRED

_log = logging.getLogger(__name__)
_NAMED = 3
"""Maximum number of broken files named in a message; the rest is counted."""

_COUNTED = 1000
_PASSING = (KeyboardInterrupt, SystemExit, GeneratorExit)
REGISTER = "runs"
DISPOSABLE = frozenset({"file_inspections"})
"""Tables that only save time and can be rebuilt."""


@dataclass(frozen=True, slots=True)
class DamagedFile:
    """A broken file of a table, by its path below the warehouse."""

    table: str
    file: str
    what: str
    is_passing: bool = False
    """True if the next run repairs it."""

    def __str__(self) -> str:
        return f"{self.file} {self.what}"


@contextmanager
def damage_named(place: str | None) -> Iterator[None]:
    """Replace an unexplained error by one that names the broken file, if any."""
    try:
        yield
    except BaseException as error:  # panics in Rust are not subclasses of Exception
        failure = damage_behind(error, place)
        if failure is None:
            raise
        raise failure from error


def damage_behind(error: BaseException, place: str | None) -> DamagedWarehouse | None:
    """Return the error that names the broken file behind `error`, or None."""
    if place is None or is_uri(place) or isinstance(error, (JobError, *_PASSING)) or isinstance(getattr(error, "exit_code", None), int):
        return None
    try:
        damages_found = list(islice(damages(place, str(error)), _COUNTED))
    except Exception as trouble:
        _log.debug("what is broken in the warehouse can't be told: %s", trouble)
        return None
    return damaged(place, damages_found) if damages_found else None


def damaged(place: str, damages_found: list[DamagedFile]) -> DamagedWarehouse:
    """The error that names broken files and the remedy."""
    damages_found = [damage for damage in damages_found if not damage.is_passing] or damages_found
    named, others = (
        "; ".join(map(str, damages_found[:_NAMED])),
        f" (and {len(damages_found) - _NAMED} more)" if len(damages_found) > _NAMED else "",
    )
    if damages_found[0].is_passing:
        return DamagedWarehouse(f"{place}: damaged: {named}{others}; the next groupscope run mends that")
    tables = ", ".join(dict.fromkeys(TABLES[damage.table].path for damage in damages_found))
    return DamagedWarehouse(
        f"{place}: damaged: {named}{others}; bring {'it' if len(damages_found) == 1 else 'them'} back from a copy of the warehouse, or run "
        f"groupscope run once with --rebuild, which sets {tables} aside and makes anew what the logs that are still there tell"
    )


def damages(place: str, reason: str = "", tables: Iterable[str] = TABLES) -> Iterator[DamagedFile]:
    """Broken files of these tables.

    Files named in `reason`, for example in an error, are read completely.
    """
    root = Path(warehouse_uri(place))
    for name in tables:
        files = DeltaFiles(root / TABLES[name].path)
        if not files.folder.exists() and str(files.folder) in reason:
            yield DamagedFile(name, TABLES[name].path, "is missing")
        if not files.folder.is_dir() or files.was_never_made:
            continue
        needless = files.needless_checkpoints()
        broken = [DamagedFile(name, str(path.relative_to(root)), problem, path in needless) for path, problem in files.problems()]
        yield from broken or _of_rows(root, name, files, reason)


def _of_rows(root: Path, name: str, files: DeltaFiles, reason: str) -> Iterator[DamagedFile]:
    """Missing or torn data files in the latest version of a table."""
    from deltalake import DeltaTable

    actions = DeltaTable(str(files.folder)).get_add_actions()
    for path, size in zip(actions["path"].to_pylist(), actions["size_bytes"].to_pylist(), strict=True):
        file = files.folder / urllib.parse.unquote(path)
        problem = why_no_parquet(file, size) or (_why_unread(file) if name == REGISTER or file.name in reason else None)
        if problem is not None:
            yield DamagedFile(name, str(file.relative_to(root)), problem)


def _why_unread(file: Path) -> str | None:
    import pyarrow.parquet as pq

    try:
        for _ in pq.ParquetFile(file, page_checksum_verification=True).iter_batches():
            pass
    except Exception as error:
        return f"can't be read: {' '.join(str(error).split())}"
    return None


def mend(place: str, table: str, published: int) -> None:
    """Remove remains of a power cut or a full disk.

    These are a table without a first commit, and torn commits after version `published`. Raises DamagedWarehouse if the
    published version itself is broken, as far as names and sizes of its commits show.
    """
    if is_uri(place):
        return
    files = DeltaFiles(Path(warehouse_uri(place)) / TABLES[table].path)
    if files.was_never_made and published <= 0:
        _log.info("%s: the making of the table had stopped half-way; it is made anew", files.folder)
        files.remove()
        return
    for commit in files.torn_end(published):
        _log.warning("%s is torn, so what it was to say is done anew; it is kept as %s", commit, set_commit_aside(commit).name)
    for checkpoint in files.needless_checkpoints():
        _log.warning("%s is torn, and no commit is missing without it; it is kept as %s", checkpoint, set_aside(checkpoint).name)
        (files.log / "_last_checkpoint").unlink(missing_ok=True)
    check(place, table, published)


def remove_retired(place: str) -> None:
    """Remove tables of former versions from a local warehouse."""
    if not is_uri(place):
        for folder in RETIRED:
            shutil.rmtree(Path(warehouse_uri(place)) / folder, ignore_errors=True)


def check(place: str, table: str, published: int) -> None:
    """Raise DamagedWarehouse if a version would silently be read with rows missing."""
    if is_uri(place):
        return
    root = Path(warehouse_uri(place))
    files = DeltaFiles(root / TABLES[table].path)
    damages_found = (
        [DamagedFile(table, str(path.relative_to(root)), problem) for path, problem in files.hollows(published)]
        if files.has_versions
        else []
    )
    if not files.has_versions and (published > 0 or (files.folder.is_dir() and files.holds_rows)):
        damages_found = [DamagedFile(table, f"{TABLES[table].path}/{LOG_FOLDER}", "holds no commit")]
    if damages_found:
        raise damaged(place, damages_found)


def set_damaged_aside(place: str, tables: Iterable[str]) -> list[str]:
    """Rename broken tables, so that they are created anew; return messages."""
    if is_uri(place):
        return []
    root, messages = Path(warehouse_uri(place)), []
    by_table: Mapping[str, DamagedFile] = {damage.table: damage for damage in damages(place, tables=tables)}
    for name, damage in by_table.items():
        messages.append(
            f"{damage}; {TABLES[name].path} is made anew, and what it held is kept as {set_aside(root / TABLES[name].path).name}"
        )
    return messages


__all__ = ["DamagedFile", "check", "damage_behind", "damage_named", "damages", "mend", "set_damaged_aside"]
