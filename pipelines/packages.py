"""Whether the top-level packages that are imported are ours: their names are common ones, `conf` above all."""

from __future__ import annotations

from importlib.machinery import PathFinder
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
    """The folder or archive that holds a package."""
    spec = find_spec(name) or PathFinder.find_spec(name)
    return PurePath(spec.origin).parent.parent if spec is not None and spec.origin else None
