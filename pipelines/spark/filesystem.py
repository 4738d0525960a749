"""A file system for places that only Spark can open.

Spark's file reader lists them; in this process they are sparse copies on disk, filled on demand.
`parsers.sources.filesystems.register_filesystem` registers it. This process reads only what identifies a file, and the additions to
grown files; workers read all else (`pipelines.spark.file_bytes`).
"""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow.fs import FileInfo, FileSelector, FileType
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.errors import NothingReadable
from pipelines.spark.file_bytes import LARGE_BYTES, PIECE_SCHEMA, cut_out, escaped, lines, whole_files

HEAD_BYTES = 1 << 16
"""Bytes of every listed file that are fetched with the first one.

They usually suffice to identify a file.
"""

SMALL_BYTES = 4 << 20
"""Smaller files are fetched whole, by Spark's reader of whole files."""

BEGINNING_LINES = 1000
_THREADS = 4
_WINDOW_BYTES = 1 << 20
_WINDOW_GROWTH = 4
_AT_ONCE = 64 << 20
_PATH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://[^/]*)?(?P<path>/.*)?")
_SLASHES = re.compile(r"/+")
_READS = ("PATH_NOT_FOUND",)


@dataclass(slots=True)
class _File:
    """A listed file.

    `url` is its name in Spark's rows, `present_ranges` the ranges present in the copy, as [begin, end).
    """

    place: str
    url: str
    size: int
    changed_ns: int
    copy: Path
    present_ranges: list[tuple[int, int]] = field(default_factory=list)
    window: int = _WINDOW_BYTES

    def upto(self, position: int) -> int:
        """End of the present range that contains a position."""
        return next((end for begin, end in self.present_ranges if begin <= position < end), position)

    def hold(self, offset: int, data: bytes) -> None:
        if not data:
            return
        with open(self.copy, "r+b" if self.copy.exists() else "w+b") as copy:
            copy.seek(offset)
            copy.write(data)
        merged: list[tuple[int, int]] = []
        for begin, end in sorted([*self.present_ranges, (offset, offset + len(data))]):
            if merged and begin <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((begin, end))
        self.present_ranges = merged


class SparkFiles:
    """A file system with the interface used by `parsers.sources.filesystems`.

    Each listing is requested once per run.
    """

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._folder = tempfile.TemporaryDirectory(prefix="groupscope-")
        self._number = count()
        self._files: dict[str, _File] = {}
        self._before: dict[str, _File] = {}
        self._listed: dict[str, list[FileInfo] | None] = {}

    def refresh(self) -> None:
        """Start another run: list again, and keep the bytes of unchanged files."""
        for place, file in self._before.items():
            if self._files.get(place) is not file:
                file.copy.unlink(missing_ok=True)
        self._before, self._files = self._files, {}
        self._listed.clear()

    def get_file_info(self, what: str | FileSelector) -> Any:
        """Describe a place as Arrow does, or all files below a folder."""
        if isinstance(what, FileSelector):
            return self._below(what.base_dir) or []
        if what not in self._files:
            below = self._below(what)
            if what not in self._files:
                return FileInfo(what, FileType.NotFound if below is None else FileType.Directory)
        file = self._files[what]
        return _info(file)

    def open_input_file(self, place: str) -> io.RawIOBase:
        """Open a file for random access. Raises OSError."""
        if not self.get_file_info(place).is_file:
            raise FileNotFoundError(2, "no such file", place)
        return _OpenedPrefix(self, self._files[place])

    def ahead(self, wanted: Mapping[str, Sequence[tuple[int, int]]]) -> None:
        """Fetch ranges, [begin, end), of many files at once."""
        lacking: dict[str, list[tuple[int, int]]] = {}
        for place, parts in wanted.items():
            file = self._files.get(place)
            missing = (
                [] if file is None else [(begin, min(end, file.size)) for begin, end in parts if file.upto(begin) < min(end, file.size)]
            )
            if file is not None and missing:
                is_small_tail = file.size <= SMALL_BYTES and max(end for _, end in missing) > HEAD_BYTES
                lacking[place] = [(0, file.size)] if is_small_tail else missing
        for lot in _in_lots(lacking):
            self._bring(lot)

    def bring(self, file: _File, position: int) -> None:
        """Fetch the bytes at a position, and more.

        Raises OSError if the file no longer exists.
        """
        if position < HEAD_BYTES and not file.present_ranges:
            others = [other for other in self._files.values() if not other.present_ranges and other is not file]
            self.ahead({other.place: [(0, HEAD_BYTES)] for other in [file, *others]})
        else:
            self.ahead({file.place: [(position, position + file.window)]})
            file.window *= _WINDOW_GROWTH
        if file.upto(position) <= position:
            raise OSError(5, "Spark gives less of it than was listed")

    def _below(self, place: str) -> list[FileInfo] | None:
        if place not in self._listed:
            self._listed[place] = self._list(place)
        return self._listed[place]

    def _list(self, place: str) -> list[FileInfo] | None:
        """List files at or below a place, None if there is nothing."""
        reader = self.spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        changed = F.unix_micros("modificationTime").alias("changed")
        try:
            rows = reader.load(escaped(place)).select("path", "length", changed, F.col("_metadata.file_path").alias("url")).toArrow()
        except AnalysisException as error:
            if (error.getCondition() or "") not in _READS:
                raise NothingReadable(f"{place}: Spark can't list it: {_error_line(error)}") from error
            return None
        except Exception as error:  # file systems report errors in any class
            raise NothingReadable(f"{place}: Spark can't list it: {_error_line(error)}") from error
        base = _path_of(place)
        statuses = []
        for row in rows.to_pylist():
            path = _path_of(row["path"])
            name = place if path == base else f"{place.rstrip('/')}/{path[len(base.rstrip('/')) + 1 :]}"
            if name not in self._files:
                file = _File(name, row["url"], row["length"], row["changed"] * 1000, Path(self._folder.name) / str(next(self._number)))
                before = self._before.get(name)
                self._files[name] = before if before is not None and _info(before) == _info(file) else file
            statuses.append(_info(self._files[name]))
        return statuses

    def url_of(self, place: str) -> str:
        """Name of a file in Spark's rows."""
        return self._files[place].url

    def _bring(self, wanted: Mapping[str, Sequence[tuple[int, int]]]) -> None:
        files = [self._files[place] for place in wanted]
        small = [file for file in files if file.size <= SMALL_BYTES]
        large = [file for file in files if file.size > SMALL_BYTES]
        of = {file.url: file for file in files}
        parts: list[pa.Table] = []
        try:
            for size in (HEAD_BYTES, SMALL_BYTES):
                same_size = [file.place for file in small if (wanted[file.place][0][1] > HEAD_BYTES) == (size > HEAD_BYTES)]
                parts += [self._beginnings(same_size, size)] if same_size else []
            if large:
                with whole_files(self.spark, max(LARGE_BYTES + 1, *(file.size for file in large))):
                    parts += self._of_large(large, wanted)
        except Exception as error:  # a failed task may raise any class
            if len(wanted) == 1:
                raise OSError(2, "gone since it was listed, or not to be read", _error_line(error)) from error
            for place, ranges in wanted.items():  # one by one, since a failure is reported when its file is read
                with suppress(OSError):
                    self._bring({place: ranges})
            return
        for part in parts:
            for row in part.to_pylist():
                file = of[row["file"]]
                file.hold(row["offset"], row["data"][: max(0, file.size - row["offset"])])

    def _of_large(self, files: Sequence[_File], wanted: Mapping[str, Sequence[tuple[int, int]]]) -> list[pa.Table]:
        """Fetch ranges of large files, line by line.

        The first lines need no worker, because starting one for each file would take longer.
        """
        heads = [file for file in files if not file.present_ranges and max(end for _, end in wanted[file.place]) <= HEAD_BYTES]
        measures = {file.url: list(wanted[file.place]) for file in files if file not in heads}
        with ThreadPoolExecutor(_THREADS) as pool:
            parts = list(pool.map(self._first_lines, heads))
        if measures:
            file_lines = lines(self.spark, [file.place for file in files if file.url in measures])
            parts.append(file_lines.mapInArrow(cut_out(measures), from_arrow_schema(PIECE_SCHEMA)).toArrow())
        return parts

    def _first_lines(self, file: _File) -> pa.Table:
        rows = lines(self.spark, [file.place]).limit(BEGINNING_LINES).collect()
        data = b"".join(bytes(row["value"]) + b"\n" for row in rows)
        return pa.Table.from_pylist([{"file": file.url, "offset": 0, "data": data[:_WINDOW_BYTES]}], schema=PIECE_SCHEMA)

    def _beginnings(self, places: list[str], size: int) -> pa.Table:
        files = self.spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(list(map(escaped, places)))
        data = F.substring("content", 1, size)
        return files.select(F.col("_metadata.file_path").alias("file"), F.lit(0).alias("offset"), data.alias("data")).toArrow()


class _OpenedPrefix(io.RawIOBase):
    """A file with bytes fetched on demand."""

    def __init__(self, store: SparkFiles, file: _File) -> None:
        self._store = store
        self._file = file
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._file.size}[whence]
        return self._at

    def readinto(self, target: Any) -> int:
        """Read the bytes that are present, at least one before the end."""
        file = self._file
        if self._at >= file.size:
            return 0
        if file.upto(self._at) <= self._at:
            self._store.bring(file, self._at)
        with open(file.copy, "rb") as copy:
            copy.seek(self._at)
            data = copy.read(min(len(target), file.upto(self._at) - self._at))
        target[: len(data)] = data
        self._at += len(data)
        return len(data)


def _info(file: _File) -> FileInfo:
    return FileInfo(file.place, FileType.File, size=file.size, mtime_ns=file.changed_ns)


def _path_of(uri: str) -> str:
    """Path of a URI in Hadoop's form: without scheme and authority, with single slashes."""
    match = _PATH.fullmatch(uri)
    path = (match["path"] if match else uri) or "/"
    return _SLASHES.sub("/", path).rstrip("/") or "/"


def _in_lots(wanted: Mapping[str, Sequence[tuple[int, int]]]) -> Iterator[dict[str, Sequence[tuple[int, int]]]]:
    """Group the wanted ranges into lots that fit into memory."""
    lot: dict[str, Sequence[tuple[int, int]]] = {}
    size_bytes = 0
    for place, parts in wanted.items():
        size = sum(end - begin for begin, end in parts)
        if lot and size_bytes + size > _AT_ONCE:
            yield lot
            lot, size_bytes = {}, 0
        lot[place] = parts
        size_bytes += size
    if lot:
        yield lot


def _error_line(error: BaseException) -> str:
    """The informative line of an error, without its stack trace."""
    lines: Iterable[str] = (line.strip() for line in str(error).splitlines())
    plain = [line for line in lines if line and not line.startswith(("at ", "An error occurred"))]
    return (plain or [type(error).__name__])[0].removeprefix(": ")
