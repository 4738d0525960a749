"""What classes log about groups, compared with the catalogue: `python -m tests.wording JAR-OR-FOLDER...`.

Reads the byte code of jars, or the sources below a folder. Prints, by class, how many texts from INFO on the catalogue knows or passes
over on purpose, and those that it lacks. `--all` takes every class, not only those whose loggers concern groups, elections or assignments;
`--names PART...` takes classes whose names hold a part; `--page FILE` writes the figures as a page. Exits with 1 below `KNOWN_MIN`.
In sources of other languages than Java and Scala, whose loggers name no class, the texts with a word of groups count, file by file.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from pathlib import Path

from parsers.catalogue.catalogue import Catalogue, catalogue
from tests.jars import Logged, texts_of
from tests.language_texts import LANGUAGES, is_of_language, texts_of_languages
from tests.source_texts import texts_below

KNOWN_MIN = 0.95
MIN_WORDS = 8
"""Fixed characters that a text must have in common with an entry that says more, or less, than it."""
FILLERS = (
    "x-1",
    "3",
    "[a-0, b-1]",
    "Optional.empty",
    "Generation{generationId=3, memberId='x', protocol='range'}",
    "ShareGroupDLQRecordParameter[groupId=x, topicIdPartition=AAAAAAAAAAAAAAAAAAAAAA:a-0, firstOffset=3, lastOffset=3, cause=x]",
)
"""What may stand in a gap of a text when it is tried as a line."""
FILLED_MAX = 4
"""Gaps up to which each is filled with every filler; of more, all with the same."""
_PREFIXES = (
    "",
    "[GroupCoordinator id=1 topic=__consumer_offsets partition=3] ",
    "[GroupCoordinator id=1] ",
    "[ShareCoordinator id=1] ",
    "[Consumer clientId=x, groupId=x] ",
    "[Worker clientId=x, groupId=x] ",
    "[QuorumController id=1] ",
    "[RaftManager id=1] ",
    "stream-thread [x-4f1c2a80-0d2e-4c11-9b1e-2f6a1a7c9d10-StreamThread-1] ",
    "stream-client [x-4f1c2a80-0d2e-4c11-9b1e-2f6a1a7c9d10] ",
)
"""What log contexts put before a text."""
CLIENT_LAYOUTS = ("zap_console", "nlog_callsite", "boost_log", "spdlog_rocketmq")
"""Layouts in which RocketMQ's clients of other languages write, by whose words their texts concern groups."""
_KEYS = re.compile(r"; \w+: ")
_SLOT = re.compile(r"\{[^{}\s]*\}")
_BRACKETS = re.compile(r"(?:\[[^\]]*\])+:? ")


class Wordings:
    """Texts of the catalogue, without the names of their slots."""

    def __init__(self, known: Catalogue) -> None:
        self._catalogue = known
        self._texts = [_SLOT.sub("{}", pattern.template.text).strip() for pattern in known.patterns]
        self._exact = set(self._texts)
        self._forms = [_form(text) for text in self._texts if _fixed(text) >= MIN_WORDS]
        self._heads = {text.partition("; ")[0] for text in self._texts if _KEYS.search(text)}
        self._words = frozenset(chain.from_iterable(known.group_loggers.words.get(layout, ()) for layout in CLIENT_LAYOUTS))

    def knows(self, logged: Logged) -> bool:
        """Whether a line of this text would be recognised, or an entry says in fixed words what the text fills in."""
        first = logged.text.strip().split("\n")[0].strip()
        if is_of_language(logged) and first.partition("; ")[0] in self._heads:
            return True
        return self._has(first) or any(self._reads(name, first) for name in logged.loggers)

    def _reads(self, logger: str, text: str) -> bool:
        """Whether the catalogue reads lines that the text could make."""
        return any(self._catalogue.match(logger, prefix + line) is not None for prefix in _PREFIXES for line in _lines(text))

    def _has(self, first: str) -> bool:
        for each in (first, _BRACKETS.sub("", first, count=1)):
            if each in self._exact or any(form.fullmatch(each) for form in self._forms):
                return True
            if _fixed(each) >= MIN_WORDS and any(map(_form(each).fullmatch, self._texts)):
                return True
        return False

    def passes_over(self, logged: Logged) -> bool:
        """Whether the text is ignored on purpose."""
        if is_of_language(logged):
            return any(text in logged.text for text in self._catalogue.group_loggers.passed_over)
        names = filter(self._catalogue.group_loggers.concerns, logged.loggers)
        return any(not self._catalogue.group_loggers.shows(name, logged.level, logged.text) for name in names)

    def concerns_groups(self, logged: Logged) -> bool:
        """Whether the class is one whose loggers concern groups, or the text of another language has a word of them."""
        if is_of_language(logged):
            return any(word in logged.text for word in self._words)
        return self._catalogue.group_loggers.concerns(logged.logger)


def _lines(text: str) -> Iterator[str]:
    """Lines that a text could make."""
    parts = text.split("{}")
    gaps = len(parts) - 1
    for fillers in product(FILLERS, repeat=gaps) if gaps <= FILLED_MAX else ((each,) * gaps for each in FILLERS):
        yield "".join(part for pair in zip(parts, (*fillers, ""), strict=True) for part in pair)


def _fixed(text: str) -> int:
    return len(text.replace("{}", ""))


def _form(text: str) -> re.Pattern[str]:
    return re.compile(".*?".join(map(re.escape, text.split("{}"))), re.DOTALL)


_BYTE_CODE = (
    "JAR...`, which reads the byte code of released jars.",
    "It counts texts from INFO on of the classes whose loggers concern groups, elections or assignments "
    "(`parsers/catalogue/messages/*group_loggers.yaml`).",
    "What is *passed over* has a reason there; what is *missing* is listed as unknown, with its template, when it stands in a log "
    "that names its logger, or, in the layouts of RocketMQ's servers, which print none, if it has a word of groups.",
)
_SOURCES = (
    "FOLDER...`, which reads sources of clients in Go, C++, C#, Python, Rust and TypeScript.",
    "It counts, file by file, texts from INFO on with a word of groups, assignments or sessions "
    "(`parsers/catalogue/messages/rocketmq_clients/group_loggers.yaml`).",
    "What is *passed over* has a reason there; what is *missing* is listed as unknown, with its template, in the layouts of the clients in "
    "Go, C# and C++. Those in Python, Rust and Node write in layouts that any program may have; there it is not listed.",
)
_KAFKA = ("Kafka", "org.apache.kafka.", "wording.md", _BYTE_CODE)
_ROCKETMQ = ("RocketMQ", "org.apache.rocketmq.", "wording_rocketmq.md", _BYTE_CODE)
_CLIENTS = ("RocketMQ's clients in other languages", "", "wording_rocketmq_clients.md", _SOURCES)
"""Products with their packages, the pages of their figures and what these count."""

Found = tuple[int, int, list[Logged]]
"""Of a class: texts known, texts passed over, and those that are missing."""


def compare(texts: Iterable[Logged], known: Wordings, every: bool, parts: Sequence[str]) -> dict[str, Found]:
    """By class: texts known, texts passed over, and those that the catalogue lacks."""
    found: dict[str, Found] = defaultdict(lambda: (0, 0, []))
    for each in texts:
        if each.level in ("DEBUG", "TRACE") or (parts and not any(part in each.logger for part in parts)):
            continue
        if not (every or parts or known.concerns_groups(each)):
            continue
        right, ignored, missing = found[each.logger]
        if known.knows(each):
            right += 1
        elif known.concerns_groups(each) and known.passes_over(each):
            ignored += 1
        else:
            missing.append(each)
        found[each.logger] = right, ignored, missing
    return found


def total_of(found: Iterable[Found]) -> tuple[int, int]:
    """How many texts there are, and how many of them are known or passed over."""
    each = list(found)
    return sum(right + ignored + len(missing) for right, ignored, missing in each), sum(right + ignored for right, ignored, _ in each)


def _product_of(names: Iterable[str]) -> tuple[str, str, str, tuple[str, ...]]:
    each = list(names)
    if any(Path(name).suffix in LANGUAGES for name in each):
        return _CLIENTS
    return _ROCKETMQ if any(name.startswith(_ROCKETMQ[1]) for name in each) else _KAFKA


def page(of_jars: Mapping[str, Mapping[str, Found]]) -> str:
    """Figures by class as a page."""
    total, good = total_of(found for classes in of_jars.values() for found in classes.values())
    product, package, file, counted = _product_of(chain(*of_jars.values()))
    lines = [
        f"# Wordings of the newest {product}",
        "",
        f"Written by `python -m tests.wording --page docs/{file} {counted[0]}",
        *counted[1:],
        "",
        f"{good} of {total} texts are known or passed over: {good / total if total else 1.0:.3f}.",
    ]
    for name, classes in of_jars.items():
        if classes:
            count, fine = total_of(classes.values())
            lines += [
                "",
                f"## {name}",
                "",
                f"{fine} of {count}.",
                "",
                f"| {'file' if counted is _SOURCES else 'class'} | known | passed over | missing |",
                "| --- | --- | --- | --- |",
            ]
            lines += [
                f"| {each.removeprefix(package)} | {right} | {ignored} | {len(missing)} |"
                for each, (right, ignored, missing) in sorted(classes.items())
            ]
    return "\n".join(lines) + "\n"


def listed(of_jars: Mapping[str, Mapping[str, Found]], brief: bool) -> Iterator[str]:
    """Figures by class, and the texts that are missing, as lines."""
    for jar, classes in of_jars.items():
        yield jar
        for name, (right, ignored, missing) in sorted(classes.items()):
            count = right + ignored + len(missing)
            yield f"  {name}: {right} known, {ignored} passed over, {len(missing)} missing of {count}"
            for each in () if brief else missing:
                yield f"    {each.level:5} {each.text!r}"
    total, good = total_of(found for classes in of_jars.values() for found in classes.values())
    yield f"{good} of {total} texts are known or passed over on purpose: {good / total if total else 1.0:.3f}"


def main() -> int:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jars", nargs="+", type=Path, metavar="JAR-OR-FOLDER")
    parser.add_argument("--all", action="store_true", help="classes that have nothing to do with groups, too")
    parser.add_argument("--names", nargs="+", default=[], metavar="PART", help="only classes whose names hold a part")
    parser.add_argument("--brief", action="store_true", help="counts only")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the figures as a page, too")
    given = parser.parse_args()
    known = Wordings(catalogue())
    of_jars = {each.name: compare(_texts(each), known, given.all, given.names) for each in given.jars}
    for line in listed(of_jars, given.brief):
        print(line)
    if given.page is not None:
        given.page.write_text(page(of_jars), encoding="utf-8")
    total, good = total_of(found for classes in of_jars.values() for found in classes.values())
    return int(good < KNOWN_MIN * total)


def _texts(path: Path) -> list[Logged]:
    return [*texts_below(path), *dict.fromkeys(texts_of_languages(path))] if path.is_dir() else texts_of(path)


if __name__ == "__main__":
    raise SystemExit(main())
