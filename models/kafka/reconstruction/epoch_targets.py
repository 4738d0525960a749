"""Members of a target assignment, which its line lists from 3.7 to 3.9."""

from __future__ import annotations

import re

from models.events import Event, text_field

IN_TARGET, OUT_OF_TARGET = "is in the target", "is in the target no more"
"""Reasons of changes that only two targets show."""

_LISTED = re.compile(r"(?:^\{|[,)] )([^\s={}(),\[\]]+)=MemberAssignment\(")


def members_with_target(event: Event) -> frozenset[str]:
    """Ids of all members of a target."""
    value = text_field(event, "assignment")
    return frozenset(_LISTED.findall(value)) if value else frozenset()
