"""The report in a real browser, opened from disk as people open it."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from dashboards.figures.charts import charts
from dashboards.wording.units import Clock
from tests.dashboards import made
from tests.dashboards.figures.test_figures import answer_of
from tests.dashboards.hostile import CONTROL, PAYLOADS
from tests.dashboards.page.test_page import all_of, everywhere, page_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
WHAT_IFS = (made.what_if("Static", 200.0), made.what_if("Longer polls", -50.0))
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


def opened_in(browser: Browser, path: Path, fragment: str = "", *, drawn: bool = False, **options: Any) -> Opened:
    """Open the page from disk in a window of its own."""
    one = Opened(browser.new_context(**{"viewport": {"width": 1400, "height": 900}, **options}).new_page())
    one.page.on("console", lambda message: one.trouble.append(f"console: {message.text}"))
    one.page.on("pageerror", lambda error: one.trouble.append(f"error: {error}"))
    one.page.on("dialog", lambda dialog: (one.trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    one.page.on("request", lambda request: request.url.startswith("file:") or one.trouble.append(f"request: {request.url}"))
    one.page.goto(path.as_uri() + fragment)
    one.page.wait_for_selector("html[data-ready=yes]", timeout=120_000)
    if drawn:
        one.page.wait_for_selector("html[data-drawn=yes]", timeout=120_000)
    return one


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Any]:
    windows: list[Opened] = []

    def show(story: made.Made, fragment: str = "", proofs: Any = None, **options: Any) -> Opened:
        path = tmp_path / "report.html"
        path.write_text(page_of(story, proofs=proofs or {}), encoding="utf-8")
        windows.append(opened_in(browser, path, fragment, **options))
        return windows[-1]

    yield show
    for window in windows:
        window.page.context.close()


@pytest.fixture(scope="module")
def story_page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page_of(made.small_story(), what_ifs=WHAT_IFS), encoding="utf-8")
    one = opened_in(browser, path, drawn=True, permissions=["clipboard-read", "clipboard-write"])
    yield one
    one.page.context.close()


@pytest.fixture
def small(story_page: Opened) -> Opened:
    """The small story as it looks when opened. Its window stays open, since opening takes longest."""
    story_page.trouble.clear()
    follow(story_page.page, "#tz=UTC")
    return story_page


def follow(page: Page, fragment: str) -> None:
    """Follow a link within the page, or to it."""
    page.evaluate("(fragment) => { location.hash = fragment; }", fragment)
    settle(page)


def rows(page: Page) -> int:
    return page.locator("#table tbody tr[data-id]").count()


def groups_drawn(page: Page, chart: str) -> list[str]:
    """The lanes of a picture, from top to bottom."""
    lanes: list[str] = page.evaluate(
        "(name) => document.querySelector(`[data-chart=${name}]`).layout.yaxis.categoryarray.toReversed()", chart
    )
    return lanes


def settle(page: Page) -> None:
    """Filters that follow typing wait until it rests, and pictures follow them."""
    page.evaluate("() => new Promise((then) => setTimeout(then, 200))")
    page.wait_for_selector("html[data-drawn=yes]")


def test_it_opens_and_draws_without_a_word(small: Opened) -> None:
    one = small
    names = one.page.evaluate("[...document.querySelectorAll('.chart.js-plotly-plot')].map((node) => node.dataset.chart)")
    assert names == [chart.name for chart in charts(replace(answer_of(made.small_story()), what_ifs=WHAT_IFS), 4000)]
    assert rows(one.page) == 8
    assert one.trouble == []


def test_queues_of_rocketmq_are_drawn(opened: Any) -> None:
    one = opened(made.queue_story(), drawn=True)
    assert groups_drawn(one.page, "queue-lanes")[0] == "broker-a:3 · Orders"
    assert one.trouble == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(small: Opened, scheme: Literal["light", "dark"]) -> None:
    from axe_playwright_python.sync_playwright import Axe

    small.page.emulate_media(color_scheme=scheme)
    for place in (0, 1):
        small.page.locator("#table button.open").nth(place).click()
    small.page.wait_for_selector(".fall.js-plotly-plot")
    found = Axe().run(small.page).response["violations"]
    small.page.emulate_media(color_scheme="light")
    assert [(each["id"], [node["target"] for node in each["nodes"]]) for each in found if each["impact"] in ("serious", "critical")] == []
    assert small.trouble == []


@pytest.mark.parametrize("width", [380, 800, 1400])
def test_nothing_is_wider_than_the_window(small: Opened, width: int) -> None:
    small.page.set_viewport_size({"width": width, "height": 900})
    follow(small.page, "#unplanned=1")
    name = small.page.evaluate("document.querySelector('#configuration option').text")
    rename = "(text) => { document.querySelector('#configuration option').text = text; }"
    small.page.evaluate(rename, "Static membership, sessions of 45 s and the CooperativeStickyAssignor " * 2)
    wide = small.page.evaluate("document.documentElement.scrollWidth")
    small.page.evaluate(rename, name)
    small.page.set_viewport_size({"width": 1400, "height": 900})
    assert wide <= width
    assert small.trouble == []


def test_every_detail_opens_with_its_steps_and_evidence(small: Opened) -> None:
    one = small
    for position in range(rows(one.page)):
        one.page.locator("#table button.open").nth(position).click()
    one.page.wait_for_function("() => document.querySelectorAll('.fall.js-plotly-plot').length === 8")
    details = one.page.locator("tr.detail")
    first = details.first.inner_text()
    assert "broker-2/server.log:120 (byte 21600)" in first
    assert "billing-a on 10.0.0.7 joined a group that had no members" in first
    steps = details.nth(1).locator(".fall").evaluate("(node) => node.layout.yaxis.categoryarray.toReversed()")
    assert steps == [
        "Trigger",
        "orders-worker-3 · set it off",
        "orders-worker-1 · held up",
        "orders-worker-2",
        "orders-worker-4",
        "Waiting for members",
        "Leader's assignment",
        "Stable",
    ]
    bars = details.nth(1).locator(".fall").evaluate("(node) => node.data[0].y.map((name, i) => [name, node.data[0].x[i]])")
    assert bars == [
        ["orders-worker-1 · held up", 38],
        ["orders-worker-2", 0.4],
        ["orders-worker-4", 38],
        ["Waiting for members", 38],
        ["Leader's assignment", 0.5],
    ]
    assert details.nth(1).locator("pre mark.group").first.inner_text() == "orders"
    assert details.nth(1).locator("pre mark.offender").first.inner_text() == "orders-worker-3-5f0c1a"
    one.page.locator("#table button.open").first.click()
    assert details.count() == 7
    assert one.trouble == []


def test_evidence_is_copied_with_its_place(small: Opened) -> None:
    small.page.locator("#table button.open").first.click()
    small.page.locator("tr.detail ol.evidence button").first.click()
    small.page.wait_for_function("() => document.querySelector('ol.evidence button').textContent === 'copied'")
    field = "(() => { const field = document.body.appendChild(document.createElement('textarea')); field.id = 'pasted'; field.focus(); })()"
    small.page.evaluate(field)
    small.page.keyboard.press("Control+V")
    copied = small.page.input_value("#pasted")
    small.page.evaluate("document.getElementById('pasted').remove()")
    assert copied.startswith(
        "broker-2/server.log:120 (byte 21600)\n[2026-03-01 10:00:05,123] INFO [GroupCoordinator 2]: Member billing-worker-3"
    )
    assert small.trouble == []


def test_each_filter_finds_and_the_address_keeps_it(small: Opened) -> None:
    one = small
    one.page.fill("#find", "10.0.0.5 worker-1")
    settle(one.page)
    assert rows(one.page) == 6
    one.page.select_option("#by-group", "billing")
    assert rows(one.page) == 0
    one.page.fill("#find", "")
    settle(one.page)
    assert rows(one.page) == 2
    one.page.check("#unplanned")
    assert rows(one.page) == 0
    one.page.uncheck("#unplanned")
    one.page.select_option("#by-cause", label="New group")
    assert rows(one.page) == 1
    assert one.page.evaluate("location.hash") == "#group=billing&cause=kafka%2Fnew_group"
    one.page.click("#reset")
    assert rows(one.page) == 8
    one.page.fill("#by-client", "worker-3")
    settle(one.page)
    assert rows(one.page) == 6
    assert one.page.evaluate("location.hash") == "#client=worker-3"
    assert one.trouble == []


def test_a_stretch_of_time_is_chosen_in_the_zone_shown(small: Opened) -> None:
    one = small
    one.page.select_option("#zone", "Europe/Berlin")
    one.page.fill("#from", "2026-03-01T11:03:00")
    one.page.fill("#to", "2026-03-01T11:05:00")
    one.page.locator("#to").blur()
    assert rows(one.page) == 2
    assert (
        one.page.evaluate("decodeURIComponent(location.hash)") == "#t=2026-03-01T10:03:00.000Z..2026-03-01T10:05:00.000Z&tz=Europe/Berlin"
    )
    assert one.trouble == []


def test_pictures_and_other_tables_follow_the_filters(small: Opened) -> None:
    one = small
    assert groups_drawn(one.page, "timeline") == ["broker 3 down", "no leader: orders-4", "orders", "billing"]
    one.page.select_option("#by-group", "billing")
    settle(one.page)
    for chart, lanes in (
        ("timeline", ["broker 3 down", "no leader: orders-4", "billing"]),
        ("heat", ["billing"]),
        ("members", ["billing"]),
    ):
        assert groups_drawn(one.page, chart) == lanes
    assert one.page.locator("[data-grid=offenders] tbody tr").count() == 2
    one.page.select_option("#by-group", "")
    one.page.select_option("#by-cause", label="New group")
    settle(one.page)
    assert one.page.evaluate("document.querySelector('[data-chart=heat]').data[0].z.flat().reduce((sum, one) => sum + one, 0)") == 1
    assert [label.split(" ")[1] for label in groups_drawn(one.page, "phases")] == ["billing"]
    assert one.trouble == []


def test_to_zoom_into_a_picture_is_to_choose_a_stretch_of_time(small: Opened) -> None:
    one = small
    one.page.evaluate(
        "Plotly.relayout(document.querySelector('[data-chart=timeline]'), "
        "{ 'xaxis.range[0]': '2026-03-01 10:02:30', 'xaxis.range[1]': '2026-03-01 10:03:00' })"
    )
    settle(one.page)
    assert rows(one.page) == 1
    assert one.page.input_value("#from") == "2026-03-01T10:02:30"
    assert one.page.inner_text("#passing") == "1 of 8 rebalances"
    one.page.evaluate("Plotly.relayout(document.querySelector('[data-chart=timeline]'), { 'xaxis.autorange': true })")
    settle(one.page)
    assert rows(one.page) == 8
    assert one.trouble == []


def test_the_time_axes_of_all_pictures_move_together(small: Opened) -> None:
    ranges = "() => Object.fromEntries([...document.querySelectorAll('.js-plotly-plot')].filter((each) => !each.hidden)" + (
        ".flatMap((each) => ['xaxis', 'xaxis2'].filter((axis) => each.layout[axis] && each.layout[axis].type === 'date')"
        ".map((axis) => [`${each.dataset.chart} ${axis}`, each.layout[axis].range.map((at) => new Date(at).toISOString())])))"
    )
    chosen = {"from": "2026-03-01 10:01:30", "to": "2026-03-01 10:03:00"}
    for chart in ("timeline", "heat"):
        small.page.evaluate(
            "([chart, { from, to }]) => Plotly.relayout(document.querySelector(`[data-chart=${chart}]`), "
            "{ 'xaxis.range[0]': from, 'xaxis.range[1]': to })",
            [chart, chosen],
        )
        settle(small.page)
        found = small.page.evaluate(ranges)
        assert len(found) > 3
        assert {tuple(each) for each in found.values()} == {("2026-03-01T10:01:30.000Z", "2026-03-01T10:03:00.000Z")}
        follow(small.page, "#tz=UTC")
    assert small.trouble == []


def test_links_restore_the_view(small: Opened) -> None:
    links = {
        "#group=billing&cause=kafka/new_group": 1,
        "#group=orders&t=2026-03-01T10:03:00Z..2026-03-01T10:05:00Z": 2,
        "#t=2026-03-01T10:00:00Z": 4,
        "#client=worker-3&unplanned=1": 6,
        "#incident=1": 6,
        "#find=nothing+like+it": 0,
        "#tz=Mars/Olympus": 8,
        "#incident=99&t=yesterday": 0,
    }
    counts = {}
    for link in links:
        follow(small.page, link)
        counts[link] = rows(small.page)
    assert counts == links
    assert small.trouble == []


def test_a_page_opens_where_its_link_says(opened: Any) -> None:
    identity = made.small_story().rebalances[3].rebalance_id
    one = opened(made.small_story(), f"#group=orders&t=2026-03-01T10:03:00Z..2026-03-01T10:09:00Z&tz=Asia/Tokyo&open={identity}")
    assert rows(one.page) == 4
    assert one.page.locator(f'tr[data-detail="{identity}"]').is_visible()
    assert one.page.input_value("#from").startswith("2026-03-01T19:03")
    assert one.trouble == []


def test_a_link_leads_to_one_rebalance(small: Opened) -> None:
    one = small
    identity = made.small_story().rebalances[3].rebalance_id
    follow(one.page, f"#open={identity}")
    assert one.page.locator(f'tr[data-detail="{identity}"]').is_visible()
    follow(one.page, "#group=billing&gen=1")
    one.page.wait_for_selector("tr.detail >> text=joined a group that had no members")
    assert rows(one.page) == 2
    assert one.trouble == []


def test_times_are_told_in_any_zone(small: Opened) -> None:
    one = small
    one.page.locator("#table button.open").first.click()
    assert "2026-03-01 10:00:30.000 UTC: billing-a" in one.page.locator("tr.detail").inner_text()
    one.page.select_option("#zone", "Asia/Tokyo")
    one.page.wait_for_selector("tr.detail >> text=2026-03-01 19:00:30.000")
    shown = one.page.locator("body").inner_text()
    assert "10:00:30" not in shown
    assert "START (ASIA/TOKYO)" in shown.upper()
    assert "2026-03-01 19:00:00 to 19:11:40" in one.page.locator(".head").inner_text()
    settle(one.page)
    holder = "document.querySelector('[data-chart=timeline]')"
    assert (
        one.page.evaluate(f"new Date({holder}.data.find((trace) => trace.name === 'Members failed').base[0]).toISOString()")
        == "2026-03-01T19:01:00.000Z"
    )
    assert one.page.evaluate(f"{holder}.layout.xaxis.title.text") == "time (Asia/Tokyo)"
    assert one.page.evaluate("decodeURIComponent(location.hash)").startswith("#tz=Asia/Tokyo")
    assert one.trouble == []


def test_an_incident_shows_its_rebalances(small: Opened) -> None:
    one = small
    one.page.locator("button.show").first.click()
    assert rows(one.page) == 6
    assert one.page.evaluate("location.hash") == "#incident=1"
    one.page.click("#reset")
    assert rows(one.page) == 8
    assert one.trouble == []


def test_tables_sort_both_ways(small: Opened) -> None:
    one = small
    heading = one.page.locator('#table th[data-key="seconds"]')
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert "billing" in one.page.locator("#table tbody tr").first.inner_text()
    heading.locator("button").click()
    assert "3.1 s" in one.page.locator("#table tbody tr").first.inner_text()
    offenders = one.page.locator("#offenders table")
    offenders.locator("th button").nth(3).click()
    assert "orders-worker-1" in offenders.locator("tbody tr").first.inner_text()
    assert one.trouble == []


def test_the_keyboard_is_enough(small: Opened) -> None:
    one = small
    one.page.locator("#table button.open").first.focus()
    one.page.keyboard.press("Enter")
    assert one.page.locator("tr.detail").count() == 1
    assert one.page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    one.page.locator("#i2 summary").focus()
    one.page.keyboard.press("Enter")
    assert one.page.locator("#i2").get_attribute("open") is None
    assert one.trouble == []


def test_colours_change_and_stay_readable(small: Opened) -> None:
    one = small
    names = []
    for _ in range(3):
        names.append(one.page.locator("#theme").inner_text())
        one.page.click("#theme")
    assert names == ["Colours: system", "Colours: light", "Colours: dark"]
    assert one.trouble == []


def downloaded(page: Page, button: Any) -> tuple[str, str]:
    with page.expect_download() as download:
        button.click()
    return download.value.suggested_filename, Path(download.value.path()).read_text(encoding="utf-8")


def test_downloads_hold_what_is_shown(opened: Any) -> None:
    story = made.small_story()
    story.rebalances[0].offenders = [made.person("=HYPERLINK(1)", first=True)]
    one = opened(story, "#group=orders")
    name, text = downloaded(one.page, one.page.locator("#csv"))
    lines = list(csv.DictReader(io.StringIO(text)))
    assert (name, len(lines)) == ("rebalances.csv", 6)
    assert lines[0]["offenders"] == "'=HYPERLINK(1) on 10.0.0.7"
    assert lines[0]["started_at"] == "2026-03-01T10:01:00.000000Z"
    name, text = downloaded(one.page, one.page.locator("#json"))
    assert (name, [row["group"] for row in json.loads(text)]) == ("rebalances.json", ["orders"] * 6)
    name, text = downloaded(one.page, one.page.locator("#offenders .tools button").nth(1))
    assert name == "offenders.json"
    assert {row["group"] for row in json.loads(text)} == {"orders"}
    assert one.trouble == []


def test_a_large_answer_is_shown_in_parts_and_none_is_lost(opened: Any) -> None:
    one = opened(made.many(1000))
    assert rows(one.page) == 100
    one.page.locator("#table").evaluate("(table) => { table.parentElement.scrollTop = table.parentElement.scrollHeight; }")
    one.page.locator("#rebalances").scroll_into_view_if_needed()
    one.page.wait_for_function("() => document.querySelectorAll('#table tbody tr[data-id]').length >= 200")
    assert len(json.loads(downloaded(one.page, one.page.locator("#json"))[1])) == 1000
    one.page.fill("#find", f"{777:08x}")
    settle(one.page)
    one.page.locator("#table button.open").click()
    one.page.wait_for_selector("tr.detail ol.evidence")
    assert one.trouble == []


def test_many_rebalances_are_strips_until_the_reader_zooms_in(opened: Any) -> None:
    one = opened(made.many(2000), drawn=True)
    names = "document.querySelector('[data-chart=timeline]').data.map((trace) => trace.name)"
    assert one.page.evaluate("document.querySelector('[data-chart]').dataset.chart") == "heat"
    strips = [name for name in one.page.evaluate(names) if name.startswith("Rebalances, darker")]
    strip = "document.querySelector('[data-chart=timeline]').data.find((trace) => trace.name.startsWith('Rebalances, darker'))"
    counted = f"{strip}.text.reduce((sum, one) => sum + one, 0)"
    assert len(strips) == 1
    assert one.page.evaluate(counted) == 2000
    first = min(row.started_at for row in made.many(2000).rebalances)
    last = max(row.started_at for row in made.many(2000).rebalances)
    stretch = [Clock().stamp(at) for at in (first, first + (last - first) // 10)]
    one.page.evaluate(
        "([from, to]) => Plotly.relayout(document.querySelector('[data-chart=timeline]'), "
        "{ 'xaxis.range[0]': from, 'xaxis.range[1]': to })",
        stretch,
    )
    settle(one.page)
    assert not [name for name in one.page.evaluate(names) if name.startswith("Rebalances, darker")]
    assert one.trouble == []


def test_an_empty_answer_opens(opened: Any) -> None:
    one = opened(made.Made())
    assert "No rebalance was found." in one.page.locator("#table").inner_text()
    assert one.trouble == []


def test_scripts_tell_the_times_of_an_open_incident_as_the_page_does(opened: Any, browser: Browser) -> None:
    story = made.small_story()
    story.incidents[0].ended_at = None
    one = opened(story)
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(one.page.url.partition("#")[0])
    told = plain.locator(".when").all_text_contents()
    assert one.page.locator(".when").all_text_contents() == told
    assert any("still open" in each for each in told)
    assert not any("unknown times" in each for each in told)


def test_without_scripts_the_verdicts_can_be_read(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page_of(made.small_story()), encoding="utf-8")
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(path.as_uri())
    shown = page.locator("body").inner_text()
    for text in ("exceeded its poll interval 6 times", "need scripts, which are off", "2026-03-01 10:01:40.000", "orders-worker-1"):
        assert text in shown


def test_paper_shows_the_table_and_the_pictures(opened: Any) -> None:
    one = opened(made.small_story(), drawn=True, color_scheme="dark")
    assert one.page.pdf().startswith(b"%PDF")
    width = "document.querySelector('#timeline .main-svg').getBoundingClientRect().width"
    before = one.page.evaluate(width)
    one.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    one.page.wait_for_function(f"() => {width} < 700")
    assert one.page.locator("details:not([open])").count() == 0
    one.page.evaluate("dispatchEvent(new Event('afterprint'))")
    one.page.wait_for_function(f"() => {width} === {before}")
    assert one.trouble == []


def test_hostile_text_in_every_field_stays_text(opened: Any) -> None:
    """All payloads in one page: one group each, in every field that logs fill."""
    one = opened(all_of([*PAYLOADS, *CONTROL]), drawn=True)
    one.page.evaluate("document.querySelectorAll('#table button.open').forEach((button) => button.click())")
    one.page.wait_for_function(
        "(count) => document.querySelectorAll('.fall.js-plotly-plot').length === count", arg=len(PAYLOADS) + len(CONTROL)
    )
    shown = one.page.evaluate("[...document.querySelectorAll('tr.detail pre')].map((node) => node.textContent)")
    assert set(PAYLOADS) <= set(shown)
    for text in ("</script>", "<img", "javascript:", "{{"):
        one.page.fill("#find", text)
    one.page.fill("#find", "")
    one.page.fill("#by-client", "<script>")
    settle(one.page)
    one.page.select_option("#by-group", "__proto__")
    one.page.hover("#timeline .chart")
    forbidden = "iframe, object, embed, img, form:not(#filters), a:not([href^='#']):not(.modebar-btn)"
    elements = one.page.evaluate("(forbidden) => document.querySelectorAll(`main :is(${forbidden})`).length", forbidden)
    assert elements == 0
    assert one.trouble == []


@pytest.mark.parametrize("chart", ["timeline", "queue-lanes"])
def test_hover_boxes_show_names_and_obey_none(opened: Any, chart: str) -> None:
    text = "<a href='https://example.com/'>x</a><b>bold</b>"
    one = opened(everywhere(text), drawn=True)
    one.page.evaluate(
        """(name) => {
            const holder = document.querySelector(`[data-chart=${name}]`);
            holder.scrollIntoView();
            const found = holder.data.findIndex((trace) => trace.mode === "markers");
            Plotly.Fx.hover(holder, [{curveNumber: Math.max(found, 0), pointNumber: 0}]);
        }""",
        chart,
    )
    label = one.page.locator(f"#{chart} .hoverlayer")
    label.locator("text").first.wait_for()
    assert "‹/a›" in (label.text_content() or "")
    assert label.locator("a").count() == 0
    assert one.trouble == []


def shown_incidents(page: Page) -> list[str]:
    found: list[str] = page.evaluate("[...document.querySelectorAll('.incident[data-incidents]:not([hidden])')].map((node) => node.id)")
    return found


def tile(page: Page, name: str) -> str:
    return page.locator(f"[data-tile={name}] .value").inner_text()


def test_filters_reach_headline_numbers_and_incidents(small: Opened) -> None:
    assert (shown_incidents(small.page), tile(small.page, "rebalances"), tile(small.page, "attention")) == (["i1", "i2"], "8", "2")
    small.page.select_option("#by-group", "billing")
    settle(small.page)
    assert (shown_incidents(small.page), tile(small.page, "rebalances"), tile(small.page, "attention")) == (["i2"], "2", "1")
    assert tile(small.page, "stopped") == "3 min 32 s"
    small.page.click("#reset")
    settle(small.page)
    assert (shown_incidents(small.page), tile(small.page, "stopped")) == (["i1", "i2"], "7 min 23 s")
    assert small.trouble == []


def test_the_menu_leaves_filters_in_the_address(small: Opened) -> None:
    small.page.select_option("#by-group", "billing")
    settle(small.page)
    small.page.click("nav a[href='#offenders']")
    assert "group=billing" in small.page.evaluate("location.hash")
    assert small.page.evaluate("document.activeElement.id") == "offenders"
    assert rows(small.page) == 2


def test_a_button_shows_everything_around_an_incident(small: Opened) -> None:
    small.page.evaluate("document.getElementById('i2').open = true")  # an earlier test may have folded it
    small.page.locator("#i2 button.around").click()
    settle(small.page)
    assert "t=2026-03-01T10%3A01%3A40" in small.page.evaluate("location.hash")
    assert small.page.locator("#table tbody").inner_text().count("orders") > 0


def test_incidents_that_recur_are_one_card_with_all_of_them_inside(opened: Any) -> None:
    story = made.small_story()
    story.incidents.append(
        made.incident("orders", "critical", story.rebalances[:2], made.FLAPPING, incident_id="again", stopped_seconds=1.0)
    )
    one = opened(story, "#tz=UTC")
    card = one.page.locator("#i1")
    assert "2 times" in card.locator("> summary").inner_text()
    card.locator(".further > summary").click()
    card.locator(".further button.show").last.click()
    settle(one.page)
    assert rows(one.page) == 2
    assert one.trouble == []


def test_a_chosen_configuration_stands_beside_what_was(small: Opened) -> None:
    drawn = """() => Object.fromEntries(document.querySelector("[data-chart=whatif-lanes]").data
        .filter((trace) => trace.name.startsWith("Rebalance")).map((trace) => [[...new Set(trace.y)].join(), trace.base.length]))"""
    counts = {}
    for title in ("Static", "Longer polls"):
        small.page.select_option("#configuration", label=title)
        settle(small.page)
        counts[title] = small.page.evaluate(drawn)
    small.page.select_option("#configuration", label="Static")
    assert counts == {
        "Static": {"orders, as it was": 6, "orders, as it would have been": 2},
        "Longer polls": {"orders, as it was": 6, "orders, as it would have been": 4},
    }
    assert groups_drawn(small.page, "whatif-lanes") == ["orders, as it was", "orders, as it would have been"]
    small.page.select_option("#by-group", "billing")
    settle(small.page)
    assert not small.page.locator("[data-chart=whatif-lanes]").is_visible()
    assert small.trouble == []


def test_a_phone_shows_the_first_incident_at_once(opened: Any) -> None:
    one = opened(made.small_story(), viewport={"width": 390, "height": 844})
    top = one.page.evaluate("document.querySelector('.incident h3').getBoundingClientRect()")
    assert top["bottom"] <= 844


def test_a_slider_below_the_lanes_shows_the_states_at_a_moment(opened: Any) -> None:
    one = opened(made.small_story(), "#tz=UTC&group=orders&at=2026-03-01T10:00:05Z")
    shown = one.page.locator("#moment-states li")
    assert shown.count() == 1
    first = shown.inner_text()
    assert first.startswith("orders: ")
    one.page.click("#moment-after")
    assert shown.inner_text() != first
    address = one.page.evaluate("location.hash")
    assert "at=2026-03-01" in address
    one.page.evaluate("document.getElementById('moment-at').value = 0")
    one.page.locator("#moment-at").dispatch_event("input")
    assert shown.inner_text() == "orders: not known yet"
    one.page.click("#moment-after")
    one.page.click("#moment-before")
    one.page.select_option("#by-group", "")
    settle(one.page)
    assert shown.count() > 1
    assert one.trouble == []


def test_one_incident_is_printed_on_one_page(opened: Any) -> None:
    one = opened(made.small_story(), "#tz=UTC")
    one.page.evaluate("window.print = () => dispatchEvent(new Event('beforeprint'))")
    one.page.locator("#i1 button.print").click()
    paper = one.page.pdf(format="A4")
    assert paper.count(b"/Type /Page\n") == 1
    one.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert one.page.evaluate("document.documentElement.dataset.print") is None
    assert one.trouble == []


def test_the_proof_of_a_verdict_stands_with_its_rebalance(opened: Any) -> None:
    story = made.small_story()
    said = (("said", "The model was given:"), ("heading", "Causes"), ("step", "poll timeout (93 %): fits"), ("line", PAYLOADS[0]))
    one = opened(story, f"#tz=UTC&open={story.rebalances[0].rebalance_id}", proofs={story.rebalances[0].rebalance_id: said})
    proof = one.page.locator("details", has_text="Proof: the coordinator")
    proof.locator("summary").click()
    assert "poll timeout (93 %): fits" in proof.inner_text()
    assert proof.locator("h4").text_content() == "Causes"
    assert one.trouble == []
