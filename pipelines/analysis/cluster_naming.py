"""The cluster of each file: from options, `Cluster ID:` lines, or neighbouring files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

DEFAULT_CLUSTER = "default"


@dataclass(frozen=True, slots=True)
class ClusterHint:
    """One file, with its cluster name by option and the ids in its lines."""

    path: str
    named: str | None
    ids: tuple[str, ...] = ()


HINT_COLUMNS = ("path", "cluster_option", "cluster_ids")
"""Columns of `log_files` that make a hint."""


@dataclass(slots=True)
class ClusterNames:
    """Names of clusters, by the listed path of a file."""

    names: Mapping[str, str] = field(default_factory=dict)

    def cluster_of(self, path: str) -> str:
        """Return the cluster of a file."""
        return self.names.get(path, DEFAULT_CLUSTER)


def name_clusters(hints: Iterable[ClusterHint]) -> ClusterNames:
    """Name the cluster of each file.

    In order of precedence: an option; the id in the file's own lines; the id shared by all files with an id in the
    nearest folder; the only id among all files; `default`. Most files have no id, because a broker logs it only at
    startup.
    """
    listed = list(hints)
    by_folder: dict[PurePath, set[str]] = {}
    for hint in listed:
        for folder in PurePath(hint.path).parents if len(hint.ids) == 1 else ():
            by_folder.setdefault(folder, set()).update(hint.ids)
    every = {cluster_id for hint in listed for cluster_id in hint.ids}
    only = next(iter(every)) if len(every) == 1 else DEFAULT_CLUSTER
    return ClusterNames({hint.path: hint.named or _single_id(hint) or _neighbours(hint.path, by_folder) or only for hint in listed})


def _single_id(hint: ClusterHint) -> str | None:
    return hint.ids[0] if len(hint.ids) == 1 else None


def _neighbours(path: str, by_folder: Mapping[PurePath, set[str]]) -> str | None:
    for folder in PurePath(path).parents:
        ids = by_folder.get(folder)
        if ids:
            return next(iter(ids)) if len(ids) == 1 else None
    return None
