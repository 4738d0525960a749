"""Loggers whose lines concern groups.

What they say and no entry knows is shown as unknown. An area of the catalogue may say so of its own loggers, at any level.
Of the packages listed as `group_loggers`, lines from INFO on count; with `only_classes`, those of their `classes` alone.
What is listed as `ignored` is passed over, with the reason: all that some loggers say, or only some of their `texts`; texts
without loggers are passed over of all of them. Layouts that print no logger have `group_words`: a message with one of them, and
without any ignored text, is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from parsers.catalogue.entries import EntryLoggers

DETAILED = frozenset({"DEBUG", "TRACE"})
PARTS_MIN = 2
"""Parts of a logger below which its class alone decides."""
ANY_LOGGER = ""
"""Stands for all loggers where ignored texts name none."""


class _Package(NamedTuple):
    parts: tuple[str, ...]
    classes: frozenset[str]
    has_only_classes: bool

    def holds(self, parts: Sequence[str], segment: str, outer: str) -> bool:
        """Whether a logger, perhaps shortened, belongs to this package.

        `outer` is the class around an inner one.
        """
        if len(parts) < PARTS_MIN and segment in self.classes:
            return True
        if self.has_only_classes and not self.classes & {segment, outer}:
            return False
        return len(parts) >= len(self.parts) and all(whole.startswith(part or "?") for part, whole in zip(parts, self.parts, strict=False))


class GroupLoggers:
    """Loggers that concern groups, and their lines that are ignored."""

    def __init__(self, source: Mapping[str, Any], loggers: EntryLoggers) -> None:
        self._loggers = loggers
        self._packages = [
            _Package(tuple(entry["package"].split(".")), frozenset(entry.get("classes", ())), entry.get("only_classes", False))
            for entry in source["group_loggers"]
        ]
        self._whole: set[str] = set()
        self._ignored_loggers = frozenset(logger for entry in source["ignored"] if "texts" not in entry for logger in entry["loggers"])
        self._ignored_texts: dict[str, tuple[str, ...]] = {}
        for entry in source["ignored"]:
            for logger in entry.get("loggers", (ANY_LOGGER,)):
                self._ignored_texts[logger] = (*self._ignored_texts.get(logger, ()), *entry.get("texts", ()))
        anywhere = self._ignored_texts.pop(ANY_LOGGER, ())
        self._ignored_texts = {logger: (*texts, *anywhere) for logger, texts in self._ignored_texts.items()}
        self._ignored_anywhere = anywhere
        self.passed_over = tuple(dict.fromkeys(text for entry in source["ignored"] for text in entry.get("texts", ())))
        self.words: dict[str, tuple[str, ...]] = {
            layout: tuple(entry["words"]) for entry in source["group_words"] for layout in entry["layouts"]
        }
        """Words of messages that concern groups, by layouts that print no logger.

        `passed_over` are texts that make such a message none of groups.
        """

    def add(self, segments: frozenset[str]) -> None:
        """Take the loggers of an area, by their last segments."""
        self._whole |= segments

    def concerns(self, logger: str | None) -> bool:
        """Whether lines of this logger concern groups."""
        if not logger:
            return False
        segment = self._loggers.segment(logger)
        return segment in self._whole or self._in_package(logger, segment)

    def shows(self, logger: str | None, level: str | None, message: str, layout: str = "") -> bool:
        """Whether an unmatched line is to be shown as unknown."""
        if not logger:
            return level not in DETAILED and self._speaks_of_groups(layout, message.partition("\n")[0])
        segment = self._loggers.segment(logger)
        if segment not in self._whole and (level in DETAILED or not self._in_package(logger, segment)):
            return False
        texts = self._ignored_texts.get(segment, self._ignored_anywhere)
        return segment not in self._ignored_loggers and not any(text in message for text in texts)

    def _speaks_of_groups(self, layout: str, message: str) -> bool:
        return any(word in message for word in self.words.get(layout, ())) and not any(text in message for text in self.passed_over)

    @lru_cache(maxsize=4096)  # noqa: B019 - there is one object, as long as the process
    def _in_package(self, logger: str, segment: str) -> bool:
        *parts, name = logger.split(".")
        outer = name.partition("$")[0]
        return any(package.holds(parts, segment, outer) for package in self._packages)
