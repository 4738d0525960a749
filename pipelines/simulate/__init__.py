"""Made-up clusters as files, worded by the catalogue.

The simulator of the models runs a scenario, and the catalogue's words make logs of it. Imports `models.kafka.simulation`, its coordinator
and `parsers.catalogue`. Start with `run`.
"""
