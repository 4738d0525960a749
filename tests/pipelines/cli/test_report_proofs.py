"""Which rebalances of a report have a proof, and when logs are not read again."""

from __future__ import annotations

import io
import json
import re
import sys
import zlib
from base64 import b64decode
from pathlib import Path

import pytest

from pipelines.cli.answers import proof
from tests.pipelines.cli.conftest import POLL_TIMEOUT, ROOT, Cli

CHUNK = re.compile(r'<script type="text/plain" class="chunk">([^<]*)</script>')
PROOF = 7
"""Place of the proof among the details of a rebalance."""


def proofs(page: Path) -> list[list[list[str]]]:
    """Proofs of a page."""
    chunks = [json.loads(zlib.decompress(b64decode(text))) for text in CHUNK.findall(page.read_text(encoding="utf-8"))]
    return [row[PROOF] for chunk in chunks for row in chunk["rows"] if len(row) > PROOF]


def test_the_longest_rebalance_of_an_incident_has_one(cli: Cli, tmp_path: Path) -> None:
    cli("report", POLL_TIMEOUT, "--out", tmp_path / "page.html")
    [found] = proofs(tmp_path / "page.html")

    assert found[0] == ["said", "The model of the coordinator (Kafka 1.1.1, guessed from the wording) was given:"]
    assert ["heading", "Causes"] in found
    assert any(kind == "line" and f"{POLL_TIMEOUT}/broker-1/server.log:" in text for kind, text in found)


def test_names_stay_hidden_in_it(cli: Cli, tmp_path: Path) -> None:
    cli("report", POLL_TIMEOUT, "--redact", "all", "--out", tmp_path / "page.html")
    [found] = proofs(tmp_path / "page.html")

    assert "shipping" not in json.dumps(found)


def test_a_pipe_is_read_once(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.FileIO(ROOT / POLL_TIMEOUT / "broker-1" / "server.log")))
    done = cli("report", "-", "--out", tmp_path / "page.html")

    assert (done.code, proofs(tmp_path / "page.html")) == (0, [])


def test_large_logs_are_not_read_again(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "PROVED_BYTES_MAX", 1000)
    cli("report", POLL_TIMEOUT, "--out", tmp_path / "page.html")

    assert proofs(tmp_path / "page.html") == []
