"""Optional packages: which extra installs them, and what to say without.

The base analyses logs. Everything that is large and serves some commands only belongs to an extra of `pyproject.toml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from pipelines.errors import UsageError

EXTRAS: Mapping[str, Mapping[str, str]] = {
    "spark": {
        "pyspark": "pyspark",
        "delta-spark": "delta",
        "great-expectations": "great_expectations",
        "sqlglot": "sqlglot",
        "prometheus-client": "prometheus_client",
    },
    "warehouse": {"deltalake": "deltalake"},
    "sql": {"duckdb": "duckdb"},
    "pandas": {"pandas": "pandas"},
    "redact": {"cryptography": "cryptography"},
    "mcp": {"mcp": "mcp"},
}
"""Extra -> distributions, with the names under which they are imported."""

NEEDED_BY: Mapping[str, str] = {
    "spark": "run, maintain",
    "warehouse": "--warehouse",
    "sql": "sql",
    "pandas": "to_pandas",
    "redact": "--redact",
    "mcp": "mcp",
}
"""Extra -> commands and options that need it."""

_INCLUDES = {"spark": ("spark", "warehouse", "pandas")}
_EXTRA_OF = {name: extra for extra, packages in EXTRAS.items() for pair in packages.items() for name in pair}


class MissingPackage(UsageError, ModuleNotFoundError):
    """A package that is not installed because its extra was not chosen."""


def require(extra: str) -> None:
    """Raise MissingPackage unless all packages of an extra are installed.

    Platforms bring their own Spark, and Delta within it; so Delta's package is not asked for.
    """
    wanted = [name for part in _INCLUDES.get(extra, (extra,)) for name in EXTRAS[part] if name != "delta-spark"]
    absent = [name for name in wanted if found_version(name) is None]
    if absent:
        raise _missing(", ".join(absent), extra, is_plural=len(absent) > 1)


def found_version(distribution: str) -> str | None:
    """Version of an installed distribution, None without it."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def missing_package(error: BaseException) -> MissingPackage | None:
    """The extra to install after a failed import, None for other errors."""
    if not isinstance(error, ModuleNotFoundError) or isinstance(error, MissingPackage):
        return None
    name = (error.name or "").split(".")[0]
    extra = _EXTRA_OF.get(name)
    return None if extra is None else _missing(name, extra)


def _missing(names: str, extra: str, *, is_plural: bool = False) -> MissingPackage:
    verb = "are" if is_plural else "is"
    return MissingPackage(f"{names} {verb} not installed, which {NEEDED_BY[extra]} need{_s(extra)}: pip install 'groupscope[{extra}]'")


def _s(extra: str) -> str:
    return "" if "," in NEEDED_BY[extra] else "s"
