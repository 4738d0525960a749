"""Records found by their messages, for text in no known layout.

Imports `parsers.catalogue` and `parsers.formats`. Start with `excerpt_reader`, which finds the records in the text of
a few lines; `record_starts` tells which lines these are.
"""
