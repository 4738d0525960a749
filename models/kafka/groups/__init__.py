"""The stage of one consumer group: events in, final rows out.

Owns the order of work: what is open, when a rebalance may be judged, when rows are final, and what a stored state holds. Imports the rest
of `models.kafka` but the simulation. Start with `stage`.
"""
