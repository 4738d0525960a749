"""An answer and its figures as one self-contained HTML file.

Imports `answer`, `figures`, `wording`, `view` and `conf`. Start with `page`.
"""
