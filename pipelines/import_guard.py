"""Check that the imported top-level packages are ours.

Their names are common ones, `conf` above all. The check runs before any package but `pipelines` is imported, so this
module imports none of them.
"""

from __future__ import annotations

from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import PurePath

from pipelines.errors import UsageError

PACKAGES = ("parsers", "models", "pipelines", "dashboards", "conf")
BELOW = __name__.rpartition("pipelines.")[0]
"""Prefix of their names: empty in a checkout."""


def check_packages() -> None:
    """Raise UsageError if another distribution shadows one of our packages."""
    own_place = _place(f"{BELOW}pipelines")
    for name in PACKAGES:
        place = _place(f"{BELOW}{name}")
        if place != own_place:
            location = "is nowhere" if place is None else f"is taken from {place}"
            raise UsageError(
                f"the package {name} {location}, and groupscope's own is in {own_place}: another program's {name} comes first on the path"
            )


def _place(name: str) -> PurePath | None:
    """The folder or archive with a package or module of that name."""
    spec = find_spec(name) or PathFinder.find_spec(name)
    return None if spec is None or not spec.origin else _holder(PurePath(spec.origin), spec)


def _holder(file: PurePath, spec: ModuleSpec) -> PurePath:
    return file.parent if spec.submodule_search_locations is None else file.parent.parent
