"""Files of a local Delta table: commits and checkpoints, and whether they are whole.

Delta commits by renaming a complete file, so only a power cut or a failing disk leaves a torn one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

LOG_FOLDER = "_delta_log"
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\..*parquet")
_MAGIC = b"PAR1"


@dataclass(frozen=True)
class DeltaFiles:
    """Files of the table in a folder."""

    folder: Path

    @cached_property
    def commits(self) -> dict[int, Path]:
        """Commits by version."""
        return self._numbered(_COMMIT)

    @cached_property
    def checkpoints(self) -> dict[int, Path]:
        """Checkpoints by version.

        Of a checkpoint in several parts, the last part.
        """
        return self._numbered(_CHECKPOINT)

    @property
    def log(self) -> Path:
        return self.folder / LOG_FOLDER

    def _numbered(self, pattern: re.Pattern[str]) -> dict[int, Path]:
        if not self.log.is_dir():
            return {}
        numbered = ((pattern.fullmatch(path.name), path) for path in sorted(self.log.iterdir()))
        return {int(match[1]): path for match, path in numbered if match}

    @property
    def holds_rows(self) -> bool:
        """True if there are data files, even if no commit refers to them."""
        return any(LOG_FOLDER not in path.relative_to(self.folder).parts for path in self.folder.rglob("*.parquet"))

    @property
    def was_never_made(self) -> bool:
        """True if creation of the table stopped before its first commit.

        Such a table holds no data.
        """
        if self.checkpoints or self.commits.keys() - {0} or not self.folder.is_dir() or self.holds_rows:
            return False
        return not self.commits or why_torn(self.commits[0]) is not None

    def remove(self) -> None:
        """Delete the remains of a table without a first commit."""
        shutil.rmtree(self.folder)

    def torn_end(self, published: int) -> list[Path]:
        """Torn commits after version `published`, newest first.

        Their contents are lost.
        """
        torn: list[Path] = []
        for version in sorted(self.commits, reverse=True):
            if version <= published or version in self.checkpoints or why_torn(self.commits[version]) is None:
                break
            torn.append(self.commits[version])
        return torn

    def hollows(self, version: int) -> Iterator[tuple[Path, str]]:
        """Empty or missing commits up to a version.

        Readers skip these without an error.
        """
        begin = max((checkpoint + 1 for checkpoint in self.checkpoints if checkpoint <= version), default=0)
        for number in range(begin, version + 1):
            path = self.commits.get(number)
            if path is None:
                yield self.log / f"{number:020}.json", "is missing"
            elif not path.stat().st_size:
                yield path, "is empty"

    @property
    def has_versions(self) -> bool:
        """True if the log has at least one version."""
        return bool(self.commits or self.checkpoints)

    def needless_checkpoints(self) -> list[Path]:
        """Torn checkpoints that can be deleted.

        All commits must be present and whole, since they hold the same information.
        """
        torn = [path for path in self.checkpoints.values() if why_no_parquet(path) is not None]
        whole = torn and self.commits.keys() >= set(range(max(self.checkpoints) + 1))
        return torn if whole and not any(map(why_torn, self.commits.values())) else []

    def problems(self) -> Iterator[tuple[Path, str]]:
        """Torn or missing files of the log, with the reason for each."""
        for path in self.checkpoints.values():
            why = why_no_parquet(path)
            if why is not None:
                yield path, why
        for path in self.commits.values():
            why = why_torn(path)
            if why is not None:
                yield path, why
        begin = max((version + 1 for version, path in self.checkpoints.items() if why_no_parquet(path) is None), default=0)
        last = max(self.commits, default=begin - 1)
        for version in range(begin, last):
            if version not in self.commits:
                yield self.log / f"{version:020}.json", "is missing"
        if not self.has_versions:
            yield self.log, "holds no commit"


def put_commit(folder: Path, version: int, actions: Iterable[Mapping[str, Any]]) -> None:
    """Add a commit to the log of the table in a folder.

    It appears as a whole or not at all. Raises FileExistsError if there is one of this version, another OSError if this
    disk can't.
    """
    log = folder / LOG_FOLDER
    draft, commit = log / f".{uuid.uuid4()}.tmp", log / f"{version:020}.json"
    lines = (json.dumps(action, ensure_ascii=False) for action in actions)
    try:
        log.mkdir(parents=True, exist_ok=True)
        draft.write_text("\n".join(lines) + "\n", encoding="utf-8")
        if not commit.exists():  # of a commit that was lost, a checksum may be left
            (log / f".{commit.name}.crc").unlink(missing_ok=True)
        os.link(draft, commit)
    finally:
        with suppress(OSError):
            draft.unlink()


def set_aside(path: Path) -> Path:
    """Rename a file or folder to hide it from readers; return the path."""
    for number in range(1, 1000):
        other = path.with_name(f"{path.name}.damaged" + (f"-{number}" if number > 1 else ""))
        if not other.exists():
            break
    path.rename(other)
    return other


def set_commit_aside(path: Path) -> Path:
    """Rename a commit as `set_aside` does, and delete its checksums."""
    for checksum in path.parent.glob(f"*{path.stem}.*crc"):
        checksum.unlink()
    return set_aside(path)


def why_torn(commit: Path) -> str | None:
    """Return what is wrong with a commit, None if nothing.

    A commit holds one JSON action per line; the first one describes the table.
    """
    try:
        lines = commit.read_bytes().splitlines()
    except OSError as error:
        return f"can't be read: {error.strerror or error}"
    if not lines:
        return "is empty"
    actions = set()
    for number, line in enumerate(lines, 1):
        try:
            actions |= json.loads(line).keys()
        except (ValueError, AttributeError):
            return f"holds no action in line {number}"
    if int(commit.stem) == 0 and "metaData" not in actions:
        return "does not tell of the table"
    return None


def why_no_parquet(path: Path, size: int | None = None) -> str | None:
    """Return what is wrong with a Parquet file, None if nothing.

    Checks `size` and both ends of the file.
    """
    try:
        present = path.stat().st_size
        if size is not None and present != size:
            return f"has {present} bytes instead of {size}"
        with path.open("rb") as file:
            begin = file.read(len(_MAGIC))
            file.seek(max(0, present - len(_MAGIC)))
            whole = begin == file.read() == _MAGIC
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"can't be read: {error.strerror or error}"
    return None if whole else "is no Parquet file"
