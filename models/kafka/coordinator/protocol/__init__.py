"""Words of the protocol: requests, responses, errors, states and subscriptions.

Imports nothing. Start with `requests`.
"""
