"""Fingerprints of what was known up to a time.

Results that depend on it stay valid while the fingerprint is the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Self

TimedFact = tuple[int, str, object]
"""A fact: its time in microseconds, its kind, and its value.

The value's `repr` must identify it, including the time if that matters.
"""

_DIGEST_BYTES = 10


@dataclass(frozen=True, slots=True)
class TimeFingerprints:
    """Fingerprints of all facts, one for each of their times.

    They are computed once in order of time, because each of many queries has its own time.
    """

    times: list[int]
    fingerprints: list[str]
    """Fingerprints up to each time; the first covers timeless facts."""

    @classmethod
    def from_facts(cls, always: object, timed: Iterable[TimedFact]) -> Self:
        """Build fingerprints of timeless facts and of facts with a time.

        Facts of equal time and kind must come in a stable order.
        """
        digest = blake2b(repr(always).encode(), digest_size=_DIGEST_BYTES)
        times, fingerprints = list[int](), [digest.hexdigest()]
        for at, kind, fact in sorted(timed, key=lambda fact: fact[:2]):
            text = repr((kind, fact)).encode()
            digest.update(len(text).to_bytes(8, "big"))
            digest.update(text)
            times.append(at)
            fingerprints.append(digest.hexdigest())
        return cls(times, fingerprints)

    def until(self, at: int) -> str:
        """Fingerprint of facts up to `at`, which is included."""
        return self.fingerprints[bisect_right(self.times, at)]

    @property
    def whole(self) -> str:
        """Fingerprint of all facts."""
        return self.fingerprints[-1]
