"""Tables and columns: names, types, meanings, and rows to Arrow and back.

Imports `models`. Start with `tables`.
"""
