"""Plotly figures of an answer.

Imports `view`, `wording` and `conf`. Start with `charts`, which lists all figures of a page. `base` has what
they share, `palette` their colours, and `broker_outages` the lanes of brokers that `timeline` puts below its own.
"""
