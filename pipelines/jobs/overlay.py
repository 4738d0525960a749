"""Values in columns of a table, with changes laid over them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping
from typing import Self, TypeVar

V = TypeVar("V")


class Overlay(MutableMapping[str, V]):
    """Values by key: stored ones are read on demand.

    A driver may hold very many, and few change. `place` is the position of a stored key.
    """

    __slots__ = ("_changed", "_places", "_read")

    def __init__(self, keys: Collection[str], read: Callable[[int], V]) -> None:
        self._places = {key: place for place, key in enumerate(keys)}
        self._changed: dict[str, V] = {}
        self._read = read

    def copy(self) -> Self:
        """The same values, to be changed independently."""
        other = self.__class__.__new__(self.__class__)
        other._places, other._changed, other._read = dict(self._places), dict(self._changed), self._read
        return other

    @property
    def changed(self) -> Mapping[str, V]:
        """Values that were set, by key."""
        return self._changed

    @property
    def unchanged(self) -> Mapping[str, int]:
        """Places of the others, by key."""
        return self._places

    def __getitem__(self, key: str) -> V:
        return self._changed[key] if key in self._changed else self._read(self._places[key])

    def __setitem__(self, key: str, value: V) -> None:
        self._places.pop(key, None)
        self._changed[key] = value

    def __delitem__(self, key: str) -> None:
        if self._places.pop(key, None) is None:
            del self._changed[key]

    def __contains__(self, key: object) -> bool:
        return key in self._changed or key in self._places

    def __iter__(self) -> Iterator[str]:
        yield from self._places
        yield from self._changed

    def __len__(self) -> int:
        return len(self._places) + len(self._changed)
