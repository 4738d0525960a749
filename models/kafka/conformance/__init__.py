"""The reference coordinator as witness of what a log does not say.

Hidden requests are proposed and run through it, and what it would log is compared with the log.

Imports `coordinator`, `observations` and `models`. Start with `tracker`: which lines it expects of a
group; `alignment` compares an expected line with the log's, field by field, and `trials` run the causes of a rebalance.
"""
