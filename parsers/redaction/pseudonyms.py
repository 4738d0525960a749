"""Keyed pseudonyms: equal names have equal pseudonyms in all runs with one key.

A pseudonym does not depend on the kind of a name, because one name may be both a group's and a topic's, and a client id
is part of a member id: equal names stay equal. Order and length are lost. Some verdicts need them (the partition that a
group hashes to, the order in which clients share queues), so the names can be sealed: encrypted under the key, for
readers who have it.
"""

from __future__ import annotations

import hmac
import json
import re
from base64 import b32encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from parsers.redaction.common_words import INTERNAL, IPV4, IPV6, Words, shortest
from parsers.redaction.name_detection import NamePosition, Replacements, detected_names

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

REDACTED_KINDS = ("hosts", "client_ids", "groups", "topics", "users")
"""Kinds of names that can be redacted."""

KEY_BYTES_MIN = 16
PREFIX = "name-"
PSEUDONYM = re.compile(PREFIX + "[a-z2-7]{12}")
_HELD_MAX = 200_000
_BLOCK_BYTES = 32
_UUID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_RANDOM = re.compile(r"(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9_-]{21}[AQgw]|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OWN_CLIENT = re.compile(r"(?P<before>(?:consumer|connector-consumer|streams)-)(?P<group>.+)(?P<after>-\d+)", re.DOTALL)
_OF_STREAMS = re.compile(
    r"(?P<before>)(?P<group>.+?)(?P<after>-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"(?:-(?:StreamThread|GlobalStreamThread|CleanupThread|StateUpdater|admin).*))",
    re.DOTALL,
)
_BARE_HOST = re.compile(
    rf"(?P<before>/?\[?)(?P<host>[^\s:/,;()\[\]]+|(?<=\[)[0-9A-Fa-f:.]+(?:%[\w.]+)?(?=\])|{IPV6.pattern})(?P<after>\]?(?::\d+)?)"
)
_INNER_TOPIC = re.compile(
    r"__(?:consumer_offsets|transaction_state|share_group_state|cluster_metadata|remote_log_metadata)$|RMQ_SYS_|SCHEDULE_TOPIC|TBW102$|OFFSET_MOVED_EVENT$|SELF_TEST_TOPIC$|BenchmarkTest$"
)
_OF_A_GROUP = re.compile(r"(%(?:RETRY|DLQ)%)(.*)", re.DOTALL)
_NAMES_EACH_SEARCHED = 50
_WORD = re.compile(r"[\w.%-]+")
_TAIL = re.compile(r"-(?:\d+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$")
_NO_NAMES = frozenset({"", "-1", "None", "null", "*", "-", "unknown", "ANONYMOUS", "Optional", "Optional.empty"})

Piece = tuple[str, bool]
"""A part of a text, and True if it is a replacement."""


class BadKeyError(ValueError):
    """An invalid key, or unknown kinds."""


class Redaction:
    """Kinds of names to replace, and the key."""

    def __init__(self, kinds: Iterable[str], key: bytes) -> None:
        self.kinds = frozenset(kinds)
        unknown = sorted(self.kinds - set(REDACTED_KINDS))
        if unknown or not self.kinds:
            raise BadKeyError(f"{', '.join(unknown) or 'nothing'} can't be redacted; known are {', '.join(REDACTED_KINDS)}")
        if len(key) < KEY_BYTES_MIN:
            raise BadKeyError(f"a key has at least {KEY_BYTES_MIN} bytes, this one {len(key)}")
        self._root = key
        self._names = self._derived("names")
        self._pseudonyms: dict[str, str] = {}
        self._sealed: dict[tuple[str, ...], str] = {}
        self.clear: dict[str, str] = {}
        """Names by pseudonym, as met by this process; never stored."""
        self._words: Words | None = None

    def __repr__(self) -> str:
        return f"Redaction({', '.join(sorted(self.kinds))})"

    def __reduce__(self) -> tuple[type[Redaction], tuple[tuple[str, ...], bytes]]:
        return Redaction, (tuple(sorted(self.kinds)), self._root)

    def _derived(self, use: str) -> bytes:
        return hmac.digest(self._root, b"groupscope " + use.encode(), "sha256")

    @property
    def covers_everything(self) -> bool:
        """True if all kinds are chosen; then only ordinary words stay."""
        return len(self.kinds) == len(REDACTED_KINDS)

    @property
    def facts(self) -> dict[str, object]:
        """Identity of this redaction, without revealing the key."""
        return {"kinds": sorted(self.kinds), "key": self._derived("check")[:8].hex()}

    @property
    def words(self) -> Words:
        """Words that stay in texts without known structure."""
        if self._words is None:
            self._words = Words(self.pseudonym)
        return self._words

    # -- names ---------------------------------------------------------------------------------------------

    def name(self, name: str) -> str:
        """Return the pseudonym of a name, and remember the name."""
        pseudonym = self.pseudonym(name)
        self.clear[pseudonym] = name
        return pseudonym

    def pseudonym(self, name: str) -> str:
        """Return the pseudonym of a name or word."""
        pseudonym = self._pseudonyms.get(name)
        if pseudonym is None:
            if len(self._pseudonyms) >= _HELD_MAX:
                self._pseudonyms.clear()
            digest = hmac.digest(self._names, name.encode("utf-8", "surrogatepass"), "sha256")
            pseudonym = self._pseudonyms[name] = PREFIX + b32encode(digest)[:12].decode().lower()
        return pseudonym

    def _chosen(self, kind: str, name: str) -> str:
        return self.name(name) if kind in self.kinds else name

    def group(self, name: str, names: Replacements) -> str:
        """Replace a group id."""
        if name in _NO_NAMES:
            return name
        return _noted(names, name, self._chosen("groups", name))

    def topic(self, name: str, names: Replacements) -> str:
        """Replace a topic.

        Topics of the products stay, and RocketMQ's retry topics contain their groups.
        """
        if name in _NO_NAMES or _INNER_TOPIC.match(name):
            return name
        of_group = _OF_A_GROUP.fullmatch(name)
        if of_group is not None:
            return _noted(names, name, of_group[1] + (self.name(of_group[2]) if self.kinds & {"groups", "topics"} else of_group[2]))
        if name.startswith(INTERNAL):  # models recognise internal topics by this prefix
            return _noted(names, name, INTERNAL + self._chosen("topics", name.removeprefix(INTERNAL)))
        return _noted(names, name, self._chosen("topics", name))

    def topic_partition(self, name: str, names: Replacements) -> str:
        """Replace the topic in `TOPIC-PARTITION` or a topic alone."""
        topic, dash, number = name.rpartition("-")
        if not dash or not number.isdigit():
            return self.topic(name, names)
        pseudonym = f"{self.topic(topic, names)}-{number}"
        if Words.is_bare(topic):
            names[name] = pseudonym
        return pseudonym

    def client(self, name: str, names: Replacements) -> str:
        """Replace a client id or the id of a static member.

        If client ids stay, groups and addresses within ids made by libraries are still replaced.
        """
        if name in _NO_NAMES:
            return name
        if "client_ids" in self.kinds:
            return _noted(names, name, self.name(name))
        made = _OWN_CLIENT.fullmatch(name) or _OF_STREAMS.fullmatch(name)
        pseudonym = f"{made['before']}{self._chosen('groups', made['group'])}{made['after']}" if made is not None else name
        if "hosts" in self.kinds:
            for pattern in (IPV4, IPV6) if ":" in pseudonym else (IPV4,):
                pseudonym = pattern.sub(lambda match: self.address(match[0]), pseudonym)
        return _noted(names, name, pseudonym)

    def member(self, name: str, names: Replacements) -> str:
        """Replace a member id: the owner's id and a random part, or the latter."""
        if name in _NO_NAMES or _RANDOM.fullmatch(name):
            if name not in _NO_NAMES:
                _noted(names, name, name)
            return name
        tail = _UUID.search(name)
        if tail is None:
            return self.client(name, names)
        owner = name[: tail.start()]
        pseudonym = self.client(owner, names) + tail[0]
        if Words.is_bare(owner):
            names[name] = pseudonym
        return pseudonym

    def host(self, name: str, names: Replacements) -> str:
        """Replace a host or address, with or without a port.

        A broker's number is neither.
        """
        match = _BARE_HOST.fullmatch(name)
        if name in _NO_NAMES or name.isdigit() or "hosts" not in self.kinds:
            if match is not None and not match["host"].isdigit() and name not in _NO_NAMES:
                _noted(names, match["host"], match["host"])
            return name
        if match is None:
            return IPV4.sub(lambda address: names.setdefault(address[0], self.name(address[0])), self.text(name, names))
        names[match["host"]] = self.address(match["host"])
        return match["before"] + names[match["host"]] + match["after"]

    def address(self, name: str) -> str:
        """Return the pseudonym of a host or address, the same for all its forms."""
        return self.name(shortest(name))

    # -- texts ---------------------------------------------------------------------------------------------

    def text(self, text: str, names: Replacements, *, strict: bool | None = None) -> str:
        """Replace names in a text.

        These are the names of its record (`names`), names after known keys, and addresses. If all kinds are chosen, only
        ordinary words stay; with `strict` only plain ones, with False all others too.
        """
        pseudonyms, places = detected_names(self, text, names)
        # Single words and numbers occur in any text, so they are names only if something identifies them.
        replacements = {name: by for name, by in names.items() if not Words.is_bare(name)} | pseudonyms
        pieces = _cut(text, places)
        if len(replacements) > _NAMES_EACH_SEARCHED:
            pieces = [piece for part in pieces for piece in _known_words(part, replacements)]
            replacements = {name: by for name, by in replacements.items() if not _WORD.fullmatch(name)}
            if "hosts" in self.kinds:
                pieces = [piece for part in pieces for piece in self._addressed(part)]
        for name in sorted(replacements, key=len, reverse=True):
            if name and name in text:
                pieces = [piece for part in pieces for piece in _replaced(part, name, replacements[name])]
        deny = self.covers_everything if strict is None else strict
        return "".join(piece if done or not deny else self.words.kept(piece, strict=bool(strict)) for piece, done in pieces)

    def _addressed(self, piece: Piece) -> Iterable[Piece]:
        """Split a piece at its addresses, which may be within words."""
        text, done = piece
        begun = 0
        for match in () if done else IPV4.finditer(text):
            yield text[begun : match.start()], False
            yield self.name(match[0]), True
            begun = match.end()
        yield text[begun:], done

    def path(self, path: str) -> str:
        """Replace names in a path.

        Folders and files may have any name, so only ordinary words stay.
        """
        return "/".join(self.words.kept_whole(part) for part in path.split("/"))

    # -- sealed names --------------------------------------------------------------------------------------

    def seal(self, names: Sequence[str]) -> str:
        """Encrypt names with AES-SIV (RFC 5297).

        It needs no nonce, so equal names give equal texts.
        """
        key = tuple(names)
        sealed = self._sealed.get(key)
        if sealed is None:
            if len(self._sealed) >= _HELD_MAX:
                self._sealed.clear()
            sealed = self._sealed[key] = self.encrypt(key)
        return sealed

    def encrypt(self, texts: Sequence[str]) -> str:
        """Encrypt texts of any length, without remembering the result."""
        plain = json.dumps(texts).encode()
        plain += b" " * (-len(plain) % _BLOCK_BYTES)  # hides the length of the name
        return urlsafe_b64encode(self._cipher.encrypt(plain, None)).decode()

    @property
    def secret(self) -> str:
        """The key as text, for workers of a cluster."""
        return self._root.hex()

    def open_sealed(self, sealed: str) -> list[str]:
        """Decrypt names, or texts of `encrypt`.

        Raises BadKeyError if they were sealed under another key, or if the text is damaged.
        """
        from cryptography.exceptions import InvalidTag

        try:
            names: list[str] = json.loads(self._cipher.decrypt(urlsafe_b64decode(sealed), None))
        except (InvalidTag, ValueError):  # binascii.Error is a ValueError
            raise BadKeyError("names were sealed under another key") from None
        return names

    @cached_property
    def _cipher(self) -> AESSIV:
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV  # needed only for redaction

        return AESSIV(hmac.digest(self._root, b"groupscope seal", "sha512"))


def _noted(names: Replacements, name: str, by: str) -> str:
    """Record the replacement of a name.

    A name of two kinds is replaced in texts if one of them is.
    """
    if by != name or name not in names:
        names[name] = by
    return by


def _cut(text: str, places: Iterable[NamePosition]) -> list[Piece]:
    """Split a text at known names, with their replacements."""
    pieces, begun = [], 0
    for start, end, by in sorted(places):
        if start >= begun:
            pieces += [(text[begun:start], False), (by, True)]
            begun = end
    return [*pieces, (text[begun:], False)]


def _known_words(piece: Piece, names: Replacements) -> list[Piece]:
    """Split a text at its words, for records with many names.

    A word may end with a partition number or a random id.
    """
    text, done = piece
    pieces: list[Piece] = []
    begun = 0
    for match in () if done else _WORD.finditer(text):
        tail = _TAIL.search(match[0])
        for name, rest in ((match[0], ""), (match[0][: tail.start()], tail[0]) if tail is not None else (match[0], "")):
            if name in names:
                pieces += [(text[begun : match.start()], False), (names[name] + rest, True)]
                begun = match.end()
                break
    return [*pieces, (text[begun:], done)]


def _replaced(piece: Piece, name: str, by: str) -> Iterable[Piece]:
    """Split a piece at occurrences of a whole name.

    Replacements are not searched again.
    """
    text, done = piece
    at = -1 if done else text.find(name)
    if at < 0:
        yield piece
        return
    begun, alone = 0, _address_stands_alone if IPV4.fullmatch(name) else _stands_alone
    while at >= 0:
        end = at + len(name)
        if alone(text, at, end):
            if at > begun:
                yield text[begun:at], False
            yield by, True
            begun = end
            at = text.find(name, end)
        else:
            at = text.find(name, at + 1)
    if begun < len(text):
        yield text[begun:], False


def _stands_alone(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (_is_word(before) and _is_word(text[start])) and not (_is_word(after) and _is_word(text[end - 1]))


def _address_stands_alone(text: str, start: int, end: int) -> bool:
    """Whether the address has no adjacent numbers.

    Letters may touch it (`10.0.3.17_9092`).
    """
    match = IPV4.match(text, start, end + 2)
    return match is not None and match.end() == end


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
