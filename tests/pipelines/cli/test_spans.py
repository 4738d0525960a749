"""Rebalances as OTLP spans: nested in time, with stable ids, the same from logs and from tables."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.pipelines.cli.conftest import POLL_TIMEOUT, Cli


def spans_of(text: str) -> list[dict[str, Any]]:
    return [span for resource in json.loads(text)["resourceSpans"] for scope in resource["scopeSpans"] for span in scope["spans"]]


def test_phases_lie_within_their_rebalance(cli: Cli) -> None:
    done = cli("spans", POLL_TIMEOUT)
    found = spans_of(done.out)
    wholes = {span["spanId"]: span for span in found if "parentSpanId" not in span}

    assert (done.code, done.err, len(wholes)) == (0, "", 4)
    for whole in wholes.values():
        phases = [span for span in found if span.get("parentSpanId") == whole["spanId"]]
        times = [(int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])) for span in phases]
        assert {span["traceId"] for span in phases} <= {whole["traceId"]}
        assert all(before[1] == after[0] for before, after in pairwise(times))
        if times:
            assert [times[0][0], times[-1][1]] == [int(whole["startTimeUnixNano"]), int(whole["endTimeUnixNano"])]


def test_ids_are_hexadecimal_and_unique(cli: Cli) -> None:
    found = spans_of(cli("spans", POLL_TIMEOUT).out)

    assert all(re.fullmatch("[0-9a-f]{32}", span["traceId"]) and re.fullmatch("[0-9a-f]{16}", span["spanId"]) for span in found)
    assert len({span["spanId"] for span in found}) == len(found)


def test_the_tables_give_the_same_spans_as_the_logs(cli: Cli, sample_warehouse: Path) -> None:
    assert cli("spans", POLL_TIMEOUT).out == cli("spans", "--warehouse", sample_warehouse).out


def test_a_span_tells_cause_and_members(cli: Cli) -> None:
    [span] = spans_of(cli("spans", POLL_TIMEOUT, "--cause", "poll_timeout").out)[:1]
    told = {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}

    assert span["name"] == "rebalance poll_timeout"
    assert told["groupscope.cause"] == "poll_timeout"
    assert told["groupscope.offenders"] == {"values": [{"stringValue": "shipping-worker-3"}]}
