"""An answer and its figures as one self-contained HTML file.

Imports `figures`, `wording`, `view` and `conf`. Start with `page`.
"""
