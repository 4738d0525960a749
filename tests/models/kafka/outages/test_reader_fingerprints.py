"""What was known of who reads what until a time has a fingerprint, which what came later leaves alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.kafka.outages.affected_groups import Readers, RebalanceAfterOutage
from models.kafka.outages.reader_fingerprints import fingerprint_readers

Note = tuple[str, str, int, int]

NOTES = st.tuples(st.sampled_from(["topic", "home", "following"]), st.sampled_from("gh"), st.integers(0, 2), st.integers(0, 6))


def noted(notes: list[Note]) -> Readers:
    readers = Readers()
    for kind, group, number, at in notes:
        if kind == "topic":
            readers.note(group, {"topics": [f"t{number}"]}, at)
        elif kind == "home":
            readers.note_home(group, number, at)
        else:
            readers.following.add(RebalanceAfterOutage(at, group, f"r{number}"))
    return readers


def told_until(readers: Readers, at: int) -> object:
    """What a question at that time may be answered with."""
    topics = [(topic, readers.blocked_groups(topic, 0, at)) for topic in ("t0", "t1", "t2")]
    homes = [(number, readers.blocked_groups("__consumer_offsets", number, at)) for number in range(3)]
    return topics, homes, sorted(each for each in readers.following if each.started_at <= at)


@given(st.lists(NOTES, max_size=6), st.randoms())
def test_the_order_in_which_lines_come_makes_no_difference(notes: list[Note], random: st.DataObject) -> None:
    shuffled = list(notes)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert fingerprint_readers(noted(shuffled)) == fingerprint_readers(noted(notes))


@given(st.lists(NOTES, max_size=6), NOTES)
def test_what_is_added_shows_from_its_time_on(notes: list[Note], more: Note) -> None:
    before, after = noted(notes), noted([*notes, more])
    known, then = fingerprint_readers(before), fingerprint_readers(after)
    for at in range(-1, 8):
        assert (known.until(at) == then.until(at)) == (known_at(before, at) == known_at(after, at))
        if at < more[-1]:
            assert known.until(at) == then.until(at)
    assert (known.whole == then.whole) == (before == after)
    assert known.whole == known.until(1 << 62)


def known_at(readers: Readers, at: int) -> list[object]:
    """All answers to questions of that time or before."""
    return [told_until(readers, each) for each in range(-1, at + 1)]


@pytest.mark.parametrize(
    "readers",
    [noted([("topic", "g", 1, 5)]), noted([("home", "g", 1, 5)]), noted([("following", "g", 1, 5)]), noted([("topic", "h", 1, 5)])],
)
def test_a_cluster_without_readers_has_one_fingerprint(readers: Readers) -> None:
    none = fingerprint_readers(Readers())
    assert none.whole == none.until(0) == fingerprint_readers(readers).until(4) == fingerprint_readers(Readers()).whole
    assert fingerprint_readers(readers).until(5) == fingerprint_readers(readers).whole != none.whole
