"""How text is laid out: lines, headers, envelopes, time stamps and zones.

Layouts are data, in `data`. Imports `parsers` alone. Start with `detection`, which tells the layout of a file from its content.
"""
