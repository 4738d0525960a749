"""The wordings of messages by version, as lines are written in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parsers.catalogue.entries import Pattern, Prefix
from parsers.catalogue.templates import LinePart, Template, write


@dataclass(frozen=True, slots=True)
class Wordings:
    """All wordings, with the prefixes that they have."""

    patterns: Sequence[Pattern]
    prefixes: Mapping[str, Prefix]

    def of(self, message_id: str, version: str) -> list[Pattern]:
        """The wordings of a message in a version."""
        wanted = version_key(version)
        return [
            pattern
            for pattern in self.patterns
            if pattern.message.id == message_id and version_key(pattern.seen_in[0]) <= wanted <= version_key(pattern.seen_in[-1] + ".999")
        ]

    def render(self, message_id: str, version: str, fields: Mapping[str, Any]) -> str:
        """Write a version's line, in the wording with most of `fields`.

        Raises KeyError where the version has no wording of the message for which all fields are given.
        """
        given = frozenset(fields)
        fitting = [
            wording for wording in self.of(message_id, version) if self.needs(wording, given) <= given and self.fits(wording, fields)
        ]
        if not fitting:
            raise KeyError(f"{message_id} has no wording in {version} for these fields: {', '.join(sorted(fields))}")
        return self.write(max(fitting, key=lambda wording: len(self.needs(wording, given))), fields)

    def write(self, pattern: Pattern, fields: Mapping[str, Any]) -> str:
        """The line of one wording."""
        return write(self.parts(pattern, frozenset(fields)), fields)

    def parts(self, pattern: Pattern, given: frozenset[str]) -> list[LinePart]:
        """The line of one wording in parts, where these fields are given."""
        templates = [pattern.template, *self._before(pattern, given)]
        return [part for template in reversed(templates) for part in template.parts(given)]

    def _before(self, pattern: Pattern, given: frozenset[str]) -> Iterator[Template]:
        """The prefixes of a pattern, innermost first.

        Each in the form that says most of what is given.
        """
        name = pattern.prefix
        while name:
            prefix = self.prefixes[name]
            forms = [template for template in prefix.texts if template.needs() <= given] or list(prefix.texts)
            yield max(forms, key=lambda template: len(template.needs()))
            name = prefix.inside

    def needs(self, pattern: Pattern, given: frozenset[str]) -> frozenset[str]:
        """Fields required for writing a wording and its prefixes."""
        return pattern.template.needs().union(*(template.needs() for template in self._before(pattern, given)))

    @staticmethod
    def fits(pattern: Pattern, fields: Mapping[str, Any]) -> bool:
        """Whether the wording's fixed values agree with the fields."""
        return agree(pattern.constants, fields)


def agree(constants: Mapping[str, Any], fields: Mapping[str, Any]) -> bool:
    """Whether fields that are given have these values."""
    return all(fields.get(name, value) == value for name, value in constants.items())


def version_key(version: str) -> tuple[int, ...]:
    """A version as numbers; `4.x` counts as the last of 4."""
    return tuple(int(part) if part.isdecimal() else 999 for part in version.split("."))
