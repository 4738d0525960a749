"""Simulated clusters and clients: their logs, and the true causes.

`scenario` defines members and faults, `simulation` runs them, `world` advances time from event to event, `cluster` has
brokers and their coordinators, `consumer` is a Java client, `faults` are applied to them, and `truth` records what
happened. All randomness comes from one seed, and memory does not grow with simulated time.
"""
