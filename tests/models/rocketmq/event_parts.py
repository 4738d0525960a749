"""A cluster's events in memory, split by group and topic."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from models.events import Event
from models.rocketmq.event_partitions import BY_TOPIC, HEEDED, LOCKS, TopicKey


class EventParts:
    """Events in memory, given in any order."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._rest: list[Event] = []
        self._topics: dict[TopicKey, list[Event]] = {}
        met: set[tuple[str, str]] = set()
        heeded = (event for event in events if event.name in HEEDED)
        for event in sorted(heeded, key=lambda event: (event.place.file, event.place.byte_offset)):
            if event.name not in BY_TOPIC or event.group is None or event.topic is None:
                self._rest.append(event)
                continue
            self._topics.setdefault((event.group, event.topic), []).append(event)
            if event.name not in LOCKS and (event.place.file, event.group) not in met:
                met.add((event.place.file, event.group))
                self._rest.append(event)

    def rest(self, files: Collection[str] | None = None) -> Iterator[Event]:
        return (event for event in self._rest if files is None or event.place.file in files)

    def topics(self) -> Sequence[TopicKey]:
        return sorted(self._topics)

    def events_of(self, key: TopicKey) -> Iterator[Event]:
        return iter(self._topics.get(key, ()))
