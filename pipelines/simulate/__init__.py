"""Simulated clusters as log files, in the catalogue's wordings.

The models' simulator runs a scenario, and the catalogue's wordings turn it into logs. Imports
`models.kafka.simulation`, its coordinator, `parsers.catalogue` and `conf`. Start with `run`.
"""
