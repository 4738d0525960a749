"""The stage of one consumer group: events in, final rows out.

Owns the order of work: what is open, when the causes of a rebalance are ranked, when rows are final, and what a checkpoint
holds. Imports the rest of `models.kafka` but the simulation. Start with `group_stage`.
"""
