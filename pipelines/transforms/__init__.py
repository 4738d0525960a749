"""Rows of tables from rows of other tables, by functions from DataFrame to DataFrame.

Nothing here knows a path. Imports `analysis`, `warehouse`, `schema`, parsers and models. Start with `events`, then
`group_replay`.

A run adds new log files to a warehouse without replaying old ones. The rules of these incremental runs:

1. The result equals that of one run over all files. Everything below only avoids work.
2. Rows of records belong to a file and a position in it. A file that has grown is read from its resume point on; the
   new records take their place in the order of the whole file (`events.in_file_order`).
3. Changed records, in their old and their new form, determine what to replay: their groups, and outages of their
   cluster. Groups with an open rebalance, or emptied by a failure, are replayed too, because how long that lasts depends
   on the end of the logs. If the facts of a cluster have changed, all of it is replayed, because every verdict depends on
   them.
4. The events of a group are replayed in one stream, ordered by time, file and position, those without a time first.
   Groups are independent of each other. The outages of a cluster form one stream.
5. A row is final when later events cannot change it any more. Its `final_at` is the watermark at that moment.
6. A checkpoint (of a group, `models.kafka.groups.group_memory`) holds all that a replay remembers at a watermark, its
   `covers_until_at`. It is valid while no record at or before that time has changed, the facts used by then are the
   same, and so are catalogue and models.
7. From a valid checkpoint only later events are replayed. Stored rows with a `final_at` up to that time stay; all
   others of the group are replaced by those of the replay.
8. Without a valid and readable checkpoint the replay starts at the beginning. So does that of a cluster's outages if
   its brokers' clocks turn out to differ, because this changes the order of old events.
9. Checkpoints are taken at times shared by many runs, a fixed lag before the end of the logs, and only if they are
   worth their size (`CheckpointRules`). Runs with redaction encrypt them under its key, with the names that
   the replay has met (`CheckpointSeal`).
10. RocketMQ has no checkpoints: the events of a cluster are always replayed from the beginning.
"""
