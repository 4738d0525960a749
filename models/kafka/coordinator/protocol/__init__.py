"""Protocol types: requests, responses, errors, states and subscriptions.

Imports nothing. Start with `requests`.
"""
