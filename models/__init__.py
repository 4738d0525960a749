"""The reference model: events in, effects out.

Nothing here reads a file, a clock or a DataFrame: time arrives in the events, and all results are rows. Owns the input
vocabulary (`events`), the output vocabulary (`rows`, `causes`), ids and times, and the text form of checkpoints
(`state_codec`). Imports the standard library alone. Start with `kafka.groups.group_stage` for consumer groups,
`kafka.outages.outage_stage` for partitions, `rocketmq.rocketmq_stage` for RocketMQ.
"""
