"""Where bytes come from: file systems, archives, compression, discovery and identity.

Imports `parsers.formats` alone. Start with `discovery`: paths in, files with an identity out.
"""
