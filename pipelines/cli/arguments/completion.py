"""Shell completion of names from the warehouse.

Nothing here may fail or print, because a shell shows everything that a completion prints. Names with shell
metacharacters are left out, because each of the four supported shells quotes differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import typer

_PLAIN = re.compile(r"[A-Za-z0-9_.,:@%+/-]+")
_MAX = 200


def groups(context: typer.Context, incomplete: str) -> list[str]:
    """Groups in the warehouse."""
    return _offer(_column(context, 'select distinct "group" as name from chosen order by name'), incomplete)


def clusters(context: typer.Context, incomplete: str) -> list[str]:
    """Clusters in the warehouse."""
    return _offer(_column(context, "select distinct cluster as name from chosen order by name"), incomplete)


def rebalances(context: typer.Context, incomplete: str) -> list[str]:
    """Rebalances as GROUP/GENERATION, newest first."""
    query = (
        "select \"group\" || '/' || cast(coalesce(generation_after, generation_before) as string) as name from chosen "
        "order by started_at desc"
    )
    return _offer(_column(context, query), incomplete)


def _offer(names: Iterable[str], incomplete: str) -> list[str]:
    chosen = (name for name in names if name.startswith(incomplete) and _PLAIN.fullmatch(name))
    return list(dict.fromkeys(chosen))[:_MAX]


def _column(context: typer.Context, query: str) -> list[str]:
    """Names from a query over rebalances (`chosen`).

    The warehouse is the one in the command line so far, else in the settings.
    """
    try:
        from conf.settings import load_settings
        from pipelines.warehouse.warehouse_reader import WarehouseReader

        given: dict[str, Any] = context.params
        uri = given.get("warehouse") or load_settings(given.get("settings")).warehouse.uri
        return [row["name"] for row in WarehouseReader(uri).rebalances.query(query) if row["name"]] if uri else []
    except Exception:
        return []
