"""Profiles of groups, with their readiness for KIP-848."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conf.readiness import readiness
from dashboards.answer.applicable_advice import version_numbers
from dashboards.answer.history.periods import covered_seconds
from dashboards.view.answer import Rebalance
from dashboards.view.row_access import column, member_name
from dashboards.wording.units import listed

WEEK = 7 * 86_400.0
SHORTEST_COVER = 86_400.0
"""Minimum cover for a weekly rate.

Hours of work and of rest differ."""
_ALWAYS = 1 << 62
_CLASSIC = "classic"


@dataclass(frozen=True, slots=True)
class MigrationReadiness:
    """Readiness for the consumer protocol.

    `status` is migrated, ready, blocked, unknown (`open` says what is not known), or other, where it does not apply.
    """

    status: str
    reasons: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    migrated_at: int | None = None
    classic_rebalances: int = 0
    consumer_rebalances: int = 0


@dataclass(frozen=True, slots=True)
class GroupProfile:
    """A group at the end of its logs.

    `members` is its size after its last rebalance, `static_members` how many of the clients seen have an instance id.
    """

    cluster: str
    system: str
    group: str
    protocol: str | None
    protocol_type: str | None
    assignor: str | None
    members: int | None
    clients: int
    static_members: int
    client_versions: tuple[str, ...]
    clients_by_version: Mapping[str, int]
    """Number of clients that run each version, by their own logs."""
    rebalances: int
    stopped_seconds: float
    covered_seconds: float
    stopped_seconds_per_week: float | None
    migration: MigrationReadiness

    @property
    def static_share(self) -> float | None:
        """Share of clients with an instance id."""
        return self.static_members / self.clients if self.clients else None


@dataclass(slots=True)
class _Group:
    rebalances: int = 0
    stopped: float = 0.0
    protocols: Counter[str] = field(default_factory=Counter)
    switched_at: int | None = None
    last: tuple[int, str, Any, Rebalance] | None = None
    protocol_type: str | None = None
    assignor: str | None = None
    clients: dict[str, bool] = field(default_factory=dict)
    running: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Version of each client, with the time of its session."""
    versions: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Files:
    """Facts about the files of an analysis."""

    broker_versions: Mapping[str, Sequence[str]]
    client_versions: Mapping[str, str]
    """Version by path of a client's log."""


def versions_by_file(rows: Iterable[Any]) -> Files:
    """Versions of brokers by cluster, and of clients by file."""
    brokers: defaultdict[str, set[str]] = defaultdict(set)
    clients = {}
    for row in rows:
        version, kind = column(row, "version"), column(row, "kind")
        if version and column(row, "system") == "kafka":
            if kind == "client":
                clients[column(row, "path")] = version
            elif kind in ("server", "controller", "state_change"):
                brokers[column(row, "cluster") or ""].update(version.split(", "))
    return Files({cluster: sorted(files, key=version_numbers) for cluster, files in brokers.items()}, clients)


def profiles(
    pairs: Iterable[tuple[Any, Rebalance]],
    sessions: Iterable[Any],
    client_states: Iterable[Any],
    files: Files,
    cover: Mapping[str, Sequence[tuple[int, int]]],
) -> list[GroupProfile]:
    """Profile of each group, the longest stopped first.

    `pairs` are rows of rebalances and their views.
    """
    groups: defaultdict[tuple[str, str, str], _Group] = defaultdict(_Group)
    for row, item in pairs:
        _add(groups[item.cluster, item.system, item.group], row, item, files)
    for session in sessions:
        group = groups[column(session, "cluster"), column(session, "system"), column(session, "group")]
        name = column(session, "instance_id") or member_name(session)
        group.clients[name] = group.clients.get(name, False) or bool(column(session, "instance_id"))
        if version := column(session, "client_version"):
            group.running[name] = max(group.running.get(name, (0, "")), (column(session, "first_seen_at") or 0, version))
    for state in client_states:
        group = groups[column(state, "cluster"), column(state, "system"), column(state, "group")]
        group.versions.update(_versions(state, files))
    profiles_of_groups = [_profile(key, group, files, cover.get(key[0], ())) for key, group in groups.items()]
    return sorted(profiles_of_groups, key=lambda profile: (-profile.stopped_seconds, -profile.rebalances, profile.cluster, profile.group))


def _add(group: _Group, row: Any, item: Rebalance, files: Files) -> None:
    group.rebalances += 1
    group.stopped += item.stopped_seconds
    group.protocols[item.protocol] += 1
    group.versions.update(_versions(row, files))
    when = next((at for at in (item.started_at, item.joined_at, item.ended_at) if at is not None), 0)
    if group.last is None or (when, item.id) >= group.last[:2]:
        group.last = (when, item.id, row, item)
    if item.protocol != _CLASSIC:
        group.switched_at = when if group.switched_at is None else min(group.switched_at, when)
    group.protocol_type = column(row, "protocol_type") or group.protocol_type
    group.assignor = item.assignor or group.assignor


def _versions(row: Any, files: Files) -> Iterable[str]:
    for line in column(row, "evidence") or ():
        version = files.client_versions.get(column(line, "file"))
        if version:
            yield from version.split(", ")


def _profile(key: tuple[str, str, str], group: _Group, files: Files, stretches: Sequence[tuple[int, int]]) -> GroupProfile:
    covered = covered_seconds(stretches, 0, _ALWAYS)
    last = group.last[3] if group.last is not None else None
    return GroupProfile(
        *key,
        protocol=last.protocol if last is not None else None,
        protocol_type=group.protocol_type,
        assignor=group.assignor,
        members=last.members_after if last is not None else None,
        clients=len(group.clients),
        static_members=sum(group.clients.values()),
        client_versions=tuple(sorted(group.versions, key=version_numbers)),
        clients_by_version=_counted(group.running),
        rebalances=group.rebalances,
        stopped_seconds=round(group.stopped, 6),
        covered_seconds=round(covered, 6),
        stopped_seconds_per_week=round(group.stopped / covered * WEEK, 6) if covered >= SHORTEST_COVER else None,
        migration=_migration(key[1], group, last, files.broker_versions.get(key[0], ())),
    )


def _counted(running: Mapping[str, tuple[int, str]]) -> dict[str, int]:
    counts = Counter(version for _, version in running.values())
    return {version: counts[version] for version in sorted(counts, key=version_numbers)}


def _migration(system: str, group: _Group, last: Rebalance | None, brokers: Sequence[str]) -> MigrationReadiness:
    classic, consumer = group.protocols[_CLASSIC], group.protocols["consumer"]
    if system != "kafka" or (last is not None and last.protocol not in (_CLASSIC, "consumer")):
        return MigrationReadiness("other", (), (), None, classic, consumer)
    if last is not None and last.protocol == "consumer":
        return MigrationReadiness("migrated", (), (), group.switched_at if classic else None, classic, consumer)
    reasons, unknown = _obstacles(group, brokers)
    status = "blocked" if reasons else "unknown" if unknown else "ready"
    return MigrationReadiness(status, tuple(reasons), tuple(unknown), None, classic, consumer)


def _obstacles(group: _Group, brokers: Sequence[str]) -> tuple[list[str], list[str]]:
    """Obstacles to a migration, and questions that the logs leave open."""
    needed, reasons, unknown = readiness(), [], []
    for kind, versions, since in (("brokers", brokers, needed.brokers_since), ("clients", group.versions, needed.java_clients_since)):
        old = sorted((version for version in versions if version_numbers(version) < version_numbers(since)), key=version_numbers)
        if old:
            reasons.append(f"{kind} of {listed(old)}; {since} or later is needed")
        elif not versions:
            unknown.append(f"the version of the {kind}")
    if group.protocol_type in needed.other_protocols:
        reasons.append(needed.other_protocols[group.protocol_type or ""])
    if group.assignor == needed.streams_assignor:
        reasons.append("Kafka Streams has a protocol of its own (KIP-1071)")
    elif group.assignor is None:
        unknown.append("the assignor")
    elif group.assignor not in needed.assignors and not reasons:
        reasons.append(f"assignor {group.assignor} is the clients' own, which the consumer protocol does not run")
    return reasons, unknown
