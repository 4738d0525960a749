"""The report as text: complete in itself, the same each time, and never more than text where logs are shown."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from dashboards.answer.build import build_answer
from dashboards.page.page import report
from dashboards.view.charts import BrokerLoss
from dashboards.view.settings import SettingAdvice
from dashboards.wording.escaping import common_folder
from dashboards.wording.units import Clock
from models.rows import Divergence
from tests.dashboards import made
from tests.dashboards.hostile import CONTROL, PAYLOADS

MEBIBYTE = 1 << 20
PACKED = re.compile(r'(<script type="text/plain" [^>]*>)[A-Za-z0-9+/=]*')


def page_of(story: made.Made, proofs: Any = None, what_ifs: Any = (), **options: Any) -> str:
    answer = replace(build_answer(story, for_page=True), proofs=proofs or {}, what_ifs=what_ifs)
    advice = [
        SettingAdvice(one.cluster, one.group, each.title, "-", each.options, 6, 4, 0, 9.0, 8.0, 24.0, True)
        for each in what_ifs
        for one in each.groups
    ]
    if advice:
        answer = replace(answer, settings=advice, remedies={answer.incidents[0].id: ["sessions of 20 s: 4 of 6 rebalances; it takes time"]})
    return report(answer, Clock(), **{"title": "logs", "version": "1.2.3", "drawn_max": 4000, **options})


class Outline(HTMLParser):
    """Elements, attributes and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.inside: list[str] = []
        self.feed(PACKED.sub(r"\1", page))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.inside.append(tag)

    def handle_data(self, data: str) -> None:
        if self.inside and self.inside[-1] not in ("script", "style"):
            self.texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.inside:
            while self.inside.pop() != tag:
                pass


def index_of(page: str) -> dict[str, Any]:
    """What the page's script reads when it starts."""
    found = re.search(r'<script type="text/plain" id="index">(.*?)</script>', page)
    assert found is not None
    return unpacked(found[1])


def details_of(page: str) -> list[list[Any]]:
    """What it reads when a rebalance is opened, for each rebalance."""
    chunks = re.findall(r'<script type="text/plain" class="chunk">(.*?)</script>', page)
    return [row for chunk in chunks for row in unpacked(chunk)["rows"]]


def unpacked(text: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(text)))
    return content


def test_equal_answers_give_equal_pages() -> None:
    assert page_of(made.small_story()) == page_of(made.small_story())


def test_the_page_names_nothing_outside_itself() -> None:
    outline = Outline(page_of(made.small_story()))
    links = [value for _, attributes in outline.elements for name in ("src", "href", "action", "srcset") if (value := attributes.get(name))]
    assert links
    assert [link for link in links if not link.startswith(("#", "data:,"))] == []


def test_only_the_page_s_own_script_and_plotly_may_run() -> None:
    page = page_of(made.small_story())
    policy = next(attributes["content"] or "" for tag, attributes in Outline(page).elements if tag == "meta" and "http-equiv" in attributes)
    allowed = set(re.findall(r"'sha256-([^']+)'", policy))
    script = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    packed = re.search(r'<script type="text/plain" id="plotly">(.*?)</script>', page, re.DOTALL)
    assert packed is not None
    sources = [script[0].encode("utf-8"), zlib.decompress(base64.b64decode(packed[1]))]
    assert allowed == {base64.b64encode(hashlib.sha256(source).digest()).decode("ascii") for source in sources}
    assert len(script) == 1
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe-eval" not in policy
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]


def test_plotly_is_in_the_page_once_and_only_where_something_is_drawn() -> None:
    assert page_of(made.small_story()).count('id="plotly"') == 1
    assert len(page_of(made.Made())) < MEBIBYTE / 8


def test_a_thousand_rebalances_fit() -> None:
    whole = page_of(made.many(1000))
    packed = re.search(r'id="plotly">(.*?)</script>', whole, re.DOTALL)
    assert packed is not None
    assert len(whole.encode()) < 5 * MEBIBYTE
    assert len(whole.encode()) - len(packed[1]) < 3 * MEBIBYTE


def test_the_tables_hold_every_rebalance_however_few_are_drawn() -> None:
    page = page_of(made.many(300), drawn_max=10)
    assert len(index_of(page)["rows"]["id"]) == len(details_of(page)) == 300


def test_the_page_tells_what_the_story_tells() -> None:
    page = page_of(made.small_story())
    shown = "\n".join(Outline(page).texts)
    for text in (
        "orders: 6 rebalances in 9 min, 3 min 51 s stopped; orders-worker-3 on 10.0.0.7 exceeded its poll interval 6 times",
        "max.poll.records",
        "2026-03-01 10:01:40.000",
        "Only replica down",
        "client logs of billing at INFO",
        "no attention (deployments",
        "Group <*> did a new thing with <*>",
        "month 13",
        "binary content",
    ):
        assert text in shown


def test_an_empty_answer_is_a_page_too() -> None:
    assert "No line of a group coordinator or client was recognised" in "".join(Outline(page_of(made.Made())).texts)


TEXTS = [*PAYLOADS, *CONTROL]
BATCH = 17
BATCHES = [TEXTS[start : start + BATCH] for start in range(0, len(TEXTS), BATCH)]


@pytest.mark.parametrize("texts", BATCHES, ids=range(len(BATCHES)))
def test_text_of_a_log_makes_no_element(texts: list[str]) -> None:
    page = page_of(all_of(texts))
    page.encode("utf-8")
    assert skeleton(page) == skeleton(page_of(all_of([f"plain {number}" for number, _ in enumerate(texts)])))


@pytest.mark.parametrize("texts", BATCHES, ids=range(len(BATCHES)))
def test_text_of_a_log_is_shown_as_it_is(texts: list[str]) -> None:
    page = page_of(all_of(texts))
    index, details = index_of(page), details_of(page)
    groups = [index["words"][place] for place in index["rows"]["group"]]
    everything = "".join(Outline(page).texts)
    lines = [detail[3][0] for detail in details]
    for text in texts:
        if text in PAYLOADS:
            assert text in groups
            assert text in [line[3] for line in lines]
            assert text.strip() in everything
        else:
            assert text in [line[6] for line in lines if len(line) > 6]
    assert all(part.isprintable() for line in lines for part in line[3].split("\n"))


def all_of(texts: list[str]) -> made.Made:
    """Small analyses with each of these texts in every field, as one."""
    whole = everywhere(texts[0])
    for number, text in enumerate(texts[1:], start=2):
        part = everywhere(text)
        row = part.rebalances[0]
        row.rebalance_id = part.rebalance_members[0].rebalance_id = f"id{number}"
        part.incidents[0].rebalance_ids = [row.rebalance_id]
        part.incidents[0].incident_id = f"i{number}"
        whole.inputs["log_files"] += part.inputs["log_files"]
        for key in TABLES:
            getattr(whole, key).extend(getattr(part, key))
    return whole


TABLES = (
    "rebalances",
    "rebalance_members",
    "timeline",
    "incidents",
    "outages",
    "broker_outages",
    "client_states",
    "coordinator_moves",
    "offsets_at_risk",
    "conditions",
    "ownership",
    "divergences",
    "unknown",
    "rejected",
)


def skeleton(page: str) -> list[tuple[str, list[str]]]:
    """Elements with the names of their attributes."""
    return [(tag, sorted(attributes)) for tag, attributes in Outline(page).elements]


def everywhere(text: str) -> made.Made:
    """A small analysis with the text in every field that logs fill."""
    line = made.Evidence(text, 1, 2, text, False)
    row = made.rebalance(
        text,
        1,
        5,
        cluster=text,
        rebalance_id="id1",
        topic=text,
        assignor=text,
        coordinator=text,
        trigger_text=f"because {text}",
        settled_by=text,
        confidence=0.5,
        offenders=[made.person(text, text, first=True, host=text)],
        blockers=[made.person(text, text, host=text)],
        evidence=[line],
    )
    story = made.small_story()
    outage = {**story.outages[0], "topic": text, "lost_brokers": [text], "groups": [text], "evidence": [line]}
    return made.Made(
        inputs={"log_files": [made.log_file(text, node=text, version=text, reason=text)], "totals": {}},
        rebalances=[row],
        rebalance_members=[made.member(row, text, "trigger", 1.0, first=True)],
        timeline=made.transitions(text, (0, "Empty"), (5, "Stable")),
        client_states=[made.client_state(text, text, text, 1, 2)],
        broker_outages=[made.BrokerOutage(text, "kafka", "b", text, made.at(1), made.at(2), text, [line])],
        incidents=[made.incident(text, "critical", [row], text, cluster=text)],
        outages=[outage],
        coordinator_moves=[made.CoordinatorMove(text, "kafka", "m", text, 1, text, text, made.at(1), made.at(2), 1.0, [line])],
        offsets_at_risk=[made.OffsetExpiration(text, "kafka", "e", text, made.at(1), made.at(2), 1.0, False, [line])],
        divergences=[made.Divergence(text, "kafka", "d", text, made.at(1), text, text, [line])],
        unknown=[{**story.unknown[0], "template": text, "logger": text, "sample": text, "file": text}],
        rejected=[{**story.rejected[0], "file": text, "reason": text, "text": text}],
        conditions=[{**made.condition("client_id_conflict", text, group=text), "evidence": [line]}],
        ownership=[{**made.queue(1, "two_owners", 1, 200, text, text, group=text, topic=text), "queue": text}],
    )


@pytest.mark.parametrize(
    ("paths", "base"),
    [
        (["logs/broker-1/server.log", "logs/broker-2/server.log"], "logs/"),
        (["/a/b/server.log", "/a/b/server.log.1"], "/a/b/"),
        (["a/server.log", "b/server.log"], ""),
        (["logs/server.log"], ""),
        ([], ""),
    ],
)
def test_what_all_paths_share_is_said_once(paths: list[str], base: str) -> None:
    assert common_folder(paths) == base


def test_places_stand_below_the_shared_folder() -> None:
    story = made.small_story()
    story.inputs["log_files"] = [made.log_file("/logs/broker-1/server.log"), made.log_file("/logs/broker-2/server.log")]
    outline = Outline(page_of(story))
    assert "/logs/" in outline.texts
    assert "broker-1/server.log" in outline.texts


def test_advice_is_given_once() -> None:
    story = made.small_story()
    story.incidents.append(
        made.incident(
            "orders", "critical", story.rebalances[:5], made.FLAPPING, incident_id="again", stopped_seconds=1.0, groups=["orders", "audit"]
        )
    )
    texts = Outline(page_of(story)).texts
    assert sum("Fetch less per poll" in text for text in texts) == 1
    assert "The same as for incident " in texts


def test_files_that_are_no_logs_stand_apart() -> None:
    page = page_of(made.small_story())
    assert "1 file was empty or no log" in page
    assert index_of(page)["tables"]["skipped"]["rows"] == [["broker-2/core.1234", "binary content"]]


def test_standing_faults_and_queues_without_one_owner() -> None:
    texts = " ".join(Outline(page_of(made.queue_story())).texts)
    for told in ("Two clients with one id", "Topics shared out unevenly", "two owners", "no owner", "app/rocketmq_client.log:9"):
        assert told in texts


def test_times_in_sentences_are_marked_so_that_they_can_be_told_in_any_zone() -> None:
    story, *_ = details_of(page_of(made.small_story()))[0]
    assert story[0].startswith(f"\x01{made.at(30)}\x02: ")
    assert any(f"stable in generation 1 with 2 members at \x01{made.at(33.1)}\x02" in sentence for sentence in story)


@pytest.mark.parametrize("text", CONTROL)
def test_no_text_of_a_log_passes_for_a_mark_of_ours(text: str) -> None:
    page = page_of(everywhere(f"\x011\x02{text}"))
    story, said, *_ = details_of(page)[0]
    assert sum(sentence.count("\x01") for sentence in story) == 2
    assert "\x01" not in said


def test_details_lie_in_chunks_in_the_order_of_the_rows() -> None:
    page = page_of(made.many(600))
    assert page.count('class="chunk"') == 3
    stories = [story[0] for story, *_ in details_of(page)]
    assert stories == sorted(stories)


def test_incidents_beyond_the_cards_stand_in_a_table() -> None:
    story = made.small_story()
    story.incidents = [
        made.incident("orders", "warning", story.rebalances[:1], made.FLAPPING, incident_id=f"{n:03}", groups=[f"orders-{n}"])
        for n in range(70)
    ]
    page = page_of(story)
    assert page.count('<details class="incident') == 60
    assert [row[0][1] for row in index_of(page)["tables"]["incidents"]["rows"]] == list(range(61, 71))


def test_members_come_in_the_order_in_which_people_ask_for_them() -> None:
    detail = details_of(page_of(made.small_story()))[1]
    assert detail[6] == [
        ["orders-worker-3", "trigger", 0, None],
        ["orders-worker-1", "blocker", 1, 38.0],
        ["orders-worker-2", "bystander", 1, 0.4],
        ["orders-worker-4", "bystander", 1, None],
    ]


@pytest.mark.parametrize("name", PAYLOADS)
def test_what_to_set_is_told_as_text(name: str) -> None:
    answer = build_answer(made.small_story(), for_page=True)
    worst = answer.incidents[0].id
    advice = SettingAdvice("default", name, "sessions of 20 s", "it takes time", f"groupscope {name}", 5, 4, 0, 9.0, 8.0, 24.0, helps=True)
    told = replace(answer, settings=[advice, replace(advice, helps=False)], remedies={worst: [f"{name}: sessions of 20 s"]})
    pages = [report(each, Clock(), title="logs", version="1", drawn_max=100) for each in (told, replace(told, settings=[], remedies={}))]
    with_advice, without = (Outline(page) for page in pages)
    assert "sessions of 20 s" in with_advice.texts
    assert "Does not help: sessions of 20 s" in with_advice.texts
    assert "sessions of 20 s" not in without.texts
    assert {tag for tag, _ in with_advice.elements} == {tag for tag, _ in without.elements}


def test_what_a_broker_s_stop_would_cost_is_told_as_text() -> None:
    answer = build_answer(made.small_story(), for_page=True)
    losses = [BrokerLoss("<b>", "2", (("<i>orders</i>-4", "single_replica"),), 12)]
    page = report(replace(answer, broker_losses=losses), Clock(), title="logs", version="1", drawn_max=10)
    shown = Outline(page).texts
    assert "<i>orders</i>-4 (single replica)" in shown
    assert "groupscope outages --if-down 2" in shown


@pytest.mark.parametrize(("expected", "is_told"), [("the time zone of node main is UTC", True), ("a generation after 5", False)])
def test_a_log_of_another_zone_is_told_above_the_incidents(expected: str, *, is_told: bool) -> None:
    doubt = Divergence("default", "kafka", "d1", "orders", made.at(0), expected, "Europe/Berlin", [made.line(3, "a line", file="main.log")])
    page = page_of(made.Made(rebalances=[made.rebalance("orders", 5, 0)], divergences=[doubt]))
    warning = 'role="note">1 log seems to be read in a wrong time zone (main.log)'

    assert (warning in page) == is_told
    assert not is_told or page.index(warning) < page.index('<section id="incidents"')
