"""How often each weight of the rules was right: `python -m tests.corpus.weights [CORPORA] [--simulated N]`.

Analyses the labelled Kafka corpora with all files, with the brokers' and with the members' alone, and random scenarios of which
random witnesses are hidden. Each verdict counts for the weights that gave the best hypothesis its probability. Prints one line
per weight: what it says, how often it decided, and how often it was right; those that are off by more than chance are marked.
With `--write` the counts go to models/weights.py, beside the weights.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from textwrap import wrap
from typing import Any

from models import weights
from models.causes import Cause
from models.kafka.coordinator.runtime.version_policy import policy_for
from models.kafka.hypotheses import ranking as rules
from models.kafka.hypotheses.context.rebalance_context import RebalanceContext
from models.kafka.hypotheses.ranking import Ranking
from models.kafka.verdicts import rebalance_rows
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from pipelines.simulate.run import simulate
from tests.hidden_witnesses import PROTOCOLS, SCORE_NAMES, hide, matches
from tests.roundtrip import VERSIONS, random_scenario

WEIGHTS = Path(__file__).resolve().parents[2] / "models/weights.py"
SELECTIONS = {"all": "**/*.log*", "server": "*/server.log*", "client": "clients/*"}
STANDARD_ERRORS = 3
LINE_LENGTH, INDENT = 140, 4
DETAIL_CAUSES = {
    "admin_remove": "admin_removal",
    "admin_remove_all": "admin_removal",
    "group_assignment_write_failed": "assignment_store_failed",
}
"""Causes that a truth names only in its detail."""


FACTORS = frozenset({"SEEN_FIRST", "SEEN_FIRST_OF_ALL"})
"""Weights that others are multiplied with; they decide whenever they are used."""


@dataclass(slots=True)
class Decided:
    """Which weights decided a rebalance, and for which cause."""

    names: set[str]
    cause: str


@dataclass(slots=True)
class Recorder:
    """Notes which weights are looked at while a rebalance is judged."""

    used: set[str] = field(default_factory=set)
    decided: dict[tuple[str, int | None, int], Decided] = field(default_factory=dict)

    def install(self) -> None:
        """Put watched weights in the place of the rules' own."""
        for name, value in vars(weights).copy().items():
            if isinstance(value, weights.Prior | weights.Shares):
                setattr(weights, name, Watched(value, name, self))
            elif isinstance(value, tuple) and value and isinstance(value[0], weights.Prior):
                setattr(weights, name, tuple(Watched(each, f"{name}[{index}]", self) for index, each in enumerate(value)))
        rebalance_rows.rank = self.judge

    def judge(self, context: RebalanceContext) -> Ranking:
        """Judge as the rules do, and note what decided."""
        self.used.clear()
        found = rules.rank(context)
        best = found.best
        names = {each for each in self.used if each in FACTORS or _says(each, best.cause, best.probability)}
        key = (context.known.group if hasattr(context.known, "group") else "", context.window.generation_before, context.phase.start)
        self.decided[key] = Decided(names, best.cause.value)
        return found


@dataclass(slots=True)
class Watched:
    """A weight that tells when it is used."""

    weight: weights.Prior | weights.Shares
    name: str
    recorder: Recorder

    def __getattr__(self, name: str) -> Any:
        self.recorder.used.add(self.name)
        return getattr(self.weight, name)

    def __getitem__(self, cause: Cause) -> float:
        self.recorder.used.add(self.name)
        return self.weight[cause]  # type: ignore[index]


def _says(name: str, cause: Cause, probability: float) -> bool:
    """Whether a weight gives a cause this probability."""
    weight = _weight(name)
    if isinstance(weight, weights.Shares):
        return weight.of.get(cause, -1.0) == probability
    return weight.value == probability


def _weight(name: str) -> weights.Prior | weights.Shares:
    base, _, index = name.partition("[")
    found = getattr(weights, base)
    found = found[int(index.rstrip("]"))] if index else found
    weight: weights.Prior | weights.Shares = found.weight
    return weight


def truths(corpora: Path | None, simulated: int) -> Iterator[tuple[dict[str, Any], list[str], AnalyzeOptions]]:
    """Truths, with the files and options of their analysis."""
    for label in sorted(corpora.rglob("truth.json")) if corpora is not None else ():
        truth = json.loads(label.read_bytes())
        zones = [(None, truth.get("log_timezone", "UTC")), ("clients/*", truth.get("client_log_timezone", "UTC"))]
        for pattern in SELECTIONS.values():
            files = [str(path) for path in sorted(label.parent.glob(pattern)) if path.is_file()]
            if files and truth.get("rebalances"):
                yield truth, files, AnalyzeOptions(ReadOptions(log_tz=zones))
    for seed in range(simulated):
        dice = random.Random(f"weights {seed}")  # noqa: S311 - repeatable
        version = VERSIONS[seed % len(VERSIONS)]
        policy = policy_for(version)
        protocol = dice.choice(PROTOCOLS) if seed % len(VERSIONS) >= VERSIONS.index("2.8.2") else "classic"
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder)
            simulate(random_scenario(seed + HIDDEN_FROM, policy.knows_static_members, protocol), version, seed, out, request_log=True)
            truth = json.loads((out / "truth.json").read_bytes())
            (out / "truth.json").unlink()
            hide(out, dice)
            yield truth, [folder], AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")]))


HIDDEN_FROM = 1_000_000
"""First seed, apart from those of `tests.hidden_witnesses`, which judges what is set by these counts."""


def count(corpora: Path | None, simulated: int) -> Mapping[str, Counter[str]]:
    """For each weight the causes that were right when it decided; `_` counts how often it was."""
    recorder = Recorder()
    recorder.install()
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for truth, files, options in truths(corpora, simulated):
        recorder.decided.clear()
        rows = analyze(files, options).rebalances
        for index, other in matches(truth["rebalances"], rows):
            row, told = truth["rebalances"][index], rows[other]
            cause = SCORE_NAMES.get(row["cause"], row["cause"])
            cause = SCORE_NAMES.get(row.get("trigger"), row.get("trigger")) if cause == "group_empty" and row.get("trigger") else cause
            decided = next((each for key, each in recorder.decided.items() if key[1:] == (told.generation_before, told.began)), None)
            if cause == "unknown" or decided is None or row.get("review"):
                continue
            right = told.cause in {cause, *accepted(row)} or (cause == "group_empty" and told.outcome == "empty")
            for name in decided.names:
                found[name].update({"_": 1, told.cause if right else cause: 1, "right": int(right)})
    return found


def accepted(row: Mapping[str, Any]) -> set[str]:
    """Causes that are right beside the truth's own, as the scorer counts them."""
    detail = DETAIL_CAUSES.get(row.get("detail", "")) if row["cause"] != "member_join" else None
    return {SCORE_NAMES.get(cause, cause) for cause in [*row.get("contributing_causes", ()), detail] if cause}


def is_off(said: float, right: int, decided: int) -> bool:
    """Whether a weight differs from its counts by more than chance."""
    spread = sqrt(max(said * (1 - said), 1 / (decided + 1)) / decided)
    return abs(right / decided - said) > STANDARD_ERRORS * spread


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path, nargs="?")
    parser.add_argument("--simulated", type=int, default=1_000, metavar="N", help="random scenarios (default: 1000)")
    parser.add_argument("--write", action="store_true", help="write the counts to models/weights.py")
    options = parser.parse_args()
    found = count(options.corpora, options.simulated)
    for name in sorted(found):
        counts = found[name]
        weight = _weight(name)
        said = max(weight.of.values()) if isinstance(weight, weights.Shares) else weight.value
        mark = "  OFF" if is_off(said, counts["right"], counts["_"]) else ""
        causes = ", ".join(f"{cause} {n}" for cause, n in counts.most_common() if cause not in {"_", "right"})
        print(f"{name}: says {said:.3f}, right {counts['right']} of {counts['_']} ({counts['right'] / counts['_']:.3f}); {causes}{mark}")
    if options.write:
        WEIGHTS.write_text(with_counts(WEIGHTS.read_text(encoding="utf-8"), found), encoding="utf-8")


def with_counts(page: str, found: Mapping[str, Counter[str]]) -> str:
    """The module of weights with other counts."""
    head, begin, rest = page.partition("COUNTS: Mapping[str, tuple[int, int]] = {\n")
    tail = rest[rest.index("}  # fmt: skip\n") :]
    counts = (f'"{name}":\0({found[name]["right"]},\0{found[name]["_"]}),' for name in sorted(found))
    lines = wrap(" ".join(counts), LINE_LENGTH - INDENT, break_long_words=False, break_on_hyphens=False)
    return head + begin + "".join(f"{' ' * INDENT}{line}\n" for line in lines).replace("\0", " ") + tail


if __name__ == "__main__":
    main()
