"""Removal of names and secrets from records, before anything else reads them.

Imports `records` and `formats`. Credentials are always masked (`secrets`). Names are replaced only if the user asks for it: `records`
goes through columns, fields and texts, `name_detection` finds the names, and `pseudonyms` replaces them. Start with these two:
`secrets` and `pseudonyms`.
"""
