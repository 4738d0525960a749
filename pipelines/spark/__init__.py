"""Spark sessions, and files that only Spark's file systems open.

Imports `parsers.reading` and `parsers.sources`. Start with `session`.
"""
