"""The stage of one consumer group: events in, final rows out.

Owns the order of work: what is open, when the causes of a rebalance are ranked, when rows are final, and what a checkpoint
holds. Imports `incidents` and the rest of `models.kafka` but the simulation. Start with `group_stage`, which feeds the parts of
`group_memory`; `ranking_schedule` ranks what is due, `row_release` releases what is over. Rows that verdicts don't write are in `rows`.
"""
