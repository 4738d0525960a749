"""Parsing of options such as `[GLOB=]VALUE` and `NAME=VALUE`."""

from __future__ import annotations

import difflib
import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.errors import UsageError
from pipelines.extras import require

if TYPE_CHECKING:
    from conf.settings import Settings
    from models.incidents.incidents import Limits
    from parsers.reading.reader import ReadOptions
    from parsers.redaction.pseudonyms import Redaction
    from pipelines.analysis.in_process import AnalyzeOptions

_KEY_VARIABLE = "GROUPSCOPE_REDACT_KEY"
"""Environment variable with the pseudonyms' key, unless a file has it."""

ALL = "all"
"""Stands for all kinds of names."""

ASSUMABLE = {
    "session_timeout_ms": ("session_timeout_ms", 1),
    "rebalance_timeout_ms": ("rebalance_timeout_ms", 1),
    "max_poll_interval_ms": ("rebalance_timeout_ms", 1),
    "initial_rebalance_delay_ms": ("initial_delay_ms", 1),
    "offsets_retention_minutes": ("offsets_retention_seconds", 60),
    "offsets_partitions": ("offsets_partitions", 1),
}
"""Settings for --assume: fact of the cluster, and factor to its unit.

A Java consumer's rebalance timeout is its poll interval.
"""


@dataclass(frozen=True, slots=True)
class ReadArguments:
    """Raw command line options about reading."""

    log_zones: Sequence[str] | None = None
    clusters: Sequence[str] | None = None
    kafka_versions: Sequence[str] | None = None
    assumptions: Sequence[str] | None = None
    redact: str | None = None
    redact_key: Path | None = None
    is_lasting: bool = False
    """True if results are stored, so that the key must be stored, too."""


def rule(text: str, option: str) -> tuple[str | None, str]:
    """Glob and value of a rule; glob None means all files.

    The value contains no equals sign; a glob may.
    """
    glob, equals, value = text.rpartition("=")
    if not value or (equals and not glob):
        raise UsageError(f"{option} {text!r}: expected VALUE or GLOB=VALUE")
    return (glob if equals else None, value)


def assumption(text: str) -> tuple[str, int]:
    """Fact and value of an `--assume` option."""
    name, _, value = text.partition("=")
    if name not in ASSUMABLE:
        near = difflib.get_close_matches(name, ASSUMABLE, n=1)
        raise UsageError(
            f"--assume {text!r}: {name!r} can't be assumed; "
            + (f"did you mean {near[0]}?" if near else f"known are {', '.join(ASSUMABLE)}")
        )
    if not value.isdecimal():
        raise UsageError(f"--assume {text!r}: expected a whole number behind the equals sign")
    fact, unit = ASSUMABLE[name]
    return fact, int(value) * unit


def analyze_options(settings: Settings, given: ReadArguments) -> AnalyzeOptions:
    """Options of the in-process analysis."""
    from pipelines.analysis.in_process import AnalyzeOptions

    read = read_options(settings, given, fold_runs=True)
    return AnalyzeOptions(read, assumptions_of(settings, given), limits=limits_of(settings), processes=settings.input.processes or None)


def assumptions_of(settings: Settings, given: ReadArguments) -> dict[str, int]:
    """Assumed facts of clusters; the command line takes precedence."""
    return dict(map(assumption, (*settings.input.assume, *(given.assumptions or ()))))


def limits_of(settings: Settings) -> Limits:
    """Limits of incidents, and what is kept of groups."""
    import dataclasses

    from models.incidents.incidents import Limits

    return Limits(**dataclasses.asdict(settings.incidents), group_states=settings.replay.group_states)


def read_options(settings: Settings, given: ReadArguments, *, fold_runs: bool) -> ReadOptions:
    """Read options from settings and command line; the latter takes precedence."""
    from parsers.reading.reader import ReadOptions

    read = ReadOptions(
        log_tz=_rules(settings.input.log_time_zones, given.log_zones, "--log-tz"),
        clusters=_rules(settings.input.clusters, given.clusters, "--cluster"),
        kafka_versions=_rules(settings.input.kafka_versions, given.kafka_versions, "--kafka-version"),
        max_record_bytes=settings.input.max_record_bytes,
        fold_runs=fold_runs,
        redaction=redaction_of(settings, given),
    )
    for _, zone in read.log_tz:
        check_zone(zone, "--log-tz")
    return read


def redaction_of(settings: Settings, given: ReadArguments) -> Redaction | None:
    """The requested redaction, None if there is none.

    The key is never an argument, because other users of the machine can see arguments.
    """
    kinds = [kind.strip() for kind in given.redact.split(",")] if given.redact is not None else list(settings.privacy.redact)
    if not kinds:
        return None
    require("redact")
    from parsers.redaction.pseudonyms import REDACTED_KINDS, BadKeyError, Redaction

    everything = kinds == [ALL]
    kinds = list(REDACTED_KINDS) if everything else kinds

    path = given.redact_key or (Path(settings.privacy.key_file) if settings.privacy.key_file else None)
    try:
        key = path.read_bytes().strip() if path is not None else os.environ.get(_KEY_VARIABLE, "").encode().strip()
    except OSError as error:
        raise UsageError(f"{path}: the key of --redact can't be read: {error.strerror or error}") from error
    if not key and everything and not given.is_lasting:
        key = _key_of_this_run()
    if not key:
        raise UsageError(f"--redact needs a key: put one into {_KEY_VARIABLE}, or name a file with --redact-key")
    try:
        return Redaction(kinds, key)
    except BadKeyError as error:
        raise UsageError(f"--redact: {error}") from error


@cache
def _key_of_this_run() -> bytes:
    """A key for this run.

    Nobody keeps it, so nobody can find out a name by it.
    """
    from pipelines.cli.output.standard_streams import say

    say(f"note: the key of --redact is made for this run; for equal pseudonyms in another one, put a key into {_KEY_VARIABLE}")
    return secrets.token_hex(32).encode()


def shown_as(groups: Iterable[str], redaction: Redaction | None) -> list[str]:
    """Groups by the names in the answer.

    With redaction, a group may be given by name or by pseudonym.
    """
    if redaction is None:
        return list(groups)
    from parsers.redaction.pseudonyms import PSEUDONYM

    return [group if PSEUDONYM.fullmatch(group) else redaction.group(group, {}) for group in groups]


def check_zone(zone: str, option: str) -> None:
    """Raise UsageError for an unknown time zone, with a suggestion."""

    from parsers.formats.time_zones import UnknownZoneError, zone_named

    try:
        zone_named(zone)
    except UnknownZoneError as error:
        from zoneinfo import available_timezones

        near = difflib.get_close_matches(zone, available_timezones(), n=1)
        raise UsageError(f"{option}: {error}" + (f"; did you mean {near[0]}?" if near else "")) from error


def _rules(first: Iterable[str], then: Iterable[str] | None, option: str) -> list[tuple[str | None, str]]:
    return [rule(text, option) for text in (*first, *(then or ()))]
