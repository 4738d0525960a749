"""The public interface: `groupscope.analyze(paths)` in a notebook or program.

Everything that this package exports is stable; all else in the distribution may change between releases. Imports
`pipelines` and the layers below. Start with `analysis`.
"""

from groupscope.analysis import TABLES, Analysis, analyze

__version__ = "0.1.0"

__all__ = ["TABLES", "Analysis", "__version__", "analyze"]
