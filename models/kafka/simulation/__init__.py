"""Simulated clusters and clients: their logs, and the true causes.

`scenario` defines members and faults, `simulation` runs them, `world` advances time from event to event, `cluster` has
brokers and their coordinators. `client` is what clients of both protocols share and says which lines they write,
`consumer` and `modern_consumer` are Java clients of either protocol, `faults` are applied to them, and `truth` records
what happened. `pipelines.simulate` words the lines. All randomness comes from one seed, and memory does not grow with simulated time.
Imports `coordinator`, `cluster` and `models`. Start with `scenario`.
"""
