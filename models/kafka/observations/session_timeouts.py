"""Which session timeout is in force, by the evidence that logs have.

The first that is known counts:

1. What a broker's line names as effective for a group whose own setting is out of bounds.
2. What a member's request to join names, as a request log or the coordinator prints it. A classic member keeps it in a group that
   moves to a newer protocol (KIP-848).
3. What brokers set for a newer protocol, by their own settings.
4. What a client prints as its configuration.
5. What the user assumes (`--assume`).
6. The default of the client's library in its version, or of the Java client.

Whose evidence counts depends on the question. A member's row has what lines say of that member alone, and nothing assumed. What lies
behind an expiry is judged by that member's own timer; without one, rules try the usual timeouts. Advice takes what other members of
the group have, if nothing tells of the member itself: one configuration usually serves all. Whether all members that live are back
is a bound, so the longest of all counts there, and only there a default.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from models.kafka.observations.libraries import default_timeouts
from models.kafka.observations.roster import ClientLog, RosterMember
from models.tolerances import DEFAULT_SESSION_TIMEOUTS_MS

CONFIGURED = "session_timeout_ms"
"""Name of the timeout among a client's settings."""


def session_timeout_ms(
    members: Iterable[RosterMember],
    settings: Iterable[Mapping[str, int]],
    *,
    capped_ms: int | None = None,
    protocol_ms: int | None = None,
    assumed_ms: int | None = None,
) -> int | None:
    """Session timeout in force, by the first evidence.

    The nearest members and settings come first.
    """
    if capped_ms is not None:
        return capped_ms
    requested = next((member.session_timeout_ms for member in members if member.session_timeout_ms), None)
    configured = (setting[CONFIGURED] for setting in settings if setting.get(CONFIGURED))
    return requested or protocol_ms or next(configured, None) or assumed_ms


def longest_session_ms(
    members: Iterable[RosterMember],
    settings: Iterable[Mapping[str, int]],
    logs: Iterable[ClientLog],
    versions: Mapping[str, str],
    assumed_ms: int | None,
) -> int:
    """The longest session of the members, else the longest that is likely.

    What is assumed, or the longest default of their libraries.
    """
    timeouts_ms = [member.session_timeout_ms for member in members if member.session_timeout_ms]
    timeouts_ms += [setting[CONFIGURED] for setting in settings if CONFIGURED in setting]
    if not timeouts_ms and assumed_ms is None:
        usual = [default_timeouts(log.library, versions.get(log.file)) for log in logs]
        timeouts_ms = [defaults.session_ms for defaults in usual if defaults is not None]
    return max(timeouts_ms, default=assumed_ms or DEFAULT_SESSION_TIMEOUTS_MS[0])
