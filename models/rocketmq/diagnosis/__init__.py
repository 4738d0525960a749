"""Why shares of queues changed, who owned which, and which faults stand.

Imports `observations`. Start with `causes`.
"""
