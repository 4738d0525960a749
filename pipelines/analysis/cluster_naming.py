"""Which cluster a file belongs to: by option, by its own `Cluster ID:` lines, or by what its neighbours say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

DEFAULT_CLUSTER = "default"


@dataclass(frozen=True, slots=True)
class ClusterHint:
    """What is known of one file: the name that an option gives it, and the cluster ids that its lines print."""

    path: str
    named: str | None
    ids: tuple[str, ...] = ()


@dataclass(slots=True)
class ClusterNames:
    """Names clusters, by path of the file as it is listed."""

    names: Mapping[str, str] = field(default_factory=dict)

    def of(self, path: str) -> str:
        """The cluster of a file."""
        return self.names.get(path, DEFAULT_CLUSTER)


def name_clusters(hints: Iterable[ClusterHint]) -> ClusterNames:
    """Name the cluster of each file.

    An option wins; then the id in the file's own lines; then the id that all telling files of the nearest
    folder agree on; then the only id among all files; else `default`. A broker's log says its cluster's id
    only when the broker starts, so files without one are the normal case.
    """
    listed = list(hints)
    by_folder: dict[PurePath, set[str]] = {}
    for hint in listed:
        for folder in PurePath(hint.path).parents if len(hint.ids) == 1 else ():
            by_folder.setdefault(folder, set()).update(hint.ids)
    every = {cluster_id for hint in listed for cluster_id in hint.ids}
    only = next(iter(every)) if len(every) == 1 else DEFAULT_CLUSTER
    return ClusterNames({hint.path: hint.named or _own(hint) or _neighbours(hint.path, by_folder) or only for hint in listed})


def _own(hint: ClusterHint) -> str | None:
    return hint.ids[0] if len(hint.ids) == 1 else None


def _neighbours(path: str, by_folder: Mapping[PurePath, set[str]]) -> str | None:
    for folder in PurePath(path).parents:
        ids = by_folder.get(folder)
        if ids:
            return next(iter(ids)) if len(ids) == 1 else None
    return None
