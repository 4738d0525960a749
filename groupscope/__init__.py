"""The public interface: `groupscope.analyze(paths)` in a notebook or program.

Everything that this package exports is stable; all else in the distribution may change between releases. Imports
`pipelines` and the layers below, but only when asked for: `groupscope.job` first looks for other packages of their names.
Start with `analysis`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groupscope.analysis import TABLES, Analysis, analyze

    __version__: str

__all__ = ["TABLES", "Analysis", "__version__", "analyze"]


def __getattr__(name: str) -> Any:
    """Import an export when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        from importlib.metadata import version

        return version("groupscope")
    from groupscope import analysis

    return getattr(analysis, name)
