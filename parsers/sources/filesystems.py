"""Files by path, or by URI in an object store: `s3a://bucket/logs`, `gs://…`, `abfss://…`, `hdfs://…`, `file:/…`.

Paths of this machine are opened as ever. What a scheme stands for is opened by Arrow's own file systems, which come with it.
`configure` tells them of endpoints and keys; where it says nothing, they look where their vendors' tools look (environment,
profiles, roles of the machine). A scheme that none of these knows may be served by somebody else (`serve`), in this process.
"""

from __future__ import annotations

import errno
import fnmatch
import io
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, BinaryIO, TypeVar, cast

_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):/")
# Not a URL's path: names of files and globs hold `#` and `?`, which would begin other parts of it.
_LOCAL = re.compile(r"[^:]+:(?://[^/]*)?(?P<path>.*)", re.DOTALL)
_KINDS = {"s3": "s3", "s3a": "s3", "s3n": "s3", "abfs": "azure", "abfss": "azure", "gs": "gs", "hdfs": "hdfs", "viewfs": "hdfs"}
_MAGIC = re.compile(r"[*?\[]")
_AT_ONCE = 16
"""Requests that wait for a store at the same time: each takes its time, however little it asks for."""

Item = TypeVar("Item")
Result = TypeVar("Result")
State = tuple[int, int]
"""Time of a file's last change, in nanoseconds since 1970 or 0 where a store doesn't say, and its size."""
_settings: dict[str, dict[str, Any]] = {}
_served: dict[str, Any] = {}


def configure(settings: Mapping[str, Mapping[str, Any]]) -> None:
    """Arguments of Arrow's file systems, for this process: by kind (`s3`, `azure`), and where a bucket or an account has others, also
    by its name (`s3/BUCKET`, `azure/ACCOUNT`).
    """
    if settings != _settings:
        _settings.clear()
        _settings.update({kind: dict(values) for kind, values in settings.items()})
        _store.cache_clear()


def configured() -> dict[str, dict[str, Any]]:
    """What `configure` was told, to be told to the workers."""
    return {kind: dict(values) for kind, values in _settings.items()}


def settings_of(place: str) -> dict[str, Any]:
    """What `configure` was told of the store of a place; empty where it was told nothing."""
    scheme, authority, _ = _parts(place)
    return _settings_of(kind_of(place) or scheme, authority)


def _settings_of(kind: str, authority: str) -> dict[str, Any]:
    name = _account(authority) if kind == "azure" else authority
    return dict(_settings.get(f"{kind}/{name}", _settings.get(kind, {})))


def kind_of(place: str) -> str | None:
    """Which of Arrow's file systems opens a place; None where none does."""
    return _KINDS.get(scheme_of(place) or "")


def authority_of(place: str) -> str:
    """The bucket, container or host that a URI names."""
    return _parts(place)[1]


def _account(authority: str) -> str:
    """The account of `CONTAINER@ACCOUNT.dfs.core.windows.net`."""
    return authority.partition("@")[2].partition(".")[0]


def serve(scheme: str, store: Any) -> None:
    """Let a store open the places of a scheme from now on: an object with `get_file_info`, `open_input_file` and `ahead`."""
    _served[scheme] = store


def served(scheme: str) -> Any:
    """The store that serves a scheme by `serve`; None where there is none."""
    return _served.get(scheme)


def server_of(place: str) -> Any:
    """The store that serves a place, where it is none of Arrow's; else None."""
    return served(scheme_of(place) or "")


def has_driver(place: str) -> bool:
    """This machine, or a file system of Arrow, opens a place."""
    if local_path(place) is not None:
        return True
    try:
        _arrow_opened(place)
    except OSError:
        return False
    return True


def ahead(wanted: Mapping[str, Sequence[tuple[int, int]]]) -> None:
    """Say which parts of files are about to be read, as [begin, end): a store for which each read is a query asks for all at once."""
    for store in set(_served.values()):
        store.ahead(wanted)


def at_once(work: Callable[[Item], Result], items: Sequence[Item], place: Callable[[Item], str]) -> Iterator[Result]:
    """What `work` gives for each item, in order. Where it reads a little of files in Arrow's stores, many wait for that together; all
    others are for this thread, as those that are served are.
    """
    pool = ThreadPoolExecutor(_AT_ONCE)
    try:
        under_way = [pool.submit(work, item) if _waits(place(item)) else None for item in items]
        for item, result in zip(items, under_way, strict=True):
            yield work(item) if result is None else result.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _waits(place: str) -> bool:
    return local_path(place) is None and server_of(place) is None


def scheme_of(place: str) -> str | None:
    """The scheme of a URI; None for a path of this machine."""
    found = _SCHEME.match(place)
    return found["scheme"].lower() if found else None


def local_path(place: str) -> str | None:
    """The path on this machine, where it is one: also of `file:` URIs."""
    scheme = scheme_of(place)
    if scheme != "file":
        return place if scheme is None else None
    found = _LOCAL.fullmatch(place)
    return found["path"] if found else None


@cache
def _store(scheme: str, authority: str) -> Any:
    """The file system of a store, and what a URI's path begins with there."""
    from pyarrow import fs

    kind = _KINDS.get(scheme)
    told = _settings_of(kind or scheme, authority)
    if kind == "s3":
        return fs.S3FileSystem(**told)
    if kind == "azure":
        return fs.AzureFileSystem(**{"account_name": _account(authority), **told})
    if kind == "gs":
        return fs.GcsFileSystem(**told)
    if kind == "hdfs":
        return fs.HadoopFileSystem.from_uri(f"{scheme}://{authority}/")
    raise OSError(f"no driver reads {scheme}: URIs")


def _opened(place: str) -> tuple[Any, str]:
    """The file system of a place, and what the place is called there."""
    server = server_of(place)
    return _arrow_opened(place) if server is None else (server, place.rstrip("/"))


def _arrow_opened(place: str) -> tuple[Any, str]:
    scheme, authority, path = _parts(place)
    store = _store(scheme, authority)
    if kind_of(place) == "hdfs":
        return store, f"/{path}"
    return store, f"{authority.partition('@')[0]}/{path}".rstrip("/")


def _parts(place: str) -> tuple[str, str, str]:
    """The scheme of a URI, its authority, and its path without the first slash."""
    parts = _SCHEME.match(place)
    if parts is None:
        raise ValueError(f"{place} is no URI")
    authority, _, path = place[parts.end() :].lstrip("/").partition("/")
    return parts["scheme"].lower(), authority, path


def open_file(place: str, buffering: int = -1) -> BinaryIO:
    """Open for reading bytes, from any place on. Raises OSError."""
    path = local_path(place)
    if path is not None:
        return open(path, "rb", buffering=buffering)
    store, inner = _opened(place)
    return cast("BinaryIO", io.BufferedReader(_Stored(store.open_input_file(inner)), 1 << 20))


class _Stored(io.RawIOBase):
    """A file of a store that fails as files of this machine do: Arrow calls a place before its beginning a wrong value."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return int(self._file.tell())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        try:
            return int(self._file.seek(offset, whence))
        except ValueError as problem:
            raise OSError(errno.EINVAL, str(problem)) from problem

    def readinto(self, target: Any) -> int:
        return int(self._file.readinto(target))

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def read_at(file: BinaryIO, size: int, offset: int) -> bytes:
    """Up to `size` bytes from a place of an open file."""
    file.seek(offset)
    return file.read(size)


def exists(place: str) -> bool:
    """There is a file or a folder, as far as can be told: what nobody can open here may be there."""
    path = local_path(place)
    if path is not None:
        return os.path.lexists(path)
    return (server_of(place) is None and not has_driver(place)) or _kind(place) is not None


def holds(place: str) -> bool:
    """There is what a file is called: a file, or an archive in which it stands (`bundle.tgz/broker-1/server.log#2`). As far as can be
    told: what nobody can open here may be there."""
    path = local_path(place)
    if path is not None:
        try:
            os.lstat(path)
        except FileNotFoundError:
            return False
        except OSError:  # it stands below a file, or where nobody may look
            return True
        return True
    if exists(place):
        return True
    parents = [place[: found.start()] for found in re.finditer("(?<=[^/])/(?=[^/])", place)][1:]
    return any(_kind(parent) == "file" for parent in reversed(parents))


def is_folder(place: str) -> bool:
    """There is a folder, or what stands for one."""
    path = local_path(place)
    return os.path.isdir(path) if path is not None else _kind(place) == "folder"


def _kind(place: str) -> str | None:
    from pyarrow import fs

    store, inner = _opened(place)
    told = store.get_file_info(inner).type
    return {fs.FileType.File: "file", fs.FileType.Directory: "folder"}.get(told)


def state_of(place: str) -> State:
    """What a file is like by now. Raises OSError."""
    path = local_path(place)
    if path is not None:
        status = os.stat(path)
        return status.st_mtime_ns, status.st_size
    store, inner = _opened(place)
    info = store.get_file_info(inner)
    if not info.is_file:
        raise FileNotFoundError(2, "no such file", place)
    return info.mtime_ns or 0, info.size


def walk(place: str) -> Iterator[tuple[str, State]]:
    """Every file below a folder of a store, by its URI, in order, and what it is like."""
    from pyarrow import fs

    store, inner = _opened(place)
    prefix = place.rstrip("/")
    listed = store.get_file_info(fs.FileSelector(inner, recursive=True))
    # Some stores list the object that marks a folder as a file, too.
    folders = {info.path for info in listed if info.type == fs.FileType.Directory}
    for info in sorted(listed, key=lambda each: each.path):
        if info.is_file and info.path not in folders:
            yield f"{prefix}/{info.path[len(inner) :].lstrip('/')}", (info.mtime_ns or 0, info.size)


def matches(pattern: str) -> Iterator[tuple[str, State]]:
    """Files of a store whose place fits a glob, and what they are like; `**` stands for any folders, and `*` does not stop at a slash."""
    magic = _MAGIC.search(pattern)
    base = pattern[: magic.start()] if magic else pattern
    for found, state in walk(base.rpartition("/")[0]):
        if fnmatch.fnmatchcase(found, pattern):
            yield found, state


def absolute(place: str) -> str:
    """What opens the same file from any folder."""
    path = local_path(place)
    return os.path.abspath(path) if path is not None else place
