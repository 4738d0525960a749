"""The report in a real browser, opened from disk as people open it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dashboards.build import build_answer
from dashboards.page import report
from dashboards.units import Clock
from tests.dashboards import made
from tests.dashboards.hostile import CONTROL, PAYLOADS
from tests.dashboards.test_page import everywhere

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    command = next((found for name in COMMANDS if (found := shutil.which(name))), None)
    if command is None:
        pytest.skip(f"no Chromium on this machine: none of {', '.join(COMMANDS)} is on the PATH")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Chromium refuses its own sandbox where tests run as root, as in containers.
        running = playwright.chromium.launch(executable_path=command, args=["--no-sandbox"])
        yield running
        running.close()


@dataclass
class Opened:
    """A page, and all that it said or asked for that it should not have."""

    page: Page
    trouble: list[str] = field(default_factory=list)


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Any]:
    contexts = []

    def show(story: made.Made, fragment: str = "", **options: Any) -> Opened:
        path = tmp_path / "report.html"
        path.write_text(report(build_answer(story), Clock(), title="logs", version="1", drawn_max=4000), encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1400, "height": 900}, **options})
        contexts.append(context)
        one = Opened(context.new_page())
        one.page.on("console", lambda message: one.trouble.append(f"console: {message.text}"))
        one.page.on("pageerror", lambda error: one.trouble.append(f"error: {error}"))
        one.page.on("dialog", lambda dialog: (one.trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        one.page.on("request", lambda request: request.url.startswith("file:") or one.trouble.append(f"request: {request.url}"))
        one.page.goto(path.as_uri() + fragment)
        one.page.wait_for_selector("html[data-ready=yes]", timeout=120_000)
        return one

    yield show
    for context in contexts:
        context.close()


def rows(page: Page) -> int:
    return page.locator("#table tbody tr[data-id]").count()


def test_it_opens_and_draws_without_a_word(opened: Any) -> None:
    one = opened(made.small_story())
    assert one.page.locator("#timeline .main-svg").count() > 0
    assert one.page.locator(".chart .plot-container").count() == 3
    assert rows(one.page) == 8
    assert one.trouble == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1400])
def test_nothing_is_wider_than_the_window(opened: Any, scheme: str, width: int) -> None:
    one = opened(made.small_story(), color_scheme=scheme, viewport={"width": width, "height": 800})
    assert one.page.evaluate("document.documentElement.scrollWidth") <= width
    assert one.trouble == []


def test_every_detail_opens_with_its_evidence(opened: Any) -> None:
    one = opened(made.small_story())
    for position in range(rows(one.page)):
        one.page.locator("#table button.open").nth(position).click()
    details = one.page.locator("tr.detail")
    assert details.count() == 8
    first = details.first.inner_text()
    assert "broker-2/server.log:120 (byte 21600)" in first
    assert "billing-a on 10.0.0.7 joined a group that had no members" in first
    one.page.locator("#table button.open").first.click()
    assert details.count() == 7
    assert one.trouble == []


def test_filters_find_and_the_address_keeps_them(opened: Any) -> None:
    one = opened(made.small_story())
    one.page.fill("#find", "10.0.0.5 worker-1")
    assert rows(one.page) == 6
    one.page.select_option("#by-group", "billing")
    assert rows(one.page) == 0
    one.page.fill("#find", "")
    assert rows(one.page) == 2
    one.page.check("#unexpected")
    assert rows(one.page) == 0
    one.page.uncheck("#unexpected")
    one.page.select_option("#by-cause", "new_group")
    assert rows(one.page) == 1
    assert one.page.evaluate("location.hash") == "#group=billing&cause=new_group"
    again = opened(made.small_story(), "#group=billing&cause=new_group")
    assert rows(again.page) == 1
    assert one.trouble == again.trouble == []


def test_a_link_leads_to_one_rebalance(opened: Any) -> None:
    identity = made.small_story().rebalances[3].rebalance_id
    one = opened(made.small_story(), f"#open={identity}")
    assert one.page.locator(f'tr[data-detail="{identity}"]').is_visible()
    assert one.trouble == []


def test_an_incident_shows_its_rebalances(opened: Any) -> None:
    one = opened(made.small_story())
    one.page.locator("button.show").first.click()
    assert rows(one.page) == 6
    one.page.click("#clear")
    assert rows(one.page) == 8
    assert one.trouble == []


def test_tables_sort_both_ways(opened: Any) -> None:
    one = opened(made.small_story())
    heading = one.page.locator('#table th[data-key="seconds"]')
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert "billing" in one.page.locator("#table tbody tr").first.inner_text()
    heading.locator("button").click()
    assert "3.1 s" in one.page.locator("#table tbody tr").first.inner_text()
    offenders = one.page.locator("#offenders table")
    offenders.locator("th button").nth(2).click()
    assert "orders-worker-1" in offenders.locator("tbody tr").first.inner_text()
    assert one.trouble == []


def test_the_keyboard_is_enough(opened: Any) -> None:
    one = opened(made.small_story())
    one.page.locator("#table button.open").first.focus()
    one.page.keyboard.press("Enter")
    assert one.page.locator("tr.detail").count() == 1
    assert one.page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    assert one.trouble == []


def test_colours_change_and_stay_readable(opened: Any) -> None:
    one = opened(made.small_story())
    names = []
    for _ in range(3):
        names.append(one.page.locator("#theme").inner_text())
        one.page.click("#theme")
    assert names == ["Colours: system", "Colours: light", "Colours: dark"]
    assert one.trouble == []


def test_downloads_hold_what_is_shown(opened: Any) -> None:
    story = made.small_story()
    story.rebalances[0].offenders = [made.person("=HYPERLINK(1)", first=True)]
    one = opened(story, "#group=orders")
    with one.page.expect_download() as csv:
        one.page.click("#csv")
    lines = Path(csv.value.path()).read_text(encoding="utf-8").splitlines()
    assert len(lines) == 7
    assert ",'=HYPERLINK(1) on 10.0.0.7," in lines[1]
    with one.page.expect_download() as as_json:
        one.page.click("#json")
    assert as_json.value.suggested_filename == "rebalances.json"
    assert one.trouble == []


def test_a_large_answer_is_shown_in_parts(opened: Any) -> None:
    one = opened(made.many(1000))
    assert rows(one.page) == 200
    one.page.click("#more")
    assert rows(one.page) == 400
    assert one.trouble == []


def test_an_empty_answer_opens(opened: Any) -> None:
    one = opened(made.Made())
    assert "No rebalance was found." in one.page.locator("#table").inner_text()
    assert one.trouble == []


def test_without_scripts_the_verdicts_can_be_read(opened: Any, browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(report(build_answer(made.small_story()), Clock(), title="logs", version="1", drawn_max=10), encoding="utf-8")
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(path.as_uri())
    shown = page.locator("body").inner_text()
    assert "exceeded its poll interval 6 times" in shown
    assert "need scripts, which are off" in shown


def test_paper_shows_the_table_and_the_pictures(opened: Any) -> None:
    one = opened(made.small_story(), color_scheme="dark")
    assert one.page.pdf().startswith(b"%PDF")
    width = "document.querySelector('#timeline .main-svg').getBoundingClientRect().width"
    before = one.page.evaluate(width)
    one.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    one.page.wait_for_function(f"{width} < 700")
    one.page.evaluate("dispatchEvent(new Event('afterprint'))")
    one.page.wait_for_function(f"{width} === {before}")
    assert one.trouble == []


def test_hostile_text_in_every_field_stays_text(opened: Any) -> None:
    """All payloads in one page: one group each, in every field that logs fill."""
    story = made.Made(inputs={"log_files": [], "totals": {}})
    for number, text in enumerate([*PAYLOADS, *CONTROL]):
        part = everywhere(text)
        part.rebalances[0].rebalance_id = f"id{number:04}"
        part.incidents[0].rebalance_ids = [f"id{number:04}"]
        story.inputs["log_files"] += part.inputs["log_files"]
        for key in (
            "rebalances",
            "timeline",
            "incidents",
            "outages",
            "coordinator_moves",
            "offsets_at_risk",
            "divergences",
            "unknown",
            "rejected",
        ):
            getattr(story, key).extend(getattr(part, key))
    one = opened(story)
    buttons = one.page.locator("#table button.open")
    for position in range(buttons.count()):
        buttons.nth(position).click()
    shown = one.page.evaluate("[...document.querySelectorAll('tr.detail pre')].map((node) => node.textContent)")
    assert set(PAYLOADS) <= set(shown)
    for text in ("</script>", "<img", "javascript:", "{{"):
        one.page.fill("#find", text)
    one.page.fill("#find", "")
    one.page.hover("#timeline .chart")
    forbidden = "iframe, object, embed, img, form:not(#filters), a:not([href^='#']):not(.modebar-btn)"
    elements = one.page.evaluate("(forbidden) => document.querySelectorAll(`main :is(${forbidden})`).length", forbidden)
    assert elements == 0
    assert one.trouble == []


def test_hover_boxes_show_names_and_obey_none(opened: Any) -> None:
    text = "<a href='https://example.com/'>x</a><b>bold</b>"
    one = opened(everywhere(text))
    one.page.evaluate(
        """() => {
            const holder = document.querySelector('[data-chart=timeline]');
            const curve = holder.data.findIndex((trace) => trace.mode === 'markers');
            Plotly.Fx.hover(holder, [{curveNumber: curve, pointNumber: 0}]);
        }"""
    )
    label = one.page.locator("#timeline .hoverlayer")
    label.locator("text").first.wait_for()
    assert "‹b›bold" in (label.text_content() or "")
    assert label.locator("a").count() == 0
    assert one.trouble == []
