"""Times in which popped messages of a gRPC client don't flow.

No proxy answers, the cache is full, receipts are refused, or the client lost its lite topics on a broker.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from models.events import Event
from models.rocketmq.observations.fault_stretches import FaultStretch, take_line
from models.tolerances import int_tolerance

APART_US = int_tolerance("rocketmq.pop_trouble.apart_us")
"""Maximum time between two lines of one stretch.

A client says at least every 30 s that its cache is full (ProcessQueueImpl.java).
"""


@dataclass(slots=True)
class PopTrouble:
    """Stretches of a group, by kind and client.

    Of a broker's lines, which name no client, it is empty.
    """

    subscribed: dict[str, list[int]] = field(default_factory=dict)
    """When clients subscribed to lite topics, by client; brokers' lines are read after theirs."""

    stretches: dict[tuple[str, str], list[FaultStretch]] = field(default_factory=dict)

    def feed(self, event: Event, at: int) -> None:
        """Take a line of a client, or of a broker about one."""
        who = event.client_id or ""
        if event.name == "RocketLiteSubscribed":
            if event.fields.get("subscribed"):
                self.subscribed.setdefault(who, []).append(at)
            return
        if event.name == "RocketHeartbeatSent":
            known = self.stretches.get(("proxy_unreachable", who))
            if known and known[-1].ended_at is None:
                known[-1].ended_at = at
            return
        kind = fault_kind_of(event)
        if kind is None:
            return
        if kind in _OF_GROUP:
            who = ""
        take_line(self.stretches.setdefault((kind, who), []), event, at, APART_US)


_OF_GROUP = frozenset({"lite_topic_contended"})
"""Faults of a group whose lines name one of several clients."""

_LITE = {
    "expired": "lite_subscription_lost",
    "untold": "lite_subscription_lost",
    "excluded": "lite_topic_contended",
    "events_full": "consumption_stalled",
}
"""Faults by what a broker does with a client's lite topics.

That it tells a client of the end of a subscription is none by itself: a lite topic expires, or an exclusive one has another client.
"""


def fault_kind_of(event: Event) -> str | None:
    """The fault that a line is a sign of."""
    if event.name == "RocketHeartbeatFailed" or (event.name == "RocketSessionChanged" and event.fields.get("how") == "lost"):
        return "proxy_unreachable"
    if event.name == "RocketQueueQuiet" and event.fields.get("why") == "cache_full":
        return "consumption_stalled"
    if event.name == "RocketReceiptFailed" and event.fields.get("why") == "invalid_handle":
        return "invisible_time_exceeded"
    if event.name == "RocketPopRevived":
        return "invisible_time_exceeded"
    if event.name == "RocketPopStalled" and event.fields.get("why") == "unacknowledged":
        return "consumption_stalled"
    if event.name == "RocketLiteRefused" and event.fields.get("what") != "unsubscribe":
        return "lite_subscription_refused"
    return _LITE.get(str(event.fields.get("why"))) if event.name == "RocketLiteTold" else None
