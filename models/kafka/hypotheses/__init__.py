"""Causes that could have started a rebalance, each with its support.

Only the start is explained here: who made the others wait and what was behind it are decided in `verdicts`. `context` has
all that is known of one rebalance. `ranking` asks, in this order, the rule for the reason that the coordinator printed, the
rule for the action that triggered the rebalance (both in `rules_by_trigger`), and, without either, `elimination`; then it ranks
the hypotheses. `epochs` does so for the newer protocols. Imports `reconstruction`, `observations`,
`cluster`, `incidents` and the coordinator's states and policies. Start with `ranking`.
"""
