"""Which cluster a file belongs to: by option, by its own `Cluster ID:` lines, or by what its neighbours say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath

from models.events import Event

DEFAULT_CLUSTER = "default"


class ClusterNames:
    """Names clusters. `options` are (glob, name) pairs; a glob of None holds for all files, the last match counts."""

    def __init__(self, options: Sequence[tuple[str | None, str]] = ()) -> None:
        self._options = list(options)
        self._own: dict[str, str] = {}
        self._all: str = DEFAULT_CLUSTER
        self._names: dict[str, str] = {}

    def learn(self, paths: Iterable[str], events: Iterable[Event]) -> None:
        """Take the ids that files name themselves. One id among all files is the cluster of all of them."""
        for event in events:
            cluster_id = event.fields.get("cluster_id")
            if event.name == "ClusterId" and isinstance(cluster_id, str):
                self._own.setdefault(event.place.file, cluster_id)
        ids = set(self._own.values())
        self._all = ids.pop() if len(ids) == 1 else DEFAULT_CLUSTER
        self._names = {path: self._name(path) for path in paths}

    def of(self, path: str) -> str:
        """Cluster of a file, by the path it is listed with."""
        name = self._names.get(path)
        if name is None:
            name = self._names[path] = self._name(path)
        return name

    def _name(self, path: str) -> str:
        for glob, name in reversed(self._options):
            if glob is None or _matches(path, glob):
                return name
        return self._own.get(path) or self._neighbours(path) or self._all

    def _neighbours(self, path: str) -> str | None:
        """The id that all telling files of the nearest folder agree on."""
        for folder in PurePath(path).parents:
            ids = {own for file, own in self._own.items() if folder in PurePath(file).parents}
            if ids:
                return ids.pop() if len(ids) == 1 else None
        return None


def _matches(path: str, glob: str) -> bool:
    """A glob matches the end of a path, from a folder on."""
    parts = PurePath(path).parts
    return any(fnmatchcase("/".join(parts[start:]), glob) for start in range(len(parts)))
