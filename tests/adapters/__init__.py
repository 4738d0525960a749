"""What reads recordings of real coordinators and strategies: one module for each kind of line.

A module of this package is an adapter if it has the two functions of `Adapter`. `tests.conformance` finds the modules by
itself and asks each, line by line, whether a recording is its own; the file's name plays no part.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place at which a model and a recording are not equal.

    `step` counts from 0 and is None for recordings without steps; `where` leads to the value, `state.g1.members[0].awaiting`.
    """

    step: int | None
    where: str
    expected: object
    actual: object
    operation: object = None


class Adapter(Protocol):
    """A module that can compare lines of one kind."""

    def accepts(self, first_line: dict[str, Any]) -> bool:
        """Whether this line is of the adapter's kind, told by its content."""

    def check(self, line: dict[str, Any]) -> Difference | None:
        """Run the model on the recorded input; None if everything recorded came out."""


class _Absent:
    """Stands for a value that one side has and the other lacks."""

    def __repr__(self) -> str:
        return "(absent)"


ABSENT = _Absent()


def adapters() -> tuple[Adapter, ...]:
    """Every adapter of this package, by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = (importlib.import_module(f"{__name__}.{name}") for name in names)
    return tuple(cast("Adapter", module) for module in modules if hasattr(module, "accepts") and hasattr(module, "check"))


def first_difference(expected: object, actual: object, where: str = "") -> tuple[str, object, object] | None:
    """Compare nested mappings and sequences; return (where, expected, actual) of the first value that differs, or None.

    Mappings are compared by key, whatever their order; tuples and lists are the same, and their order counts.
    """
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        keys = [*expected, *(key for key in actual if key not in expected)]
        pairs = [(f"{where}.{key}".lstrip("."), expected.get(key, ABSENT), actual.get(key, ABSENT)) for key in keys]
    elif _is_list(expected) and _is_list(actual):
        left, right = cast("Sequence[object]", expected), cast("Sequence[object]", actual)
        pairs = [
            (f"{where}[{i}]", left[i] if i < len(left) else ABSENT, right[i] if i < len(right) else ABSENT)
            for i in range(max(len(left), len(right)))
        ]
    else:
        return None if expected == actual else (where, expected, actual)
    return next((found for place, left, right in pairs if (found := first_difference(left, right, place))), None)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
