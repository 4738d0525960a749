"""Spark sessions, and access to files that only Spark can open.

Imports `parsers.reading` and `parsers.sources`. Start with `session`.
"""
