"""Reasons of offenders and blockers: values of the column `reason`.

What a member's own log adds stands behind a colon, as in `rejoined last: did not poll for 12 s`. If one of several did it, their
number stands before that, as in `evicted, one of 3`. `Person.act` is the reason without either.
"""

from __future__ import annotations

REASON_JOINED = "joined"
REASON_REJOINED = "rejoined"
REASON_LEFT = "left"
REASON_SESSION_EXPIRED = "session expired"
REASON_POLLED_LATE = "exceeded its poll interval"
REASON_REMOVED = "was removed by an administrator"
NEW_MEMBER_ID = "came back under a new member id"
NOT_IN_TIME = "did not rejoin in time"
NEVER_SYNCED = "never sent SyncGroup"

GHOST = "was given a member id and never used it"
REASON_EXPIRED_MEANWHILE = "expired while the others waited"
REASON_LEFT_MEANWHILE = "left while the others waited"
REJOINED_LAST = "rejoined last"
AWAITED_LAST = "was awaited when all others had rejoined"
REVOKED_LAST = "gave up partitions last"
LATE = "kept the others waiting, unnamed"
REASON_EVICTED = "evicted"
NOT_BACK = "did not rejoin before the others went on"
NOT_REJOINED = "had not rejoined when the logs end"
SYNCED_LATE = "sent its assignment last, which the others waited for"
NOT_SYNCED = "leads the group and had not sent SyncGroup when the logs end"

HEARD_OF_NOTHING = "did not notice the rebalance for"
DID_NOT_POLL = "did not poll for"
IN_CALLBACK = "was in its callback for"
LAST_KNOWN = "did last:"
"""What a member's own log adds, before a duration or its last action."""
