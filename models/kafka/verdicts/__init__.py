"""Verdicts on rebalances: causes, offenders, blockers and costs, as rows.

`blockers` names whom the others waited for, `models.downtime` shares the seconds out among them.
Imports `hypotheses` and the layers below it. Start with `rebalance_rows`.
"""
