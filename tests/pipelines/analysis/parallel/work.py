"""Tasks for tests of the pool. Worker processes import them from here."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from models.whatif.runs.courses import FinishedRun
from models.whatif.runs.parts import RunPart


@dataclass(frozen=True)
class Double:
    """Tells of its number, and returns twice as much."""

    number: int

    def run(self, told: Any) -> int:
        print("what a task prints does not get between the results")
        told(self.number)
        return 2 * self.number


@dataclass(frozen=True)
class Die:
    """Ends its own process until a file has as many lines as it may."""

    deaths: Path
    most: int

    def run(self, _told: Any) -> str:
        before = self.deaths.read_text() if self.deaths.exists() else ""
        if before.count("\n") >= self.most:
            return "done"
        self.deaths.write_text(before + "died\n")
        os.kill(os.getpid(), signal.SIGKILL)
        return "never"


@dataclass(frozen=True)
class Fail:
    """Raises what it is given."""

    problem: Exception

    def run(self, _told: Any) -> None:
        raise self.problem


@dataclass(frozen=True, slots=True)
class DeadlyPart(RunPart):
    """A part that ends each process but the one that made it."""

    made_in: int = field(default_factory=os.getpid)

    def finished(self) -> list[FinishedRun]:
        """End the process, or run the part."""
        if os.getpid() != self.made_in:
            os.kill(os.getpid(), signal.SIGKILL)
        return RunPart.finished(self)
