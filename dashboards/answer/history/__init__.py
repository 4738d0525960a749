"""How groups fare over time: waiting, profiles, periods, deployments.

Pure functions over rebalances and rows. Imports `dashboards.view` and the sums beside it. Start with `trends`.
"""
