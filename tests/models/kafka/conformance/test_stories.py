"""Stories of groups for the tracker: a version, the lines of a log, and all that is told of each.

The form is that of `tests/scenarios`; what is told stands behind `----`. `--rewrite` writes it anew; read the difference.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest

from models.events import Witness
from models.kafka.conformance.expected_lines import DEFAULT_LEVELS, Sight
from models.kafka.conformance.trials import ALL_LEVELS
from models.kafka.conformance.witnesses import Witnesses
from models.kafka.coordinator.runtime.version_policy import policy_for
from tests.conftest import ROOT
from tests.models.kafka.conformance.telling import rows
from tests.models.kafka.groups.script import GROUP, events_of

STORIES = sorted((ROOT / "tests" / "scenarios" / "tracker").glob("*.txt"))
OTHERS = (Witness.REQUEST, Witness.CLIENT)


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_all_that_is_told_of_a_story(path: Path, request: pytest.FixtureRequest) -> None:
    given, _, known = path.read_text(encoding="utf-8").partition("----\n")
    [version] = re.findall(r"^# version (\S+?)(?: all levels)?:", given)
    sight = Sight(policy_for(version), ALL_LEVELS if "all levels:" in given else DEFAULT_LEVELS)
    events, witnesses = events_of(given.splitlines()), Witnesses()
    for event in events:
        if event.witness in OTHERS:
            witnesses.take(event)
    lines = [witnesses.enriched(event) for event in events if event.witness not in OTHERS]
    found = "".join(f"{row}\n" for row in rows(GROUP, sight, lines, witnesses))
    if request.config.getoption("--rewrite"):
        path.write_text(f"{given}----\n{found}", encoding="utf-8")
        return
    assert found == known, "\n".join(difflib.unified_diff(known.splitlines(), found.splitlines(), lineterm="", n=1))
