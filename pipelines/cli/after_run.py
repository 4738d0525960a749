"""Follow-up of a run: log lines, metrics, alerts and pages.

None of it changes the published tables.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pipelines import exit_codes as codes
from pipelines.cli.output.standard_streams import Messenger
from pipelines.errors import CannotWrite, JobError

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from dashboards.answer.history.alert_rules import AlertRule
    from parsers.redaction.pseudonyms import Redaction
    from pipelines.jobs.operations.alerts import AlertOptions, Send
    from pipelines.jobs.run_options import RunOutcome


def code_of(error: BaseException) -> int:
    """Exit code of an error."""
    return int(getattr(error, "exit_code", codes.INTERRUPTED if isinstance(error, KeyboardInterrupt) else codes.OUR_BUG))


def broken_rules(place: str, rules: Sequence[AlertRule]) -> list[dict[str, Any]]:
    """Breaches of the user's own rules by the published tables, as alerts."""
    if not rules:
        return []
    from pipelines.cli.answers.history_rows import breach_alerts, breaches
    from pipelines.cli.answers.selection import last_record_at, select
    from pipelines.cli.arguments.times import Moment
    from pipelines.jobs.operations.alerts import NEWS_FOR
    from pipelines.warehouse.warehouse_reader import WarehouseReader

    whole = WarehouseReader(place)
    # A comparison needs the last span and the one before it; what is older is no news.
    back = NEWS_FOR + timedelta(seconds=2 * max(rule.span_seconds for rule in rules))
    rows = select(whole, None, Moment("", "UTC", back=back), None)
    return list(breach_alerts(breaches(rows, last_record_at(whole), rules)))


@dataclass(frozen=True, slots=True)
class RunRecipients:
    """Recipients of a run's outcome."""

    place: str
    talk: Messenger
    log_json: bool = False
    metrics: Path | None = None
    report: Path | None = None
    alerts: AlertOptions | None = None
    send: Send | None = None
    redaction: Redaction | None = None
    lineage: str | None = None
    inputs: Sequence[str] = ()
    rules: Sequence[AlertRule] = ()
    """Rules of the user whose breach is an alert."""
    zone: str = "UTC"
    drawn_max: int = 0
    """Rebalances drawn on a page at most."""

    def succeeded(self, outcome: RunOutcome) -> None:
        """Follow up a run that published, or found nothing new."""
        changes = {table: [c.inserted, c.updated, c.deleted] for table, c in sorted(outcome.changes.items()) if c}
        self._log(
            "run finished",
            run_id=outcome.run_id,
            exit_code=outcome.exit_code,
            spared=outcome.was_skipped,
            changes=changes,
            counts=outcome.counts,
            timings=outcome.timings,
        )
        counts, tables = dict(outcome.counts), None
        troubles = list(outcome.troubles)
        for follow in (self._send_alerts, self._publish_pages, self._send_lineage):
            try:
                counts |= follow(outcome)
            except Exception as error:
                troubles.append(error)
        if self.metrics is not None:
            try:
                tables = self._table_metrics(outcome)
            except Exception as error:
                troubles.append(error)
            try:
                self._write_metrics(codes.decisive([outcome.exit_code, *map(code_of, troubles)]), counts, outcome.timings, tables)
            except Exception as error:
                troubles.append(error)
        if troubles:
            self._raise_gravest(troubles)

    def failed(self, error: BaseException, exit_code: int) -> None:
        """Follow up a failed run.

        A run that gave way to another has nothing to say about the tables.
        """
        self._log("run failed", exit_code=exit_code, error=self._shown(error))
        if exit_code != codes.WAREHOUSE_BUSY:
            try:
                self._send_lineage(None, self._shown(error) or type(error).__name__)
            except CannotWrite as trouble:
                self.talk.warn(str(trouble))
        if self.metrics is not None and exit_code != codes.WAREHOUSE_BUSY:
            try:
                self._write_metrics(exit_code, {}, {}, None, has_succeeded=False)
            except CannotWrite as trouble:  # the run's own error is the one to end with
                self.talk.warn(str(trouble))

    def goes_on_after(self, error: Exception) -> None:
        """Report an error that does not end a schedule, even with --quiet.

        Unexpected errors are shown with their traceback.
        """
        if isinstance(error, JobError):
            if not self.log_json:  # else `failed` has told it
                self.talk.fail(str(error))
            return
        # Values in a traceback may be names that must stay hidden.
        lines = traceback.format_exception(error) if self.redaction is None else traceback.format_tb(error.__traceback__)
        message = " ".join(f"{type(error).__name__}: {self._shown(error)}".split())
        self._log("unexpected error", exit_code=codes.OUR_BUG, error=message, traceback="".join(lines))
        if not self.log_json:
            self.talk.fail("\n".join([f"{message}; the next run tries again", *lines]))

    def _raise_gravest(self, troubles: list[Exception]) -> NoReturn:
        """Raise the gravest error, and warn about the others."""
        code = codes.decisive(map(code_of, troubles))
        gravest = next(error for error in troubles if code_of(error) == code)
        for error in troubles:
            if error is not gravest:
                self.talk.warn(str(error))
        raise gravest

    def _shown(self, error: BaseException) -> str:
        from pipelines.jobs.registry.failures import shown

        return shown(error, self.redaction)

    def _send_alerts(self, outcome: RunOutcome) -> dict[str, int]:
        if self.alerts is None or self.send is None:
            return {"alerts": 0, "alerts_failed": 0}
        from pipelines.jobs.operations.alerts import send_new

        sent_count = send_new(
            self.place,
            outcome.table_versions,
            outcome.run_id,
            self.alerts,
            self.send,
            broken_rules=broken_rules(self.place, self.rules),
        )
        if sent_count.sent:
            self._log("alerts sent", incidents=sent_count.sent)
        return {"alerts": sent_count.sent, "alerts_failed": sent_count.failed}

    def _publish_pages(self, _: RunOutcome) -> dict[str, int]:
        if self.report is not None:
            from pipelines.cli.report_folder import publish_reports

            self._log("pages written", folder=str(self.report), pages=publish_reports(self.place, self.report, self.zone, self.drawn_max))
        return {}

    def _send_lineage(self, outcome: RunOutcome | None, error: str | None = None) -> dict[str, int]:
        """Send the OpenLineage events of a run."""
        if self.lineage is None:
            return {}
        from pipelines.jobs.operations import lineage

        now, shown = datetime.now(UTC), self.redaction.path if self.redaction is not None else str
        written = {table: c.inserted + c.updated for table, c in outcome.changes.items() if c} if outcome is not None else {}
        facts = lineage.RunLineage(
            run_id=outcome.run_id if outcome is not None else now.isoformat(),
            warehouse=self.place,
            inputs=[shown(name) for name in self.inputs],
            started_at=now - timedelta(seconds=sum(outcome.timings.values()) if outcome is not None else 0.0),
            ended_at=now,
            rows_written=written,
            table_versions=outcome.table_versions if outcome is not None else {},
            error=error,
        )
        lineage.deliver(list(lineage.run_events(facts)), self.lineage)
        return {}

    def _table_metrics(self, outcome: RunOutcome) -> list[Metric]:
        from pipelines.jobs.operations.metrics import table_metrics

        return table_metrics(self.place, outcome.table_versions)

    def _write_metrics(self, exit_code: int, counts: Any, timings: Any, tables: list[Metric] | None, *, has_succeeded: bool = True) -> None:
        """Write metrics; without `tables`, keep those of tables in the file."""
        from pipelines.cli.output.atomic_write import write_text
        from pipelines.jobs.operations.metrics import RunMetrics, kept_metrics, last_success, metrics_text

        assert self.metrics is not None  # noqa: S101 - who calls has looked
        facts = RunMetrics(exit_code, datetime.now(UTC).timestamp(), counts, timings, has_succeeded)
        kept = kept_metrics(self.metrics) if tables is None else []
        write_text(self.metrics, metrics_text(facts, tables or [], last_success(self.metrics), kept))

    def _log(self, event: str, **values: object) -> None:
        """Write one JSON line to standard error, if requested."""
        if self.log_json:
            from pipelines.cli.output.json_log import write

            write(event, **values)
