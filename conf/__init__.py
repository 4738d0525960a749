"""Settings, and the wording of causes and advice.

Imports nothing. Start with `settings`.
"""
