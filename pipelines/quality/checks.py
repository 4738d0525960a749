"""Requirements on tables, from their declarations and `suites.yaml`."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from string import Template
from typing import Any

import yaml

from conf.settings import default_settings
from pipelines.errors import UsageError
from pipelines.schema.tables import Table

_OTHERS = re.compile(r"\bgroupscope_(\w+)")
CRITICAL, WARNING = "critical", "warning"
IN_SET, NOT_NULL = "ExpectColumnValuesToBeInSet", "ExpectColumnValuesToNotBeNull"
UNIQUENESS, QUERY = ("ExpectColumnValuesToBeUnique", "ExpectCompoundColumnsToBeUnique"), "UnexpectedRowsExpectation"
"""Kinds of checks, by the names that Great Expectations gives them."""

_TRUE = {"value_set": [True]}


@dataclass(frozen=True, slots=True)
class Check:
    """One expectation.

    `kind` names a class of Great Expectations, `arguments` are those of the class. `name` is unique within a table and
    does not change with thresholds. If `holds` is given, the expectation is about a column with this SQL expression. Rules
    have a `condition` that no row may meet.
    """

    name: str
    kind: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    column: str | None = None
    severity: str = CRITICAL
    holds: str | None = None
    condition: str | None = None

    @property
    def as_column(self) -> Check:
        """The same rule about a column, if it is one that queries other tables."""
        if self.condition is None or self.holds is not None:
            return self
        return dataclasses.replace(self, kind=IN_SET, arguments=_TRUE, holds=_holds(self.condition))

    @property
    def looked_at(self) -> list[str]:
        """Columns that it is about."""
        return [self.arguments["column"]] if "column" in self.arguments else list(self.arguments["column_list"])

    @property
    def others(self) -> frozenset[str]:
        """Other tables used by the check."""
        return frozenset(_OTHERS.findall(str(self.arguments.get("unexpected_rows_query", ""))))


@cache
def _suites() -> Mapping[str, Any]:
    text = resources.files("pipelines.quality").joinpath("suites.yaml").read_text(encoding="utf-8")
    loaded: Mapping[str, Any] = yaml.safe_load(text)
    return loaded


def thresholds(overrides: Mapping[str, float] | None = None) -> dict[str, float]:
    """The thresholds in force: `overrides` over the defaults."""
    known: dict[str, float] = dataclasses.asdict(default_settings().quality)
    strange = set(overrides or ()) - set(known)
    if strange:
        raise UsageError(f"{sorted(strange)[0]} is not a threshold of a quality gate; known are {', '.join(known)}")
    return known | dict(overrides or {})


def checks_of(table: Table, limits: Mapping[str, float] | None = None) -> list[Check]:
    """The suite of one table."""
    rules = _suites()["tables"][table.name]
    return [*_declared(table), *_ruled(rules, thresholds(limits))]


def _declared(table: Table) -> Iterator[Check]:
    """Checks from the declaration.

    `run_id` is excluded, because it is added when a row is written.
    """
    for column in table.columns:
        if column.is_required and column.name != "run_id":
            yield Check(f"{column.name} is never null", NOT_NULL, {"column": column.name}, column.name)
        if column.values:
            arguments = {"column": column.name, "value_set": list(column.values)}
            yield Check(f"{column.name} is one of the words for it", IN_SET, arguments, column.name)
        if column.least is not None or column.greatest is not None:
            bounds = {"column": column.name, "min_value": column.least, "max_value": column.greatest}
            yield Check(f"{column.name} is within its range", "ExpectColumnValuesToBeBetween", bounds, column.name)
    yield Check(f"{', '.join(table.key)} tells rows apart", *_unique(table.key))


def _unique(key: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    single, compound = UNIQUENESS
    return (single, {"column": key[0]}) if len(key) == 1 else (compound, {"column_list": list(key)})


def _ruled(rules: Mapping[str, Any], limits: Mapping[str, float]) -> Iterator[Check]:
    for first, second in rules.get("order", []):
        yield _rule(f"{first} is not after {second}", f"`{first}` > `{second}`")
    for rule in rules.get("never", []):
        condition = Template(rule["when"]).substitute({name: f"{value:.12f}" for name, value in limits.items()})
        yield _rule(f"never: {rule['name']}", condition, rule.get("severity", CRITICAL))


def _rule(name: str, condition: str, severity: str = CRITICAL) -> Check:
    """A check that no row meets `condition`.

    If it refers to another table it becomes a query, else a column added by the gate, so that one pass counts all rules
    of a table.
    """
    if "SELECT" in condition:
        query = f"SELECT * FROM {{batch}} WHERE {condition}"  # noqa: S608 - the condition comes from our own data
        return Check(name, QUERY, {"unexpected_rows_query": query}, severity=severity, condition=condition)
    return Check(name, IN_SET, _TRUE, severity=severity, holds=_holds(condition), condition=condition)


def _holds(condition: str) -> str:
    return f"coalesce(NOT ({condition}), true)"
