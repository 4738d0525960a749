"""Plotly figures of an answer.

Imports `view`, `wording` and `conf`. Start with `charts`; each other file draws one kind of figure.
"""
