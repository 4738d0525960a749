"""Documents on a line: whole, as items of a list, and as copies leave them."""

from __future__ import annotations

import orjson
import pytest

from parsers.formats.json_documents import json_document

WHOLE = {"message": "joining group", "group": "orders"}


@pytest.mark.parametrize(
    "line",
    [
        '{"message":"joining group","group":"orders"}',
        '[{"message":"joining group","group":"orders"},',
        '{"message":"joining group","group":"orders"}]',
        '{"message":"joining group","group":"orders"}}',  # the end of what it was an item of
        '{"message":"joining group","group":"orders"}]}, ',
        '{"message":"joining group","group":"orders"}\nreq: &kmsg.Request{Version:0}',  # what the program prints beside
        '{"message":"joining group","group":"orders"},\n  at worker (app.js:3:1)\n}',
    ],
)
def test_a_document_is_read_with_the_brackets_around_it(line: str) -> None:
    assert json_document(line) == WHOLE


@pytest.mark.parametrize(
    "line",
    [
        '{"message":"joining group","group":"orders"} and more',
        '{"message":"joining group","group":"orders"} {"message":"joined"}',
        '{"message":"joining group"',
        '["joining group"]',
        "}",
    ],
)
def test_what_is_more_or_less_than_one_document_is_none(line: str) -> None:
    assert json_document(line) is None


def test_raw_control_characters_are_read() -> None:
    assert json_document('{"message":"a\tb"}') == {"message": "a\tb"}


@pytest.mark.parametrize(
    ("line", "document"),
    [
        ("{\n  message: 'joining group',\n  name: 'app#consumer-1',\n  timestamp: 1795681502370\n}", "joining group"),
        ("{ message: \"it's 'quoted'\", ok: true, none: undefined, list: [ 1, [Object] ] }", "it's 'quoted'"),
        ("{ 'log.level': 'info', message: `a 'b' \"c\"` }", "a 'b' \"c\""),
        ("{ message: 'key: value', error: [Function: f] }", "key: value"),
    ],
)
def test_an_object_as_node_prints_it_is_read(line: str, document: str) -> None:
    assert (json_document(line) or {}).get("message") == document


def test_words_in_braces_are_no_document() -> None:
    assert json_document("{ group: orders, state: Stable }") is None


@pytest.mark.parametrize(
    ("line", "document"),
    [
        (r'{"message":"half \ud800 of one"}', {"message": "half \ufffd of one"}),
        (r'{"message":"the other \uDC00","group":"o"}', {"message": "the other \ufffd", "group": "o"}),
        (r'{"a":[{"\udfff":["\ud83d"]}]}', {"a": [{"\ufffd": ["\ufffd"]}]}),
        (r'{"message":"whole \ud83d\ude00, half \ud83d"}', {"message": "whole \U0001f600, half \ufffd"}),
        (r'{"a":' * 200 + r'"\ud800"' + "}" * 200, None),
    ],
)
def test_half_a_character_is_replaced(line: str, document: object) -> None:
    """Texts can be encoded as UTF-8, however deep they stand."""
    read = json_document(line)
    orjson.dumps(read)
    assert document is None or read == document
