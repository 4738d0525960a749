"""Verdicts on rebalances: causes, offenders, blockers and costs, as rows.

`blockers` names whom the others waited for, `dashboards.answer.history.blocker_ranking` shares the seconds out among them
(`dashboards.view.answer` has how many they are).
Imports `hypotheses` and the layers below it. Start with `rebalance_rows`.
"""
