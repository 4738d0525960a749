"""Settings, and what the product says about causes.

Imports nothing. Start with `settings`.
"""
