"""Score RocketMQ's part of the analysis on labelled logs, also with one client's log missing.

`python -m tests.corpus.rocketmq [--missing each|SEED] [--only PART] [--details] [--page] CORPUS SCORER`

CORPUS holds scenarios, each a folder with `logs/` and `truth.json`; SCORER is the file of the scorer, whose functions
compare an answer with the truth. `--missing each` leaves out each client's folder in turn, a number leaves out one client a
scenario, drawn by that seed. Verdicts on shares of the client that is left out are not demanded: it wrote no line.
`--page` scores both ways, per version, and writes docs/accuracy_rocketmq.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from pipelines.schema.tables import CONTRACT, TABLES, json_row

Truth = dict[str, Any]
SURE = 0.9
"""Maximum confidence of an invented verdict."""


def load_scorer(path: Path) -> ModuleType:
    """The scorer as a module."""
    spec = importlib.util.spec_from_file_location("scorer", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def scenarios(corpus: Path, only: Sequence[str] = ()) -> list[Path]:
    """Folders of scenarios, by name.

    `only` selects paths that contain one of these parts.
    """
    return sorted(path.parent for path in corpus.rglob("truth.json") if not only or any(part in str(path) for part in only))


def clients_of(truth: Truth) -> list[str]:
    """Folders of clients' logs."""
    return sorted({_folder(client) for client in truth["clients"]})


def _folder(client: Truth) -> str:
    return str(client["log_dir"]).rpartition("/")[2]


def without_rows(truth: Truth, missing: str) -> Truth:
    """The truth without changes that only the missing file shows."""
    silent = {client["proc"] for client in truth["clients"] if _folder(client) == missing}
    return {**truth, "rebalances": [row for row in truth["rebalances"] if row["proc"] not in silent]}


def answer(logs: Path, zone: str) -> dict[str, Any]:
    """Output of `analyze --json` for a folder."""
    found = analyze([str(logs)], AnalyzeOptions(read=ReadOptions(log_tz=[(None, zone)])))
    return {key: [json_row(TABLES[table], row) for row in getattr(found, key)] for key, table in CONTRACT.items()}


@contextmanager
def without(logs: Path, client: str | None) -> Iterator[Path]:
    """The logs without one client's folder."""
    if client is None:
        yield logs
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "logs"
        shutil.copytree(logs, copy, ignore=lambda path, _: [client] if Path(path) == logs else [])
        yield copy


def judged(scorer: ModuleType, scenario: Path, missing: str | None) -> Any:
    """The scorer's tally of one scenario.

    Without one client's log if `missing` names one.
    """
    truth = json.loads((scenario / "truth.json").read_text())
    zone = truth.get("log_timezone") or truth.get("default_client_timezone") or "UTC"
    with without(scenario / "logs", missing) as logs:
        said = answer(logs, zone)
    if missing is not None:
        truth = without_rows(truth, missing)
    tally = scorer.Tally()
    tally.n["scenarios"] = 1
    where = "/".join(scenario.parts[-2:]) + (f" without {missing}" if missing else "")
    scorer.score_rocketmq(truth, said, tally, where)
    tally.n["sure_inventions"] = surely_invented(scorer, truth, said, tally, where)
    return tally


def surely_invented(scorer: ModuleType, truth: Truth, said: dict[str, Any], tally: Any, where: str) -> int:
    """Number of false windows with a confidence above `SURE`."""
    sure = {**said, "ownership": [row for row in said["ownership"] if (1.0 if row.get("confidence") is None else row["confidence"]) > SURE]}
    only = scorer.Tally()
    scorer.score_ownership(truth, sure, only, where)
    tally.details += [f"{line} (surely)" for line in only.details if ": invented " in line]
    return int(only.n["owner_predicted"] - only.n["owner_right"])


def runs(found: list[Path], missing: str | None) -> Iterator[tuple[Path, str | None]]:
    """Scenarios to score, each with the client to leave out."""
    draw = random.Random(missing) if missing is not None and missing != "each" else None  # noqa: S311 - a draw, no secret
    for scenario in found:
        clients = clients_of(json.loads((scenario / "truth.json").read_text()))
        if draw is not None:
            yield scenario, draw.choice(clients)
        else:
            yield from ((scenario, client) for client in (clients if missing == "each" else [None]))


def score(corpus: Path, scorer_path: Path, missing: str | None = None, only: Sequence[str] = ()) -> tuple[dict[str, Any], list[str]]:
    """The scorer's summary, and each error on a line."""
    scorer = load_scorer(scorer_path)
    total = scorer.Tally()
    for scenario, client in runs(scenarios(corpus, only), missing):
        total.add(judged(scorer, scenario, client))
    summary: dict[str, Any] = total.summary()
    summary["sure_inventions"] = total.n["sure_inventions"]
    return summary, total.details


FIGURES = {
    "scenarios": "runs",
    "truth": "changes of shares",
    "recall": "found",
    "precision": "not invented",
    "cause_accuracy": "cause right",
    "offender_exact": "offenders exact",
    "ownership_recall": "queues without one owner found",
    "ownership_precision": "not invented",
    "ownership_time_jaccard": "their time shared with the truth's",
    "condition_recall": "standing faults found",
    "condition_precision": "not invented",
    "brier": "Brier score",
    "sure_inventions": "surely invented",
}


def page(summaries: dict[str, dict[str, dict[str, Any]]]) -> str:
    """The page, from summaries by missing file and version."""
    lines = [
        "# Accuracy: RocketMQ",
        "",
        "<!-- Written by `python -m tests.corpus.rocketmq --page CORPUS SCORER`; it needs the labelled corpora. -->",
        "",
        "Measured on logs of real clients, brokers and name servers under injected faults. The truth was polled from the clients' own",
        "tables, never derived from their logs. *Surely invented*: times of a queue without one owner that never were, told with a",
        "confidence above 0.9. *Brier score*: mean squared distance of confidence from being right.",
    ]
    for title, by_version in summaries.items():
        lines += ["", f"## {title}", "", "| | " + " | ".join(by_version) + " |", "| --- |" + " ---: |" * len(by_version)]
        for name, words in FIGURES.items():
            values = (summary[name] for summary in by_version.values())
            lines.append(
                f"| {words} | " + " | ".join(f"{value:.3f}" if isinstance(value, float) else str(value) for value in values) + " |"
            )
    return "\n".join(lines) + "\n"


def write_page(corpus: Path, scorer_path: Path) -> None:
    versions = sorted({path.parent.name for path in scenarios(corpus)})
    ways = {"All files": None, "Without the log of one client, each in turn": "each"}
    found = {title: {version: score(corpus / version, scorer_path, missing)[0] for version in versions} for title, missing in ways.items()}
    (Path(__file__).resolve().parents[2] / "docs" / "accuracy_rocketmq.md").write_text(page(found), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("scorer", type=Path)
    parser.add_argument("--missing", help="`each`, or a seed")
    parser.add_argument("--only", action="append", default=[], help="part of a scenario's path; repeatable")
    parser.add_argument("--details", action="store_true")
    parser.add_argument("--page", action="store_true", help="write docs/accuracy_rocketmq.md")
    options = parser.parse_args()
    if options.page:
        write_page(options.corpus, options.scorer)
        return
    summary, details = score(options.corpus, options.scorer, options.missing, options.only)
    for line in details if options.details else ():
        print(line)
    print(json.dumps(summary, indent=1))


if __name__ == "__main__":
    main()
