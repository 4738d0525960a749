"""The facts of an incident, each under a label of its own."""

from __future__ import annotations

from conf.causes import cause, causes, outage_causes
from dashboards.view.answer import Incident
from dashboards.wording.durations import duration
from dashboards.wording.units import counted, listed, share

NAMES_SHOWN = 3


def facts(item: Incident) -> list[tuple[str, str]]:
    """Labels and texts: trigger, kind, blockers and root cause."""
    waits = [f"{wait.name} ({counted(wait.count, 'time')}, {duration(wait.seconds)})" for wait in item.held_up]
    known = [cause(item.system, item.trigger).title.lower() if item.trigger is not None else "", root_of(item)]
    texts = [
        ("trigger", _trigger(item)),
        ("what it is", item.kind_title if item.kind_title not in known else ""),
        ("held up by", listed(waits, NAMES_SHOWN) if waits else ""),
        ("root", root_of(item)),
    ]
    return [(label, text) for label, text in texts if text]


def selection(item: Incident) -> str:
    """Share of an incident that the selection shows, if not all."""
    if not item.rebalance_ids or item.selected_count >= len(item.rebalance_ids):
        return ""
    shown = str(item.selected_count) if item.selected_count else "none"
    return f"{shown} of its {counted(item.rebalance_count, 'rebalance')} {'is' if item.selected_count == 1 else 'are'} selected"


def _trigger(item: Incident) -> str:
    if item.trigger is None:
        return ""
    title = cause(item.system, item.trigger).title.lower()
    return title + (f" ({share(item.confidence)})" if item.confidence is not None else "")


def root_of(item: Incident) -> str:
    """Root cause behind the trigger, if it is known and different."""
    if item.root_cause is None or item.root_cause == item.trigger:
        return ""
    known = causes().get((item.system, item.root_cause)) or outage_causes().get(item.root_cause)
    return known.title.lower() if known is not None else item.root_cause.replace("_", " ")
