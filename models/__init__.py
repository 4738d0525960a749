"""The reference model: events in, effects out.

Nothing here reads a file, a clock or a DataFrame: time arrives in the events, and all that is stated comes back as rows. Owns the
vocabulary in (`events`) and out (`rows`, `causes`), ids and time, and the text form of stored states (`state_codec`). Imports the
standard library alone. Start with `kafka.groups.stage` for consumer groups, `kafka.outages.stage` for partitions, `rocketmq.stage` for
RocketMQ.
"""
