"""Atomic writing of files."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from pipelines.errors import CannotWrite


def write_text(path: Path, text: str) -> None:
    """Write to a temporary file and move it to the target.

    A device or pipe is written directly.
    """
    data = text.encode("utf-8", "backslashreplace")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        _replace(path.absolute(), data)
    except OSError as error:
        raise CannotWrite(f"{path} can't be written: {error.strerror or error}") from error


def _replace(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
