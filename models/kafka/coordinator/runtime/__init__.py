"""What coordinators run on: timers, choices, the offsets log, rules by version.

Imports `protocol` alone. Start with `version_policy`: what differs between versions.
"""
