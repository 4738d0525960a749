"""Verdicts on rebalances: causes, offenders, blockers and costs, as rows.

Imports `hypotheses` and the layers below it. Start with `rebalance_rows`.
"""
