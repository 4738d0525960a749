"""The public face of groupscope: `groupscope.analyze(paths)` in a notebook or a program.

Everything else in the distribution may change between releases; what this package exports is stable. Imports
`pipelines` and what lies below. Start with `analysis`.
"""

from groupscope.analysis import TABLES, Analysis, analyze

__all__ = ["TABLES", "Analysis", "analyze"]
