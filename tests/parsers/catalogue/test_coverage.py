"""The catalogue against a list of Kafka's messages that was made from its sources, beside the checkout.

Each wording in that list of a group coordinator, of group metadata, of a request or of a client must be known, in
its versions, as one message and no other, and must give up the ids that stand in it, whatever they hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest
import yaml

from parsers.catalogue.catalogue import Pattern, catalogue
from parsers.catalogue.wordings import version_key
from tests.conftest import SHARED

CATALOGUE = catalogue()
FILE = SHARED / "catalogue" / "kafka_messages.yaml"
ABOUT_GROUPS = {
    "client",
    "consumer_group_kip848",
    "group_coordinator",
    "group_coordinator_java",
    "group_metadata_manager",
    "request_logger",
    "share_group",
    "streams_group",
}
NOT_ABOUT_REBALANCES = {"client_metadata_error": "partitions without leader, said by consumers and producers alike"}
LAST_VERSION = (4, 1)
COLUMNS = {"group": "group", "generation": "generation", "member": "member_id", "broker": "node", "partition": "partition"}
OTHER_MEANING = {("group_sync_expiration_unexpected", "generation"): "the generation that the timer was set in; the group has another"}
ODD_IDS = ("my group", "a (b) [c]", 'it\'s "that"', "a/b\\c", "заказы 注文 😀", "x" * 255, "{a}, b:c = d")
ODD_MEMBER = "{}-6d2f0b2e-57aa-45a7-85fb-85adbdbf2a2c"


class Form(NamedTuple):
    """One wording of the list, with a line of it and the places of what stands in its gaps."""

    entry: str
    since: str
    until: str
    logger: str
    line: str
    spans: dict[str, tuple[int, int]]

    def values(self) -> dict[str, str]:
        return {name: self.line[begin:end] for name, (begin, end) in self.spans.items()}

    def put(self, name: str, value: str) -> str:
        begin, end = self.spans[name]
        return self.line[:begin] + value + self.line[end:]


def line_of(entry: dict[str, Any], form: dict[str, Any]) -> str:
    """The list's own example, made whole where it was cut, and of the offsets topic where no other can stand."""
    line = str(form["example"])
    if entry["component"] in {"group_metadata_manager", "group_coordinator_java"}:
        line = line.replace("orders-3", "__consumer_offsets-3")
    if entry["id"] == "stg_member_new_assignment":
        tasks = "(active=[0-1], standby=[], warmup=[])"
        line = line[: line.index("assignedTasks=")] + f"assignedTasks={tasks} and tasksPendingRevocation={tasks}."
    if entry["id"] == "request_received_trace" and '{"isForwarded"' in line:
        header = (
            '"requestHeader":{"requestApiKey":12,"requestApiVersion":4,"correlationId":3,"clientId":"c","requestApiKeyName":"HEARTBEAT"}'
        )
        body = '"request":{"groupId":"orders-app","generationId":1,"memberId":"m","groupInstanceId":null}'
        line = line.replace('{"isForwarded":false}', f'{{"isForwarded":false,{header},{body}}}')
    return line


@cache
def forms() -> tuple[Form, ...]:
    """Wordings about groups, in the versions that the catalogue covers."""
    found = []
    for entry in yaml.load(FILE.read_bytes(), Loader=yaml.CSafeLoader) if FILE.is_file() else ():
        if entry["component"] not in ABOUT_GROUPS or entry["id"] in NOT_ABOUT_REBALANCES:
            continue
        for form in entry["forms"]:
            line = line_of(entry, form)
            read = re.match(form["regex"], line)
            spans = {name: read.span(number) for number, name in enumerate(form["groups"], 1)} if read else {}
            logger = form.get("logger") or entry["loggers"][0]
            found.append(Form(entry["id"], form["since"], form["until"], logger, line, spans))
    return tuple(found)


def reasons() -> list[dict[str, Any]]:
    entries = yaml.load(FILE.read_bytes(), Loader=yaml.CSafeLoader) if FILE.is_file() else ()
    return [reason for entry in entries for reason in entry.get("reasons", ())]


def fitting(form: Form) -> Iterator[Pattern]:
    """Every wording of the catalogue that can be read out of the line."""
    segment = CATALOGUE.loggers.segment(form.logger)
    for opening in CATALOGUE.all_openings(CATALOGUE.plain, form.line, 0):
        for pattern in CATALOGUE.patterns:
            if (
                pattern.prefix == opening.bucket.name
                and CATALOGUE.allows(pattern.message, segment)
                and next(pattern.template.readings(form.line, opening.at), None) is not None
            ):
                yield pattern


needs_list = pytest.mark.skipif(not FILE.is_file(), reason="no list of Kafka's messages in ../shared/catalogue")
each_form = pytest.mark.parametrize("form", forms(), ids=lambda form: f"{form.entry}-{form.since}")


@needs_list
def test_the_list_was_read() -> None:
    assert len(forms()) > 250


@each_form
def test_each_wording_is_known_and_as_one_message(form: Form) -> None:
    found = CATALOGUE.match(form.logger, form.line)
    assert found is not None, form.line
    assert not found.is_ambiguous
    assert {pattern.message.id for pattern in fitting(form) if not pattern.is_generic} <= {found.message_id}
    for name, value in form.values().items():
        if name in COLUMNS and (form.entry, name) not in OTHER_MEANING:
            assert str({**found.columns, **found.fields}[COLUMNS[name]]) == value


@each_form
def test_each_wording_is_known_of_its_versions(form: Form) -> None:
    patterns = list(fitting(form))
    if not patterns:
        pytest.skip("requests are read by their grammar, whatever the version")
    first = min(version_key(pattern.seen_in[0]) for pattern in patterns)
    last = max(version_key(pattern.seen_in[-1])[:2] for pattern in patterns)
    assert first <= version_key(form.since)
    assert last >= min(version_key(form.until)[:2], LAST_VERSION)


@pytest.mark.parametrize("form", [form for form in forms() if "group" in form.spans], ids=lambda form: f"{form.entry}-{form.since}")
def test_group_ids_of_any_characters_come_out_whole(form: Form) -> None:
    for group in ODD_IDS:
        found = CATALOGUE.match(form.logger, form.put("group", group))
        assert found is not None
        assert (found.is_ambiguous, found.columns["group"]) == (False, group)


@pytest.mark.parametrize("form", [form for form in forms() if "member" in form.spans], ids=lambda form: f"{form.entry}-{form.since}")
def test_member_ids_of_any_characters_come_out_whole(form: Form) -> None:
    for owner in ODD_IDS:
        member = ODD_MEMBER.format(owner)
        found = CATALOGUE.match(form.logger, form.put("member", member))
        assert found is not None
        assert (found.is_ambiguous, found.columns["member_id"]) == (False, member)


@needs_list
@pytest.mark.parametrize("reason", reasons(), ids=lambda reason: f"{reason['id']}-{reason['since']}")
def test_each_reason_of_a_rebalance_is_known(reason: dict[str, Any]) -> None:
    assert CATALOGUE.reasons.parse(reason["example"])["reason_id"] == reason["id"]
