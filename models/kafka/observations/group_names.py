"""Groups of clients' lines that name none, as one file shows them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class GroupNames:
    """The groups that the lines of one file have named so far.

    A client belongs to one group, and so does a thread as long as its lines name no other. A member's lines that name
    neither belong to the file's group if it has only one.
    """

    _of_clients: dict[tuple[str, object], str | None] = field(default_factory=dict)
    _of_threads: dict[str, str | None] = field(default_factory=dict)
    _all: set[str] = field(default_factory=set)

    def learn(self, group: str, client_id: str | None, client_number: object, thread: str | None) -> None:
        """Take what a line names; what belongs to several groups names none."""
        self._all.add(group)
        if client_id:
            _note(self._of_clients, (client_id, client_number), group)
        if thread:
            _note(self._of_threads, thread, group)

    def group_of(self, client_id: str | None, client_number: object, thread: str | None, *, of_member: bool) -> str | None:
        """Return the group of a line without one, None if it is unknown.

        `of_member`: the line tells what a member did. Others may be of any client of the process.
        """
        if client_id:
            return self._of_clients.get((client_id, client_number))
        if not of_member:
            return None
        if thread in self._of_threads:
            return self._of_threads[thread]
        return next(iter(self._all)) if len(self._all) == 1 else None


def _note(groups: dict[Any, str | None], key: object, group: str) -> None:
    if groups.setdefault(key, group) != group:
        groups[key] = None


_PLACEHOLDER = re.compile(
    r"\.{2,}|…|\*{2,}|#{2,}|\?{2,}|_{2,}|-{2,}|[xX]{3,}(?:[-_.][xX]{2,})*|<[^<>]*>|\[[^\[\]]*\]|\$?\{[^{}]*\}|%s"
    r"|(?:redacted|masked|hidden|removed|omitted|anonymi[sz]ed)",
    re.IGNORECASE,
)


def is_placeholder(name: str) -> bool:
    """Whether a name is what anonymised excerpts have in the place of one."""
    return _PLACEHOLDER.fullmatch(name) is not None
