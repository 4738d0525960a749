"""Names behind pseudonyms, for the few rules that look into a name."""

from __future__ import annotations

import pytest

from models import clear_names as names


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two names that were redacted, known to nobody else."""
    monkeypatch.setattr(names, "PLAINTEXTS", {})
    names.learn_names({"name-abcdefghijkl": "billing@1", "name-abcdefghijk7": "billing@2"})


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("text", "clear"),
    [
        ("name-abcdefghijkl", "billing@1"),
        ("name-abcdefghijkl and name-abcdefghijk7 of name-abcdefghijk2", "billing@1 and billing@2 of name-abcdefghijk2"),
        ("billing@3", "billing@3"),
    ],
)
def test_pseudonyms_that_are_known_become_names_again(text: str, clear: str) -> None:
    assert names.clear(text) == clear


def test_where_nothing_was_redacted_names_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "PLAINTEXTS", {})
    assert names.clear("name-abcdefghijkl") == "name-abcdefghijkl"
