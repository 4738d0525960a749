"""Records found by their messages, where no known layout fits what stands around them.

Imports `parsers.catalogue` and `parsers.formats`. Start with `reader`, which finds the records in the text of a few
lines; `spans` tells which lines these are.
"""
