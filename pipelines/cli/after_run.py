"""What follows a run: lines of the log, metrics, alerts and pages. None of it changes what was published."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.cli.console import Talk

if TYPE_CHECKING:
    from conf.settings import Settings
    from parsers.redaction import Redaction
    from pipelines.jobs.alerts import AlertOptions, Send
    from pipelines.jobs.run import RunOutcome


@dataclass(frozen=True, slots=True)
class Followers:
    """Whom a run is told to."""

    place: str
    settings: Settings
    talk: Talk
    log_json: bool = False
    metrics: Path | None = None
    report: Path | None = None
    alerts: AlertOptions | None = None
    send: Send | None = None
    redaction: Redaction | None = None

    def succeeded(self, outcome: RunOutcome) -> None:
        """After a run that published, or found nothing new."""
        changes = {table: [c.inserted, c.updated, c.deleted] for table, c in sorted(outcome.changes.items()) if c}
        self._log(
            "run finished",
            run_id=outcome.run_id,
            exit_code=outcome.exit_code,
            spared=outcome.spared,
            changes=changes,
            counts=outcome.counts,
            timings=outcome.timings,
        )
        told = self._tell(outcome)
        if self.report is not None:
            from pipelines.cli.reports import publish_reports

            self._log("pages written", folder=str(self.report), pages=publish_reports(self.place, self.report, self.settings))
        if self.metrics is not None:
            from pipelines.jobs.metrics import table_samples

            self._write_metrics(
                outcome.exit_code, outcome.counts | {"alerts": told}, outcome.timings, table_samples(self.place, outcome.table_versions)
            )

    def failed(self, error: BaseException, exit_code: int) -> None:
        """After a run that ended with an error."""
        from pipelines.jobs.run import shown

        self._log("run failed", exit_code=exit_code, error=shown(error, self.redaction))
        if self.metrics is not None:
            self._write_metrics(exit_code, {}, {}, {}, succeeded=False)

    def _tell(self, outcome: RunOutcome) -> int:
        if self.alerts is None or self.send is None:
            return 0
        from pipelines.jobs.alerts import tell

        told = tell(self.place, outcome.table_versions, outcome.run_id, self.alerts, self.send)
        if told:
            self._log("alerts sent", incidents=told)
        return told

    def _write_metrics(self, exit_code: int, counts: Any, timings: Any, samples: Any, *, succeeded: bool = True) -> None:
        from pipelines.cli.files import write_text
        from pipelines.jobs.metrics import RunFacts, last_success, metrics_text

        assert self.metrics is not None  # noqa: S101 - who calls has looked
        facts = RunFacts(exit_code, datetime.now(UTC).timestamp(), counts, timings, succeeded)
        write_text(self.metrics, metrics_text(facts, samples, last_success(self.metrics)))

    def _log(self, event: str, **values: object) -> None:
        """One JSON object a line, on standard error, where that was asked for."""
        if self.log_json:
            line = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **values}
            print(json.dumps(line, ensure_ascii=True, default=str), file=sys.stderr, flush=True)
