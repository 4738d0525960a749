"""The reference coordinator as witness of what a log does not say.

Hidden requests are proposed and run through it, and what it would log is compared with the log.

Imports `coordinator` and, of the rest, `models.events` alone. Start with `tracker`: what it does with each line of a group.
"""
