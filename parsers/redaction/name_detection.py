"""Find names in texts: after keys, in lists of partitions, and addresses."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from parsers.redaction.common_words import IPV4, IPV6, Words

Replacements = dict[str, str]
"""Names in a record's fields, with replacements.

Names of kinds that are not redacted replace themselves.
"""

NamePosition = tuple[int, int, str]
"""Start and end of a name in a text, and its replacement."""

PseudonymOf = Callable[[str, Replacements], str]


class Pseudonyms(Protocol):
    """Replaces names by kind.

    Each call adds the name and its replacement to the given names.
    """

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of names that are replaced."""

    @property
    def words(self) -> Words:
        """Words that are no names."""

    def group(self, name: str, names: Replacements, /) -> str:
        """Replacement of a group."""

    def topic(self, name: str, names: Replacements, /) -> str:
        """Replacement of a topic."""

    def topic_partition(self, name: str, names: Replacements, /) -> str:
        """Replacement of a partition's topic; the number stays."""

    def client(self, name: str, names: Replacements, /) -> str:
        """Replacement of a client id."""

    def member(self, name: str, names: Replacements, /) -> str:
        """Replacement of a member id."""

    def address(self, name: str, /) -> str:
        """Replacement of a host or address, the same for all its forms."""


_VALUE = r"""["']?\s*[=:]\s*\\?["']?([^\s"'\\,;()\[\]{}]+)"""
_GROUP = re.compile(r"\b(?:group[._]?[iI]d|groupName|consumerGroup|group|Group)" + _VALUE)
_CLIENT = re.compile(r"\b(?:client[._]?[iI]d|clientID|group\.instance\.id|groupInstanceId|group_instance_id|instanceId)" + _VALUE)
_MEMBER = re.compile(r"\b(?:member[._]?[iI]d|leader|leaderId|leader_id)" + _VALUE)
_TOPIC = re.compile(r"\b(?:topic|topicName|Topic)" + _VALUE)
_HOST = re.compile(
    r"\b(?:brokerName|host(?:\.?name|Name)?|client[._]?host|clientHost|address|remote|addr)"
    r"""["']?\s*[=:]\s*\\?["']?/*([^\s"'\\,;()\[\]{}/:]+)"""
)
_HOSTS = re.compile(r"\b(?:bootstrap\.servers|zookeeper\.connect|(?:advertised\.)?listeners|controller\.quorum\.\w+)\s*=\s*([^\n]*)")
_USER = re.compile(r"\bUser:([^\s,;)\]\"'/]+)|\b(?:user(?:name|\.name)?|principal\.name)" + _VALUE)
_KERBEROS = re.compile(r"\bUser:([^\s,;)\]\"'/@=]+)/([^\s,;)\]\"'/@]+)(?:@([^\s,;)\]\"'/@]+))?")
_DISTINGUISHED = re.compile(r"\bUser:([A-Za-z]{1,20}=[^\"';()\[\]{}\n]{1,500})")
_ATTRIBUTE = re.compile(r"(?:^|,\s?)[A-Za-z0-9.]{1,40}=(?:[^,\s]*(?: [^,\s=]+){0,8}(?=,\s?[A-Za-z0-9.]{1,40}=)|[^,\s]*)")
_QUOTED = re.compile(r"""(?:"name"|\bname)\s*[:=]\s*"?([^\s"',;()\[\]{}]+)""")
_PARTITIONS = re.compile(r"[\[{(]([^\[\]{}()]*)(?=[\]}),:= ])")
_UUID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-])")
_BETWEEN = re.compile(r"[\s,;:=\[\]{}()\"']+")
_ASSIGNED = re.compile(r"(?:^\{|\), )([^{}]{1,300}?)=Assignment\(")
_OWNER_MAX = 300
_TOPICS = re.compile(r"\b[tT]opics?(?:\(s\):?)?\s{0,4}[=:]?\s{0,4}\[([^\[\]{}=]*)\]")
_CHANGED = re.compile(r"\bhas changed from \[([^\[\]{}=]*)(?:\](?: at the beginning of the rebalance)? to \[([^\[\]{}=]*))?")
_METADATA = re.compile(r"[{,]\s{0,4}([^\s={},()\[\]]+)=(?:\d+(?=[,}])|\[)")
_TOPIC_METADATA = re.compile(r"[{,]\s{0,4}([^\s={},()\[\]]+)=TopicMetadata\(")
_KEY = re.compile(r"\bkey=([^\s@=,;()\[\]{}]+)@([^\s@,;()\[\]{}]+)")
_TOLD_PARTITIONS = re.compile(
    r"\b[pP]artitions?(?:\(s\))?(?:\s{0,4}[=:]\s{0,4}|\s{1,4})(\[[^\[\]{}()]*(?=\])|[^\s,;:=()\[\]{}\"']+-\d{1,6}(?![\w-]))"
)
_LISTED = re.compile(r"([^\s,\"']+)")
_GROUP_LISTS = re.compile(r"""\b(?:group_?[iI]ds|groupsNames|groups)["']?\s*[=:]\s*\[([^\[\]{}=:]*)\]""")
_COORDINATOR_KEYS = re.compile(r"""\bcoordinatorKeys["']?\s*[=:]\s*\[([^\[\]{}=:]*)\]""")
_COORDINATOR_KEY = re.compile(
    r"""\bkey["']?\s*[=:]\s*["']([^\s"',;()\[\]{}]+)["'],\s*["']?(?:keyType["']?\s*[=:]\s*0|nodeId)\b"""
    r"""|\bcoordinator(?:_k|K)ey["']?\s*[=:]\s*["']?([^\s"',;()\[\]{}]+)"""
)
_TRANSACTIONAL = re.compile(r"""\b(?:keyType|coordinator(?:_t|T)ype)["']?\s*[=:]\s*["']?(?:1|TRANSACTION)\b""")
_LETTERS = re.compile(r"\[((?:., ){2,}.)\]")
_SPELT = re.compile(r"[^\s,]+-\d+(?:, ?[^\s,]+-\d+)*")
_NUMBER = re.compile(r"-?\d+")
_PARTITION = re.compile(r"(.+)-\d{1,6}", re.DOTALL)
_IP_HOST = re.compile(r"(?<![A-Za-z0-9])ip(?:-\d{1,3}){4}(?!\d)(?:\.[A-Za-z][\w-]*)*")
_WITH_PORT = re.compile(r"(?<![\w.:@-])([A-Za-z][\w-]*(?:\.[\w-]+)*)(?=:\d{2,5}\b)")
_WITH_ADDRESS = re.compile(r"(?<![\w.-])([A-Za-z][\w-]*(?:\.[\w-]+)*)(?=/(?:\d{1,3}(?:\.\d{1,3}){3}|<unresolved>))")
_AT_END_POINT = re.compile(r"EndPoint\((?:-?\d+,\s?)?([^\s,()=]+),\s?\d+|\bUnknownHostException:\s{1,4}([^\s:,;()\[\]{}]+)")
_SOURCE = re.compile(r"[A-Z]\w*\.(?:java|scala|kt|cs)|\w+\.(?:py|pyx|go|c|js)")
_LOCAL = "localhost"
_IN_A_LIST = re.compile(r"(?:\w+://)?([^\s,:/@\[\]]+)")


class _Mentions:
    """Names found in a text.

    `names` are replaced everywhere in it, `places` only at their positions.
    """

    def __init__(self, redaction: Pseudonyms, names: Replacements) -> None:
        self.redaction = redaction
        self.field_names = names
        self.names: Replacements = {}
        self.places: list[NamePosition] = []

    def add(self, pseudonym_of: PseudonymOf, match: re.Match[str], group: int = 1) -> None:
        """Add the name in a match."""
        name = match[group]
        if _NUMBER.fullmatch(name):
            return
        if self.redaction.words.is_bare(name):
            by = pseudonym_of(name, {})
            if by != name:
                self.places.append((*match.span(group), by))
        elif self.stays(name):
            pseudonym_of(name, self.names)

    def stays(self, name: str) -> bool:
        """Whether the record does not hide a name.

        A name may also be one of another kind that is hidden.
        """
        return self.field_names.get(name, name) == name

    def host(self, name: str, pseudonyms: Replacements) -> str:
        pseudonyms[name] = self.redaction.address(name)
        return pseudonyms[name]


def detected_names(redaction: Pseudonyms, text: str, names: Replacements) -> tuple[Replacements, list[NamePosition]]:
    """Find names identified by the text itself, with replacements.

    Returns those to be replaced everywhere, besides `names`, and single words by position.
    """
    mentions = _Mentions(redaction, names)
    for pattern, pseudonym_of in (
        (_CLIENT, redaction.client),
        (_MEMBER, redaction.member),
        (_GROUP, redaction.group),
        (_TOPIC, redaction.topic),
    ):
        for match in pattern.finditer(text):
            mentions.add(pseudonym_of, match)
    for match in _ASSIGNED.finditer(text):
        redaction.member(match[1], mentions.names)
    for match in _UUID.finditer(text):
        owner = _BETWEEN.split(text[max(0, match.start() - _OWNER_MAX) : match.start()])[-1]
        if owner and (redaction.words.is_bare(owner) or mentions.stays(owner)):
            redaction.member(owner + match[0], mentions.names)
    _groups(mentions, text)
    _topics(mentions, text)
    _letters(mentions, text)
    if "hosts" in redaction.kinds:
        _addresses(mentions, text)
    if "users" in redaction.kinds:
        _users(mentions, text)
    return {name: by for name, by in mentions.names.items() if mentions.stays(name)}, mentions.places


def _groups(mentions: _Mentions, text: str) -> None:
    """Groups in bodies of requests.

    FindCoordinator may also name the id of a transactional producer.
    """
    of_groups = _TRANSACTIONAL.search(text) is None
    for pattern in (_GROUP_LISTS, _COORDINATOR_KEYS) if of_groups else (_GROUP_LISTS,):
        for listed in pattern.finditer(text):
            for match in _LISTED.finditer(text, *listed.span(1)):
                mentions.add(mentions.redaction.group, match)
    for match in _COORDINATOR_KEY.finditer(text) if of_groups else ():
        mentions.add(mentions.redaction.group, match, 1 if match[1] else 2)


def _letters(mentions: _Mentions, text: str) -> None:
    for match in _LETTERS.finditer(text):
        pseudonym = spelt(mentions.redaction, match[1][::3])
        if pseudonym is not None:
            mentions.places.append((*match.span(1), ", ".join(pseudonym)))


def spelt(redaction: Pseudonyms, letters: Sequence[Any]) -> str | None:
    """Partitions without their topics, if single letters spell a list of them.

    Some clients print such a list letter by letter.
    """
    if not all(isinstance(letter, str) and len(letter) == 1 for letter in letters):
        return None
    text = "".join(letters)
    if _SPELT.fullmatch(text) is None:
        return None
    return _LISTED.sub(lambda named: redaction.topic_partition(named[0], {}), text)


def clients_in(redaction: Pseudonyms, text: str, pseudonyms: Replacements) -> frozenset[str]:
    """Names after keys of clients and members, which are recorded.

    Some look like partitions (`groupInstanceId=in-2`).
    """
    names = set()
    for pattern, pseudonym_of in ((_CLIENT, redaction.client), (_MEMBER, redaction.member)):
        for match in pattern.finditer(text):
            if not _NUMBER.fullmatch(match[1]):
                pseudonym_of(match[1], pseudonyms)
                names.add(match[1])
    return frozenset(names)


def _topics(mentions: _Mentions, text: str) -> None:
    _topics_after_keys(mentions, text)
    _topics_in_lists(mentions, text)
    _partitions(mentions, text)


def _topics_after_keys(mentions: _Mentions, text: str) -> None:
    redaction = mentions.redaction
    if "requestApiKey" in text or "partitions" in text or "TopicMetadata" in text:
        for match in _QUOTED.finditer(text):
            if "TopicMetadata" in text or not redaction.words.is_common(match[1]):
                mentions.add(redaction.topic, match)
    for sign, pattern in (("metadata has changed", _METADATA), ("=TopicMetadata(", _TOPIC_METADATA)):
        for match in pattern.finditer(text) if sign in text else ():
            mentions.add(redaction.topic, match)
    for match in _KEY.finditer(text):
        mentions.add(redaction.topic, match)
        mentions.add(redaction.group, match, 2)


def _topics_in_lists(mentions: _Mentions, text: str) -> None:
    spans = [listed.span(1) for listed in _TOPICS.finditer(text)]
    spans += [listed.span(group) for listed in _CHANGED.finditer(text) for group in (1, 2) if listed[group] is not None]
    for span in spans:
        for match in _LISTED.finditer(text, *span):
            mentions.add(mentions.redaction.topic, match)


def _partitions(mentions: _Mentions, text: str) -> None:
    redaction = mentions.redaction
    for pattern, is_stated in ((_PARTITIONS, False), (_TOLD_PARTITIONS, True)):
        for listed in pattern.finditer(text):
            for part in _BETWEEN.split(listed[1]):
                named = _PARTITION.fullmatch(part)
                if named is not None and (is_stated or not redaction.words.is_common(named[1])) and not named[1].isdigit():
                    redaction.topic_partition(part, mentions.names)


def _users(mentions: _Mentions, text: str) -> None:
    for match in _USER.finditer(text):
        group = 1 if match[1] else 2
        if match[group] not in {"ANONYMOUS", "*", "null"}:
            mentions.add(mentions.host, match, group)
    for match in _KERBEROS.finditer(text):
        for group in (2, 3):
            if match[group]:
                mentions.add(mentions.host, match, group)
    for match in _DISTINGUISHED.finditer(text):
        end = match.start(1)
        for attribute in _ATTRIBUTE.finditer(match[1]):
            if attribute.start() != end - match.start(1):
                break
            end += len(attribute[0])
        if text.endswith(('"', "principal:"), 0, match.start()):  # nothing follows, and the last value may contain spaces
            end = match.end(1)
        mentions.places.append((match.start(1), end, mentions.host(text[match.start(1) : end], {})))


def _addresses(mentions: _Mentions, text: str) -> None:
    for pattern in (IPV4, IPV6, _IP_HOST):
        for match in pattern.finditer(text):
            if match[0] != "::":
                mentions.names[match[0]] = mentions.redaction.address(match[0])
    _hosts(mentions, text)
    _hosts_in_lists(mentions, text)


def _hosts(mentions: _Mentions, text: str) -> None:
    bare = mentions.redaction.words.is_bare
    for match in _HOST.finditer(text):
        mentions.add(mentions.host, match)
    for match in _AT_END_POINT.finditer(text):
        mentions.add(mentions.host, match, 1 if match[1] else 2)
    for pattern in (_WITH_PORT, _WITH_ADDRESS):
        for match in pattern.finditer(text):
            # A single word before a port may be anything (`line:12`), unless a scheme or an address is next to it.
            has_address = pattern is _WITH_ADDRESS or text.endswith("//", 0, match.start())
            if match[1] != _LOCAL and not _SOURCE.fullmatch(match[1]) and (has_address or not bare(match[1])):
                mentions.add(mentions.host, match)


def _hosts_in_lists(mentions: _Mentions, text: str) -> None:
    bare = mentions.redaction.words.is_bare
    for listed in _HOSTS.finditer(text):
        for match in _IN_A_LIST.finditer(text, *listed.span(1)):
            port = text.startswith(":", match.end()) and text[match.end() + 1 : match.end() + 2].isdigit()
            if match[1] != _LOCAL and (port or not bare(match[1])):
                mentions.add(mentions.host, match)
