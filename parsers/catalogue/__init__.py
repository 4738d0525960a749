"""What a message means: wordings by version, slots, and events.

Wordings are data, in `messages`, one file per logger. Imports `parsers` alone. Start with `catalogue`, then `entries` for what one file
of `messages` may hold.
"""
