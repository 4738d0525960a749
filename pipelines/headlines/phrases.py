"""Phrases that several headlines share."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, noun: str) -> str:
    """`1 rebalance`, `2 rebalances`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def often(words: str, times: int) -> str:
    """`left`, `left 3 times`."""
    return f"{words} {times} times" if times > 1 else words


def cause_words(cause: str) -> str:
    """Words for a cause without its own."""
    return "cause unknown" if cause == "unknown" else cause.replace("_", " ")


def first_names(names: Sequence[str], limit: int) -> str:
    """The first names, and the number of further ones."""
    hidden_count = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {hidden_count} more" if hidden_count > 0 else "")


def brokers_named(nodes: Sequence[str]) -> str:
    """`broker 1`, `brokers 1, 2`."""
    return f"broker {nodes[0]}" if len(nodes) == 1 else "brokers " + ", ".join(nodes)
