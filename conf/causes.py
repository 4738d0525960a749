"""Causes of rebalances and outages in words, from `conf/causes.yaml`.

Each has a meaning, signs and advice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

EXPLAINED_SYSTEMS = ("kafka", "rocketmq")
FAMILIES = ("join", "restart", "leave", "timeout", "change", "followup", "admin", "broker", "fault", "unknown")
"""Groups of causes with a common colour, in the order of legends."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting worth changing: name, location, and first version that has it."""

    name: str
    at: str
    since: str


@dataclass(frozen=True, slots=True)
class RecommendedAction:
    """One recommended action.

    `turn` is the change of the search over settings that shows whether it helps.
    """

    do: str
    settings: tuple[Setting, ...] = ()
    turn: str | None = None


@dataclass(frozen=True, slots=True)
class CauseSign:
    """Evidence of a cause in a range of versions."""

    versions: str
    by: str


@dataclass(frozen=True, slots=True)
class CauseText:
    """Texts of a cause.

    `act` is a clause in which `{who}` stands for the members that acted.
    """

    id: str
    system: str
    family: str
    title: str
    act: str
    meaning: str
    expected: bool = False
    root_only: bool = False
    recognised: tuple[CauseSign, ...] = ()
    measured: tuple[str, ...] = ()
    """Sentences with `{who}` and names of measurements, most informative first."""
    advice: tuple[RecommendedAction, ...] = ()

    def clause(self, who: str) -> str:
        """The clause with `who` filled in."""
        return self.act.replace("{who}", who)


@cache
def causes() -> Mapping[tuple[str, str], CauseText]:
    """All causes of rebalances, by system and id."""
    return {(entry.system, entry.id): entry for entry in map(_cause, _document()["causes"])}


@cache
def outage_causes() -> Mapping[str, CauseText]:
    """All causes of partition outages, by id."""
    entries = ({"system": "kafka", "family": "broker", "recognised": [], **raw} for raw in _document()["outages"])
    return {entry.id: entry for entry in map(_cause, entries)}


@cache
def waits() -> Mapping[str, CauseText]:
    """Advice about a wait for a member, by the cause behind it."""
    return {
        entry.id: entry
        for entry in map(_cause, ({"system": "kafka", "family": "timeout", "recognised": [], **raw} for raw in _document()["waits"]))
    }


@cache
def outage_ends() -> Mapping[str, CauseText]:
    """Ends of partition outages that need advice of their own, by id."""
    entries = ({"system": "kafka", "family": "broker", "recognised": [], **raw} for raw in _document()["outage_ends"])
    return {entry.id: entry for entry in map(_cause, entries)}


@cache
def incident_kinds() -> Mapping[str, CauseText]:
    """Kinds of incidents with texts and advice of their own."""
    entries = ({"system": "kafka", "family": "timeout", **raw} for raw in _document()["kinds"])
    return {entry.id: entry for entry in map(_cause, entries)}


def cause(system: str, cause_id: str | None) -> CauseText:
    """Return the entry of a cause, else that of `unknown`.

    The fallback allows reading tables of a newer version.
    """
    known = causes()
    fallback = known.get((system, "unknown"), known["kafka", "unknown"])
    return known.get((system, cause_id or "unknown"), fallback)


def root_cause_entry(system: str, cause_id: str | None) -> CauseText:
    """Return the entry of a root cause, also one of outages."""
    known = causes().get((system, cause_id or "unknown")) or outage_causes().get(cause_id or "unknown")
    return known or cause(system, cause_id)


def outage_cause(cause_id: str | None) -> CauseText:
    """Return a cause of outages by id, else that of `unknown`."""
    known = outage_causes()
    return known.get(cause_id or "unknown", known["unknown"])


@dataclass(frozen=True, slots=True)
class Unfit:
    """Kinds of groups for which a setting is no advice."""

    protocols: frozenset[str] = frozenset()
    assignors: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Turn:
    """A change that a search over settings can advise.

    `longer` is what it costs where sessions become longer; `enough` is said where they need not.
    """

    id: str
    says: str
    costs: str
    longer: str
    enough: str
    settings: tuple[Setting, ...]


@cache
def unfit() -> Mapping[str, Unfit]:
    """Settings that are no advice for some groups, by name."""
    return {
        entry["setting"]: Unfit(frozenset(entry.get("protocols", ())), frozenset(entry.get("assignors", ())))
        for entry in _document()["unfit"]
    }


@cache
def turns() -> Mapping[str, Turn]:
    """Changes that a search can advise, by id."""
    return {
        entry["id"]: Turn(**{"longer": "", "enough": "", **entry, "settings": tuple(Setting(**setting) for setting in entry["settings"])})
        for entry in _document()["turns"]
    }


@cache
def _document() -> dict[str, Any]:
    import yaml  # not at the top, because the command line lists its commands without it

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = resources.files(__name__.rpartition(".")[0]).joinpath("causes.yaml").read_text(encoding="utf-8")
    document: dict[str, Any] = yaml.load(text, Loader=loader)  # noqa: S506 - both are safe loaders
    return document


def _cause(raw: Mapping[str, Any]) -> CauseText:
    return CauseText(
        id=raw["id"],
        system=raw["system"],
        family=raw["family"],
        title=raw["title"],
        act=raw["act"],
        meaning=raw["meaning"],
        expected=raw.get("expected", False),
        root_only=raw.get("kind") == "root",
        recognised=tuple(CauseSign(sign["versions"], sign["by"]) for sign in raw.get("recognised", ())),
        measured=tuple(raw.get("measured", ())),
        advice=tuple(_advice(item) for item in raw.get("advice", ())),
    )


def _advice(raw: Mapping[str, Any]) -> RecommendedAction:
    return RecommendedAction(raw["do"], tuple(Setting(**setting) for setting in raw.get("settings", ())), raw.get("turn"))
