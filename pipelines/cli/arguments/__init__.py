"""Options and arguments, and their parsing.

Imports `output`, `analysis`, `warehouse`, `conf`, parsers and models. Start with `options`.
"""
