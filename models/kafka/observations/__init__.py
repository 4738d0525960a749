"""Actions of members as logs show them, on the coordinator's clock.

Owns the actions, ids and clients of members, what their libraries do, and knowledge about a group. Imports `models`,
`incidents` and `cluster`. Start with `actions`; `attribution` gives groups to lines of clients that name none, and
`unattributed_troubles` makes incidents of the rest.
"""
