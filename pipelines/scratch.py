"""The folder for data that does not fit into memory."""

from __future__ import annotations

import os


def scratch() -> str | None:
    """The folder that Spark's workers use, None for the system's temporary folder."""
    folders = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    return folders[0] if folders[0] and os.access(folders[0], os.W_OK) else None
