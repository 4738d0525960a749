"""Layouts that read each record of a sample as a whole are kept without a search for other forms."""

from __future__ import annotations

import pytest

from parsers.reading import forms
from parsers.reading.forms import choose_form

CHANGES = "".join(
    f"[2026-11-21 09:08:{second:02},799] TRACE [Controller id=1 epoch=1] Changed partition orders-{second} from NewPartition"
    " to OnlinePartition with state LeaderAndIsr(leader=1, leaderEpoch=0, isr=List(1), zkVersion=0) (state.change.logger)\n"
    f"[2026-11-21 09:08:{second:02},801] DEBUG [Channel manager on controller 1]: Controller 1 trying to connect to broker 3"
    " (kafka.controller.ControllerChannelManager)\n"
    for second in range(20)
)
HIDDEN = CHANGES.replace("[Controller id=1", "node-7: [Controller id=1")
FOREIGN = CHANGES.replace("(state.change.logger)", "(com.example.Copy)")


@pytest.mark.parametrize(("text", "searches"), [(CHANGES, False), (CHANGES.replace("\n", "\r\n"), False), (FOREIGN, True), (HIDDEN, True)])
def test_other_forms_are_searched_only_where_something_may_be_unread(text: str, searches: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[bytes] = []
    search = forms._learned
    monkeypatch.setattr(forms, "_learned", lambda part, *rest, **options: learned.append(part) or search(part, *rest, **options))

    choose_form(text.encode(), is_complete=True)

    assert bool(learned) == searches
