"""Types of the plain data of pages and screens.

Imports `conf` and `models.downtime`. Start with `answer`.
"""
