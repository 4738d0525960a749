"""Versions of a product in which its wordings were seen.

Wordings of servers, of Kafka's own Java clients and of each other client library are told apart, as each has versions of its own.
`parsers.reading.version_ranges` tells from them which version wrote a file.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice

from parsers.catalogue.catalogue import Catalogue, Pattern
from parsers.catalogue.entries import Message
from parsers.catalogue.templates import TooManyReadings
from parsers.catalogue.wordings import version_key

VersionRange = tuple[str, str]

_BEGINS = re.compile(r"[\s\]:|>\"'-](?=[^\s])")
"""What may stand before a message in a layout that is not known."""

_REQUEST_FORMS = (
    ('Completed request:{"isForwarded":', "2.7", None),
    ("Completed request:RequestHeader(apiKey=", "1.0", "2.6"),
    ("Completed request:{api_key=", "0.9", "0.11"),
)
"""Beginnings of lines of the request log, with their versions (RequestChannel.scala).

None: the newest, too.
"""

_REQUESTS_SINCE = {
    "kafka.request.consumer_group_heartbeat_completed": "3.7",
    "kafka.request.share_group_heartbeat_completed": "4.0",
    "kafka.request.streams_group_heartbeat_completed": "4.1",
}
"""First versions that answer a request."""

BEGINS_MAX = 40
"""Places at which a message is looked for."""

_OF_KAFKA = frozenset({"client", "connect", "streams", "streams_client"})
"""Second parts of the ids of clients that have Kafka's versions."""


class WordingVersions:
    """Versions in which wordings were seen, by product."""

    def __init__(self, known: Catalogue) -> None:
        self._known = known
        self._newest: dict[str, str] = {}
        for pattern in known.patterns:
            product = _product(pattern.message)
            self._newest[product] = max(self._newest.get(product, "0"), pattern.seen_in[-1], key=version_key)

    def product_of(self, message_id: str | None) -> str | None:
        """Return the product that writes an entry, None if unknown."""
        message = self._known.messages.get(message_id or "")
        return None if message is None else _product(message)

    def newest(self, product: str) -> str:
        """Return the newest version in which a wording was seen."""
        return self._newest[product]

    def seen_in(self, message_id: str, text: str) -> VersionRange | None:
        """Return the first and last version of a line's wording.

        None if the line has no wording of the entry.
        """
        end = text.find("\n")
        head = text if end < 0 else text[:end].rstrip()
        form = next((form for form in _REQUEST_FORMS if head.startswith(form[0])), None)
        if form is not None:
            return _REQUESTS_SINCE.get(message_id, form[1]), form[2] or self.newest(self._known.messages[message_id].system)
        try:
            fitting = self._fitting(head, message_id) or self._within(head, message_id)
        except TooManyReadings:
            return None
        if not fitting:
            return None
        return min((pattern.seen_in[0] for pattern in fitting), key=version_key), max(
            (pattern.seen_in[-1] for pattern in fitting), key=version_key
        )

    def _within(self, head: str, message_id: str) -> list[Pattern]:
        """Wordings of a message after the header of an unknown layout."""
        for begin in islice(_BEGINS.finditer(head), BEGINS_MAX):
            fitting = self._fitting(head[begin.end() :], message_id)
            if fitting:
                return fitting
        return []

    def _fitting(self, head: str, message_id: str) -> list[Pattern]:
        patterns = []
        for opening in self._known.all_openings(self._known.plain, head, 0):
            for pattern in opening.bucket.patterns(head, opening.at):
                template = pattern.template
                if pattern.message.id != message_id or not head.endswith(template.tail):
                    continue
                if next(template.readings(head, opening.at), None) is not None:
                    patterns.append(pattern)
        return patterns


def _product(message: Message) -> str:
    """Return the product that writes a message."""
    if message.witness != "client":
        return message.system
    _, library, *_ = message.id.split(".")
    return f"{message.system} client" if library in _OF_KAFKA else library


@lru_cache(maxsize=4)
def wording_versions(known: Catalogue) -> WordingVersions:
    """Return the versions of a catalogue's wordings."""
    return WordingVersions(known)
