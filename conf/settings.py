"""All settings as one typed object.

Defaults are in `default.toml`; a file given by the user and environment variables override them. Every error names the
key and the origin of its value.
"""

from __future__ import annotations

import difflib
import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, get_type_hints

PREFIX = "GROUPSCOPE_"
FILE_VARIABLE = "GROUPSCOPE_SETTINGS"
OWN_FILE = Path("groupscope") / "settings.toml"
"""Place below XDG_CONFIG_HOME, which is ~/.config by default."""


class SettingsError(Exception):
    """An invalid setting.

    The text names the key.
    """

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Input:
    log_time_zones: tuple[str, ...]
    clusters: tuple[str, ...]
    kafka_versions: tuple[str, ...]
    assume: tuple[str, ...]
    max_record_bytes: int
    processes: int


@dataclass(frozen=True, slots=True)
class Privacy:
    redact: tuple[str, ...]
    key_file: str


@dataclass(frozen=True, slots=True)
class Quality:
    rejected_share_max: float
    unknown_share_max: float
    tolerance: float


@dataclass(frozen=True, slots=True)
class Display:
    time_zone: str
    evidence_lines: int


@dataclass(frozen=True, slots=True)
class Report:
    drawn_rebalances_max: int


@dataclass(frozen=True, slots=True)
class WarehouseSettings:
    uri: str
    catalog: str
    retention_days: int


@dataclass(frozen=True, slots=True)
class Alerts:
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Incidents:
    episode_gap_seconds: float
    storm_count: int
    flapping_count: int
    slow_join_seconds: float
    stuck_seconds: float
    critical_stopped_seconds: float
    critical_share_of_hour: float
    critical_ownership_seconds: float
    handover_seconds: float
    routine_share_min: float


@dataclass(frozen=True, slots=True)
class Replay:
    group_states: bool


@dataclass(frozen=True, slots=True)
class Settings:
    input: Input
    privacy: Privacy
    display: Display
    quality: Quality
    report: Report
    warehouse: WarehouseSettings
    alerts: Alerts
    incidents: Incidents
    replay: Replay


_SECTIONS: dict[str, Any] = get_type_hints(Settings)
_KEYS: dict[str, dict[str, Any]] = {name: get_type_hints(section) for name, section in _SECTIONS.items()}
FORMER_KEYS: Mapping[tuple[str, str], str] = {("warehouse", "keep_days"): "retention_days"}
"""Section and former name -> name of renamed keys.

Both are read for one release.
"""


def load_settings(path: Path | str | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """Load the defaults, then the file, then the environment.

    The file is `path`, the one named by the environment, or the user's own.
    """
    variables = os.environ if environment is None else environment
    values: dict[str, dict[str, Any]] = {section: {} for section in _SECTIONS}
    default_text = resources.files(__name__.rpartition(".")[0]).joinpath("default.toml").read_text(encoding="utf-8")
    _merge(values, tomllib.loads(default_text), "conf/default.toml")
    chosen = path or variables.get(FILE_VARIABLE) or _own_file(variables)
    if chosen:
        _merge(values, _read(Path(chosen)), str(chosen))
    _merge_environment(values, variables)
    _check_zone(values["display"]["time_zone"])
    return Settings(**{name: section(**values[name]) for name, section in _SECTIONS.items()})


@cache
def default_settings() -> Settings:
    """The default settings."""
    return load_settings(environment={})


def _own_file(variables: Mapping[str, str]) -> Path | None:
    """The user's own settings file, if it exists."""
    home = variables.get("HOME")
    folder = variables.get("XDG_CONFIG_HOME") or (str(Path(home) / ".config") if home else "")
    path = Path(folder) / OWN_FILE if folder else None
    return path if path is not None and path.is_file() else None


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: can't read the settings file: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from error


def _merge(values: dict[str, dict[str, Any]], overrides: Mapping[str, Any], origin: str) -> None:
    for section, entries in overrides.items():
        if section not in _KEYS:
            raise SettingsError(f"{origin}: [{section}] is not a section{_nearest(section, _KEYS)}")
        if not isinstance(entries, Mapping):
            raise SettingsError(f"{origin}: {section} is a section; write its keys below [{section}]")
        for name, value in entries.items():
            key = FORMER_KEYS.get((section, name), name)
            if key not in _KEYS[section]:
                raise SettingsError(f"{origin}: {section}.{key} is not a setting{_nearest(key, _KEYS[section])}")
            values[section][key] = _checked(_KEYS[section][key], value, f"{origin}: {section}.{key}")


def _merge_environment(values: dict[str, dict[str, Any]], variables: Mapping[str, str]) -> None:
    """Merge `GROUPSCOPE_SECTION_KEY=value`; lists are separated by commas.

    Variables of unknown sections are ignored.
    """
    for variable in sorted(variables):
        section, _, key = variable.removeprefix(PREFIX).lower().partition("_")
        if not variable.startswith(PREFIX) or section not in _KEYS or not key:
            continue
        key = FORMER_KEYS.get((section, key), key)
        if key not in _KEYS[section]:
            raise SettingsError(f"{variable}: {section}.{key} is not a setting{_nearest(key, _KEYS[section])}")
        text = variables[variable]
        values[section][key] = _checked(_KEYS[section][key], _from_text(_KEYS[section][key], text), f"{variable}: {section}.{key}")


def _from_text(kind: Any, text: str) -> object:
    if kind is int or kind is float:
        try:
            return kind(text)
        except ValueError:
            return text
    if kind is bool:
        return {"true": True, "false": False}.get(text.strip().lower(), text)
    if kind == tuple[str, ...]:
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def _checked(kind: Any, value: object, place: str) -> object:
    """Return the value as its type, or raise an error with the expected type."""
    if kind == tuple[str, ...]:
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise SettingsError(f"{place}: expected a list of texts, found {value!r}")
    if kind is bool:
        if isinstance(value, bool):
            return value
        raise SettingsError(f"{place}: expected true or false, found {value!r}")
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if number and value < 0:  # type: ignore[operator]
        raise SettingsError(f"{place}: must not be negative, found {value}")
    if kind is float and number and math.isfinite(value):  # type: ignore[arg-type]
        return float(value)  # type: ignore[arg-type]
    if kind is int and number and isinstance(value, int):
        return value
    if kind is str and isinstance(value, str):
        return value
    expected = {int: "a whole number", float: "a number", str: "a text"}[kind]
    raise SettingsError(f"{place}: expected {expected}, found {value!r}")


def _check_zone(zone: str) -> None:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise SettingsError(f"display.time_zone: {zone!r} is not a time zone; an example is Europe/Berlin") from error


def _nearest(name: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else f"; known are {', '.join(known)}"
