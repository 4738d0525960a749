"""Alerts, metrics and maintenance of a warehouse.

Imports `registry`, `warehouse`, `schema`, `spark` and `storage`. Start with `alerts` or `maintain`.
"""
