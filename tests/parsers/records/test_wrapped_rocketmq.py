"""Lines of RocketMQ that terminals have cut, padded or numbered, and what is left of their names."""

from __future__ import annotations

import pytest

from parsers.catalogue.catalogue import Catalogue, Match, catalogue
from parsers.catalogue.loading import load
from parsers.formats.time_zones import ZoneConverter
from parsers.reading.forms import choose_form
from parsers.records.chunks import parse_chunk
from parsers.records.context import ChunkContext

CHANNEL = "ClientChannelInfo [channel=[id: 0x1f, L:/10.0.0.1:10911 - R:/10.0.0.5:51877], clientId=10.0.0.5@8120, language=JAVA, version=355"
CONNECTED = f"CONSUME_PASSIVELY CLUSTERING channel: {CHANNEL}, lastUpdateTimestamp=1871816510001]"
BEHIND = "from ConsumerGroupInfo groupChannelTable, consumer group: "
LOST = f"remove not active channel[{CHANNEL}, lastUpdateTimestamp=1871816510001]] {BEHIND}"
TIME = "2029-04-25 21:01:50"
CLOSED = f"{TIME} WARN NettyEventExecutor - NETTY EVENT: {LOST[:60]}"
GONE = f"{TIME} INFO NettyEventExecutor - unregister consumer ok, no any connection, and remove consumer group, billing"


def groups_of(text: str) -> list[tuple[str | None, bool]]:
    """The group of each event, and whether it has a time."""
    data = text.encode()
    told = choose_form(data, is_complete=True)
    assert not isinstance(told, str)
    parsed = parse_chunk(data, ChunkContext("f", "f", told, ZoneConverter("UTC"), is_final=True), catalogue())
    rows = parsed.events.select(["group", "at"]).to_pylist()
    return [(row["group"], row["at"] is not None) for row in rows]


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        (f"{TIME} INFO ClientManageThread_3 - new consumer connected, group: gate_re{' ' * 40}ader {CONNECTED}\n", ["gate_reader"]),
        (f"{TIME} INFO ClientManageThread_3 - new consumer connected, group: gate_reader{' ' * 40}{CONNECTED}\n", ["gate_reader"]),
        (f"{CLOSED}\n{LOST[60:]}LIVE_ROUTE_MESS\nAGE\n{GONE}\n", ["LIVE_ROUTE_MESSAGE", "billing"]),
        (f"{CLOSED}\n{LOST[60:]}LIVE_ROUTE\n\tat a stack\n{GONE}\n", ["LIVE_ROUTE", "billing"]),
        (f"##### {GONE}\n{GONE}\n### {GONE}\n", ["billing"] * 3),
        (f"{GONE[2:]}\n{GONE[2:]}\n", ["billing"] * 2),
    ],
    ids=["within a word", "between words", "a name cut in two", "a stack behind a name", "headings", "a year of two digits"],
)
def test_names_are_whole_and_times_are_read(text: str, groups: list[str]) -> None:
    assert groups_of(text) == [(group, True) for group in groups]


class CountingCatalogue(Catalogue):
    """The catalogue, with a count of the messages that were tried."""

    tried = 0

    def match(self, logger: str | None, message: str, offsets_partitions: int | None = None) -> Match | None:
        self.tried += 1
        return super().match(logger, message, offsets_partitions)


@pytest.mark.parametrize("more", ["", "For more information, please visit the url, https://rocketmq.apache.org/docs/bestPractice/06FAQ\n"])
def test_no_line_of_a_stack_is_tried_as_the_rest_of_a_message(more: str) -> None:
    head = "2026-11-21 17:49:25.231 ERROR [24287] [PullMessageService] [o.a.r.c.i.c.DefaultMQPushConsumerImpl#?:?] - "
    stack = f"org.apache.rocketmq.client.exception.MQClientException: The broker[broker-a] not exist\n{more}" + "\tat a.B.c(B.java:1)\n" * 9
    counting = CountingCatalogue(load())
    told = choose_form(f"{head}pullKernelImpl exception\n{stack}".encode(), is_complete=True)
    assert not isinstance(told, str)
    counts = []
    for text in (f"{head}pullKernelImpl exception\n", f"{head}pullKernelImpl exception\n{stack}"):
        counting.tried = 0
        parsed = parse_chunk(text.encode(), ChunkContext("f", "f", told, ZoneConverter("UTC"), is_final=True), counting)
        assert parsed.events["event"].to_pylist() == ["RocketClientTrouble"]
        counts.append(counting.tried)
    assert counts[1] <= counts[0] + 1
