"""Runs of a behaviour through the reference coordinator.

Imports `models.kafka`, `incidents`, `whatif.behaviour` and `whatif.rules`. Start with `run`.
"""
