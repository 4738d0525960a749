"""Meaning of messages: wordings by version, slots, and events.

Wordings are data, in `messages`, one file per subject. Imports `parsers` alone. Start with `catalogue`, then `entries`
for the contents of a file in `messages`.
"""
