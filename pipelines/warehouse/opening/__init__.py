"""Opening of tables: missing ones are created, older ones upgraded, damaged ones mended or refused.

Imports `delta`. Start with `table_opening`.
"""
