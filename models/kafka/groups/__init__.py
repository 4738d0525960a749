"""The stage of one consumer group: events in, final rows out.

Owns the order of work: what is open, when the causes of a rebalance are ranked, when rows are final, and what a checkpoint
holds. Imports `incidents` and the rest of `models.kafka` but the simulation. Start with `group_stage`, which keeps what comes
in (`action_timeline`, `member_logs`) until a rebalance can be ranked (`unranked_rebalances`). Then it writes rows:
`episode_rows` of rebalances, `state_rows` of what lines state by themselves; `coordinator_moves` makes incidents of moves.
"""
