"""Stories of groups, each with all that the models must say of it.

What a script does not show of the rows is held by digests, one for each table; `lost_lines` is what is told where a line or a log
of the story is lost. `--rewrite` writes scripts and digests anew: compare the rows of both commits before you keep them.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import orjson
import pytest

from models.kafka.verdicts.history import GroupHistory
from tests.conftest import ROOT
from tests.models.kafka.groups.lost_lines import changes
from tests.models.kafka.groups.script import check, events_of, replay

SCRIPTS = sorted((ROOT / "tests" / "scenarios").glob("*.txt"))
DIGESTS = ROOT / "tests" / "golden" / "scenarios.json"
ALWAYS = frozenset({"cluster", "group", "final_at"})
"""Fields that are the same in all rows of a script, or are no part of what is told."""


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scenario(path: Path, request: pytest.FixtureRequest) -> None:
    check(path, rewrite=request.config.getoption("--rewrite"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_all_rows_of_a_scenario_are_those_of_before(path: Path, request: pytest.FixtureRequest) -> None:
    events = events_of(path.read_text(encoding="utf-8").partition("----\n")[0].splitlines())
    found = {table: digest(rows) for table, rows in sorted(tables(replay(events)).items())}
    found["lost_lines"] = digest(changes(events))
    digests = orjson.loads(DIGESTS.read_bytes()) if DIGESTS.exists() else {}
    if request.config.getoption("--rewrite"):
        digests[path.stem] = found
        DIGESTS.write_bytes(orjson.dumps(digests, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2) + b"\n")
    assert found == digests[path.stem]


def digest(rows: Iterable[str]) -> str:
    """How many rows there are, and a hash of them."""
    told = list(rows)
    return f"{len(told)} {hashlib.sha256(chr(10).join(told).encode()).hexdigest()[:12]}"


def tables(history: GroupHistory) -> dict[str, list[str]]:
    """All rows of a history by table, without what is empty."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for table in fields(history):
        for row in getattr(history, table.name):
            told = {name: value for name, value in plain(row).items() if name not in ALWAYS}
            found[table.name].append(orjson.dumps(told, option=orjson.OPT_SORT_KEYS).decode())
    return found


def plain(value: Any) -> Any:
    """A value as JSON has it; evidence as the place of its line."""
    if hasattr(value, "byte_offset"):
        return f"{value.file}:{value.line}{' inferred' if value.inferred else ''}"
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, dict):
        return {str(plain(key)): plain(each) for key, each in value.items() if each is not None and each not in ([], {}, (), "")}
    if isinstance(value, (set, frozenset)):
        return sorted(map(plain, value))
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value
