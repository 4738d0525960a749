"""Feeds the parsers and the models what no product writes: `python -m tests.fuzz lines|numbers|floods|events`.

    lines            lines of the samples (of the corpora, too, for more than 500,000) with bytes changed, lost, doubled and moved
    numbers          the same lines with numbers replaced by such as no type holds
    floods           single lines of the samples and the corpora, each written 2,000 times
    events           sequences of events that nobody could write, into the models, for each version
    --count N        lines to parse, lines of floods, or sequences (default 100,000, 200,000 and 5,000)
    --analysed N     lines that go through the whole run to the page as well (default 20,000)
    --seed N         the first seed (default 0); the same seed gives the same input

What raises, what becomes no record, and what takes no end is listed with the shortest input that shows it; it ends with 1 then.
The address space is limited to 6 GiB, so that what grows without bound fails.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from pathlib import Path

from tests.fuzz import answers, floods, lines
from tests.fuzz.lines import Tally
from tests.fuzz.mutations import seeds

ROOT = Path(__file__).resolve().parents[2]
SHARED = tuple(ROOT.parent / "shared" / name for name in ("corpora", "wild", "cases"))
MEMORY_MAX = 6 << 30
SHOWN = 400


def main() -> int:
    """Run the requested tests, and print the faults."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=(*lines.MUTATIONS, "floods", "events"))
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--analysed", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
    began, tally = time.monotonic(), Tally()
    if asked.what == "events":
        from tests.fuzz.events import feed

        feed(asked.count or 5_000, asked.seed, tally)
    elif asked.what == "floods":
        _floods(asked.count or 200_000, asked.seed, tally)
    else:
        _lines(asked, tally)
    seconds, memory = time.monotonic() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    sys.stdout.write(f"{tally.lines:,} {asked.what}, {dict(tally.counts)}, {seconds:.0f} s, {memory:,} MiB\n")
    for name, data in tally.faults.items():
        sys.stdout.write(f"{name}\n    {data[:SHOWN]!r}\n")
    return 1 if tally.faults else 0


def _floods(count: int, seed: int, tally: Tally) -> None:
    dice = random.Random(seed)  # noqa: S311 - repeatable
    messages = floods.lines_by_message(seeds(_folders(with_corpora=True), dice))
    while tally.lines < count:
        for message in dice.sample(sorted(messages), len(messages)):
            if tally.lines < count:
                floods.check(messages[message], floods.LINES_OF_A_FLOOD, dice, tally)


def _folders(*, with_corpora: bool) -> list[Path]:
    return [ROOT / "data_samples", *(folder for folder in SHARED if with_corpora and folder.is_dir())]


def _lines(asked: argparse.Namespace, tally: Tally) -> None:
    dice = random.Random(asked.seed)  # noqa: S311 - repeatable
    found, mutate = seeds(_folders(with_corpora=asked.count > 500_000), dice), lines.MUTATIONS[asked.what]
    for seed, batch in lines.batches(found, asked.count or 100_000, mutate, dice):
        lines.check(seed, batch, tally)
    parsed = tally.lines
    while tally.lines < parsed + asked.analysed:
        answers.check(found, mutate, dice, tally)


if __name__ == "__main__":
    raise SystemExit(main())
