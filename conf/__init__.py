"""Settings, the wording of causes, advice and readiness, and scenarios of the simulator.

Imports nothing. Start with `settings`.
"""
