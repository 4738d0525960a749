"""Form of text: lines, headers, envelopes, time stamps and zones.

Layouts are data, in `data`. Imports `parsers` alone. Start with `detection`, which determines the layout of a file from
its content.
"""
