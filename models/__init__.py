"""The reference model: events in, effects out.

Nothing here reads a file, a clock or a DataFrame: time arrives in the events.
"""
