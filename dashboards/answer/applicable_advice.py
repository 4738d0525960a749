"""Advice that fits the group: its protocol, its assignor, and its brokers' version."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from conf.causes import RecommendedAction, Setting, unfit
from dashboards.view import answer as data
from dashboards.view.row_access import AnyRow, column

ChangeKind = tuple[str, str | None]
"""Protocol and assignor of a group."""


def versions_of(files: Iterable[AnyRow]) -> dict[str, tuple[int, ...]]:
    """Version of each cluster's brokers: the one that most files tell."""
    versions: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for file in files:
        version = column(file, "version")
        if version and column(file, "system") == "kafka":
            versions[column(file, "cluster") or ""][version] += 1
    return {cluster: version_numbers(counts.most_common(1)[0][0]) for cluster, counts in versions.items()}


def version_numbers(version: str) -> tuple[int, ...]:
    """A version as numbers, such as (2, 8) for 2.8."""
    return tuple(int(part) for part in version.split("-")[0].split(".") if part.isdigit())


def applicable_advice(
    advice: Iterable[RecommendedAction], kinds: Collection[ChangeKind], version: tuple[int, ...] | None
) -> tuple[RecommendedAction, ...]:
    """Advice without the settings that no group of these kinds can have.

    What is about such settings alone is left out.
    """
    advices = []
    for item in advice:
        settings = tuple(setting for setting in item.settings if is_applicable(setting, kinds, version))
        if settings == item.settings:
            advices.append(item)
        elif settings:
            advices.append(replace(item, settings=settings))
    return tuple(advices)


def is_applicable(setting: Setting, kinds: Collection[ChangeKind], version: tuple[int, ...] | None) -> bool:
    """Whether a setting can be advised to a group of one of these kinds."""
    if version is not None and version_numbers(setting.since)[:2] > version[:2]:
        return False
    never = unfit().get(setting.name)
    return never is None or not kinds or any(not (kind[0] in never.protocols or kind[1] in never.assignors) for kind in kinds)


def with_applicable_advice(
    answer: data.Answer, versions: Mapping[str, tuple[int, ...]], kinds: Callable[[str], Collection[ChangeKind]]
) -> data.Answer:
    """The same answer with advice that fits each Kafka group.

    `kinds` are those of the rebalances in an incident, by its id.
    """
    return replace(
        answer,
        rebalances=[
            replace(item, advice=applicable_advice(item.advice, [(item.protocol, item.assignor)], versions.get(item.cluster)))
            if item.system == "kafka"
            else item
            for item in answer.rebalances
        ],
        incidents=[
            replace(item, advice=applicable_advice(item.advice, kinds(item.id), versions.get(item.cluster)))
            if item.system == "kafka"
            else item
            for item in answer.incidents
        ],
    )
