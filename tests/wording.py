"""What the classes of jars log about groups, compared with the catalogue: `python -m tests.wording JAR...`.

Prints, by class, how many texts from INFO on the catalogue knows or passes over on purpose, and those that it lacks. `--all` takes
every class, not only those whose loggers concern groups; `--names PART...` takes classes whose names hold a part. Exits with 1 below
`KNOWN_MIN`.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from parsers.catalogue.catalogue import Catalogue, catalogue
from tests.jars import Logged, texts_of

KNOWN_MIN = 0.95
MIN_WORDS = 8
"""Fixed characters that a text must have in common with an entry that says more, or less, than it."""
_SLOT = re.compile(r"\{[^{}\s]*\}")
_BRACKETS = re.compile(r"(?:\[[^\]]*\])+:? ")


class Wordings:
    """Texts of the catalogue, without the names of their slots."""

    def __init__(self, known: Catalogue) -> None:
        self._catalogue = known
        self._texts = [_SLOT.sub("{}", pattern.template.text).strip() for pattern in known.patterns]
        self._exact = set(self._texts)
        self._forms = [_form(text) for text in self._texts if _fixed(text) >= MIN_WORDS]

    def knows(self, text: str) -> bool:
        """Whether an entry has this text, or one that says in fixed words what this one fills in, or the other way round."""
        first = text.strip().split("\n")[0].strip()
        for each in (first, _BRACKETS.sub("", first, count=1)):
            if each in self._exact or any(form.fullmatch(each) for form in self._forms):
                return True
            if _fixed(each) >= MIN_WORDS and any(map(_form(each).fullmatch, self._texts)):
                return True
        return False

    def passes_over(self, logged: Logged) -> bool:
        """Whether the text is ignored on purpose."""
        return not self._catalogue.shows_unknown(logged.logger, logged.level, logged.text)

    def concerns_groups(self, logged: Logged) -> bool:
        """Whether the class is one whose loggers concern groups."""
        return self._catalogue.concerns_groups(logged.logger)


def _fixed(text: str) -> int:
    return len(text.replace("{}", ""))


def _form(text: str) -> re.Pattern[str]:
    return re.compile(".*?".join(map(re.escape, text.split("{}"))), re.DOTALL)


def compare(texts: Iterable[Logged], known: Wordings, every: bool, parts: Sequence[str]) -> dict[str, tuple[int, int, list[Logged]]]:
    """By class: texts known, texts passed over, and those that the catalogue lacks."""
    found: dict[str, tuple[int, int, list[Logged]]] = defaultdict(lambda: (0, 0, []))
    for each in texts:
        if each.level in ("DEBUG", "TRACE") or (parts and not any(part in each.logger for part in parts)):
            continue
        if not (every or parts or known.concerns_groups(each)):
            continue
        right, ignored, missing = found[each.logger]
        if known.knows(each.text):
            right += 1
        elif known.concerns_groups(each) and known.passes_over(each):
            ignored += 1
        else:
            missing.append(each)
        found[each.logger] = right, ignored, missing
    return found


def main() -> int:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jars", nargs="+", type=Path, metavar="JAR")
    parser.add_argument("--all", action="store_true", help="classes that have nothing to do with groups, too")
    parser.add_argument("--names", nargs="+", default=[], metavar="PART", help="only classes whose names hold a part")
    parser.add_argument("--brief", action="store_true", help="counts only")
    given = parser.parse_args()
    known, total, good = Wordings(catalogue()), 0, 0
    for jar in given.jars:
        print(jar.name)
        for name, (right, ignored, missing) in sorted(compare(texts_of(jar), known, given.all, given.names).items()):
            count = right + ignored + len(missing)
            total, good = total + count, good + right + ignored
            print(f"  {name}: {right} known, {ignored} passed over, {len(missing)} missing of {count}")
            for each in () if given.brief else missing:
                print(f"    {each.level:5} {each.text!r}")
    share = good / total if total else 1.0
    print(f"{good} of {total} texts are known or passed over on purpose: {share:.3f}")
    return int(share < KNOWN_MIN)


if __name__ == "__main__":
    raise SystemExit(main())
