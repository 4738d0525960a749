"""Clusters and clients that are made up: what they write, and what was really done to them.

A `scenario` says who is there and what goes wrong, `world` lets time pass from event to event, `cluster` holds the brokers and
the coordinators that run on them, `consumer` is a Java client, `faults` are what befalls them, `truth` keeps the record.
All chance comes from one seed, and nothing is kept that grows with time.
"""
