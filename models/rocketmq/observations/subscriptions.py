"""Subscriptions of each client as seen by brokers, for clients without files.

A broker keeps one table of topics per group and logs what a heartbeat changes. Lines after a client's arrival come from
its heartbeat: additions first, then removals. The table afterwards is what that client reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from models.events import Event
from models.rocketmq.object_text import subscription_in
from models.tolerances import int_tolerance

HEARTBEAT_US = int_tolerance("rocketmq.subscriptions.heartbeat_us")
"""Maximum duration of one heartbeat's lines, which have whole seconds."""

ExpressionsByTopic = dict[str, str]
"""Filter expression by topic."""


@dataclass(slots=True)
class TopicTable:
    """A broker's table of a group's topics, with clients' subscriptions over time."""

    topic_steps: dict[str, list[tuple[int, ExpressionsByTopic]]] = field(default_factory=dict)
    _topics: ExpressionsByTopic = field(default_factory=dict)
    _who: str = ""
    _since: int = 0
    _touched: set[str] = field(default_factory=set)
    _is_removing: bool = False

    def connected(self, who: str, at: int) -> None:
        """Record a new client; the next lines come from its heartbeat."""
        self._who, self._since, self._is_removing = who, at, False
        self._touched = set()
        if self._topics:
            self._note(who, at)

    def changed(self, event: Event, at: int, clients: Sequence[str]) -> None:
        """Record a line about the table.

        `clients` are the clients on the broker's list.
        """
        topic, expression = _subscription_of(event)
        removes = event.name == "RocketTopicUnsubscribed"
        is_same_client = (
            self._who and at - self._since <= HEARTBEAT_US and topic not in self._touched and (removes or not self._is_removing)
        )
        if not is_same_client:
            self._who = clients[0] if len(set(clients)) == 1 else ""
            self._touched, self._since = set(), at
        self._touched.add(topic)
        self._is_removing = removes
        if removes:
            self._topics.pop(topic, None)
        else:
            self._topics[topic] = expression
        if self._who:
            self._note(self._who, at)

    def _note(self, who: str, at: int) -> None:
        steps = self.topic_steps.setdefault(who, [])
        if steps and steps[-1][1] == self._topics:
            return
        if steps and at - steps[-1][0] <= HEARTBEAT_US:
            at = steps.pop()[0]
        steps.append((at, dict(self._topics)))


def _subscription_of(event: Event) -> tuple[str, str]:
    if event.name == "RocketSubscriptionChanged":
        return subscription_in(str(event.fields.get("after")))
    return event.topic or "", str(event.fields.get("expression") or "")
