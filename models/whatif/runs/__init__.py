"""Runs of a behaviour through the reference coordinator.

Imports `models.kafka` and `models.whatif.behaviour`. Start with `run`.
"""
