"""Tables and columns: names, types, meanings, and conversion of rows to Arrow.

Imports `models`. Start with `declarations_gold` and `declarations`, which describe each table and column; `allowed_values` lists
the values of columns, and `tables` builds the JSON contract from all of these.
"""
