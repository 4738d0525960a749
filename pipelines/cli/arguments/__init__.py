"""Options and arguments, and how they are parsed.

Imports `output`, `analysis`, `warehouse`, `conf`, parsers and models. Start with `options`.
"""
