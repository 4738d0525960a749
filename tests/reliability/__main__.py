"""Longer tests of what runs must survive: `python -m tests.reliability WHAT`.

    flipped-bits   one bit of compressed logs changed, --count files; --logs FOLDER (default data_samples)
    soak           `run --every 30s` for --minutes over a log that grows by --rate bytes a second and is rotated;
                   --in-turn of 40 groups rebalance at a time; memory by time in --out FILE
    groups         what a group costs beside its rebalances, by --count groups of one rebalance and a tenth of groups of ten
    concurrent     --writers and --readers of one warehouse for --minutes
    mutants        --count changes of --package that tests should notice; 0 for all
    supply-chain   hashes, licences, and a bill of materials in --out FILE
    --seed N       the first seed (default 0)

What was measured is one line; it ends with 1 where something must not be as it is. docs/reliability.md has the last figures.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.conftest import ROOT


def main() -> int:
    """Run the requested test, and print what it measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=COMMANDS)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=40.0)
    parser.add_argument("--rate", type=int, default=1_000_000)
    parser.add_argument("--in-turn", type=int, default=4)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--package", default="models/kafka/coordinator")
    parser.add_argument("--logs", type=Path, default=ROOT / "data_samples")
    parser.add_argument("--out", type=Path)
    return COMMANDS[(asked := parser.parse_args()).what](asked)


def _flipped_bits(asked: argparse.Namespace) -> int:
    from tests.reliability.flipped_bits import measure

    say(str(dict(measure(asked.logs, asked.count, asked.seed))))
    return 0


def _soak(asked: argparse.Namespace) -> int:
    from tests.reliability.soak import soak

    with tempfile.TemporaryDirectory() as folder:
        found = soak(Path(folder), asked.minutes, asked.rate, "30s", asked.in_turn)
    if asked.out is not None:
        asked.out.write_text("".join(json.dumps({"at": at, **sizes}) + "\n" for at, sizes in found.memory))
    say(found.told())
    return int(not found.finished or any(code not in (0, 4) for _, _, code in found.finished))


def _groups(asked: argparse.Namespace) -> int:
    from tests.reliability.many_groups import measure

    with tempfile.TemporaryDirectory() as folder:
        many, few = measure(Path(folder), asked.count)
    fixed = (many - few) / (asked.count * 9 / 10) * 1000
    say(f"{asked.count} groups of one rebalance {many:.1f} s of CPU, {asked.count // 10} of ten {few:.1f} s: {fixed:.3f} ms a group")
    return int(fixed > 0.2)


def _concurrent(asked: argparse.Namespace) -> int:
    from tests.reliability.concurrent_use import use

    with tempfile.TemporaryDirectory() as folder:
        found = use(Path(folder), asked.writers, asked.readers, asked.minutes * 60)
    say(found.told())
    return int(bool(found.faults))


def _mutants(asked: argparse.Namespace) -> int:
    from tests.reliability.mutants import measure

    began = time.monotonic()
    tally = measure(asked.package, asked.count, asked.seed)
    killed = tally.tested - len(tally.survivors)
    say(f"{tally.tested} mutants of {asked.package}, {killed} killed, {time.monotonic() - began:.0f} s")
    say(f"{len(tally.endless)} of the killed are endless; {tally.unreached} of the others stand where no test comes:")
    for mutant in tally.survivors:
        say(f"    {mutant}")
    return 0


def _supply_chain(asked: argparse.Namespace) -> int:
    from tests.reliability import supply_chain

    found = list(supply_chain.packages())
    faults = [f"{each.name} {each.version}: no hash" for each in found if not each.hashes]
    faults += [f"{each.name}: licence {each.licence or 'unknown'}" for each in found if not supply_chain.is_allowed(each.licence)]
    if asked.out is not None:
        supply_chain.write(asked.out)
    say(f"{len(found)} packages, {sum(len(each.hashes) for each in found)} hashes, {len(faults)} faults")
    for fault in faults:
        say(f"    {fault}")
    return int(bool(faults))


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "flipped-bits": _flipped_bits,
    "soak": _soak,
    "groups": _groups,
    "concurrent": _concurrent,
    "mutants": _mutants,
    "supply-chain": _supply_chain,
}

if __name__ == "__main__":
    raise SystemExit(main())
