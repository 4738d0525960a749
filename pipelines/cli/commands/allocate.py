"""Command `groupscope allocate`: preview of RocketMQ shares and their changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines import exit_codes as codes
from pipelines.cli.answers.source import open_source
from pipelines.cli.arguments import options as o
from pipelines.cli.arguments.question import QueryOptions, question
from pipelines.errors import UsageError

if TYPE_CHECKING:
    from models.rocketmq.strategies import AllocationStrategy, Preview, Queue, QueueMove
    from pipelines.cli.answers.queue_shares import QueueShares

_QUEUES_MAX = 1_000_000


@question
def allocate(
    query_options: QueryOptions,
    queues: Annotated[
        list[str] | None,
        typer.Option("--queues", metavar="BROKER=N", help="How many queues can be read from a broker. Repeatable, or with commas."),
    ] = None,
    clients: Annotated[
        list[str] | None, typer.Option("--client", "--clients", metavar="ID", help="A client of the group. Repeatable, or with commas.")
    ] = None,
    strategy: Annotated[
        str | None, typer.Option("--strategy", metavar="NAME", help="As clients print it: AVG, AVG_BY_CIRCLE, CONSISTENT_HASH and so on.")
    ] = None,
    topic: Annotated[str | None, typer.Option("--topic", metavar="NAME", help="The topic; its name counts for CONSISTENT_HASH.")] = None,
    with_client: Annotated[
        list[str] | None, typer.Option("--with-client", metavar="ID", help="Show what moves when this client comes. Repeatable.")
    ] = None,
    without_client: Annotated[
        list[str] | None, typer.Option("--without-client", metavar="ID", help="Show what moves when this client goes. Repeatable.")
    ] = None,
    with_queues: Annotated[
        list[str] | None,
        typer.Option("--with-queues", metavar="BROKER=N", help="Show what moves when a broker has this many queues. Repeatable."),
    ] = None,
    rooms: Annotated[list[str] | None, typer.Option("--room", metavar="NAME", help="A machine room, for MACHINE_ROOM. Repeatable.")] = None,
    virtual_nodes: Annotated[
        int, typer.Option("--virtual-nodes", metavar="N", min=0, max=100_000, help="Of each client, for CONSISTENT_HASH.")
    ] = 10,
    as_json: o.AsJson = False,
) -> int:
    """Preview shares of RocketMQ queues, and what moves.

    Clients or queues may come or go. Both are given, or taken from logs or tables at their end or at --until.
    """
    from models.rocketmq.strategies import moves

    shared = _start(query_options, _parted(queues), _parted(clients), topic)
    chosen = _strategy(strategy or shared.strategy, virtual_nodes, rooms)
    before = _shares(chosen, shared.topic, shared.reads, shared.clients)
    changed = bool(with_client or without_client or with_queues)
    gone = set(without_client or ())
    if unknown := sorted(gone - set(shared.clients)):
        raise UsageError(f"--without-client {unknown[0]!r} is none of the clients given")
    then = [client for client in shared.clients if client not in gone] + list(with_client or ())
    after = _shares(chosen, shared.topic, shared.reads | _reads(with_queues or (), "--with-queues"), then) if changed else None
    moved = moves(before, after) if after is not None else ()
    if as_json:
        from pipelines.cli.output.json_csv import write_object

        write_object(_object(after or before, moved))
    else:
        from pipelines.cli.output.standard_streams import Output

        Output().write("".join(f"{line}\n" for line in _lines(after or before, moved, has_changed=changed)))
    return codes.GOOD


def _parted(texts: Sequence[str] | None) -> list[str]:
    """Values of an option separated by commas, which no client id contains."""
    return [part.strip() for text in texts or () for part in text.split(",") if part.strip()]


def _start(query_options: QueryOptions, queues: Sequence[str], clients: Sequence[str], topic: str | None) -> QueueShares:
    """Input of the preview: from options or from a history."""
    from pipelines.cli.answers.queue_shares import QueueShares, shared_at

    if not (query_options.paths or query_options.warehouse):
        if not queues or not clients:
            raise UsageError("give --queues and --client, or logs (or --warehouse) to take them from")
        return QueueShares("", topic or "topic", _reads(queues, "--queues"), list(clients), "AVG")
    if queues or clients:
        raise UsageError(
            "--queues and --client are taken from the logs; say what changes by --with-client, --without-client or --with-queues"
        )
    if query_options.groups is not None and len(query_options.groups) > 1:
        raise UsageError("--group: one group at a time")
    source = open_source(query_options)
    at = None
    if query_options.until:
        from pipelines.cli.arguments.times import moment

        lasts = [row["last_at"] for row in source.rows.inputs["log_files"] if row["last_at"] is not None]
        at = moment(query_options.until, source.clock.zone_name, "--until").micros(max(lasts, default=None))
    shared = shared_at(source.rows, query_options.groups[0] if query_options.groups else None, topic, at)
    sizes = f"{_count(len(shared.clients), 'client')}, {_count(sum(shared.reads.values()), 'queue')}"
    query_options.talk.note(f"{shared.group}, {shared.topic}: {sizes}, {shared.strategy}")
    if shared.unnamed:
        query_options.talk.warn(
            f"{shared.unnamed} more clients were there that held nothing and that no row names: shares are without them"
        )
    return shared


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun if number == 1 else noun + 's'}"


def _strategy(name: str, virtual_nodes: int, rooms: list[str] | None) -> AllocationStrategy:
    from models.rocketmq.strategies import strategy_named

    if name.endswith("CONFIG"):
        raise UsageError("--strategy CONFIG gives every client the list that it was configured with: there is nothing to preview")
    try:
        return strategy_named(name, virtual_nodes=virtual_nodes, rooms=rooms)
    except ValueError as error:
        raise UsageError(f"--strategy: {error}") from error


def _reads(texts: Any, option: str) -> dict[str, int]:
    reads: dict[str, int] = {}
    for text in texts:
        broker, equals, count = text.rpartition("=")
        if not equals or not broker or not count.isdecimal() or len(count) > 7:
            raise UsageError(f"{option} {text!r}: expected BROKER=N, such as broker-a=8")
        reads[broker] = int(count)
    if sum(reads.values()) > _QUEUES_MAX:
        raise UsageError(f"{option}: more than {_QUEUES_MAX} queues")
    return reads


def _shares(strategy: AllocationStrategy, topic: str, reads: dict[str, int], clients: list[str]) -> Preview:
    from models.rocketmq.strategies import AllocationError, preview, readable_queues

    try:
        return preview(strategy, readable_queues(topic, reads), clients)
    except AllocationError as error:
        raise UsageError(f"clients would take nothing anew: {error}") from error


def _name(queue: Queue) -> str:
    return f"{queue.broker}:{queue.queue_id}"


def _object(shown: Preview, moved: tuple[QueueMove, ...]) -> dict[str, Any]:
    return {
        "strategy": shown.strategy,
        "shares": [{"client_id": share.client_id, "queues": [_name(queue) for queue in share.queues]} for share in shown.shares],
        "unowned": [_name(queue) for queue in shown.unowned],
        "contested": [_name(queue) for queue in shown.contested],
        "moves": [{"queue": _name(move.queue), "before": list(move.before), "after": list(move.after)} for move in moved],
    }


def _lines(shown: Preview, moved: tuple[QueueMove, ...], *, has_changed: bool) -> list[str]:
    from dashboards.wording.escaping import visible

    width = max((len(visible(share.client_id)) for share in shown.shares), default=0)
    lines = [
        f"{visible(share.client_id):{width}}  {len(share.queues):>4}  {' '.join(visible(_name(queue)) for queue in share.queues) or '-'}"
        for share in shown.shares
    ]
    idle = sum(not share.queues for share in shown.shares)
    if idle:
        lines.append(f"{idle} of {len(shown.shares)} clients would have nothing to read")
    if shown.unowned:
        lines.append(f"read by nobody: {' '.join(visible(_name(queue)) for queue in shown.unowned)}")
    if shown.contested:
        lines.append(f"read by several: {' '.join(visible(_name(queue)) for queue in shown.contested)}")
    if has_changed:
        lines.append(f"queues that change hands: {len(moved)}")
        lines += [f"  {visible(_name(move.queue))}  {_who(move.before)} -> {_who(move.after)}" for move in moved]
    return lines


def _who(clients: tuple[str, ...]) -> str:
    from dashboards.wording.escaping import visible

    return ", ".join(visible(client) for client in clients) or "nobody"
