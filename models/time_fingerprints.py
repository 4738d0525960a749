"""Up to a time, what was known, as fingerprints: what rests on that holds while it is the same."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Self

Told = tuple[int, str, object]
"""Something that is of a time (microseconds), with that and its kind. Its `repr` tells it from others, also from itself at
another time where that matters."""

_DIGEST_BYTES = 10


@dataclass(frozen=True, slots=True)
class KnownByTime:
    """Fingerprints of what is known, one for each time (microseconds) that something is of.

    All is written out once, in order of time: there are many questions, each of a time of its own.
    """

    times: list[int]
    fingerprints: list[str]
    """The first one is of what counts whenever it was told; each other one of what there is up to the time before it, too."""

    @classmethod
    def of(cls, always: object, told: Iterable[Told]) -> Self:
        """What counts whenever it was told, and what is of a time: where time and kind are the same, in the order that it comes in."""
        digest = blake2b(repr(always).encode(), digest_size=_DIGEST_BYTES)
        times, fingerprints = list[int](), [digest.hexdigest()]
        for at, kind, what in sorted(told, key=lambda each: each[:2]):
            text = repr((kind, what)).encode()
            digest.update(len(text).to_bytes(8, "big"))
            digest.update(text)
            times.append(at)
            fingerprints.append(digest.hexdigest())
        return cls(times, fingerprints)

    def until(self, at: int) -> str:
        """Fingerprint of what is of no later time than `at`."""
        return self.fingerprints[bisect_right(self.times, at)]

    @property
    def whole(self) -> str:
        """Fingerprint of all, of whatever time."""
        return self.fingerprints[-1]
