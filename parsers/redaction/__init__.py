"""Removal of names and secrets from records, before anything else reads them.

Imports `parsers.records`. Start with `pseudonyms`, which decides what is replaced and how.
"""
