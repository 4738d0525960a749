"""What a client's own INFO lines leave unsaid: whether "(Re-)joining group" is a new member's request or a member's again.

A client that never joined, that left, was fenced or polled too late, or that was just created, has no member id
and asks for one; any other rejoins under the id that it has (AbstractCoordinator, `generation` and `memberId`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from models.events import Event
from models.kafka.observations.actions import Act, Deed, names_field, text_field

_FORGETS = frozenset({"ClientConfigured", "ClientLeaveSent", "ClientPollTimedOut", "ClientFenced", "ClientClosed", "ClientUnsubscribed"})

_UNKNOWN_MEMBER = frozenset({"UNKNOWN_MEMBER_ID", "The coordinator is not aware of this member."})
"""The name of the error, for wordings that only describe it, and the text that stands in the others (Errors.java)."""

LOGS_REMEMBERED = 1 << 16
"""Files whose log is known without another look: each event of a client asks for it several times."""

_ROTATED = re.compile(r"(?:\.(?:\d{1,5}|\d{4}-?\d\d-?\d\d(?:-\d\d)?|gz|bz2|xz|zst))+$")


@lru_cache(maxsize=LOGS_REMEMBERED)
def log_of(file: str) -> str:
    """The log that a rotated file is a part of: `app.log.3.gz` is of `app.log`."""
    return _ROTATED.sub("", file)


@dataclass(slots=True)
class Clients:
    """Member ids as the clients of one group hold them. Told apart by log and client id."""

    _ids: dict[tuple[str, str], str | None] = field(default_factory=dict)
    _starting: dict[tuple[str, str], bool] = field(default_factory=dict)
    """Clients that subscribed, and whether they looked for their coordinator since: a running one knows it and revokes first."""

    def feed(self, event: Event, shared: set[str]) -> list[Act]:
        """Take one event; a "(Re-)joining group" comes back as the deed that it stands for.

        Of clients that share one id in one log it can't be told whose line it is: they give nothing.
        """
        if event.client_id is None or event.client_id in shared or not event.name.startswith("Client"):
            return []
        key = (log_of(event.place.file), event.client_id)
        if event.name == "ClientJoined":
            self._ids[key] = event.member_id or self._ids.get(key) or ""
        elif event.name in _FORGETS or _forgets_id(event):
            self._ids[key] = None
        elif event.name == "ClientSubscribed":
            self._starting[key] = False
        elif event.name == "ClientCoordinatorFound" and key in self._starting:
            self._starting[key] = True
        elif event.name == "ClientRevoked":
            self._starting.pop(key, None)
        elif event.name == "ClientJoining":
            if self._starting.pop(key, False):
                self._ids[key] = None  # and none until it is told one: its first request may get no answer
            member_id = self._ids.get(key)
            deed = Deed.JOIN if member_id is None else Deed.REJOIN
            return [Act(deed, event.time_us, member_id or None, event.client_id, event.instance_id, None, None, event)]
        return []

    def forget(self, clients: Iterable[tuple[str, str]]) -> None:
        """Nothing was heard of these for long, each told by its log and client id."""
        for key in clients:
            self._ids.pop(key, None)
            self._starting.pop(key, None)


def _forgets_id(event: Event) -> bool:
    """Unknown to the coordinator, or a first join: nothing to revoke (clients before 2.4 print the empty list)."""
    if event.name == "ClientJoinFailed":
        return text_field(event, "error") in _UNKNOWN_MEMBER
    if event.name in {"ClientGenerationReset", "ClientHeartbeatFailed"}:
        told = f"{event.fields.get('why', '')}{event.fields.get('error', '')}{event.text}"
        return "UNKNOWN_MEMBER" in told or "member id" in told
    return event.name == "ClientRevoked" and "partitions" in event.fields and not names_field(event, "partitions")
