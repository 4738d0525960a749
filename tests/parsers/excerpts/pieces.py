"""Reads a text in pieces of one size, as a file is read chunk after chunk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from parsers.catalogue.catalogue import catalogue
from parsers.formats.detection import FileFormat
from parsers.formats.time_zones import ZoneConverter
from parsers.records.chunks import ParsedChunk, parse_chunk
from parsers.records.context import ChunkContext

ENDINGS = (
    " ",
    "\t",
    " \r",
    "\u00a0",
    ",",
    ";",
    "\\",
    "…",
    "<br>",
    "</p>",
    " |",
    " │",
    ",2029-02-19T00:00:00Z",
    ' - app=kafka, server="0"',
    " {}",
)
"""What stands behind lines that were copied."""


def in_pieces(data: bytes, told: FileFormat, size: int) -> Iterator[ParsedChunk]:
    """Parse pieces of `size` bytes, each with what the one before left over."""
    context, rest = ChunkContext("a", "a", told, ZoneConverter("UTC")), b""
    for at in range(0, len(data), size):
        context = replace(context, is_final=at + size >= len(data))
        parsed = parse_chunk(rest + data[at : at + size], context, catalogue())
        context, rest = parsed.context, parsed.rest
        yield parsed
