"""Rebalances whose causes are not ranked yet, and their due times.

They come from the coordinator's lines (`classic`, and `modern` for the newer protocols), and where no coordinator logs them from
requests and members' logs (`requests`, `windows`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from models.kafka.groups import bounds
from models.kafka.reconstruction.classic_log import ClassicReplay
from models.kafka.reconstruction.classic_states import RebalanceWindow
from models.kafka.reconstruction.client_windows import ClientWindows
from models.kafka.reconstruction.epochs.log import ModernReplay
from models.kafka.reconstruction.inferred_windows import adopt
from models.kafka.reconstruction.request_windows import RequestWindows


class NextRanking(NamedTuple):
    """When the next rebalance is ranked, and whether it is an epoch."""

    at: int
    is_epoch: bool


class Neighbours(NamedTuple):
    """A window with the one before it and the one after it."""

    window: RebalanceWindow
    previous: RebalanceWindow | None
    following: RebalanceWindow | None


@dataclass(slots=True)
class UnrankedRebalances:
    """Holds windows of rebalances in order; knows which of them are ranked."""

    classic: ClassicReplay
    modern: ModernReplay
    windows: ClientWindows = field(default_factory=ClientWindows)
    requests: RequestWindows = field(default_factory=RequestWindows)
    ranked_count: int = 0
    """Windows of `classic` whose causes are ranked."""
    due_at: int = 0
    """The latest time at which a ranked rebalance was due."""

    @property
    def oldest(self) -> RebalanceWindow | None:
        """The first rebalance whose causes are not ranked yet."""
        return self.classic.windows[self.ranked_count] if self.ranked_count < len(self.classic.windows) else None

    @property
    def oldest_ended(self) -> RebalanceWindow | None:
        """The first rebalance without ranked causes, if it has ended."""
        window = self.oldest
        return window if window is not None and window.outcome != "open" else None

    @property
    def oldest_started_at(self) -> int | None:
        """Start of the first rebalance without ranked causes."""
        began = [waiting.began for waiting in (self.oldest, self.modern.progress.waiting) if waiting]
        asked_at = self.requests.waiting_since
        return min([*began, asked_at] if asked_at else began, default=None)

    @property
    def are_too_many(self) -> bool:
        """Whether more wait than a group may hold."""
        return len(self.classic.windows) - self.ranked_count > bounds.UNRANKED_WINDOWS_MAX

    def next_due(self) -> NextRanking | None:
        """When the next rebalance that has ended is due."""
        progress = self.modern.progress
        window, epoch_over = self.oldest_ended, progress.over_at() if progress.windows else None
        due_at = (window.ended_at or 0) + bounds.ALLOWED_LATENESS_US + 1 if window is not None else None
        if epoch_over is not None and (due_at is None or epoch_over + bounds.ALLOWED_LATENESS_US < due_at):
            return NextRanking(epoch_over + bounds.ALLOWED_LATENESS_US + 1, is_epoch=True)
        return None if due_at is None else NextRanking(due_at, is_epoch=False)

    def take_windows(self, until: int) -> bool:
        """Adopt windows of members' logs that coordinators can't show any more."""
        due_at = self.windows.due_at
        if due_at is None or due_at > until:
            return False
        for window in self.windows.next_windows():
            adopt(self.classic, window, self.ranked_count)
        return True

    def take_open_windows(self) -> None:
        """Adopt windows of members' logs that are open when the logs end."""
        for window in self.windows.open_window():
            adopt(self.classic, window, self.ranked_count)

    def neighbours(self) -> Neighbours:
        """The oldest rebalance, which there must be, and those around it."""
        index, windows = self.ranked_count, self.classic.windows
        return Neighbours(windows[index], windows[index - 1] if index else None, windows[index + 1] if index + 1 < len(windows) else None)

    def needed_from(self, started_at: int) -> int:
        """Time from which on impact counts after a rebalance is ranked."""
        waiting = self.modern.progress.waiting
        return min(started_at, waiting.began if waiting else started_at)

    def drop_ranked(self) -> None:
        """Drop ranked windows but the last, which the next one follows."""
        del self.classic.windows[: max(self.ranked_count - 1, 0)]
        self.ranked_count = min(self.ranked_count, 1)
