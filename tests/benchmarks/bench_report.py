"""How large a report is and how soon it can be read: `python -m tests.benchmarks.bench_report [--counts 100 1000 50000]`.

Takes the rebalances of `data_samples`, with their members, states and evidence, as often as it takes to have so many, each
time later, in other groups and with other member ids, so that texts repeat no more than those of real logs. Writes the page,
opens it from disk in Chromium, and prints its size, the size of all but plotly.js, the seconds until it can be read (tables
and the pictures in sight) and until all pictures are drawn, and the processor's share of the latter, which does not depend
on who else uses the machine. Ends with 1 where a page of up to 1,000 rebalances is larger or slower than people should bear.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from dashboards.answer.build import build_answer
from dashboards.page.page import plotly_source, report
from dashboards.wording.units import Clock
from pipelines.analysis.in_process import AnalysisResult, AnalyzeOptions, analyze

SAMPLES = Path(__file__).parents[2] / "data_samples"
COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
GROUPS = 240
"""Maximum number of groups, as in a busy cluster."""

APART_MICROSECONDS = 15 * 60 * 1_000_000
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
SMALL = 1000
BESIDE_PLOTLY_MAX, WHOLE_MAX = 3_000_000, 5_000_000
SECONDS_MAX = 2.0
DRAWN_MAX = 4000


@dataclass(frozen=True)
class Opened:
    """Seconds until a page is readable and until all is drawn.

    With the processor seconds of its thread for both.
    """

    ready: float
    drawn: float
    processor: float


def many(sample: AnalysisResult, count: int) -> AnalysisResult:
    """Repeat the sample until there are `count` rebalances."""
    rebalances = list(sample.rebalances)
    rounds = -(-count // len(rebalances))
    made = AnalysisResult(log_files=sample.log_files, unknown=sample.unknown)
    for number in range(rounds):
        again = changed(number)
        kept = rebalances[: count - number * len(rebalances)]
        ids = {row.rebalance_id for row in kept}
        made.rebalances.extend(map(again, kept))
        made.rebalance_members.extend(again(row) for row in sample.rebalance_members if row.rebalance_id in ids)
        for name in ("timeline", "coordinator_moves", "divergences"):
            getattr(made, name).extend(map(again, getattr(sample, name)))
        made.incidents += map(again, sample.incidents)
    return made


def changed(number: int) -> Callable[[Any], Any]:
    """Changes that make a row distinct: later, in another group, with other ids."""
    salt = str(number)

    def text(value: str) -> str:
        return UUID.sub(lambda found: uuid_of(found.group() + salt), value)

    def again(value: Any, name: str = "") -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{each.name: again(getattr(value, each.name), each.name) for each in fields(value)})
        if isinstance(value, list):
            return [again(item, name) for item in value]
        if isinstance(value, str):
            if name.endswith(("_id", "_ids")) and name not in ("member_id", "client_id", "instance_id", "advice_id"):
                return hashlib.sha256((value + salt).encode()).hexdigest()[:20]
            return f"{value}-{number % (GROUPS // 10)}" if name in ("group", "groups") else text(value)
        if isinstance(value, int) and name.endswith("_at"):
            return value + number * APART_MICROSECONDS
        return value + number * 70 if name == "line" else value + number * 9_000 if name == "byte_offset" else value

    return again


def uuid_of(text: str) -> str:
    digits = hashlib.sha256(text.encode()).hexdigest()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))


def pages(counts: list[int], folder: Path) -> Iterator[tuple[int, Path, float]]:
    """For each number of rebalances its page and the seconds to write it."""
    sample = analyze([str(SAMPLES / "kafka")], AnalyzeOptions())
    for count in counts:
        analysis = many(sample, count)
        begin = time.perf_counter()
        text = report(build_answer(analysis, for_page=True), Clock(), title="many", version="0", drawn_max=DRAWN_MAX)
        path = folder / f"report-{count}.html"
        path.write_text(text, encoding="utf-8")
        yield count, path, time.perf_counter() - begin


def opened(browser: Any, path: Path) -> Opened:
    """Open a page from disk in a new window."""
    page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=yes]", timeout=120_000)
    page.wait_for_selector("html[data-drawn=yes]", timeout=120_000)
    metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    ready, drawn = page.evaluate("['ready', 'drawn'].map((name) => performance.getEntriesByName(name)[0].startTime / 1000)")
    page.context.close()
    return Opened(ready, drawn, metrics["TaskDuration"])


def main() -> None:
    """Make the pages, open them, print the costs."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--counts", type=int, nargs="+", default=[100, 1000, 50_000])
    options.add_argument("--keep", help="write the pages to this folder and keep them")
    given = options.parse_args()
    command = next((found for name in COMMANDS if (found := shutil.which(name))), None)
    if command is None:
        raise SystemExit(f"no Chromium: none of {', '.join(COMMANDS)} is on the PATH")
    from playwright.sync_api import sync_playwright

    too_much = []
    plotly = len(plotly_source().text)
    with tempfile.TemporaryDirectory() as made, sync_playwright() as playwright:
        folder = Path(given.keep or made)
        folder.mkdir(parents=True, exist_ok=True)
        browser = playwright.chromium.launch(executable_path=command, args=["--no-sandbox"])
        for count, path, seconds in pages(given.counts, folder):
            size = path.stat().st_size
            best = min((opened(browser, path) for _ in range(3)), key=lambda one: one.ready)
            print(
                f"{count:,} rebalances: {size / 1e6:.2f} MB, {(size - plotly) / 1e6:.2f} MB beside plotly.js; written in {seconds:.1f} s; "
                f"to be read after {best.ready:.2f} s, all drawn after {best.drawn:.2f} s ({best.processor:.2f} s of the processor)",
                flush=True,
            )
            if count <= SMALL and (size - plotly > BESIDE_PLOTLY_MAX or size > WHOLE_MAX or best.ready > SECONDS_MAX):
                too_much.append(f"{count:,}")
        browser.close()
    raise SystemExit(f"too large or too slow: {', '.join(too_much)} rebalances" if too_much else 0)


if __name__ == "__main__":
    main()
