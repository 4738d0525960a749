"""Ordinary words of logs, as opposed to names given by users.

Ordinary are the fixed words of the catalogue, the lists in `words.yaml`, numbers, random ids, and class names of the
products and of Java. Any other word may be a name.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable
from functools import cache
from importlib import resources

_TOKEN = re.compile(r"[^\W_](?:[\w.@#$%+~-]*[^\W_])?|_+[\w.-]*", re.UNICODE)
_PART = re.compile(r"[A-Za-z]+|\d+|[^\W\d_]+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_SLOT = re.compile(r"\{[^{}]*\}")
_CLASS = re.compile(
    r"(?:(?:org\.apache\.\w+"
    r"|kafka\.(?:admin|api|authorizer|cluster|common|consumer|controller|coordinator|log|message|metrics|migration"
    r"|network|producer|raft|request|security|serializer|server|tools|utils|zk|zookeeper)"
    r"|java\.(?:io|lang|math|net|nio|rmi|security|sql|text|time|util)|javax\.(?:crypto|management|naming|net|security)"
    r"|(?:com\.)?sun\.(?:jmx|management|misc|net|nio|reflect|rmi|security|util)|jdk\.(?:internal|jfr|net|nio)"
    r"|scala\.(?:collection|concurrent|io|math|reflect|runtime|sys|util))(?:\.[a-z]\w*)*|kafka|scala)"
    r"(?:\.[A-Z][\w$]*)+(?:\.[\w$]+)?(?:@[0-9a-f]+)?"
)
"""A class or one of its methods.

A host or topic may have the same beginning (`kafka.acme.corp`), so the package must belong to a product and an element
must start with a capital. A package alone is ordinary if its words are.
"""
_RANDOM = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=[0-9a-f]*\d)[0-9a-f]{8,}|0x[0-9a-f]+|name-[a-z2-7]{12}")
INTERNAL = "__"
_INTERNAL = re.compile(rf"{INTERNAL}(?:consumer_offsets|transaction_state|share_group_state|cluster_metadata|remote_log_metadata)(?:-\d+)?")
_QUANTITY = re.compile(
    r"(?:v|version)?\d+(?:\.\d+)*(?:ms|s|m|h|d|k|kb|mb|gb|K|M|G|B|KB|MB|GB|T\d*|Z)?|\d{4}-\d\d-\d\dT[\d:.]+Z?|[A-Z]+\d|bz2|lz4|s3a|CRC-32"
)
_TIME = (
    r"T[0-2]\d[-_.:]?[0-5]\d[-_.:]?[0-5]\d[-_.,]\d{3,6}|[-_.T][0-2]\d(?:[-_.:]?[0-5]\d){0,2}|[-_.T][0-2]\d(?:[-_.:]?[0-5]\d)?[-_.]\d{1,6}"
)
_DATE = rf"(?:19|20)\d\d[-_.]?[01]\d[-_.]?[0-3]\d(?:{_TIME}|[-_.]\d{{1,6}})?(?![-_.]?\d)"
"""A date, optionally with a time or a number.

Four numbers after a date may be an address.
"""
_ENDINGS = rf"(?:\.(?:log|out|txt|json|gz|bz2|xz|zst|tar|tgz|zip|old|bak)|[.-]{_DATE})*"
_ENDING = re.compile(rf"{_ENDINGS}(?:\.\d{{1,10}}{_ENDINGS})?$")
"""File type, date, and one number.

`.77.3.21` may be part of an address.
"""
_ENDING_MAX = 200
_FILES = frozenset(["log", "out", "txt", "json", "gz", "bz", "xz", "zst", "tar", "tgz", "zip", "old", "bak"])
_GROUPS = "[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6}"
_COLONS = rf"(?:[0-9A-Fa-f]{{1,4}}:){{7}}[0-9A-Fa-f]{{1,4}}(?=(?::\d{{1,5}})?(?![\w:]))|(?:{_GROUPS})?::(?:{_GROUPS})?(?![\w:]|\.\d)"
_DOTTED = r"\d{1,3}(?:\.\d{1,3}){3}"
IPV4 = re.compile(rf"(?<!\d)(?<!\d\.){_DOTTED}(?!\d|\.\d)")
IPV6 = re.compile(rf"(?<![\w:.])(?:{_COLONS})(?:%\w[\w.]*)?")
"""Java writes all eight groups and appends a port with another colon.

An interface may follow a percent sign.
"""
_IN_A_PATH = re.compile(
    rf"(?<!\d){_DATE}|(?P<address>(?<!\d){_DOTTED}(?!\d)|(?<![\w:.])(?:{_COLONS}))|(?P<done>name-[a-z2-7]{{12}})"
    r"|(?P<dashed>(?<!\d)\d{1,3}([-_])\d{1,3}(?:\4\d{1,3}){2}(?!\d))"
)
_DASHED = re.compile(r"\d([-_])\d{1,3}\1\d{1,3}\1\d")
_MARKS = "-_.@:[]"
_BARE = re.compile(r"[A-Za-z_]+|\d+")
_TIED = re.compile(r"[A-Za-z][-_]+[A-Za-z]")
_NUMBERS = re.compile(r"[-_]?\d+")
_OF_CODE = re.compile(
    r"[A-Z]\w*\.(?:java|scala|kt)|[A-Z][A-Za-z]*(?:Exception|Error|Thread)|org\.apache\.[\w.]+"
    r"|[a-z]+(?:\.[a-z]+)+\.(?:ms|bytes|seconds|minutes|hours|enable|class|retries|servers|protocol)"
)
"""Source files, classes and settings of programs, which nobody uses as names."""
_SETTING = re.compile(r"[a-z][\w.]*", re.ASCII)
_HELD_MAX = 100_000


@cache
def _listed() -> dict[str, list[str]]:
    """The lists in `words.yaml`."""
    import yaml

    lists: dict[str, str] = yaml.safe_load(resources.files("parsers.redaction").joinpath("words.yaml").read_text(encoding="utf-8"))
    return {name: words.split() for name, words in lists.items()}


@cache
def _texts() -> tuple[str, ...]:
    """All fixed words in the catalogue."""
    source = json.loads(resources.files("parsers.catalogue").joinpath("messages", "compiled.json").read_text(encoding="utf-8"))
    patterns = [pattern for area in source["areas"] for entry in area["messages"] for pattern in entry.get("patterns", ())]
    texts = [pattern["text"] for pattern in patterns]
    texts += [value for pattern in patterns for value in pattern.get("set", {}).values() if isinstance(value, str)]
    texts += [logger for area in source["areas"] for logger in area["loggers"]]
    texts += json.dumps([source["prefixes"], source["reasons"], source["bodies"]]).split('"')
    return tuple(_SLOT.sub(" ", text) for text in texts)


@cache
def _vocabulary() -> frozenset[str]:
    parts = (part for text in _texts() for token in _PART.findall(text) for part in (token, *_CAMEL.findall(token)))
    return frozenset(map(str.lower, (*_listed()["words"], *parts)))


@cache
def _compounds() -> frozenset[str]:
    """Compound words in logs (`GroupCoordinator`, `re-join`); other ones may be names."""
    printed = [token for text in _texts() for token in _TOKEN.findall(text)]
    return frozenset((*_listed()["compounds"], *printed, *(token.rpartition(".")[2] for token in printed)))


def _is_known_as_one(token: str) -> bool:
    """Whether products print the word in this form.

    Numbers and file extensions are ignored.
    """
    if any(pattern.fullmatch(token) for pattern in (_RANDOM, _CLASS, _INTERNAL, _OF_CODE)):
        return True
    parts = _NUMBERS.sub("", token).strip("-_.").split(".")
    while parts and parts[-1] in _FILES:
        parts.pop()
    return token in _compounds() or ".".join(parts) in _compounds()


def _words(token: str) -> list[str]:
    """Words of letters within a word, without file extensions."""
    parts = _PART.findall(token)
    while len(parts) > 1 and parts[-1] in _FILES:
        parts.pop()
    return [word for part in parts if not part.isdigit() for word in (_CAMEL.findall(part) if part.isascii() else [part])]


def shortest(address: str) -> str:
    """Return the canonical form of an IPv6 address (RFC 5952), without interface.

    Other texts are returned unchanged.
    """
    if ":" in address:
        try:
            return ipaddress.IPv6Address(address.partition("%")[0]).compressed
        except ValueError:
            pass
    return address


class Words:
    """Distinguishes ordinary words from others, which `name` replaces."""

    def __init__(self, name: Callable[[str], str]) -> None:
        self._made = name
        self._replacements: dict[str, str] = {}

    def _name(self, token: str) -> str:
        """Replacement of a word.

        The prefix of internal topics stays visible, as in known topics.
        """
        inner = token.removeprefix(INTERNAL)
        return INTERNAL + self._made(inner) if inner and inner != token else self._made(token)

    @staticmethod
    def is_ordinary(token: str) -> bool:
        """Whether no part of the word may be a user's name."""
        if _RANDOM.fullmatch(token) or _CLASS.fullmatch(token):
            return True
        known = _vocabulary()
        for part in _PART.findall(token):
            if part.isdigit() or part.lower() in known:
                continue
            humps = _CAMEL.findall(part) if part.isascii() else []
            if "".join(humps) != part or not all(hump.lower() in known for hump in humps):
                return False
        return True

    @classmethod
    def is_plain(cls, token: str) -> bool:
        """Return True for an ordinary word without numbers.

        Hosts and clients are often called `kafka-1`.
        """
        if _RANDOM.fullmatch(token) or _CLASS.fullmatch(token) or _INTERNAL.fullmatch(token):
            return True
        if _DASHED.search(token) and any(match["dashed"] for match in _IN_A_PATH.finditer(token)):
            return False
        parts = _PART.findall(token)
        if len(parts) > 1 and any(len(part) == 1 and part.isalpha() for part in parts):
            return False
        mixed = any(map(str.isdigit, token)) and any(map(str.isalpha, token)) and not _QUANTITY.fullmatch(token)
        return not mixed and cls.is_ordinary(token)

    @classmethod
    def is_bare(cls, token: str) -> bool:
        """Return True for a single plain word or number, common in any text."""
        if _BARE.fullmatch(token) is None or not cls.is_plain(token):
            return False
        return token in _compounds() or len(_words(token)) < 2

    def kept(self, text: str, *, strict: bool = False) -> str:
        """Replace all words that are not ordinary, with `strict` all that are not plain."""
        if strict:
            return _TOKEN.sub(lambda match: match[0] if self.is_common(match[0]) else self._name(match[0]), text)
        return _TOKEN.sub(self._kept, text)

    @classmethod
    def is_common(cls, token: str) -> bool:
        """Return True for a plain word that is no compound (`user.events`, `UserService`)."""
        return token in _compounds() or (cls.is_plain(token) and (_is_known_as_one(token) or len(_words(token)) < 2))

    def _kept(self, match: re.Match[str]) -> str:
        token = match[0]
        if (
            match.string.startswith(" = ", match.end())
            and match.string[match.start() - 1 : match.start()] == "\t"
            and _SETTING.fullmatch(token)
        ):
            return token  # name of a setting in a block of settings
        is_kept = self._replacements.get(token)
        if is_kept is None:
            if len(self._replacements) >= _HELD_MAX:
                self._replacements.clear()
            is_kept = self._replacements[token] = token if self._is_mild(token) else self._name(token)
        return is_kept

    @classmethod
    def _is_mild(cls, token: str) -> bool:
        """Return True for an ordinary word that is no unknown compound.

        Most words with inner capitals or dots belong to a program.
        """
        if not cls.is_ordinary(token):
            return token in _compounds()
        if _TIED.search(token) is None or _is_known_as_one(token):
            return True
        return all(_TIED.search(part) is None or _is_known_as_one(part) for part in token.split("."))

    def kept_whole(self, part: str) -> str:
        """Return part of a path, redacted.

        Unchanged except for addresses if all of it is ordinary, else a pseudonym with the file's extension.
        """
        matches = [match for match in _IN_A_PATH.finditer(part) if match.lastgroup is not None]
        ending = _ENDING.search(part, max(matches[-1].end() if matches else 0, len(part) - _ENDING_MAX))
        stem, tail = (part[: ending.start()], ending[0]) if ending is not None else (part, "")
        pieces, begun = [], 0
        for match in matches:
            if match["dashed"] or not self._stays(stem[begun : match.start()]):
                return self._name(stem) + tail  # the address is part of a host name
            pieces += [stem[begun : match.start()], match[0] if match["done"] else self._made(shortest(match[0]))]
            begun = match.end()
        rest = stem[begun:]
        if not self._stays(rest):
            return self._name(stem) + tail
        return "".join(pieces) + rest + tail

    def _stays(self, piece: str) -> bool:
        """Return True for a piece of a path with plain words and no domain."""
        word = _ENDING.sub("", piece.strip(_MARKS)) if len(piece) <= _ENDING_MAX else piece
        return self.is_common(word) and not ("." in word and any(map(str.isalpha, word)))
