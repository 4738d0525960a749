"""Cut runs to samples with what is known of them: `python -m tests.lab.clients.samples WORK RUN SAMPLES [LIBRARY...]`.

What is expected comes from the driver's deeds and from the broker's own log, which no sample holds: never from what groupscope
says of it. What a library's log cannot tell is stated by hand, as `untold` in `libraries.yaml`.
"""

from __future__ import annotations

import getpass
import json
import platform
import re
import sys
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from tests.lab.clients.scenarios import LIBRARIES, STALL_SECONDS, broker_of

LINES_MAX = 100
BYTES_MAX = 12_288
SETTINGS = r"client\.id|group\.id|group\.instance\.id|session\.timeout\.ms|heartbeat\.interval\.ms|max\.poll\.interval\.ms"
LEFT_OUT = (rf"\t(?!(?:{SETTINGS}) = )[a-z0-9.]+ = ",)
"""Lines of no sample: most settings of a Java client."""
_PREPARING = re.compile(
    r"\[(\S+)\] .* Preparing to rebalance group (\S+) in state \S+ with old generation (\d+) (?:\(__consumer_offsets-\d+\) )?"
    r"\(reason: (.*?)(?:; client reason: .*)?\)\.?$"
)
_SETTLED = re.compile(r"Stabilized group (\S+) generation (\d+) with|Group (\S+) with generation (\d+) is now empty")
_ASKED = (
    (re.compile(r"Adding new member (\S+) with"), "member_join"),
    (re.compile(r"removing member (\S+) on heartbeat expiration"), "session_timeout"),
    (re.compile(r"explicit `LeaveGroup` request for \((\S+)\)"), "member_leave"),
    (re.compile(r"Removing member (\S+) on LeaveGroup"), "member_leave"),
    # No topic and no subscription changes here: a member that asks again gives partitions up.
    (re.compile(r"(?:Leader|Updating metadata for member) (\S+) (?:re-joining group )?during"), "cooperative_followup"),
)


def deeds_of(run: Path, library: str) -> list[dict[str, Any]]:
    """What the driver did, in order."""
    return [json.loads(line) for line in (run / library / "deeds.jsonl").read_text().splitlines()]


def rebalances(run: Path, library: str) -> Iterator[dict[str, Any]]:
    """Each rebalance of a library's group, as the broker logs it, with the deed behind it."""
    group = f"{library}-app"
    deeds = deeds_of(run, library)
    for line in (run / "broker.log").read_text(errors="replace").splitlines():
        found = _PREPARING.search(line)
        if found and found[2] == group:
            at, before = datetime.fromisoformat(found[1]), int(found[3])
            cause, member = _cause(found[4], before, at, deeds)
            yield {"at": at, "generation_before": before, "generation_after": before + 1, "cause": cause, "member": member}


def _cause(reason: str, before: int, at: datetime, deeds: list[dict[str, Any]]) -> tuple[str, str]:
    member_id, cause = next((found[1], cause) for pattern, cause in _ASKED if (found := pattern.search(reason)))
    client_id = re.sub(r"-[0-9a-f]{8}-[0-9a-f-]{27}$", "", member_id)
    if cause == "member_leave" and any(deed["member"] in client_id and _stalls(deed, at) for deed in deeds):
        cause = "poll_timeout"
    return ("new_group" if before == 0 else cause), client_id


def _stalls(deed: dict[str, Any], at: datetime) -> bool:
    began = deed["at"] / 1000
    return deed["deed"] == "stall" and began <= at.timestamp() < began + STALL_SECONDS


def cut_at(run: Path, library: str, left_out: re.Pattern[str]) -> dict[str, Any] | None:
    """The last deed before which all logs are small enough, or as told; none if all of them are."""
    if "until" in LIBRARIES[library]:
        return next(deed for deed in deeds_of(run, library) if deed["deed"] == LIBRARIES[library]["until"])
    logs = {log.stem: log.read_bytes() for log in (run / library).glob("*.log")}
    if all(_fits(text, left_out) for text in logs.values()):
        return None
    boundaries = [deed for deed in deeds_of(run, library) if deed["deed"] in ("start", "stall", "close", "kill")]
    fitting = [deed for deed in boundaries if all(_fits(logs[name][:size], left_out) for name, size in deed["sizes"].items())]
    return fitting[-1]


def _fits(text: bytes, left_out: re.Pattern[str]) -> bool:
    kept = left_out.sub("", text.decode("utf-8", "replace"))
    return kept.count("\n") <= LINES_MAX and len(kept.encode()) <= BYTES_MAX


def scrubbed(text: str, work: Path) -> str:
    """A log without names of this machine, its user and its folders."""
    for held, instead in ((str(work), "/app"), (sys.base_prefix, "/usr"), (str(Path.home()), "/home/app")):
        text = text.replace(held, instead)
    text = re.sub(rf"\b{re.escape(platform.node())}\b", "host", text)
    return re.sub(rf"\bby {re.escape(getpass.getuser())} in\b", "by app in", text)


def write(library: str, work: Path, run: Path, samples: Path) -> None:
    """Write the sample of one library."""
    told = LIBRARIES[library]
    left_out = re.compile("|".join(rf"^{each}.*\n" for each in (*LEFT_OUT, *told.get("leave_out", ()))), re.MULTILINE)
    cut = cut_at(run, library, left_out)
    folder = samples / library
    folder.mkdir(parents=True, exist_ok=True)
    for log in sorted(path for path in (run / library).glob("*.log") if path.stat().st_size):
        text = log.read_bytes()[: None if cut is None else cut["sizes"].get(log.stem, 0)].decode("utf-8", "replace")
        (folder / log.name).write_text(scrubbed(left_out.sub("", text), work), encoding="utf-8")
    deeds = [deed for deed in deeds_of(run, library) if cut is None or deed["at"] < cut["at"]]
    rows = [row for row in rebalances(run, library) if cut is None or row["at"].timestamp() * 1000 < cut["at"]]
    (folder / "expected.yaml").write_text(_expected(library, told, deeds, rows), encoding="utf-8")


def _expected(library: str, told: dict[str, Any], deeds: list[dict[str, Any]], rows: list[dict[str, Any]]) -> str:
    """What was done, and what of it must be found."""
    document = {
        "origin": f"own run of {_time(deeds[0]['at'])[:10]}, broker {broker_of(library)}",
        "group": f"{library}-app",
        "library": told["library"],
        **({"version": told["version"]} if "version" in told else {}),
        "untold": told.get("untold", []),
        "deeds": [f"{_time(deed['at'])} {deed['deed']} {deed['member']}" for deed in deeds],
        "rebalances": [_row(row, told.get("untold", ())) for row in rows],
    }
    return yaml.safe_dump(document, sort_keys=False, width=140)


def _row(row: dict[str, Any], untold: Collection[str]) -> dict[str, Any]:
    """A rebalance as it must be found; what cannot name a member names none."""
    member = None if "members" in untold else row["member"]
    return {**row, "at": row["at"].astimezone(UTC).isoformat(timespec="milliseconds"), "member": member}


def _time(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")


if __name__ == "__main__":
    for each in sys.argv[4:] or LIBRARIES:
        write(each, Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
