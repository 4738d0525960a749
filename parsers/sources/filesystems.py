"""Open files by local path or by URI in an object store.

URIs are, for example, `s3a://bucket/logs`, `gs://…`, `abfss://…`, `hdfs://…`, `file:/…`. Arrow's own file systems open
them. `configure` sets endpoints and keys; without it they are found as the vendors' tools find them (environment,
profiles, roles of the machine). Other schemes may be registered in this process (`register_filesystem`).
"""

from __future__ import annotations

import errno
import fnmatch
import io
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from typing import Any, BinaryIO, TypeVar, cast

_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):/")
# Not parsed as a URL, because names of files and globs may contain `#` and `?`.
_LOCAL = re.compile(r"[^:]+:(?://[^/]*)?(?P<path>.*)", re.DOTALL)
_KINDS = {"s3": "s3", "s3a": "s3", "s3n": "s3", "abfs": "azure", "abfss": "azure", "gs": "gs", "hdfs": "hdfs", "viewfs": "hdfs"}
GLOB_CHARACTERS = re.compile(r"[*?\[]")
_PATIENCE = timedelta(seconds=15)
"""Time in which Google's client retries a request.

Its own default is 15 minutes.
"""
_ACCESS_HINT = "check its address, the network and the credentials (spark.hadoop.fs.…, the environment, profiles)"
_AT_ONCE = 16
"""Maximum number of concurrent requests to a store, because latency dominates."""

Item = TypeVar("Item")
Result = TypeVar("Result")
FileState = tuple[int, int]
"""State of a file: time of change and size.

The time is in nanoseconds since 1970, 0 if the store does not provide it.
"""
_settings: dict[str, dict[str, Any]] = {}
_served: dict[str, Any] = {}


def configure(settings: Mapping[str, Mapping[str, Any]]) -> None:
    """Set arguments of Arrow's file systems in this process.

    Keyed by kind (`s3`, `azure`) and, for a bucket or account with others, by its name (`s3/BUCKET`, `azure/ACCOUNT`).
    """
    if settings != _settings:
        _settings.clear()
        _settings.update({kind: dict(values) for kind, values in settings.items()})
        _store.cache_clear()


def configuration() -> dict[str, dict[str, Any]]:
    """Settings of `configure`, for passing to workers."""
    return {kind: dict(values) for kind, values in _settings.items()}


def settings_of(place: str) -> dict[str, Any]:
    """Settings for the store of a place, empty if there are none."""
    scheme, authority, _ = _parts(place)
    return _settings_of(kind_of(place) or scheme, authority)


def _settings_of(kind: str, authority: str) -> dict[str, Any]:
    name = _account(authority) if kind == "azure" else authority
    return dict(_settings.get(f"{kind}/{name}", _settings.get(kind, {})))


def kind_of(place: str) -> str | None:
    """Kind of Arrow file system for a place, None if Arrow has none."""
    return _KINDS.get(scheme_of(place) or "")


def authority_of(place: str) -> str:
    """Bucket, container or host of a URI."""
    return _parts(place)[1]


def account_of(place: str) -> str:
    """Azure account of a URI."""
    return _account(authority_of(place))


def _account(authority: str) -> str:
    """The account of `CONTAINER@ACCOUNT.dfs.core.windows.net`."""
    return authority.partition("@")[2].partition(".")[0]


def register_filesystem(scheme: str, store: Any) -> None:
    """Register a file system for a scheme.

    An object with `get_file_info`, `open_input_file` and `ahead`.
    """
    _served[scheme] = store


def registered_filesystem(scheme: str) -> Any:
    """The file system registered for a scheme, or None."""
    return _served.get(scheme)


def filesystem_of(place: str) -> Any:
    """The registered file system for a place, or None."""
    return registered_filesystem(scheme_of(place) or "")


def has_driver(place: str) -> bool:
    """Whether this machine or an Arrow file system can open a place."""
    if local_path(place) is not None:
        return True
    try:
        _arrow_opened(place)
    except OSError:
        return False
    return True


def ahead(wanted: Mapping[str, Sequence[tuple[int, int]]]) -> None:
    """Prefetch byte ranges, [begin, end).

    File systems with a high cost per read fetch all ranges in one request; others ignore the call.
    """
    for store in set(_served.values()):
        store.ahead(wanted)


def map_concurrently(work: Callable[[Item], Result], items: Sequence[Item], place: Callable[[Item], str]) -> Iterator[Result]:
    """Apply `work` to each item, in order, concurrently for Arrow's stores.

    Items on registered or local file systems are processed in this thread.
    """
    pool = ThreadPoolExecutor(_AT_ONCE)
    try:
        under_way = [pool.submit(work, item) if _waits(place(item)) else None for item in items]
        for item, result in zip(items, under_way, strict=True):
            yield work(item) if result is None else result.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _waits(place: str) -> bool:
    return local_path(place) is None and filesystem_of(place) is None


def scheme_of(place: str) -> str | None:
    """The scheme of a URI, None for a local path."""
    match = _SCHEME.match(place)
    return match["scheme"].lower() if match else None


def local_path(place: str) -> str | None:
    """The local path, also of `file:` URIs, else None."""
    scheme = scheme_of(place)
    if scheme != "file":
        return place if scheme is None else None
    match = _LOCAL.fullmatch(place)
    return match["path"] if match else None


@cache
def _store(scheme: str, authority: str) -> Any:
    """The file system of a store, and the prefix of paths in it."""
    from pyarrow import fs

    kind = _KINDS.get(scheme)
    settings = _settings_of(kind or scheme, authority)
    if kind == "s3":
        return fs.S3FileSystem(**settings)
    if kind == "azure":
        return fs.AzureFileSystem(**{"account_name": _account(authority), **settings})
    if kind == "gs":
        return fs.GcsFileSystem(**{"retry_time_limit": _PATIENCE, **settings})
    if kind == "hdfs":
        return fs.HadoopFileSystem.from_uri(f"{scheme}://{authority}/")
    raise OSError(f"no driver reads {scheme}: URIs")


@contextmanager
def _request(place: str) -> Iterator[None]:
    """Say what to check if a store refuses or does not answer.

    Raises OSError, also for Arrow's errors of other types.
    """
    from pyarrow import ArrowException

    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, ArrowException) as error:
        reason = " ".join(str(error).split())
        raise OSError(f"the store of {place} does not answer or refuses; {_ACCESS_HINT}: {reason}") from error


def _opened(place: str) -> tuple[Any, str]:
    """The file system of a place, and the path in it."""
    server = filesystem_of(place)
    return _arrow_opened(place) if server is None else (server, place.rstrip("/"))


def _arrow_opened(place: str) -> tuple[Any, str]:
    scheme, authority, path = _parts(place)
    store = _store(scheme, authority)
    if kind_of(place) == "hdfs":
        return store, f"/{path}"
    return store, f"{authority.partition('@')[0]}/{path}".rstrip("/")


def _parts(place: str) -> tuple[str, str, str]:
    """Split a URI into scheme, authority, and path without the first slash."""
    parts = _SCHEME.match(place)
    if parts is None:
        raise ValueError(f"{place} is no URI")
    authority, _, path = place[parts.end() :].lstrip("/").partition("/")
    return parts["scheme"].lower(), authority, path


def open_file(place: str, buffering: int = -1) -> BinaryIO:
    """Open a file for random access. Raises OSError."""
    path = local_path(place)
    if path is not None:
        return open(path, "rb", buffering=buffering)
    store, inner = _opened(place)
    opened = store.open_input_file(inner)
    return cast("BinaryIO", io.BufferedReader(opened if isinstance(opened, io.RawIOBase) else _StoredFile(opened), 1 << 20))


class _StoredFile(io.RawIOBase):
    """A file of a store with the positions and errors of local files.

    Google's store refuses a request that begins at the end of a file, so the file is sought for reading only.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self._size = int(file.size())
        self._at = int(file.tell())

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if at < 0:
            raise OSError(errno.EINVAL, f"negative position {at}")
        self._at = at
        return at

    def readinto(self, target: Any) -> int:
        if self._at >= self._size:
            return 0
        if self._file.tell() != self._at:
            self._file.seek(self._at)
        count = int(self._file.readinto(target))
        self._at += count
        return count

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def read_at(file: BinaryIO, size: int, offset: int) -> bytes:
    """Read up to `size` bytes at a position of an open file."""
    file.seek(offset)
    return file.read(size)


def exists(place: str) -> bool:
    """Whether a file or folder exists.

    True for places that cannot be opened here, because they may exist.
    """
    path = local_path(place)
    if path is not None:
        return os.path.lexists(path)
    return (filesystem_of(place) is None and not has_driver(place)) or _kind(place) is not None


def is_there(place: str) -> bool:
    """Whether a file, or the archive that contains it, exists.

    Names in archives look like `bundle.tgz/broker-1/server.log#2`. True for places that cannot be opened here, because
    they may exist.
    """
    path = local_path(place)
    if path is not None:
        try:
            os.lstat(path)
        except FileNotFoundError:
            return False
        except OSError:  # below a file, or without permission
            return True
        return True
    if exists(place):
        return True
    parents = [place[: match.start()] for match in re.finditer("(?<=[^/])/(?=[^/])", place)][1:]
    return any(_kind(parent) == "file" for parent in reversed(parents))


def is_folder(place: str) -> bool:
    """Whether there is a folder, or a prefix in a store."""
    path = local_path(place)
    return os.path.isdir(path) if path is not None else _kind(place) == "folder"


def _kind(place: str) -> str | None:
    from pyarrow import fs

    with _request(place):
        store, inner = _opened(place)
        file_type = store.get_file_info(inner).type
    return {fs.FileType.File: "file", fs.FileType.Directory: "folder"}.get(file_type)


def state_of(place: str) -> FileState:
    """Current state of a file. Raises OSError."""
    path = local_path(place)
    if path is not None:
        status = os.stat(path)
        return status.st_mtime_ns, status.st_size
    with _request(place):
        store, inner = _opened(place)
        info = store.get_file_info(inner)
    if not info.is_file:
        raise FileNotFoundError(2, "no such file", place)
    return info.mtime_ns or 0, info.size


def walk(place: str) -> Iterator[tuple[str, FileState]]:
    """All files below a folder of a store, in order, with their state."""
    from pyarrow import fs

    prefix = place.rstrip("/")
    with _request(place):
        store, inner = _opened(place)
        listed = store.get_file_info(fs.FileSelector(inner, recursive=True))
    # Some stores also list the marker object of a folder as a file.
    folders = {info.path for info in listed if info.type == fs.FileType.Directory}
    for info in sorted(listed, key=lambda info: info.path):
        if info.is_file and info.path not in folders:
            yield f"{prefix}/{info.path[len(inner) :].lstrip('/')}", (info.mtime_ns or 0, info.size)


def matches(pattern: str) -> Iterator[tuple[str, FileState]]:
    """Files of a store that match a glob, with their state.

    `**` stands for any folders, and `*` also matches slashes.
    """
    magic = GLOB_CHARACTERS.search(pattern)
    base = pattern[: magic.start()] if magic else pattern
    for path, state in walk(base.rpartition("/")[0]):
        if fnmatch.fnmatchcase(path, pattern):
            yield path, state


def absolute(place: str) -> str:
    """Return a place that opens the same file from any working folder."""
    path = local_path(place)
    return os.path.abspath(path) if path is not None else place
