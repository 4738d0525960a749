"""The report as text: complete in itself, the same each time, and never more than text where logs are shown."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from functools import cache
from html.parser import HTMLParser
from typing import Any

import pytest

from dashboards.build import build_answer
from dashboards.page import common_folder, report
from dashboards.units import Clock
from tests.dashboards import made
from tests.dashboards.hostile import CONTROL, PAYLOADS

MEBIBYTE = 1 << 20
PACKED = re.compile(r'id="plotly">[A-Za-z0-9+/=]*')


def page_of(story: made.Made, **options: Any) -> str:
    return report(build_answer(story), Clock(), **{"title": "logs", "version": "1.2.3", "drawn_max": 4000, **options})


class Outline(HTMLParser):
    """Elements, attributes and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.inside: list[str] = []
        self.feed(PACKED.sub('id="plotly">', page))

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


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


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
    script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
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
    assert len(page_of(made.Made())) < MEBIBYTE / 4


def test_a_thousand_rebalances_fit() -> None:
    whole = page_of(made.many(1000))
    packed = re.search(r'id="plotly">(.*?)</script>', whole, re.DOTALL)
    assert packed is not None
    assert len(whole.encode()) < 5 * MEBIBYTE
    assert len(whole.encode()) - len(packed[1]) < 3 * MEBIBYTE


def test_the_tables_hold_every_rebalance_however_few_are_drawn() -> None:
    assert len(data_of(page_of(made.many(300), drawn_max=10))["rebalances"]) == 300


def test_the_page_tells_what_the_story_tells() -> None:
    page = page_of(made.small_story())
    shown = "\n".join(Outline(page).texts)
    for text in (
        "orders: 6 rebalances in 9.0 min, 231 s stopped; orders-worker-3 on 10.0.0.7 exceeded its poll interval 6 times",
        "max.poll.records",
        "2026-03-01 10:01:40.000",
        "Only replica down",
        "client logs of billing at INFO",
        "expected",
        "Group <*> did a new thing with <*>",
        "month 13",
        "binary content",
    ):
        assert text in shown


def test_an_empty_answer_is_a_page_too() -> None:
    assert "No rebalance and no outage was found" in "".join(Outline(page_of(made.Made())).texts)


@pytest.mark.parametrize("text", [*PAYLOADS, *CONTROL])
def test_text_of_a_log_makes_no_element(text: str) -> None:
    page = page_of(everywhere(text))
    page.encode("utf-8")
    assert skeleton(page) == plain_skeleton()


@pytest.mark.parametrize("text", PAYLOADS)
def test_text_of_a_log_is_shown_as_it_is(text: str) -> None:
    page = page_of(everywhere(text))
    row = data_of(page)["rebalances"][0]
    assert row["group"] == text
    assert row["evidence"][0][3] == text
    assert text in [shown.strip() for shown in Outline(page).texts] or text.strip() in "".join(Outline(page).texts)


@pytest.mark.parametrize("text", CONTROL)
def test_a_line_with_control_characters_keeps_its_text_for_copying(text: str) -> None:
    line = data_of(page_of(everywhere(text)))["rebalances"][0]["evidence"][0]
    assert line[5] == text
    assert all(part.isprintable() for part in line[3].split("\n"))


@cache
def plain_skeleton() -> list[tuple[str, list[str]]]:
    return skeleton(page_of(everywhere("plain")))


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
        timeline=made.transitions(text, (0, "Empty"), (5, "Stable")),
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
        made.incident("orders", "critical", story.rebalances[:5], made.FLAPPING, incident_id="again", stopped_seconds=1.0)
    )
    texts = Outline(page_of(story)).texts
    assert sum("Fetch less per poll" in text for text in texts) == 1
    assert "The same as for incident " in texts


def test_files_that_are_no_logs_stand_apart() -> None:
    page = page_of(made.small_story())
    assert "1 file was empty or no log" in page
    assert "broker-2/core.1234</span>: binary content" in page


def test_standing_faults_and_queues_without_one_owner() -> None:
    texts = " ".join(Outline(page_of(made.queue_story())).texts)
    for told in ("Two clients with one id", "Topics shared out unevenly", "two owners", "no owner", "app/rocketmq_client.log:9"):
        assert told in texts
