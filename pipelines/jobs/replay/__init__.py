"""Selection of what to replay, and from which checkpoint.

Imports `ingest`, `registry`, `transforms` and the layers below. Start with `replay`, which runs
the stages (`group_replays`, `outage_replays`, `rocketmq_replays`) by a `stage_runner` and gathers `replayed_rows`.
"""
