"""Where what does not fit into memory is kept meanwhile."""

from __future__ import annotations

import os


def scratch() -> str | None:
    """Where Spark lets its workers write; None for the folder of temporary files, where it says nothing."""
    folders = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    return folders[0] if folders[0] and os.access(folders[0], os.W_OK) else None
