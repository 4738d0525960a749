"""`python -m tests.corpus.digests [--rewrite] [--jobs N]`: a digest of the rows of each labelled scenario, by table.

Says which scenarios and tables have other rows than when the digests were written; ends with 1 where some have.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path

from pipelines.schema.tables import CONTRACT
from tests.compare_paths import COMPARED
from tests.conftest import ROOT, SHARED
from tests.test_golden_rows import OF_THIS_VERSION

STORED = ROOT / "tests" / "golden" / "corpora.json"
CORPORA = SHARED / "corpora"
DIGEST_BYTES = 6
SOME_REJECTED = 4
Digests = dict[str, dict[str, str]]


def digests_of(folder: Path) -> dict[str, str]:
    """Digests of one scenario's rows, by table that has any. Files are named from the folder of the corpora."""
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    zone = truth.get("log_timezone", "UTC")
    zones = ["--log-tz", zone, "--log-tz", f"clients/*={truth.get('client_log_timezone') or zone}"]
    named = str(folder.relative_to(CORPORA))
    command = [str(Path(sys.executable).with_name("groupscope")), "analyze", named, *zones, "--quiet", "--json"]
    done = subprocess.run(command, cwd=CORPORA, capture_output=True, text=True, check=False)
    if done.returncode not in (0, SOME_REJECTED):
        return {"error": f"exit {done.returncode}"}
    found = json.loads(done.stdout)
    tables = {COMPARED[key]: found[key] for key in CONTRACT} | {"log_files": found["inputs"]["log_files"]}
    return {table: _digest(rows) for table, rows in tables.items() if rows}


def _digest(rows: list[dict[str, object]]) -> str:
    lines = sorted(json.dumps({name: row[name] for name in row.keys() - OF_THIS_VERSION}, sort_keys=True) for row in rows)
    return blake2b("\n".join(lines).encode(), digest_size=DIGEST_BYTES).hexdigest()


def differences(before: Digests, now: Digests) -> list[str]:
    """Scenarios and tables whose rows are not those of before."""
    found = [f"{name}: only before" for name in before.keys() - now.keys()] + [f"{name}: only now" for name in now.keys() - before.keys()]
    for name in before.keys() & now.keys():
        tables = [table for table in before[name].keys() | now[name].keys() if before[name].get(table) != now[name].get(table)]
        found += [f"{name}: {', '.join(sorted(tables))}"] if tables else []
    return sorted(found)


def main() -> int:
    """Compute all digests, and compare or write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rewrite", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    folders = sorted(path.parent for path in CORPORA.rglob("truth.json"))
    if not folders:
        raise SystemExit(f"no labelled corpora in {CORPORA.name} beside this checkout")
    with ThreadPoolExecutor(asked.jobs) as pool:
        now = dict(zip((str(folder.relative_to(CORPORA)) for folder in folders), pool.map(digests_of, folders), strict=True))
    if asked.rewrite:
        STORED.write_text(json.dumps(now, indent=0, sort_keys=True) + "\n", encoding="utf-8")
        print(f"{len(now)} scenarios written")
        return 0
    found = differences(json.loads(STORED.read_text(encoding="utf-8")), now)
    print(*found, f"{len(now)} scenarios, {len(found)} with other rows", sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
