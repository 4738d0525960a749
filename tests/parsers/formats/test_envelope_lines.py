"""Lines in envelopes of the common form are read as each alone would be, wherever the file is cut."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from parsers.formats import envelope_lines
from tests.conftest import examples
from tests.parsers.reading.source_files import find, read_source
from tests.parsers.records.test_columns import told

GROUP = "[GroupCoordinator 1]: Group {} with generation 5 is now empty (__consumer_offsets-12) (kafka.coordinator.group.GroupCoordinator)"
TEXTS = st.one_of(
    st.sampled_from(["orders", "grüppe", 'say "hi"', "back\\slash", "tab\there", "a", "\x00", "\x7f"]).map(
        lambda name: f"[2026-11-21 09:07:55,040] INFO {GROUP.format(name)}"
    ),
    st.sampled_from(
        ["", "\tat kafka.Kafka.main(Kafka.scala)", "text", "\r", '{"a":1}', "[2026-11-21 09:07:55,041] INFO [Log] rolled (kafka.log.Log)"]
    ),
)
STAMPS = st.sampled_from(["2026-11-21T09:07:55.040123456Z", "2026-11-21T09:07:55Z", "2026-11-21T10:07:55.04+01:00", "yesterday"])
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n"])


@st.composite
def docker_lines(draw: st.DrawFn) -> bytes:
    text, stamp = draw(TEXTS), draw(STAMPS)
    document = {
        "log": text + draw(st.sampled_from(["\n", "\n", "\n", "", "\r\n"])),
        "stream": draw(st.sampled_from(["stdout", "stderr", "x"])),
    }
    if draw(st.integers(0, 5)) == 0:
        document["attrs"] = "x"
    line = json.dumps(document | {"time": stamp}, separators=(",", ":"), ensure_ascii=draw(st.booleans())) + draw(ENDS)
    return line.encode("latin-1" if draw(st.integers(0, 9)) == 0 else "utf-8", "replace")


@st.composite
def runtime_lines(draw: st.DrawFn) -> bytes:
    kind = draw(st.sampled_from(["F", "F", "F", "P", "F:tag", "X"]))
    line = f"{draw(STAMPS)} {draw(st.sampled_from(['stdout', 'stderr']))} {kind} {draw(TEXTS)}{draw(ENDS)}"
    return line.encode("latin-1" if draw(st.integers(0, 9)) == 0 else "utf-8", "replace")


DOCKER = (
    b'{"log":"[2026-11-21 09:07:54,000] INFO starting (kafka.server.KafkaServer)\\n","stream":"stdout","time":"2026-11-21T09:07:54Z"}\n'
)
RUNTIME = b"2026-11-21T09:07:54.04Z stdout F [2026-11-21 09:07:54,000] INFO starting (kafka.server.KafkaServer)\n"
MADE = st.one_of(
    st.lists(docker_lines(), max_size=12).map(lambda lines: DOCKER * 3 + b"".join(lines)),
    st.lists(runtime_lines(), max_size=12).map(lambda lines: RUNTIME * 3 + b"".join(lines)),
)


@settings(max_examples=examples(60, 300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(MADE, st.integers(min_value=1, max_value=2000))
@example(RUNTIME * 2 + RUNTIME.replace(b" F ", b" P ") + RUNTIME, 60)
def test_lines_of_the_common_form_are_read_as_each_alone(tmp_path: Path, made: bytes, chunk_bytes: int) -> None:
    path = tmp_path / "kafka.log"
    path.write_bytes(made)
    (source,) = find(path).files
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(envelope_lines, "ordinary_lines", lambda *_: None)
        expected = told(read_source(source))

    assert told(read_source(source)) == expected
    assert told(read_source(source, chunk_bytes=chunk_bytes)) == expected
