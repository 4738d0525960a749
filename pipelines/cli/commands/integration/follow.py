"""Output of `--follow`: news of rebalances as they begin and end."""

from __future__ import annotations

from collections.abc import Iterable

from pipelines import exit_codes as codes
from pipelines.cli.arguments.question import QueryOptions


def follow_rebalances(query_options: QueryOptions, *, as_lines: bool, kinds: Iterable[str] = ()) -> int:
    """Write news until standard input ends or the user interrupts.

    `kinds` are those that are written, all by default.
    """
    from pipelines.cli.answers.news.changes import NewsKind
    from pipelines.cli.answers.news.followed_source import followed
    from pipelines.cli.answers.news.sentences import news_line, news_object
    from pipelines.cli.answers.source import clock_of
    from pipelines.cli.output.json_csv import dumps
    from pipelines.cli.output.standard_streams import Output

    following, out, wanted = followed(query_options), Output(), frozenset(kinds)
    clock = clock_of(query_options.zone, following.settings)
    for change in following.changes():
        for line in change:
            if (wanted and line.kind not in wanted) or (as_lines and line.kind is NewsKind.LASTS):
                continue
            if as_lines:
                out.write_bytes(dumps(news_object(line.kind, line.row)) + b"\n")
            else:
                out.write(news_line(line.kind, line.row, clock, line.lasted_seconds) + "\n")
        out.flush()
    return codes.GOOD
