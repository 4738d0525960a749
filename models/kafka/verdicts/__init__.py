"""What is said of a rebalance: causes, offenders, blockers, costs, as rows.

Imports `hypotheses` and what lies below it. Start with `rebalance_rows`.
"""
