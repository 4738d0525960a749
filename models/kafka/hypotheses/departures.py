"""Why members go: by their own will, because they polled too late, by an administrator, or because they fell silent."""

from __future__ import annotations

from models.causes import Cause
from models.events import Witness
from models.kafka.hypotheses import priors
from models.kafka.hypotheses.hypothesis import CLIENT_LOG, LOOK_BACK_US, PROMPT_US, Judgement, Opinion
from models.kafka.hypotheses.joins import restarts
from models.kafka.hypotheses.timeouts import is_echo, poll_rhythm
from models.kafka.hypotheses.window import Case
from models.kafka.observations.actions import Act, Deed


def left(case: Case, act: Act | None) -> list[Opinion]:
    """A member left: by its own will, because it polled too late, or by an administrator."""
    leaves = {actor: a for actor, a in case.by_actor(Deed.LEAVE).items() if case.is_effective(a)}
    if act is None and leaves:
        act = min(leaves.values(), key=lambda a: abs(a.at - case.start))
    actor = case.actor(act) if act else None
    returned = case.joiners.get(actor) if actor else None
    why = kind_of_leave(case, actor, act)
    if case.is_ambiguous(actor):
        returned = None  # another member with the same client id
    if returned is not None and case.draft.outcome != "empty" and why.best.cause is not Cause.ADMIN_REMOVAL and act is not None:
        sure = priors.LEFT_AND_SEEN_BACK.value
        return [Opinion(Cause.MEMBER_RESTART, sure, [act, returned, *restarts(case, actor)]), Opinion(why.best.cause, 1 - sure, [act])]
    opinions = why.opinions
    for opinion in opinions:
        opinion.acts = _leavers_alike(case, opinion.cause, act, leaves)
    return _unless_it_returned(case, act, opinions, priors.LEFT_AND_RETURNED.value)


def _unless_it_returned(case: Case, act: Act | None, opinions: list[Opinion], usual: float) -> list[Opinion]:
    """The opinions, and that it was a restart, as likely as what is not told leaves room for it."""
    share = usual if act is not None and case.is_ambiguous(case.actor(act)) else _unseen_return(case, usual)
    if share:
        for opinion in opinions:
            opinion.probability *= 1 - share
        opinions.append(Opinion(Cause.MEMBER_RESTART, share, [act] if act else [], CLIENT_LOG))
    return opinions


def _unseen_return(case: Case, usual: float) -> float:
    """How likely it is that whoever went was back before the rebalance was over, though no line says that it joined."""
    if case.known.clients or case.known.requests or case.draft.joined is None or case.draft.outcome == "empty":
        return 0.0
    before, after = case.draft.members_before, case.draft.members_after
    if not before or not after:
        return usual
    if before == after:
        return priors.AS_MANY_AS_BEFORE.value
    return priors.FEWER_WENT_THAN_LEFT.value if after > before - len(case.gone) else 0.0


def _leavers_alike(case: Case, cause: Cause, act: Act | None, leaves: dict[str, Act]) -> list[Act]:
    """All that left in the same way in this rebalance; the one that started it comes first."""
    alike = [a for actor, a in leaves.items() if kind_of_leave(case, actor, a).best.cause is cause]
    first = case.actor(act) if act else None
    same = sorted(alike, key=lambda a: (case.actor(a) != first, a.at))
    return same if same or act is None else [act]


_LEAVE_WHY: tuple[tuple[str, Cause], ...] = (
    # AbstractCoordinator.maybeLeaveGroup and KafkaConsumer; the client's reason reaches the broker since 3.2 (KIP-800).
    ("poll timeout has expired", Cause.POLL_TIMEOUT),
    ("removed by an admin", Cause.ADMIN_REMOVAL),  # with the administrator's own words behind it (KafkaAdminClient)
    ("the consumer is being closed", Cause.MEMBER_LEAVE),
    ("unsubscribed from all topics", Cause.MEMBER_LEAVE),
    ("pro-actively leaving", Cause.MEMBER_LEAVE),
)


def kind_of_leave(case: Case, actor: str | None, act: Act | None) -> Judgement:
    """Tell a graceful leave from an exceeded poll interval and from an administrator's removal."""
    whys = [a.why for a in case.deeds(Deed.LEAVE) if a.why and case.actor(a) == actor]
    if act is not None and act.why:
        whys.append(act.why)
    for fixed, cause in _LEAVE_WHY:
        if any(fixed in why for why in whys):
            return Judgement([Opinion(cause, priors.LEAVE_REASON.value)])
    noticed = _noticed_poll_timeout(case, actor, act) if act is not None else None
    if noticed is not None:
        return Judgement([Opinion(Cause.POLL_TIMEOUT, priors.POLL_TIMEOUT_NOTICED.value, told_by=[noticed])])
    if act is not None and _is_static(case, act):
        return _shared_out(priors.STATIC_LEFT)
    if any(why != "not provided" for why in whys):
        return _shared_out(priors.OWN_LEAVE_REASON)
    if actor in case.known.silent:
        return _shared_out(priors.LOG_OF_SILENT_LIBRARY)
    if case.has_client_log(actor):
        if _rejoins_unasked(case, actor, act):
            return _shared_out(priors.REJOINED_UNASKED)
        return _shared_out(priors.OWN_LOG_SILENT)
    poll = _polled_late(case, actor, act)
    by_will, late = Opinion(Cause.MEMBER_LEAVE, priors.LEFT.value - poll), Opinion(Cause.POLL_TIMEOUT, poll)
    by_will.settled_by = late.settled_by = CLIENT_LOG
    return Judgement(sorted([by_will, late], key=lambda opinion: -opinion.probability))


def _shared_out(shares: priors.Shares) -> Judgement:
    return Judgement([Opinion(cause, share) for cause, share in shares.of.items()])


def _polled_late(case: Case, actor: str | None, act: Act | None) -> float:
    """How likely a leave that nothing explains is that of a heartbeat thread, for a consumer that polled too late."""
    often = 0 if all_left(case) else poll_rhythm(case)
    if often:
        return priors.LEAVE_RHYTHM[min(often, len(priors.LEAVE_RHYTHM)) - 1].value
    if _comes_back(case, actor, act):
        return priors.POLLED_LATE_CAME_BACK.value
    return (priors.ALL_POLLED_LATE if all_left(case) else priors.POLLED_LATE).value


def _noticed_poll_timeout(case: Case, actor: str | None, act: Act) -> Act | None:
    """The client's own line that it polled too late. One that does not say whose it is must stand right before the leave."""
    for noticed in case.acts:
        if noticed.deed is Deed.POLL_TIMEOUT:
            whose, away = case.actor(noticed), act.at - noticed.at
            if (whose == actor and abs(away) <= LOOK_BACK_US) or (whose is None and abs(away) <= PROMPT_US):
                return noticed
    return None


def _is_static(case: Case, act: Act) -> bool:
    """Static members send no LeaveGroup of their own (KIP-345), so one that left was removed."""
    member = case.roster.members.get(act.member_id or "")
    return bool(act.instance_id or (member and member.instance_id))


def _rejoins_unasked(case: Case, actor: str | None, act: Act | None) -> bool:
    """After a poll timeout the same process goes on: it joins again without looking for its coordinator.

    It may subscribe to other topics before it does; who leaves because it unsubscribes says so. Where another process follows,
    and the log tells of closes but of none that belongs to this leave, the one before polled too late and then died.
    """
    left_at = act.at if act else case.start
    searches = False
    for later in case.acts:
        if case.actor(later) != actor:
            continue
        if later.deed in {Deed.CLOSE, Deed.UNSUBSCRIBE} and abs(later.at - left_at) <= LOOK_BACK_US:
            return False
        if later.at <= left_at:
            continue
        if later.deed is Deed.LOST_COORDINATOR or (later.deed is Deed.START and searches):
            searches = later.deed is Deed.LOST_COORDINATOR
            continue  # the same process looks for a coordinator that is gone
        if later.deed is Deed.CLOSE:
            return True  # close() leaves and is done: this one came too late to be what left
        if later.deed is Deed.START:
            return any(each.deed is Deed.CLOSE and case.actor(each) == actor for each in case.acts)
        if later.deed is Deed.UNSUBSCRIBE:
            return False
        if later.deed is Deed.JOIN:
            return later.event.witness is Witness.CLIENT
    return False


def all_left(case: Case) -> bool:
    """A group of several was closed: that all of them poll too late at once is rare."""
    return case.draft.outcome == "empty" and (case.draft.members_before or 0) > 1


def _comes_back(case: Case, actor: str | None, act: Act | None) -> bool:
    left_at = act.at if act else case.start
    return any(later.at > left_at and later.deed is Deed.JOIN and case.actor(later) == actor for later in case.acts)


def expired(case: Case, act: Act | None) -> list[Opinion]:
    """A member's session ran out."""
    expiries = {actor: a for actor, a in case.by_actor(Deed.EXPIRE).items() if case.is_effective(a)}
    if act is None and expiries:
        act = min(expiries.values(), key=lambda a: a.at)
    actor = case.actor(act) if act else None
    returned = case.joiners.get(actor) if actor and not case.is_ambiguous(actor) else None
    first = sorted(expiries.values(), key=lambda a: (case.actor(a) != actor, a.at)) or ([act] if act else [])
    if returned is not None and act is not None and case.draft.outcome != "empty":
        sure = priors.EXPIRED_AND_SEEN_BACK.value
        again = [act, returned, *restarts(case, actor)]
        return [Opinion(Cause.MEMBER_RESTART, sure, again), Opinion(Cause.SESSION_TIMEOUT, 1 - sure, first)]
    if act is not None and is_echo(case, act):
        return [Opinion(cause, share, first) for cause, share in priors.ECHO_OF_EVICTION.of.items()]
    return _unless_it_returned(case, act, [Opinion(Cause.SESSION_TIMEOUT, priors.EXPIRED.value, first)], priors.EXPIRED_AND_RETURNED.value)
