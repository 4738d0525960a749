"""How the content of a file is to be read: encoding, envelopes around the lines, layout of the records."""

from __future__ import annotations

from dataclasses import dataclass

from parsers.layouts import Layout, layout_named, vote

_SAMPLE_LINES = 300
_SAMPLE_LINE_CHARACTERS = 4096
_TEXT_CONTROLS = frozenset(b"\t\n\r\x0b\x0c\x08\x1b\x00")


@dataclass(frozen=True, slots=True)
class FileFormat:
    """Form of a file, told by its first lines. Small, hashable and picklable: it travels to workers."""

    layout_name: str
    encoding: str = "utf-8"
    bom_bytes: int = 0
    wrappers: tuple[str, ...] = ()

    @property
    def layout(self) -> Layout:
        return layout_named(self.layout_name)


def tell_format(sample: bytes, *, complete: bool) -> FileFormat | str:
    """The form of a file that begins with `sample`, or why it is none: `binary`, `no header`."""
    encoding, bom_bytes = _encoding(sample)
    body = sample[bom_bytes:].lstrip(b"\x00") if encoding == "utf-8" else sample[bom_bytes:]
    if encoding == "utf-8" and _looks_binary(body):
        return "binary"
    text = body.decode(encoding, "replace")
    lines = text.split("\n")
    if not complete and len(lines) > 1:
        lines.pop()
    lines = [line[:_SAMPLE_LINE_CHARACTERS].rstrip("\r") for line in lines[:_SAMPLE_LINES]]
    best = vote(lines)
    if best.layout is None:
        return "no header"
    return FileFormat(best.layout.name, encoding, bom_bytes)


def _encoding(sample: bytes) -> tuple[str, int]:
    for bom, encoding in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if sample.startswith(bom):
            return encoding, len(bom)
    head = sample[:512]
    even, odd = head[0::2], head[1::2]
    if len(head) >= 16:
        # Mostly Latin text in UTF-16 has a zero in every second byte.
        if odd.count(0) > 0.6 * len(odd) and even.count(0) < 0.1 * len(even):
            return "utf-16-le", 0
        if even.count(0) > 0.6 * len(even) and odd.count(0) < 0.1 * len(odd):
            return "utf-16-be", 0
    return "utf-8", 0


def _looks_binary(body: bytes) -> bool:
    head = body[:8192]
    odd = sum(count for byte, count in _histogram(head) if byte < 32 and byte not in _TEXT_CONTROLS)
    return bool(head) and (odd > 0.02 * len(head) or head.count(0) > 0.3 * len(head))


def _histogram(data: bytes) -> list[tuple[int, int]]:
    return [(byte, data.count(byte)) for byte in range(32)]
