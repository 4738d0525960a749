"""Elections by either controller, as needed after a broker's departure or return.

Node -1 is "no leader". Results are the leader and ISR that the controller stores.
"""

from __future__ import annotations

from collections.abc import Callable

from models.kafka.elections import kraft as kraft_elections
from models.kafka.elections import zookeeper as elections

StoredLeaderAndIsr = tuple[int, tuple[int, ...]]


def elect_leader(
    replicas: tuple[str, ...], isr: tuple[str, ...] | None, is_down: Callable[[str], bool], *, is_kraft: bool, is_unclean: bool
) -> tuple[str | None, tuple[str, ...]]:
    """Leader and ISR that a controller stores, as strings.

    Leader is None if the ISR or a node's number is unknown.
    """
    if isr is None or not replicas or not all(node.isdecimal() for node in (*replicas, *isr)):
        return None, ()
    alive = frozenset(int(node) for node in {*replicas, *isr} if not is_down(node))
    elect = kraft_election if is_kraft else zookeeper_election
    leader, left = elect(tuple(map(int, replicas)), tuple(map(int, isr)), alive, is_unclean)
    return str(leader), tuple(map(str, left))


def zookeeper_election(replicas: tuple[int, ...], isr: tuple[int, ...], alive: frozenset[int], is_unclean: bool) -> StoredLeaderAndIsr:
    """Offline election of the ZooKeeper controller.

    Without a result the ISR is unchanged.
    """
    current = elections.LeaderAndIsr(-1, 0, isr)
    outcome = elections.elect(
        elections.ElectionReason.OFFLINE, elections.Replicas(replicas), elections.BrokerLiveness(alive), current, unclean_enabled=is_unclean
    )
    return (-1, isr) if outcome.leadership is None else (outcome.leadership.leader, outcome.leadership.isr)


def kraft_election(replicas: tuple[int, ...], isr: tuple[int, ...], alive: frozenset[int], is_unclean: bool) -> StoredLeaderAndIsr:
    """Online or unclean election of the KRaft controller.

    The ISR keeps its last member, so that it may lead after its return.
    """
    registered = kraft_elections.Registration(replicas, isr, -1, 0, 0)
    election = kraft_elections.Election.UNCLEAN if is_unclean else kraft_elections.Election.ONLINE
    left = tuple(node for node in isr if node in alive)
    elected = kraft_elections.elect_leader(registered, kraft_elections.ElectionRequest(alive, election, isr=left or isr))
    if elected.node == kraft_elections.NO_LEADER_ID:
        return -1, left or isr
    return elected.node, (elected.node,) if elected.unclean else left or (elected.node,)
