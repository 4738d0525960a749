"""Score RocketMQ's part of the analysis on labelled logs, also with one client's log missing.

`python -m tests.corpus.rocketmq [--missing each|SEED] [--only PART] [--details] CORPUS SCORER`

CORPUS holds scenarios, each a folder with `logs/` and `truth.json`; SCORER is the file of the scorer, whose functions
compare an answer with the truth. `--missing each` leaves out each client's folder in turn, a number leaves out one client a
scenario, drawn by that seed. Verdicts on shares of the client that is left out are not demanded: it wrote no line.
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

from parsers.reader import ReadOptions
from pipelines.local import AnalyzeOptions, analyze
from pipelines.schemas import CONTRACT, TABLES, json_ready

Truth = dict[str, Any]
SURE = 0.9
"""Nothing may be invented with more confidence than this."""


def load_scorer(path: Path) -> ModuleType:
    """The scorer as a module."""
    spec = importlib.util.spec_from_file_location("scorer", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def scenarios(corpus: Path, only: Sequence[str] = ()) -> list[Path]:
    """Folders of scenarios, by name; `only` those whose path holds one of these parts."""
    return sorted(path.parent for path in corpus.rglob("truth.json") if not only or any(part in str(path) for part in only))


def clients_of(truth: Truth) -> list[str]:
    """Folders of clients' logs."""
    return sorted({_folder(client) for client in truth["clients"]})


def _folder(client: Truth) -> str:
    return str(client["log_dir"]).rpartition("/")[2]


def without_rows(truth: Truth, missing: str) -> Truth:
    """The truth but for changes that only the missing file tells."""
    silent = {client["proc"] for client in truth["clients"] if _folder(client) == missing}
    return {**truth, "rebalances": [row for row in truth["rebalances"] if row["proc"] not in silent]}


def answer(logs: Path, zone: str) -> dict[str, Any]:
    """What `analyze --json` says of a folder."""
    found = analyze([str(logs)], AnalyzeOptions(read=ReadOptions(log_tz=[(None, zone)])))
    return {key: [json_ready(TABLES[table], row) for row in getattr(found, key)] for key, table in CONTRACT.items()}


@contextmanager
def without(logs: Path, client: str | None) -> Iterator[Path]:
    """The logs but for one client's folder."""
    if client is None:
        yield logs
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "logs"
        shutil.copytree(logs, copy, ignore=lambda path, _: [client] if Path(path) == logs else [])
        yield copy


def judged(scorer: ModuleType, scenario: Path, missing: str | None) -> Any:
    """The scorer's tally of one scenario, without one client's log if `missing` names one."""
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
    """How many of the windows that are no part of the truth were told with more confidence than `SURE`."""
    sure = {**said, "ownership": [row for row in said["ownership"] if (1.0 if row.get("confidence") is None else row["confidence"]) > SURE]}
    only = scorer.Tally()
    scorer.score_ownership(truth, sure, only, where)
    tally.details += [f"{line} (surely)" for line in only.details if ": invented " in line]
    return int(only.n["owner_predicted"] - only.n["owner_right"])


def runs(found: list[Path], missing: str | None) -> Iterator[tuple[Path, str | None]]:
    """Which scenario to score without whose log."""
    draw = random.Random(missing) if missing is not None and missing != "each" else None  # noqa: S311 - a draw, no secret
    for scenario in found:
        clients = clients_of(json.loads((scenario / "truth.json").read_text()))
        if draw is not None:
            yield scenario, draw.choice(clients)
        else:
            yield from ((scenario, client) for client in (clients if missing == "each" else [None]))


def score(corpus: Path, scorer_path: Path, missing: str | None = None, only: Sequence[str] = ()) -> tuple[dict[str, Any], list[str]]:
    """The scorer's summary, and what was wrong line by line."""
    scorer = load_scorer(scorer_path)
    total = scorer.Tally()
    for scenario, client in runs(scenarios(corpus, only), missing):
        total.add(judged(scorer, scenario, client))
    summary: dict[str, Any] = total.summary()
    summary["sure_inventions"] = total.n["sure_inventions"]
    return summary, total.details


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("scorer", type=Path)
    parser.add_argument("--missing", help="`each`, or a seed")
    parser.add_argument("--only", action="append", default=[], help="part of a scenario's path; repeatable")
    parser.add_argument("--details", action="store_true")
    options = parser.parse_args()
    summary, details = score(options.corpus, options.scorer, options.missing, options.only)
    for line in details if options.details else ():
        print(line)
    print(json.dumps(summary, indent=1))


if __name__ == "__main__":
    main()
