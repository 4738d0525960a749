"""Measure how right the analysis is on labelled logs, and write docs/accuracy.md: `python -m tests.corpus.accuracy CORPUS SCORER`.

CORPUS holds one folder per Kafka version and mode, SCORER compares an analysis with the truth beside the logs. Each folder
is scored with each selection of its files that `WITNESSES` names. Classic groups alone are scored where only members' logs are read.
Then random scenarios are simulated by each version and scored in the same way.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests import hidden_witnesses, roundtrip
from tests.hidden_witnesses import Result
from tests.roundtrip import Score

PAGE = Path(__file__).resolve().parents[2] / "docs" / "accuracy.md"

WITNESSES = {
    "all": "all files: broker logs, request logs at DEBUG or TRACE, client logs at DEBUG",
    "info": "default levels: broker logs, client logs at INFO, no request log",
    "server": "the broker's own files alone",
    "partial": "half of the files: one broker's folder is missing",
    "client": "client logs alone, at DEBUG",
    "client-info": "client logs alone, at INFO",
    "request": "request logs alone",
}
UNKNOWABLE = {
    "server": "Before 2.1 a coordinator gives no reason: a join, a leave and a new subscription of a stable group write the same lines, so"
    " that no rule can tell them apart, and members have no names. A wait has a member behind it that is known to exist, without a name.",
    "client-info": "Members of 1.1 write nothing at INFO when they leave: the last leaves of their groups, which make up nearly all that"
    " is not found, are unknown. Who joins or expires first among members without logs is unknown, too.",
    "partial": "Rebalances of which all lines were in the missing folder are known from members' logs alone, or not at all.",
    "request": "The request logs of the corpora end before their scenarios do, as they were cut at 1.4 MB. All that is not found began"
    " after the last line of these files.",
}
"""What the logs of a selection cannot tell."""

FIGURES = {
    "truth": "rebalances",
    "recall": "found",
    "precision": "not invented",
    "cause_accuracy": "cause right",
    "cause_in_alternatives": "cause named",
    "offender_exact": "offenders exact",
    "blocker_exact": "blockers exact",
    "root_cause_accuracy": "root cause right",
    "brier": "Brier score",
    "confidence_gap": "confidence gap",
    "overconfident_wrong": "surely wrong",
}
_CONFUSED = re.compile(r": cause (?P<said>\w+), truth (?P<truth>\w+)")

Summary = Mapping[str, Any]


def score(folder: Path, scorer: Path, files: str) -> Summary:
    """The scorer's summary of one folder, with details of errors."""
    analyze = [str(Path(sys.executable).with_name("groupscope")), "analyze", "{logs}", "--log-tz", "{tz}"]
    analyze += ["--log-tz", "clients/*={client_tz}", "--json"]
    command = [sys.executable, str(scorer), str(folder), "--files", files, "--json", "--details", "--", *analyze]
    summary: Summary = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return summary


def _kept(place: Path | None, folder: Path, scorer: Path, files: str) -> Summary:
    """The summary that was kept, else a new one, which is kept."""
    if place is not None and place.exists() and place.stat().st_size:
        kept: Summary = json.loads(place.read_text(encoding="utf-8"))
        return kept
    found = score(folder, scorer, files)
    if place is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(found), encoding="utf-8")
    return found


def confusions(details: Iterable[str]) -> Counter[tuple[str, str]]:
    """Number of confusions of each pair of causes."""
    found = (_CONFUSED.search(line) for line in details)
    return Counter((match["truth"], match["said"]) for match in found if match)


def page(summaries: Mapping[str, Mapping[str, Summary]], simulated: Mapping[str, Score] | None = None, hidden: Result | None = None) -> str:
    """The page, from summaries by witnesses and folder.

    And from scores of simulated scenarios by version.
    """
    sections = [line for files, by_folder in summaries.items() for line in _section(files, by_folder)]
    made = [*(_simulated(simulated) if simulated else ()), *(_hidden(hidden) if hidden else ())]
    return "\n".join([*_head(), *sections, *made]) + "\n"


def _hidden(result: Result) -> Iterator[str]:
    """Random scenarios of which random witnesses are hidden."""
    counts, right = result.counts, sum(right for _, right in result.confidence)
    yield ""
    yield "## Hidden witnesses"
    yield ""
    yield f"{counts['scenarios']} random scenarios over all versions, of which brokers' logs, request logs, members' logs and their DEBUG"
    yield "lines are left out by lot (`python -m tests.hidden_witnesses`):"
    yield f"{counts['found']} of {counts['truth']} rebalances found, {counts['invented']} of {counts['told']} invented,"
    yield f"{right / max(1, len(result.confidence)):.3f} of {len(result.confidence)} causes right, confidence gap {result.gap:.3f},"
    yield f"{len(result.wrong)} surely wrong."


def _head() -> Iterator[str]:
    yield "# Accuracy"
    yield ""
    yield "<!-- Written by `make accuracy`; it takes some minutes and needs the labelled corpora. -->"
    yield ""
    yield "Measured on logs of real brokers and clients under injected faults, whose truth was recorded beside the logs and never"
    yield "derived from them. Classic and consumer groups are scored. *Cause named*: the true cause is the verdict or a rival. *Brier"
    yield "score*: mean squared distance of confidence from being right; *confidence gap*: mean confidence less share of right causes."
    yield "*Surely wrong*: verdicts with a confidence above 0.9 that are wrong."


def _section(files: str, by_folder: Mapping[str, Summary]) -> Iterator[str]:
    yield ""
    yield f"## {WITNESSES[files][0].upper()}{WITNESSES[files][1:]}"
    yield ""
    yield "| | " + " | ".join(by_folder) + " |"
    yield "| --- |" + " ---: |" * len(by_folder)
    for name, title in FIGURES.items():
        yield f"| {title} | " + " | ".join(_shown(summary.get(name)) for summary in by_folder.values()) + " |"
    wrong = sum((confusions(summary.get("details", ())) for summary in by_folder.values()), Counter())
    if wrong:
        yield ""
        yield f"Taken for another cause: {_told(wrong)}."
    if files in UNKNOWABLE:
        yield ""
        yield f"What cannot be known: {UNKNOWABLE[files]}"


SIMULATED = {
    "all": "broker logs, request log at DEBUG, client logs at DEBUG",
    "server": "the broker's own files alone",
}


def _simulated(scores: Mapping[str, Score]) -> Iterator[str]:
    """Scores of random scenarios, by version."""
    yield ""
    yield "## Simulated scenarios"
    yield ""
    count = max(score.scenarios for score in scores.values())
    yield f"{count} random scenarios by each version's policy (`python -m tests.roundtrip`), each with one to four faults that may overlap."
    yield ""
    yield "| | " + " | ".join(scores) + " |"
    yield "| --- |" + " ---: |" * len(scores)
    yield "| timelines equal | " + " | ".join(f"{score.steps_equal} of {score.scenarios}" for score in scores.values()) + " |"
    for which, witnesses in SIMULATED.items():
        yield f"| **{witnesses}** |" + " |" * len(scores)
        for title, value in _SIMULATED_FIGURES.items():
            yield f"| {title} | " + " | ".join(_shown(value(score, which)) for score in scores.values()) + " |"
    for which, witnesses in SIMULATED.items():
        wrong = sum((_confused_in(score.misses, which) for score in scores.values()), Counter())
        if wrong:
            yield ""
            yield f"Taken for another cause, with {witnesses}: {_told(wrong)}."


def _share(score: Score, which: str, name: str) -> float | None:
    counts = score.causes.get(which)
    return counts[name] / counts["all"] if counts and counts["all"] else None


_SIMULATED_FIGURES: Mapping[str, Callable[[Score, str], object]] = {
    "rebalances": lambda score, which: score.found[f"{which} truth"],
    "found": lambda score, which: score.found[f"{which} matched"] / max(score.found[f"{which} truth"], 1),
    "not invented": lambda score, which: score.found[f"{which} matched"] / max(score.found[f"{which} predicted"], 1),
    "cause right": lambda score, which: _share(score, which, "right"),
    "cause named": lambda score, which: _share(score, which, "listed"),
    "confidence gap": lambda score, which: score.gap(which),
    "surely wrong": lambda score, which: score.overconfident(which),
}

_MISSED = re.compile(r"(?P<which>all|server): generation \S+ (?P<said>\w+) [\d.]+, truth (?P<truth>\w+)")


def _confused_in(misses: Iterable[str], which: str) -> Counter[tuple[str, str]]:
    found = (_MISSED.search(line) for line in misses)
    return Counter((match["truth"], match["said"]) for match in found if match and match["which"] == which)


def _told(wrong: Counter[tuple[str, str]]) -> str:
    return "; ".join(f"`{truth}` for `{said}` {count} {'time' if count == 1 else 'times'}" for (truth, said), count in _by_count(wrong))


def _by_count(counts: Counter[tuple[str, str]]) -> list[tuple[tuple[str, str], int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _shown(value: object) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("scorer", type=Path)
    parser.add_argument("--simulated", type=int, default=50, metavar="N", help="random scenarios of each version (default: 50)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kept", type=Path, metavar="FOLDER", help="use the scorer's summaries in it (FILES-NAME.json), and keep new ones")
    parser.add_argument("--hidden", type=int, default=500, metavar="N", help="random scenarios with hidden witnesses (default: 500)")
    options = parser.parse_args(arguments)
    folders = {path.name: path for path in sorted(options.corpus.iterdir()) if path.is_dir()}
    summaries: dict[str, dict[str, Summary]] = {}
    for files in WITNESSES:
        summaries[files] = {}
        for name, folder in folders.items():
            summaries[files][name] = _kept(options.kept and options.kept / f"{files}-{name}.json", folder, options.scorer, files)
            print(files, name, {key: summaries[files][name].get(key) for key in FIGURES}, flush=True)
    simulated = dict(roundtrip.run(roundtrip.VERSIONS, options.simulated, 0, options.jobs))
    hidden = hidden_witnesses.run(range(options.hidden), options.jobs)
    PAGE.write_text(page(summaries, simulated, hidden), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
