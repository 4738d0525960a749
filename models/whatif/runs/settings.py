"""Settings of a run: those that the logs show, changed as asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from models.downtime import is_cooperative
from models.incidents.static_membership import is_of_consumers
from models.kafka.coordinator.runtime.version_policy import parse_version
from models.kafka.simulation.scenario import CLASSIC, COOPERATIVE, MODERN
from models.rows import Rebalance
from models.tolerances import DEFAULT_SESSION_MS, float_tolerance
from models.whatif.behaviour.members import Behaviour
from models.whatif.configuration import (
    DEFAULT_INITIAL_DELAY_MS,
    DEFAULT_MAX_POLL_MS,
    MODERN_HEARTBEAT_MS,
    MODERN_SESSION_MS,
    Configuration,
)
from models.whatif.runs.run import RunSettings

USUAL_VERSION = "3.9.1"
"""Version of brokers whose logs do not tell it."""
FIRST_MODERN = "4.0"
MODERN_VERSION = "4.1.1"
MOMENT_SECONDS = float_tolerance("whatif.settings.moment_seconds")
"""Join phases of new groups that are shorter had no initial delay."""


def as_it_was(behaviour: Behaviour, rows: Sequence[Rebalance], version: str | None) -> RunSettings:
    """Settings under which the logs were written."""
    modern = behaviour.protocol == MODERN
    sessions = {name: member.session_ms for name, member in behaviour.members.items() if member.session_ms}
    polls = {name: member.max_poll_ms for name, member in behaviour.members.items() if member.max_poll_ms}
    return RunSettings(
        version=_version(version, is_modern=modern),
        protocol=MODERN if modern else CLASSIC,
        assignor=COOPERATIVE if is_cooperative(behaviour.assignor) else "range",
        session_ms={"": _usual(sessions.values(), MODERN_SESSION_MS if modern else DEFAULT_SESSION_MS), **sessions},
        max_poll_ms={"": _usual(polls.values(), DEFAULT_MAX_POLL_MS), **polls},
        heartbeat_ms=MODERN_HEARTBEAT_MS if modern else behaviour.heartbeat_ms,
        initial_delay_ms=_initial_delay_ms(rows),
        commit_ms=behaviour.commit_ms or 0,
    )


def changed(settings: RunSettings, configuration: Configuration, behaviour: Behaviour) -> RunSettings:
    """Settings of the same group under a configuration.

    What does not apply to its protocol stays. Brokers have one session timeout for all groups of the consumer protocol. It
    is taken to be what most groups of the cluster have now, so that nothing but the protocol differs.
    """
    made = _classic(settings, configuration) if settings.protocol == CLASSIC else _modern(settings, configuration)
    if configuration.max_poll_interval_ms is not None:
        made = replace(made, max_poll_ms={"": configuration.max_poll_interval_ms})
    if is_of_consumers(behaviour.protocol_type):
        made = replace(made, is_static=configuration.static_membership)
        if settings.protocol == CLASSIC and configuration.consumer_protocol:
            version = _version(settings.version, is_modern=True)
            made = replace(
                made,
                protocol=MODERN,
                version=version,
                session_ms={"": configuration.session_timeout_ms or behaviour.usual_session_ms or settings.session_ms[""]},
            )
            made = _modern(made, configuration)
    if configuration.max_size is not None:
        made = replace(made, max_size=configuration.max_size)
    return made


def _classic(settings: RunSettings, configuration: Configuration) -> RunSettings:
    made = settings
    if configuration.session_timeout_ms is not None:
        made = replace(made, session_ms={"": configuration.session_timeout_ms})
    if configuration.heartbeat_interval_ms is not None:
        made = replace(made, heartbeat_ms=configuration.heartbeat_interval_ms)
    if configuration.initial_delay_ms is not None:
        made = replace(made, initial_delay_ms=configuration.initial_delay_ms)
    if configuration.cooperative:
        made = replace(made, assignor=COOPERATIVE)
    return made


def _modern(settings: RunSettings, configuration: Configuration) -> RunSettings:
    """Timeouts of the consumer protocol, which brokers set."""
    made = settings
    if configuration.consumer_session_ms is not None:
        made = replace(made, session_ms={"": configuration.consumer_session_ms})
    if configuration.consumer_heartbeat_ms is not None:
        made = replace(made, heartbeat_ms=configuration.consumer_heartbeat_ms)
    return made


def _version(version: str | None, *, is_modern: bool) -> str:
    release = version or (MODERN_VERSION if is_modern else USUAL_VERSION)
    return MODERN_VERSION if is_modern and parse_version(release) < parse_version(FIRST_MODERN) else release


def _usual(values: Iterable[int], default: int) -> int:
    numbers = sorted(values)
    return int(numbers[len(numbers) // 2]) if numbers else default


def _initial_delay_ms(rows: Sequence[Rebalance]) -> int:
    """group.initial.rebalance.delay.ms: the default, unless a new group did not wait that long."""
    waited = [
        row.join_seconds
        for row in rows
        if row.cause == "new_group" and row.members_before == 0 and row.join_seconds is not None and row.protocol == "classic"
    ]
    shortest = min(waited, default=None)
    if shortest is None or shortest * 1000 >= DEFAULT_INITIAL_DELAY_MS:
        return DEFAULT_INITIAL_DELAY_MS
    return 0 if shortest < MOMENT_SECONDS else round(shortest * 1000)
