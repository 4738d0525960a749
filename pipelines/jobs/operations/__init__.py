"""Alerts, metrics and maintenance of a warehouse.

Imports `registry`, `warehouse`, `schema`, `spark`, `storage` and `parsers.redaction`. Start with `alerts` or `maintain`.
"""
