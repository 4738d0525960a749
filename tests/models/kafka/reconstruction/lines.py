"""Events at exact times, so that limits can be met to the microsecond."""

from __future__ import annotations

from models.events import Event, LogPosition, Witness

COMMON = frozenset({"node", "generation", "member_id", "client_id", "instance_id", "partition", "topic", "text"})


def line(name: str, at: int, witness: Witness = Witness.COORDINATOR, file: str = "a.log", **values: object) -> Event:
    """An event of group orders; values that not all events have are its fields."""
    common = {key: value for key, value in values.items() if key in COMMON}
    fields = {key: value for key, value in values.items() if key not in COMMON}
    return Event(name, at, at, LogPosition(file, 1, at), witness, group="orders", fields=fields, **common)  # type: ignore[arg-type]


def request(name: str, at: int, **values: object) -> Event:
    """A request that was answered at a time."""
    return line(f"{name}Completed", at, Witness.REQUEST, "kafka-request.log", **values)


def client(name: str, at: int, **values: object) -> Event:
    """A line of a client's own log."""
    return line(f"Client{name}", at, Witness.CLIENT, "client.log", **values)
