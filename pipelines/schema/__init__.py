"""Tables and columns: names, types, meanings, and conversion of rows to Arrow.

Imports `models`. Start with `tables`.
"""
