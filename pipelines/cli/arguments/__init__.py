"""Options and arguments, and their parsing.

Imports `output`, `analysis`, `warehouse`, `conf`, parsers and models. Start with `options`;
`question` has those that all questions share, `filters` those of lists of rebalances.
"""
