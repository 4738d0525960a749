"""Draws pictures/*.png beside this file from the report of data_samples: `make pictures`. Needs Chromium."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HERE = Path(__file__).parent
REPORT = ("report", "data_samples", "--settings", "data_samples/settings.toml")
COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTH = 1180
BYTES_MAX = 250_000
"""The README is read over slow lines too."""

MINUTES = "#t=2026-11-21T09:07:45Z..2026-11-21T09:09:50Z"
SLOW = "#group=email-sender-j2&gen=2"


def top(page: Page, path: Path) -> None:
    """The headline numbers and the worst incidents."""
    page.screenshot(path=path, clip={"x": 0, "y": 0, "width": WIDTH, "height": 720})


def timeline(page: Page, path: Path) -> None:
    """Groups over time."""
    page.locator("#timeline").screenshot(path=path)


def rebalance(page: Page, path: Path) -> None:
    """One rebalance step by step, with its evidence."""
    # What sticks to the edges of the window would lie over the picture.
    page.add_style_tag(content=".filters, .scroll thead th { position: static !important; } #rebalances .scroll { max-height: none; }")
    page.wait_for_selector("tr.detail .fall .main-svg")
    # The story, the steps, and the first line of evidence.
    box = page.evaluate(
        "(() => { const [all, line] = ['.inside', 'ol.evidence li'].map((name) => document.querySelector(name).getBoundingClientRect());"
        " return { x: all.x + scrollX, y: all.y + scrollY, width: all.width, height: line.bottom - all.y + 4 }; })()"
    )
    page.screenshot(path=path, full_page=True, clip=box)


PICTURES: dict[str, tuple[str, Callable[[Page, Path], None]]] = {
    "incidents": ("", top),
    "timeline": (MINUTES, timeline),
    "rebalance": (SLOW, rebalance),
}


def draw(browser: Browser, report: Path, folder: Path) -> None:
    """All pictures in all themes."""
    for theme in THEMES:
        for name, (fragment, take) in PICTURES.items():
            page = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme=theme, locale="en-GB")
            page.goto(report.as_uri() + fragment)
            page.wait_for_selector("html[data-drawn=yes]")
            take(page, folder / f"report-{name}-{theme}.png")
            page.close()


def main() -> None:
    """Write the report, draw it, refuse what has grown too large."""
    command = next((found for name in COMMANDS if (found := shutil.which(name))), None)
    if command is None:
        raise SystemExit(f"no Chromium: none of {', '.join(COMMANDS)} is on the PATH")
    from playwright.sync_api import sync_playwright

    folder = HERE / "pictures"
    with tempfile.TemporaryDirectory() as made, sync_playwright() as playwright:
        report = Path(made) / "report.html"
        command_line = [str(Path(sys.executable).with_name("groupscope")), *REPORT, "--out", str(report), "--quiet"]
        subprocess.run(command_line, cwd=HERE.parent, check=True)  # noqa: S603 - our own command
        browser = playwright.chromium.launch(executable_path=command, args=["--no-sandbox"])
        draw(browser, report, folder)
        browser.close()
    large = [path.name for path in sorted(folder.glob("report-*.png")) if path.stat().st_size > BYTES_MAX]
    raise SystemExit(f"larger than {BYTES_MAX:,} bytes: {', '.join(large)}" if large else 0)


if __name__ == "__main__":
    main()
