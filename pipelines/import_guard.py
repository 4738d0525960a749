"""Whether the top-level packages that are imported are ours: their names are common ones, `conf` above all.

This is looked at before any of them but `pipelines` is imported, so nothing of them may be imported here.
"""

from __future__ import annotations

from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import PurePath

from pipelines.errors import UsageError

PACKAGES = ("parsers", "models", "pipelines", "dashboards", "conf")


def check_packages() -> None:
    """Raise UsageError that names a package of somebody else which stands in the way of ours."""
    ours = _place("pipelines")
    for name in PACKAGES:
        place = _place(name)
        if place != ours:
            found = "is nowhere" if place is None else f"is taken from {place}"
            raise UsageError(
                f"the package {name} {found}, and groupscope's own is in {ours}: another program's {name} comes first on the path"
            )


def _place(name: str) -> PurePath | None:
    """The folder or archive that holds a package, or a module of that name."""
    spec = find_spec(name) or PathFinder.find_spec(name)
    return None if spec is None or not spec.origin else _holder(PurePath(spec.origin), spec)


def _holder(file: PurePath, spec: ModuleSpec) -> PurePath:
    return file.parent if spec.submodule_search_locations is None else file.parent.parent
