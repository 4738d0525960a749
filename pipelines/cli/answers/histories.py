"""Histories for what-if, from the rows of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboards.view.row_access import column

if TYPE_CHECKING:
    from models.whatif.history import History


def whatif_history(rows: Any, processes: int = 1) -> History:
    """Rows that what-if needs, with the version of each cluster's brokers.

    Of several versions the one that most files tell counts. `processes` run long histories; 0 is one for each processor.
    """
    from models.whatif.history import History
    from pipelines.analysis.parallel.whatif import part_runner

    runner = part_runner(processes)
    return History(
        list(rows.rebalances), list(rows.rebalance_members), list(rows.members), list(rows.client_states), _versions(rows), runner
    )  # fmt: skip


def _versions(rows: Any) -> dict[str, str]:
    from collections import Counter

    versions: dict[str, Counter[str]] = {}
    for file in rows.inputs["log_files"]:
        version = column(file, "version")
        if version:
            versions.setdefault(column(file, "cluster") or "", Counter())[version] += 1
    return {cluster: counts.most_common(1)[0][0] for cluster, counts in versions.items()}
