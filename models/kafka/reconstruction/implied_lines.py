"""Coordinators' lines that requests and clients' lines imply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from models.events import Event, Witness
from models.kafka.reconstruction.request_members import RequestSign


def implied_line(
    name: str,
    shown_by: Event,
    at: int,
    *,
    generation: int | None = None,
    member_id: str | None = None,
    client_id: str | None = None,
    instance_id: str | None = None,
    fields: Mapping[str, object] | None = None,
) -> Event:
    """Word a coordinator's step, at the place of the event that shows it.

    A request was logged by the coordinator's node; a client's line does not tell that node.
    """
    return replace(
        shown_by,
        name=name,
        at_us=at,
        message="",
        node=None if shown_by.witness is Witness.CLIENT else shown_by.node,
        generation=generation,
        member_id=member_id,
        client_id=client_id,
        instance_id=instance_id,
        fields=fields or {},
    )


def implied_expiry(member: str, sign: RequestSign) -> Event:
    """Word an expiry, with how uncertain its time is."""
    fields = {"doubt_us": sign.doubt_us} if sign.doubt_us else {}
    return implied_line("MemberFailed", sign.event, sign.at, member_id=member, fields=fields)
