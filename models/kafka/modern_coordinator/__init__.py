"""The coordinator of KIP-848 consumer groups as 4.0 runs them: heartbeats and time in, answers and announcements out.

`coordinator.Coordinator` is the way in. `heartbeats` follows a request through in the order in which Kafka checks it,
`reconciliation` moves one member towards its target, `removal` is what ends a membership, `regexes` when subscriptions by
pattern are resolved, `assignors` who gets what, `commits` what becomes of offsets.
"""
