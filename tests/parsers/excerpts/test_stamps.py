"""Times are found and read in any text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from parsers.excerpts.stamps import first_stamp, last_stamp

STAMPS = {
    "[2029-03-07 05:12:44,006] INFO ": "2029-03-07T05:12:44.006",
    "2029/03/07 05:12:44 ": "2029-03-07T05:12:44",
    "2029-3-7 5:12:44 ": "2029-03-07T05:12:44",
    "07.03.2029 05:12:44.006 ": "2029-03-07T05:12:44.006",
    "3/27/2029, 5:12:44 PM ": "2029-03-27T17:12:44",
    "07 Mar 2029 05:12:44,006": "2029-03-07T05:12:44.006",
    "Mar 7, 2029 @ 05:12:44.006": "2029-03-07T05:12:44.006",
    "07/Mar/2029:05:12:44 +0000": "2029-03-07T05:12:44",
    "20290307 05:12:44,006": "2029-03-07T05:12:44.006",
    "Juli 7, 2029 5:12:44 NACHM. org.apache": "2029-07-07T17:12:44",
    "März 7, 2029 5:12:44 VORM. org.apache": "2029-03-07T05:12:44",
    "7. März 2029 05:12:44 org.apache": "2029-03-07T05:12:44",
    "juil. 7, 2029 5:12:44 PM org.apache": "2029-07-07T17:12:44",
    "févr. 7, 2029 12:12:44 AM org.apache": "2029-02-07T00:12:44",
    "dic. 7, 2029 5:12:44 P.\u00a0M. org.apache": "2029-12-07T17:12:44",
    "7月 7, 2029 5:12:44 下午 org.apache": "2029-07-07T17:12:44",
    "мар. 7, 2029 5:12:44 PM org.apache": "2029-03-07T17:12:44",
    '"ts":1867554764.006,': "2029-03-07T05:12:44.006",
    '"timeUnixNano":"1867554764006000000"': "2029-03-07T05:12:44.006",
    "2029-03-07T10:12:44.006+05:00 ": "2029-03-07T05:12:44.006",
    "Mar 07 09:00:00 host app[1]: [2029-03-07T05:12:44,006]": "2029-03-07T05:12:44.006",
}


@pytest.mark.parametrize("text", STAMPS)
def test_a_time_in_any_form(text: str) -> None:
    found = last_stamp(text, 0, len(text))
    assert found is not None
    local, offset = found.date.read(found.text)
    assert local is not None
    assert datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=local - (offset or 0)) == datetime.fromisoformat(
        STAMPS[text] + "+00:00"
    )


@pytest.mark.parametrize(
    "text",
    ["version 2.8.2", "marked 7, 2029 of them", "lists 12, 2029 5", "10.0.0.1:9092", "generation 1867554764", "a:b:c", "partition 3"],
)
def test_what_is_no_time(text: str) -> None:
    assert last_stamp(text, 0, len(text)) is None
    assert first_stamp(text, 0, len(text)) is None


def test_a_time_of_day_has_no_date() -> None:
    found = last_stamp("05:12:44,006 INFO ", 0, 18)
    assert found is not None
    assert not found.date.has_date
