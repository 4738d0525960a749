"""Hostile names in metrics and in the index of pages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser

import pytest

from pipelines.cli.report_folder import index_page
from pipelines.jobs.operations.metrics import RunMetrics, gauge, metrics_text
from tests.dashboards.hostile import CONTROL, PAYLOADS

TEXTS = [*PAYLOADS, *(text for text in CONTROL if text.isascii() or "\ud800" not in text)]
_SAMPLE = re.compile(r'([a-z_]+)(?:\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\S+)')
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"')


def unescaped(value: str) -> str:
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], value)


def test_metrics_have_one_sample_a_line_whatever_a_cluster_is_called() -> None:
    rebalances = gauge("groupscope_rebalances", "Rebalances.", [({"cluster": each, "cause": each}, 1.0) for each in TEXTS])
    text = metrics_text(RunMetrics(0, 1.0), [rebalances], None)
    lines = [line for line in text.split("\n")[:-1] if not line.startswith("#")]
    assert all(_SAMPLE.fullmatch(line) for line in lines)
    told = [dict(_LABEL.findall(line)) for line in lines if line.startswith("groupscope_rebalances")]
    assert [unescaped(each["cluster"]) for each in told] == TEXTS
    assert [unescaped(each["cause"]) for each in told] == TEXTS


@dataclass(slots=True)
class Told:
    started_at: None
    severity: str
    cluster: str
    incident_id: str
    headline: str


class Tags(HTMLParser):
    """Tags of a page with the names of their attributes, and links."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.links: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs)))
        self.links += [value for name, value in attrs if name in ("href", "src")]


def tags(name: str) -> Tags:
    parser = Tags()
    parser.feed(index_page([Told(None, "critical", name, "0a1b", name)]))
    return parser


@pytest.mark.parametrize("name", [*PAYLOADS, *CONTROL])
def test_the_index_of_pages_has_the_same_elements_whatever_a_cluster_is_called(name: str) -> None:
    found = tags(name)
    assert found.found == tags("plain").found
    assert found.links == ["incident-0a1b.html"]
