"""The reference coordinator as witness: hidden requests are proposed, run through it, and what it would log is compared with the log.

Imports `coordinator` and, of the rest, `models.events` alone. Start with `tracker`: what it does with each line of a group.
"""
