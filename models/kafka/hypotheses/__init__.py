"""Causes that could have started a rebalance, each with its support.

Only the start is explained here: who made the others wait and what was behind it are decided in `verdicts`. `window` has
all that is known of one rebalance. `ranking` finds the trigger, asks a rule of `rules_by_trigger` or `elimination` for
hypotheses, and ranks them; `epochs` does so for the newer protocols. Imports `reconstruction`, `observations` and
`cluster`. Start with `ranking`.
"""
