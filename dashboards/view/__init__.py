"""Plain data of pages and screens.

Imports `conf` alone. Start with `answer`.
"""
