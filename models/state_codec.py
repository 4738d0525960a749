"""Text form of checkpoints: open and learned state of a replay.

Only data is written: dataclasses and enumerations of `stored_classes`, containers and plain values. Shared objects stay
shared, because the models compare some by identity. Reading runs no code from the text and creates no other classes.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

from models.stored_classes import ADDED_FIELDS, class_of, stable_name

FORMAT = 1
"""Raised when older checkpoints can't be read any more."""

_PLAIN = frozenset({str, int, float, bool, type(None)})

_MADE_FROM_LIST: Mapping[str, Callable[[list[Any]], object]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "deque": deque,
}
_MADE_FROM_PAIRS: Mapping[str, Callable[[dict[Any, Any]], object]] = {"dict": dict, "Counter": Counter, "mappingproxy": MappingProxyType}
_CONTAINERS: Mapping[type, str] = {
    list: "list",
    tuple: "tuple",
    set: "set",
    frozenset: "frozenset",
    deque: "deque",
    dict: "dict",
    Counter: "Counter",
    MappingProxyType: "mappingproxy",
}
_OUTSIDE, _ENUM = "outside", "enum"


class UnreadableState(ValueError):
    """The text is not a checkpoint of these models."""


def write(root: object, outside: Mapping[str, object], shortened: Mapping[type, Callable[[Any], object]] | None = None) -> str:
    """Write an object and everything it refers to.

    `outside` are objects by name that are passed to `read` again. `shortened` maps a type to a replacement for its objects,
    which may hold no new objects except plain values. Raises TypeError for anything other than data of the models,
    ValueError for cycles.
    """
    writer = _Writer({id(part): name for name, part in outside.items()}, shortened or {})
    place = writer.value(root)
    return json.dumps([FORMAT, writer.kinds, writer.objects, place], separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def read(text: str, outside: Mapping[str, object]) -> Any:
    """Read an object written by `write`.

    Raises UnreadableState.
    """
    try:
        version, kinds, objects, place = json.loads(text)
        if version != FORMAT:
            raise UnreadableState(f"a state of format {version}: this version reads {FORMAT}")
        return _Reader([class_of(name) for name in kinds], outside).all(objects, place)
    except (KeyError, IndexError, TypeError, AttributeError, ImportError, ValueError, RecursionError) as error:
        raise UnreadableState(f"not a state of these models: {error}") from error


@dataclass(slots=True)
class _Writer:
    """Writes objects after those they refer to.

    Each has an index in `objects`; a reference is a list with that index.
    """

    outside: Mapping[int, str]
    shortened: Mapping[type, Callable[[Any], object]]
    kinds: list[str] = field(default_factory=list)
    objects: list[list[Any]] = field(default_factory=list)
    _numbers: dict[type, int] = field(default_factory=dict)
    _names: list[tuple[str, ...]] = field(default_factory=list)
    _places: dict[int, list[int]] = field(default_factory=dict)
    _under_way: set[int] = field(default_factory=set)

    def value(self, value: object) -> object:
        if type(value) in _PLAIN:
            return value
        key = id(value)
        known = self._places.get(key)
        if known is not None:
            return known
        if key in self._under_way:
            raise ValueError(f"a {type(value).__name__} that holds itself")
        self._under_way.add(key)
        self.objects.append(self._content(value))
        self._under_way.discard(key)
        place = self._places[key] = [len(self.objects) - 1]
        return place

    def _content(self, value: object) -> list[Any]:
        name = self.outside.get(id(value))
        if name is not None:
            return [_OUTSIDE, name]
        kind: type[Any] = type(value)
        if kind in self.shortened:
            value = self.shortened[kind](value)
        container = _CONTAINERS.get(kind)
        if container in _MADE_FROM_PAIRS:
            pairs: Mapping[Any, Any] = value  # type: ignore[assignment]
            return [container, *(self.value(item) for pair in pairs.items() for item in pair)]
        if container is not None:
            members: Iterable[Any] = value  # type: ignore[assignment]
            ordered = sorted(members, key=repr) if container in {"set", "frozenset"} else members
            return [container, *map(self.value, ordered)]
        if isinstance(value, Enum):
            return [_ENUM, self._number(kind), value.value]
        if not is_dataclass(value):
            raise TypeError(f"a {kind.__name__} can't be written as a state")
        number = self._number(kind)
        return [number, *(self.value(getattr(value, name)) for name in self._names[number])]

    def _number(self, kind: type) -> int:
        number = self._numbers.get(kind)
        if number is None:
            try:
                name = stable_name(kind)
            except KeyError as error:
                raise TypeError(f"{kind.__module__}.{kind.__qualname__} is no class that states hold") from error
            number = self._numbers[kind] = len(self.kinds)
            self.kinds.append(name)
            self._names.append(_names(kind))
        return number


@dataclass(slots=True)
class _Reader:
    kinds: list[type]
    outside: Mapping[str, object]
    made: list[Any] = field(default_factory=list)
    _names: list[tuple[str, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self._names = [_names(kind) for kind in self.kinds]

    def all(self, objects: list[list[Any]], place: object) -> Any:
        for kind, *content in objects:
            self.made.append(self._object(kind, content))
        return self._value(place)

    def _value(self, value: Any) -> Any:
        return self.made[value[0]] if value.__class__ is list else value

    def _object(self, kind: Any, content: list[Any]) -> object:
        if kind == _OUTSIDE:
            return self.outside[content[0]]
        if kind == _ENUM:
            return self.kinds[content[0]](content[1])
        values = [self._value(item) for item in content]
        if kind in _MADE_FROM_LIST:
            return _MADE_FROM_LIST[kind](values)
        if kind in _MADE_FROM_PAIRS:
            return _MADE_FROM_PAIRS[kind](dict(zip(values[::2], values[1::2], strict=True)))
        return _filled(self.kinds[kind], self._names[kind], values)


def _filled(kind: type, names: tuple[str, ...], values: list[Any]) -> object:
    """Create a dataclass with these fields, without running its `__init__`."""
    instance: object = object.__new__(kind)
    if len(values) < len(names):
        names = _without_added(kind, names, len(names) - len(values), instance)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(instance, name, value)
    return instance


def _without_added(kind: type, names: tuple[str, ...], count: int, instance: object) -> tuple[str, ...]:
    """Give the last fields that a class got their defaults; the other names."""
    added = ADDED_FIELDS.get(stable_name(kind), ())[-count:]
    for item in fields(kind):
        if item.name in added:
            object.__setattr__(instance, item.name, item.default if item.default_factory is MISSING else item.default_factory())
    return tuple(name for name in names if name not in added)


def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()
