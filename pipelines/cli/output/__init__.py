"""Output as terminal text, JSON and CSV, without any decisions.

Imports `schema`, `dashboards`, `conf`, `models.units`, `models.kafka.conformance` and the names of `parsers.redaction`. Start
with `screens`; `standard_streams` prints what it makes.
"""
