"""Fields that the JSON of events puts first or leaves out."""

from __future__ import annotations

FIRST_FIELDS = ("file", "line", "byte_offset", "at", "message", "group", "generation", "member_id", "client_id", "fields", "text")
"""Keys that come first; the other columns of silver.events follow."""

LEFT_OUT = ("file_id", "byte_length", "file_time_max_at")
