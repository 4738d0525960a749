"""Sources of bytes: file systems, archives, compression, discovery, identity.

Imports `parsers.formats` alone. Start with `discovery`, which turns paths into files with an
identity; `archives` reads bundles, within the limits of its budget.
"""
