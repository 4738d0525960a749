"""Addresses and credentials of object stores.

Imports `pipelines.spark` and `parsers.sources`. Start with `uris`.
"""
