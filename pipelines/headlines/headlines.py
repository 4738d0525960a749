"""The headline of an incident, by the class of its facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from models.incidents import headline_facts as facts_of
from models.incidents.fault_facts import UnattributedTrouble
from models.incidents.headline_facts import HeadlineFacts
from models.rows import Incident
from pipelines.headlines.group_conditions import (
    apart,
    full_disk,
    last_delivery,
    move,
    pause,
    refusal,
    removal,
    restoration,
    slow_load,
    static_return,
    static_takeover,
    troubled_share_partition,
    unready_topology,
)
from pipelines.headlines.group_episodes import emptiness, episode
from pipelines.headlines.outages import absence, failed_directory, outage, quorum_turn, stale_leader
from pipelines.headlines.phrases import cause_words
from pipelines.headlines.queue_episodes import queue_episode, servers_alone
from pipelines.headlines.unattributed_troubles import unattributed_trouble

HEADLINE_WORDINGS: Mapping[type, Callable[[Any], str]] = {
    facts_of.EpisodeFacts: episode,
    facts_of.PauseFacts: pause,
    facts_of.MoveFacts: move,
    facts_of.LoadFacts: slow_load,
    facts_of.ApartFacts: apart,
    facts_of.RestorationFacts: restoration,
    facts_of.DiskFacts: full_disk,
    facts_of.StaleLeaderFacts: stale_leader,
    facts_of.QuorumFacts: quorum_turn,
    facts_of.RefusalFacts: refusal,
    facts_of.EmptinessFacts: emptiness,
    facts_of.TopologyFacts: unready_topology,
    facts_of.LastDeliveryFacts: last_delivery,
    facts_of.SharePartitionFacts: troubled_share_partition,
    facts_of.StaticReturnFacts: static_return,
    facts_of.StaticTakeoverFacts: static_takeover,
    facts_of.RemovalFacts: removal,
    facts_of.OutageFacts: outage,
    facts_of.AbsenceFacts: absence,
    facts_of.DirectoryFacts: failed_directory,
    facts_of.QueueFacts: queue_episode,
    facts_of.ServerFacts: servers_alone,
    UnattributedTrouble: unattributed_trouble,
}
"""Functions that put facts into words, by class."""


def headline(facts: HeadlineFacts) -> str:
    """Put facts into one sentence."""
    return HEADLINE_WORDINGS[type(facts)](facts)


def with_headlines(incidents: Iterable[Incident[HeadlineFacts]]) -> list[Incident[str]]:
    """The rows of these incidents."""
    return [_in_words(incident) for incident in incidents]


def _in_words(incident: Incident[HeadlineFacts]) -> Incident[str]:
    columns = {name: getattr(incident, name) for name in Incident.__slots__}
    try:
        words = headline(incident.headline)
    except Exception as error:
        words = f"{', '.join(incident.groups) or incident.cluster}: {cause_words(incident.kind)}; its headline failed ({error!r})"
    return Incident(**columns | {"headline": words})
