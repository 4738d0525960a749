"""Run the command line as if some packages were not installed: `python without.py pyspark,duckdb analyze …`."""

from __future__ import annotations

import importlib.metadata as metadata
import sys
from collections.abc import Sequence

from pipelines.extras import EXTRAS


class Blocked:
    """Hides packages from imports."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def find_spec(self, name: str, *_: object) -> None:
        if name.split(".")[0] in self._names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def block(imported: Sequence[str]) -> None:
    """Hide packages, by the names under which they are imported, and their distributions."""
    absent = {dist for pairs in EXTRAS.values() for dist, module in pairs.items() if module in imported}
    real = metadata.Distribution.from_name.__func__  # type: ignore[attr-defined]

    def from_name(cls: type[metadata.Distribution], name: str) -> metadata.Distribution:
        if name in absent:
            raise metadata.PackageNotFoundError(name)
        found: metadata.Distribution = real(cls, name)
        return found

    metadata.Distribution.from_name = classmethod(from_name)  # type: ignore[method-assign,assignment]
    sys.meta_path.insert(0, Blocked(imported))


if __name__ == "__main__":
    block(sys.argv[1].split(","))
    from pipelines.cli.main import main

    sys.exit(main(sys.argv[2:]))
