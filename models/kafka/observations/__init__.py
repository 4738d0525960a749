"""Who did what when, as logs show it, on the coordinator's clock.

Owns actions of members, their ids and clients, and what is known of a group. Imports `models` and `cluster`. Start with `actions`.
"""
