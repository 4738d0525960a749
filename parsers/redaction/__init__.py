"""Names and secrets taken out of records, before anything else sees them.

Imports `parsers.records`. Start with `pseudonyms`: which names are replaced, and by what.
"""
