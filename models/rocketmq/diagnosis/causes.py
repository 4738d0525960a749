"""Causes of changed shares, from differences between two runs of a client.

Clients never log the client list that a run used. It is found among the versions of the brokers' lists by its length,
and by whether the strategy yields the logged share.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from models import weights
from models.clear_names import clear
from models.events import Event
from models.rocketmq.diagnosis.proxy_assignments import AssignmentJudge
from models.rocketmq.diagnosis.verdicts import Verdict
from models.rocketmq.object_text import RETRY, queue_name
from models.rocketmq.observations.allocation_runs import AllocationRun
from models.rocketmq.observations.client_lists import ClientList, ListChangeKind, list_difference
from models.rocketmq.observations.client_processes import LAST_LINES_US, ClientProcess
from models.rocketmq.observations.topic_routes import RouteChange, Routes
from models.rocketmq.rocketmq_stage import RocketmqGroup
from models.rocketmq.strategies import AllocationError, Queue, readable_queues, sorted_inputs, strategy_named
from models.rocketmq.timing import NOTIFIED_US, PERIOD_US
from models.tolerances import int_tolerance
from models.units import US_PER_SECOND

_LOOK_BACK_US = int_tolerance("rocketmq.causes.look_back_us")
"""How long before a run the lists and routes may be that it used."""

FIRST_US = int_tolerance("rocketmq.causes.first_us")
"""Maximum time from the start to a share that belongs to it."""

LATE_ROUTE_US = int_tolerance("rocketmq.causes.late_route_us")
"""Time after the start from which a topic's first route is a late one."""

STARTED_US = int_tolerance("rocketmq.causes.started_us")
"""Time after a process's start in which a run follows from it."""

SLACK_US = int_tolerance("rocketmq.causes.slack_us")
"""Distance of lines that one act writes in several files."""

SHARES_HELD_MAX = 4_096
"""Maximum number of combinations of lists and routes with cached shares."""


class Judge:
    """Ranks causes for the runs of one group, topic by topic."""

    def __init__(self, group: RocketmqGroup, routes: Routes) -> None:
        self.group = group
        self.routes = routes
        self._assignments = AssignmentJudge(group, routes)
        self._before: dict[ClientProcess, AllocationRun] = {}
        self._seen: dict[ClientProcess, tuple[str, ...] | None] = {}  # list behind the last run of each client
        self._fitting: list[tuple[ClientList, tuple[str, ...] | None, bool]] = []  # version of each list that the current run may have used
        self._queues: dict[tuple[str, int], list[Queue]] = {}
        self._shares: dict[tuple[int, str, int], dict[str, frozenset[tuple[str, str]]] | None] = {}
        self._differences: dict[tuple[int, int], tuple[set[str], set[str]]] = {}

    def runs_with_verdicts(self, runs: Iterable[AllocationRun]) -> Iterator[tuple[AllocationRun, Verdict]]:
        """Yield the runs of one topic with their verdicts.

        `runs` must be in order. Data about other topics is dropped.
        """
        self._before.clear()
        self._seen.clear()
        self._shares.clear()
        return ((run, self._judge(run)) for run in runs)

    def _judge(self, run: AllocationRun) -> Verdict:
        before = self._before.get(run.life)
        self._before[run.life] = run
        seen_before = self._seen.pop(run.life, None)
        if run.is_assigned:
            return self._assignments.verdict(run, before)
        trigger, woken = self._trigger(run)
        self._fitting = [(client_list, *self._fits(run, client_list)) for client_list in self.group.lists.values()]
        seen = self._seen[run.life] = self._list_of()
        verdict = self._first(run) if before is None else self._plain(run, before)
        verdict = verdict or self._inputs(run, before, woken, seen_before, seen)
        verdict.trigger = trigger
        return verdict

    # -- causes that need no lists ---------------------------------------------------------------------------------

    def _plain(self, run: AllocationRun, before: AllocationRun) -> Verdict | None:
        if _mode(run) != _mode(before):
            return Verdict("message_request_mode", weights.MODE_DIFFERS.value)
        same = (run.queues, run.clients) == (before.queues, before.clients)
        if same and run.why & {"reset", "offset_fixed"}:
            return Verdict("offset_reset", weights.OWN_LINE_OF_RUN.value)
        if same and "pull_expired" in run.why:
            return Verdict("pull_expired", weights.OWN_LINE_OF_RUN.value, {run.life.client_id: "pull_expired"})
        return None

    def _first(self, run: AllocationRun) -> Verdict | None:
        life = run.life
        routed = self.routes.first_seen(life.file, run.topic, life.begun_at - US_PER_SECOND)
        border = LATE_ROUTE_US if run.topic.startswith(RETRY) else FIRST_US
        late = routed is not None and life.started_at is not None and routed > life.started_at + border
        offenders = {life.client_id: "consumer_start"}
        if life.started_at is None and (run.removed or len(run.added) < len(run.share)):
            return None  # its file begins later than its first share
        if late and not run.topic.startswith(RETRY) and run.topic not in life.topics:
            return Verdict("subscription_change", weights.TOPIC_AFTER_START.value, {life.client_id: "subscription_change"})
        if run.asked_at <= life.ran_at + FIRST_US and not late:
            if life.started_at is None:
                return _as_file_begins()
            return Verdict("consumer_start", weights.RUN_AT_START.value, offenders)
        earlier_at = self._run_before(run, None, self._trigger(run)[1])
        if life.started_at is None and routed is None:
            return None
        enough = run.queues is None or run.queues >= max(self.group.clients_max, self._listed_before(earlier_at))
        is_new = routed is not None and routed > earlier_at - 2 * SLACK_US  # no earlier run had it, to be refused or given nothing
        if is_new or (enough and not run.refused):
            others = {"consumer_start": weights.START_BESIDE_LATE_ROUTE.value}
            return Verdict("topic_route_appeared", weights.ROUTE_CAME_LATE.value, alternatives=others)
        return None

    def _listed_before(self, at: int) -> int:
        """Most clients that a list held about a time.

        A restarted broker's list is short, and another broker's may have been used.
        """
        return max(
            len(version)
            for known in self.group.lists.values()
            for version in known.versions[known.index_at(at - _LOOK_BACK_US) : known.index_at(at + SLACK_US) + 1]
        )

    # -- differences to the previous run ---------------------------------------------------------------------------

    def _inputs(
        self,
        run: AllocationRun,
        before: AllocationRun | None,
        woken: int,
        seen_before: tuple[str, ...] | None,
        seen: tuple[str, ...] | None,
    ) -> Verdict:
        earlier_at = self._run_before(run, before, woken)
        earlier = seen_before if before is not None and before.asked_at >= earlier_at - SLACK_US else None
        client_list = self._primary()
        if earlier is None:
            earlier = self._used_before(run, before, client_list, earlier_at + SLACK_US)
        came: set[str] = set()
        went: set[str] = set()
        if seen is not None:
            came, went = self._difference(earlier, seen)
        if run.not_listed is not None:
            return self._not_listed(run, seen)
        seen_routes = self.routes.seen_by(run.life.file, run.topic, before.asked_at if before else run.life.begun_at, run.at)
        routed = [change for change in seen_routes if not change.is_first and change.before != change.after]  # else addresses alone
        queues_differ = before is not None and run.queues != before.queues
        if routed and (queues_differ or not (came or went)) and not (routed[-1].at < earlier_at and (came or went)):
            verdict = self._route_verdict(run, routed)
            if came or went:
                members = self.members(run.at, came, went, client_list)
                if members.cause == verdict.cause:
                    return replace(members, confidence=verdict.confidence, alternatives=verdict.alternatives)
                verdict.alternatives = {members.cause: weights.MEMBERS_BESIDE_ROUTE.value}
                verdict.confidence = weights.ROUTE_BESIDE_MEMBERS.value
            return verdict
        if not came and not went:
            came, went = self._last_change(run, before, client_list, seen)
        verdict = self.members(run.at, came, went, client_list) if came or went else self._fallback(run, before)
        if verdict.offenders == {run.life.client_id: "consumer_start"}:
            if before is None and run.life.started_at is None:
                return _as_file_begins()
            if self._is_start_over(run, client_list):
                return self._fallback(run, before)  # the lists lack who came or went since
        if not client_list.broker and verdict.confidence > weights.LISTS_DIFFER_BY_SEVERAL.value:
            return self._without_brokers(run, verdict, client_list)
        return verdict

    @staticmethod
    def _is_start_over(run: AllocationRun, client_list: ClientList) -> bool:
        """Whether a client started long ago, as the only one of its id."""
        over_at = run.life.ran_at + FIRST_US
        return run.asked_at > over_at and all(step.at <= over_at for step in client_list.steps_of(run.life.client_id, run.at))

    @staticmethod
    def _without_brokers(run: AllocationRun, verdict: Verdict, client_list: ClientList) -> Verdict:
        """The verdict by clients' own starts and stops.

        No line of theirs tells of a crash, so that what came long before a run may not be what changed it.
        """
        steps = [step.at for who in verdict.offenders for step in client_list.steps_of(who, run.at)]
        if not verdict.offenders or (steps and run.asked_at - max(steps) <= _LOOK_BACK_US):
            return verdict
        sure = weights.LISTS_DIFFER_BY_SEVERAL.value
        return replace(verdict, confidence=sure, alternatives={"consumer_crash": round(1 - sure, 3)})

    def _route_verdict(self, run: AllocationRun, routed: Sequence[RouteChange]) -> Verdict:
        """The verdict on a route that differs.

        A broker that had been up all along came because the topic was created there, as retry topics are by heartbeats.
        """
        last = routed[-1]
        lines = [change.event for change in routed if change.event is not None]
        gained, lost = last.after.keys() - last.before.keys(), last.before.keys() - last.after.keys()
        returned = {broker for broker in gained if self.routes.has_returned(broker, last, run.life.begun_at)}
        known = {broker for broker in gained - returned if self.routes.is_known_beside(run.topic, broker, last.at)}
        created = "topic_route_appeared" if run.topic.startswith(RETRY) else "queue_count_change"
        if returned:
            return _of_two("broker_up", "broker_down" if lost else None, lines)
        if lost:
            return _of_two("broker_down", created if gained else None, lines)
        if not gained:
            return _of_two("queue_count_change", None, lines)
        if gained == known:
            return _of_two(created, None, lines)
        return _of_two("broker_up", created, lines) if created == "queue_count_change" else _of_two(created, "broker_up", lines)

    def _fallback(self, run: AllocationRun, before: AllocationRun | None) -> Verdict:
        if before is None:
            offenders, others = {run.life.client_id: "consumer_start"}, {"topic_route_appeared": weights.ROUTE_WITHOUT_LISTS.value}
            return Verdict("consumer_start", weights.FIRST_WITHOUT_LISTS.value, offenders, alternatives=others)
        if run.clients is not None and before.clients is not None and run.clients != before.clients:
            return Verdict("consumer_start" if run.clients > before.clients else "consumer_stop", weights.COUNT_OF_CLIENTS.value)
        if run.queues != before.queues:
            others = dict.fromkeys(("broker_down", "broker_up"), weights.BROKER_BEHIND_QUEUES.value)
            return Verdict("queue_count_change", weights.COUNT_OF_QUEUES.value, alternatives=others)
        return Verdict("unknown", weights.NO_DIFFERENCE.value)

    def _last_change(
        self, run: AllocationRun, before: AllocationRun | None, client_list: ClientList, seen: tuple[str, ...] | None
    ) -> tuple[set[str], set[str]]:
        """Latest change of a list that both runs seem to have used.

        Counts from the previous result on.
        """
        since = before.asked_at - _LOOK_BACK_US if before is not None else run.life.begun_at
        index = client_list.index_at(run.asked_at + SLACK_US)
        while index > 0 and seen is not None and client_list.versions[index] is not seen and client_list.versions[index] != seen:
            index -= 1
        if index <= 0 or client_list.starts[index] < since:
            return set(), set()
        came, went = self._difference(client_list.versions[index - 1], client_list.versions[index])
        is_old = before is not None and client_list.starts[index] <= before.asked_at
        return (set(), set()) if is_old and _contradicts(run, before, came, went) else (came, went)

    def members(self, at: int, came: set[str], went: set[str], client_list: ClientList) -> Verdict:
        """The verdict on clients that came or went before a time."""
        causes = {
            who: self._arrival_reason(at, who, client_list) if who in came else self._departure_reason(at, who, client_list)
            for who in _in_turn(at, came | went, client_list)
        }
        counts: dict[str, int] = defaultdict(int)
        for cause in causes.values():
            counts[cause] += 1
        unsure = [who for who in came if causes[who] == "consumer_start" and self._had_run_before(at, who, client_list)]
        ranked = sorted(counts, key=lambda cause: (_RANK.get(cause, 9), -counts[cause]))
        sure = (weights.LISTS_DIFFER_BY_ONE_CAUSE if len(counts) == 1 else weights.LISTS_DIFFER_BY_SEVERAL).value
        others = {cause: round((1 - sure) / (len(ranked) - 1), 3) for cause in ranked[1:]}
        if ranked[0] == "consumer_crash" and not all(self.group.has_file(who) for who in went):
            # Only the client's own file would tell.
            crash, closed = weights.CRASH_WITHOUT_FILE.value, weights.CONNECTION_WITHOUT_FILE.value
            others = {cause: round(share * crash, 3) for cause, share in others.items()} | {"connection_lost": round(sure * closed, 3)}
            sure = round(sure * crash, 3)
        if unsure and not others:
            sure = weights.LISTS_DIFFER_BY_SEVERAL.value
            others = {"consumer_resume": round(1 - sure, 3)}
        lines = [line for who in sorted(causes) if (line := _line_of(at, who, client_list, came=who in came)) is not None]
        return Verdict(ranked[0], sure, causes, alternatives=others, evidence=lines)

    def _arrival_reason(self, at: int, who: str, client_list: ClientList) -> str:
        earlier = client_list.steps_of(who, at)
        joined = max((step.at for step in earlier if step.how is ListChangeKind.CONNECTED), default=at)
        before = [step for step in earlier if step.at < joined]
        was_listed_at = max((step.at for step in before if step.how is ListChangeKind.CONNECTED), default=0)
        gone = [step for step in before if step.how is not ListChangeKind.CONNECTED]
        life = self.group.life_of(who, joined)
        if not gone or (life is not None and life.begun_at > gone[-1].at):
            return (
                "broker_up"
                if life is not None and client_list.has_restarted(joined) and life.ran_at < joined - FIRST_US
                else "consumer_start"
            )
        if any(step.how is ListChangeKind.RESTARTED and step.at > was_listed_at for step in gone):
            return "broker_up"
        return "consumer_start" if gone[-1].how is ListChangeKind.UNREGISTERED else "consumer_resume"

    def _had_run_before(self, at: int, who: str, client_list: ClientList) -> bool:
        """Whether a client may have run before its first known connection."""
        joined = max((step.at for step in client_list.steps_of(who, at) if step.how is ListChangeKind.CONNECTED), default=at)
        life = self.group.life_of(who, joined)
        if life is None or not client_list.broker:
            return False
        return life.started_at is None or life.started_at < joined - FIRST_US

    def _departure_reason(self, at: int, who: str, client_list: ClientList) -> str:
        steps = [step for step in client_list.steps_of(who, at) if step.how is not ListChangeKind.CONNECTED]
        if not steps:
            return "consumer_list_partial" if client_list.has_restarted(at) else "consumer_stop"
        match steps[-1].how:
            case ListChangeKind.UNREGISTERED:
                return "consumer_stop"
            case ListChangeKind.EXPIRED:
                return "channel_expired"
            case ListChangeKind.RESTARTED:
                return "consumer_list_partial"
        life = self.group.life_of(who, steps[-1].at)
        lives = life is not None and life.last_at > steps[-1].at + LAST_LINES_US
        return "connection_lost" if lives else "consumer_crash"

    def _not_listed(self, run: AllocationRun, seen: Sequence[str] | None) -> Verdict:
        listed = run.not_listed.fields.get("listed") if run.not_listed is not None else None
        list_members = [str(client) for client in listed] if isinstance(listed, list) else list(seen or ())
        alive = {
            life.client_id for life in self.group.lives if life.begun_at <= run.at and (life.ended_at is None or life.ended_at > run.at)
        }
        missing = dict.fromkeys(sorted(alive - set(list_members)), "consumer_list_partial")
        return Verdict("consumer_list_partial", weights.NOT_ON_LIST.value, missing, evidence=[run.not_listed] if run.not_listed else [])

    # -- which list a run used -------------------------------------------------------------------------------------

    def _used_before(self, run: AllocationRun, before: AllocationRun | None, client_list: ClientList, at: int) -> tuple[str, ...]:
        """The list that the run before used.

        One that yields the share of this run would have changed it then. A restarted broker's list lacks who asks: no run
        uses it, unless its own line says so.
        """
        versions, index, who = client_list.versions, client_list.index_at(at), run.life.client_id
        if run.refused or (before is not None and before.not_listed is not None):
            return versions[index]
        while index > 0 and client_list.has_restarted(client_list.starts[index]):
            version = versions[index]
            if who in version and not (len(version) == run.clients and self._gives(run, version)):
                break
            index -= 1
        return versions[index]

    def _trigger(self, run: AllocationRun) -> tuple[str, int]:
        """Trigger of a run and its time."""
        notifications = self.group.notified_in.get(run.life.file, [])
        first = bisect_left(notifications, run.asked_at - NOTIFIED_US)
        if first < len(notifications) and notifications[first] <= run.asked_at + SLACK_US:
            return "notification", notifications[first]
        if run.asked_at <= run.life.ran_at + STARTED_US:
            return "start", run.life.ran_at
        return "period", run.asked_at

    def _run_before(self, run: AllocationRun, before: AllocationRun | None, woken: int) -> int:
        """Time of the client's previous run.

        It had a result, or was triggered by a notification or by the period.
        """
        notifications = self.group.notified_in.get(run.life.file, [])
        earlier = bisect_left(notifications, woken - SLACK_US) - 1
        known = [notifications[earlier] + SLACK_US] if earlier >= 0 and notifications[earlier] >= run.life.begun_at else []
        known.append(run.life.ran_at + SLACK_US)
        if before is not None:
            known.append(before.asked_at)
        last = max((at for at in known if at < run.asked_at), default=run.life.ran_at)
        missed = -(-(run.asked_at - US_PER_SECOND - PERIOD_US - last) // PERIOD_US)
        return last + max(missed, 0) * PERIOD_US

    def _primary(self) -> ClientList:
        """The broker's list that the run most likely used.

        A group has at least one; without brokers' files it is derived from client processes.
        """
        return max(self._fitting, key=lambda fit: (bool(fit[0].steps), fit[1] is not None, len(fit[0].steps)))[0]

    def _fits(self, run: AllocationRun, client_list: ClientList) -> tuple[tuple[str, ...] | None, bool]:
        """Latest version of a list that fits a run, and whether surely.

        The version has the logged length; it fits surely if it also yields the logged share.
        """
        if run.clients is None:
            version = client_list.versions[client_list.index_at(run.asked_at)]
            return version, self._gives(run, version)
        first: tuple[str, ...] | None = None
        for version in client_list.sized(run.clients, run.asked_at - _LOOK_BACK_US, run.asked_at + SLACK_US):
            if self._gives(run, version):
                return version, True
            first = first or version
        return first, False

    def _list_of(self) -> tuple[str, ...] | None:
        """The list that a run most likely used."""
        versions = [(version, gives) for _, version, gives in self._fitting if version is not None]
        return next((version for version, gives in versions if gives), versions[0][0] if versions else None)

    def _gives(self, run: AllocationRun, clients: Sequence[str]) -> bool:
        """Whether the strategy yields the logged share; True if unknown."""
        route, queues = self._queues_at(run)
        if len(queues) != run.queues or not run.strategy:
            return True
        key = id(clients), run.strategy, route
        if key not in self._shares:
            if len(self._shares) >= SHARES_HELD_MAX:
                self._shares.clear()
            self._shares[key] = _everyone(run.strategy, queues, clients)
        shares = self._shares[key]
        return shares is None or frozenset(run.share) == shares.get(run.life.client_id, _NONE)

    def _difference(self, before: tuple[str, ...], after: tuple[str, ...]) -> tuple[set[str], set[str]]:
        """As `list_difference`, cached because many clients see the same change."""
        if before is after:
            return set(), set()
        key = id(before), id(after)
        known = self._differences.get(key)
        if known is None:
            known = self._differences[key] = list_difference(before, after)
        return known

    def _queues_at(self, run: AllocationRun) -> tuple[int, list[Queue]]:
        """Index of a topic's route at a run, and its sorted queues."""
        steps = self.routes.over_time(run.topic)
        index = bisect_right(steps, run.at, key=lambda step: step[0]) - 1
        if index < 0:
            return index, []
        known = self._queues.get((run.topic, index))
        if known is None:
            known = self._queues[run.topic, index] = sorted_inputs(readable_queues(run.topic, steps[index][1]), ())[0]
        return index, known


def _contradicts(run: AllocationRun, before: AllocationRun | None, came: set[str], went: set[str]) -> bool:
    """Whether two results count fewer clients though nobody went, or more though nobody came."""
    if before is None or run.clients is None or before.clients is None:
        return False
    return (run.clients < before.clients and not went) or (run.clients > before.clients and not came)


_NONE: frozenset[tuple[str, str]] = frozenset()


def _everyone(strategy: str, queues: list[Queue], clients: Sequence[str]) -> dict[str, frozenset[tuple[str, str]]] | None:
    """Queues of each client by topic, None if they can't be computed."""
    try:
        shares = strategy_named(strategy).everyone(queues, clients)
    except (AllocationError, ValueError):
        return None
    return {
        who: frozenset((queue.topic, queue_name(queue.broker, queue.queue_id)) for queue in share) for who, share in shares.items() if share
    }


def _in_turn(at: int, people: Iterable[str], client_list: ClientList) -> list[str]:
    """Clients in order of their latest change."""

    def key(who: str) -> tuple[int, str]:
        steps = client_list.steps_of(who, at)
        return steps[-1].at if steps else 0, clear(who)

    return sorted(people, key=key)


def _line_of(at: int, who: str, client_list: ClientList, *, came: bool) -> Event | None:
    """The broker's line about a client's arrival or departure."""
    steps = client_list.steps_of(who, at)
    return next((step.line for step in reversed(steps) if (step.how is ListChangeKind.CONNECTED) == came), None)


def _mode(run: AllocationRun) -> str:
    """Message request mode: pull from own queues, or pop from all."""
    return "POP" if "Mode=POP" in run.result.text else "PULL"


_RANK = {
    name: rank
    for rank, name in enumerate(
        (
            "consumer_list_partial",
            "channel_expired",
            "connection_lost",
            "consumer_crash",
            "consumer_stop",
            "consumer_resume",
            "broker_up",
            "consumer_start",
        )
    )
}


def _as_file_begins() -> Verdict:
    """The verdict on the first run in a file without the client's start."""
    others = {"consumer_stop": weights.STOP_AS_LOG_BEGINS.value}
    return Verdict("consumer_start", weights.RUN_AS_LOG_BEGINS.value, alternatives=others)


def _of_two(cause: str, other: str | None, lines: list[Event]) -> Verdict:
    """What the routes show, less surely if another act would show the same."""
    if other is None:
        return Verdict(cause, weights.ROUTE_DIFFERS.value, evidence=lines)
    sure = weights.ROUTE_OF_TWO_ACTS.value
    return Verdict(cause, sure, alternatives={other: round(1 - sure, 3)}, evidence=lines)
