"""Sightings of clients in groups, and clients' lines without a group.

`models.kafka.observations.attribution` uses the sightings to attribute the lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from models.events import Witness
from models.kafka.observations.attribution import EVENTS_WITHOUT_GROUP, ClientSighting
from parsers.arrow_arrays import alike, flags, integers_of, known_of, numbers, strings
from parsers.schema import TIME
from pipelines.schema.row_conversion import micros

_KEYS = ["file", "witness", "group", "client_id", "client_number", "member_id"]
CLIENT_NUMBER = r'"client_number":(\d+)'
REASON_MEMBER = r'"(?:reason|old)_member_id":"([^"\\]*)"'
"""Fields of an event in its canonical JSON."""
MEMBER_OWNER = r"^([\s\S]*)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
"""The client id within a member id assigned by a coordinator (`roster.owner_in_member_id`).

Each start of a client gives a new member id, but only clients' own lines need it. Other sightings keep the client id
alone, so their number grows with clients and not with time.
"""

_CLIENT = strings([Witness.CLIENT.value])
_NAMES_WITHOUT_GROUP = strings(sorted(EVENTS_WITHOUT_GROUP))

WITHOUT_GROUP_MAX = 50_000
"""Clients' lines without a group that are used of one file, the first ones.

They are held in memory until all groups' clients are known.
"""


class EventsPerFileLimit:
    """Counts the lines without a group of each file.

    Those beyond the limit are left out.
    """

    def __init__(self, files_max: int | None = None) -> None:
        self._most = WITHOUT_GROUP_MAX if files_max is None else files_max
        self._taken: Counter[str] = Counter()

    def within_limit(self, events_without_group: pa.RecordBatch | pa.Table) -> pa.RecordBatch | pa.Table:
        """Events within the limit; lines of one file must come in order."""
        if not events_without_group.num_rows:
            return events_without_group
        kept = []
        for file in events_without_group["file"].to_pylist():
            self._taken[file] += 1
            kept.append(self._taken[file] <= self._most)
        return events_without_group if all(kept) else events_without_group.filter(flags(kept))

    def warnings(self) -> list[str]:
        """One line for each file with more lines than fit."""
        over = sorted((file, count - self._most) for file, count in self._taken.items() if count > self._most)
        return [
            f"{file}: {count} lines of clients that name no group are not used; only the first {self._most} are" for file, count in over
        ]


def events_without_group_in(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the events of a batch that concern a group without naming it."""
    return batch.filter(pc.and_(pc.is_null(batch["group"]), pc.is_in(batch["event"], value_set=_NAMES_WITHOUT_GROUP)))


def sightings_in(batches: Iterable[pa.RecordBatch]) -> Iterator[ClientSighting]:
    """Collect sightings of clients in groups.

    Equal lines of a batch give one sighting.
    """
    for batch in batches:
        has_group = pc.and_(pc.is_valid(batch["group"]), pc.is_valid(batch["event"]))
        kept = batch.filter(has_group)
        columns = {name: kept[name] for name in ("file", "witness", "group", "client_id", "file_time_max_at")}
        columns["client_number"] = _extracted(kept["fields"], CLIENT_NUMBER)
        member = pc.coalesce(kept["member_id"], _extracted(kept["fields"], REASON_MEMBER))
        is_client_line = pc.is_in(columns["witness"], value_set=_CLIENT)  # an array, because Arrow asks pandas about values of Python
        columns["client_id"] = pc.if_else(
            is_client_line, columns["client_id"], pc.coalesce(columns["client_id"], _extracted(member, MEMBER_OWNER))
        )
        columns["member_id"] = pc.if_else(is_client_line, member, pa.nulls(len(member), member.type))
        firsts, group = alike([columns[name] for name in _KEYS])
        at = columns["file_time_max_at"]
        times = np.where(known_of(at), integers_of(at), 0)  # 0 before the first time of a file
        first, last = times[firsts], times[firsts]
        np.minimum.at(first, group, times)
        np.maximum.at(last, group, times)
        seen = {name: columns[name].take(numbers(firsts)) for name in _KEYS}
        yield from sightings_of(pa.table({**seen, "first_at": numbers(first, TIME), "last_at": numbers(last, TIME)}))


def _extracted(column: pa.Array, pattern: str) -> pa.Array:
    return pc.struct_field(pc.extract_regex(column, re.sub(r"\((?!\?)", "(?P<found>", pattern, count=1)), [0])


def sightings_of(seen: pa.Table) -> Iterator[ClientSighting]:
    """Convert rows with the columns of `ClientSighting` if they identify a client.

    Their times must be timestamps.
    """
    names = [seen[name].to_pylist() for name in _KEYS]
    for file, witness, group, client, number, member, first, last in zip(
        *names, micros(seen["first_at"]), micros(seen["last_at"]), strict=True
    ):
        if client or member or witness == "client":
            yield ClientSighting(file, witness, group, client, int(number) if number else None, member or None, first or 0, last or 0)
