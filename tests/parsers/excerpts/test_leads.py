"""Leads remembered by their form read as leads that are read anew."""

from __future__ import annotations

import itertools

import pytest

from parsers.excerpts.leads import Leads

LEADS = (
    "<INFO> on 2026-11-21 at 09:07:55.040 <<",
    "<WARN> on 2026-11-21 at 09:07:55.040 <<",
    "<INFO> on 2026-99-99 at 09:07:55.040 <<",
    "<INFO> on 2026-11-21 at 99:07:55.040 <<",
    "2026-11-21 09:07:55 2026-11-21 09:07:56 INFO ",
    "2026-11-21 09:07:55 2026-99-99 09:07:56 INFO ",
    "09:07:55.040 INFO ",
    "1795252075040 INFO ",
    "9995252075040 INFO ",
    "INFO ",
)


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(LEADS, 2)))
def test_no_lead_changes_what_the_next_one_tells(first: str, second: str) -> None:
    leads = Leads()
    leads.read(first)
    assert leads.read(second) == Leads().read(second)
    assert leads.read(second) == Leads().read(second)
