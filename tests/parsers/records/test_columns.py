"""Kafka's own layout is read in columns; the answer must be that of reading record by record, wherever the file is cut."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from parsers.records import record_spans as units
from tests.conftest import ROOT, SHARED, examples
from tests.parsers.reading.source_files import Reading, find, read_source

SAMPLES = [str(path) for path in sorted((ROOT / "data_samples").rglob("*.log*"))]
CHUNK_SIZES = (997, 1 << 16)
MEMBER = "c-1-0b1f2f9c-6f7e-4b1e-9b0a-5d1a3c1f7a10"


@contextmanager
def record_by_record() -> Iterator[None]:
    """Switch reading in columns off."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(units, "FAST_LAYOUT", "")
        yield


def told(reading: Reading) -> dict[str, Any]:
    return {
        "events": reading.events.to_pylist(),
        "unknown": reading.unknown.to_pylist(),
        "rejected": reading.rejected.to_pylist(),
        "report": reading.report,
    }


@pytest.mark.parametrize("fold_runs", [False, True])
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.rpartition("data_samples/")[2])
def test_samples_read_in_columns_as_record_by_record(path: str, fold_runs: bool) -> None:
    (source,) = find(path).files
    with record_by_record():
        expected = told(read_source(source, fold_runs=fold_runs))

    assert told(read_source(source, fold_runs=fold_runs)) == expected
    for size in CHUNK_SIZES if not fold_runs else ():
        assert told(read_source(source, chunk_bytes=size)) == expected


@pytest.mark.corpus
@pytest.mark.parametrize("version", ["1.1.1-zk", "2.8.2-zk", "3.9.1-zk", "4.1.1-kraft"])
def test_corpora_read_in_columns_as_record_by_record(version: str) -> None:
    folders = sorted((SHARED / "corpora" / "kafka" / version).glob("*storm*"))
    if not folders:
        pytest.skip("no Kafka corpus in ../shared/corpora")
    for source in find(*folders).files:
        with record_by_record():
            expected = told(read_source(source))

        assert told(read_source(source)) == expected


# Text that real brokers have written, and what it can be mixed up with.
LOGGERS = (
    "kafka.coordinator.group.GroupCoordinator",
    "org.apache.kafka.coordinator.group.GroupMetadataManager",
    "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator",
    "kafka.server.KafkaServer",
    "kafka.request.logger",
    "GroupCoordinator",
    "my.own_Logger",
    "x",
)
MESSAGES = (
    "[GroupCoordinator 1]: Preparing to rebalance group {id} in state PreparingRebalance with old generation 3 "
    "(__consumer_offsets-12) (reason: Adding new member {member} with group instance id None)",
    "[GroupCoordinator 1]: Stabilized group {id} generation 4 (__consumer_offsets-12) with 2 members",
    "[GroupCoordinator 1]: Stabilized group {id} generation 4x (__consumer_offsets-12)",
    "[GroupCoordinator 1]: Assignment received from leader {member} for group {id} for generation 4. "
    "The group has 2 members, 0 of which are static.",
    "[GroupCoordinator 1]: Member {member} in group {id} has failed, removing it from the group",
    "[GroupCoordinator 1]: Group {id} with generation 5 is now empty (__consumer_offsets-12)",
    "[GroupCoordinator 1]: Something new about group {id}",
    "[GroupMetadataManager brokerId=1] Finished loading offsets and group metadata from __consumer_offsets-12 in 7 milliseconds.",
    "[Consumer clientId=c-1, groupId={id}] (Re-)joining group",
    "[Consumer clientId=c-1, groupId={id}] Successfully joined group with generation Generation{{generationId=4, "
    "memberId='{member}', protocol='range'}}",
    "[Consumer instanceId=i, clientId=c-1, groupId={id}] Attempt to heartbeat failed since group is rebalancing",
    'Completed request:{{"isForwarded":false,"requestHeader":{{"requestApiKey":12,"requestApiVersion":4,"correlationId":7,'
    '"clientId":"{id}","requestApiKeyName":"HEARTBEAT"}},"request":{{"groupId":"orders","generationId":19,"memberId":"{member}","groupInstanceId":null}},'
    '"response":{{"throttleTimeMs":0,"errorCode":0}},"connection":"10.0.0.3:9092-10.0.1.1:40000-1","totalTimeMs":0.4}}',
    'Completed request:{{"isForwarded":false,"requestHeader":{{"requestApiKey":12,"requestApiVersion":4,"correlationId":99999999999,'
    '"clientId":"c","requestApiKeyName":"HEARTBEAT"}},"request":{{"groupId":"orders","generationId":19,"memberId":"{member}"}},"response":{{}}}}',
    'Completed request:{{"isForwarded":false,"requestHeader":{{"requestApiKey":1,"requestApiVersion":4,"correlationId":7,"clientId":"c",'
    '"requestApiKeyName":"FETCH"}},"request":{{"groupId":"HEARTBEAT"}},"response":{{}}}}',
    'Completed request:{{"isForwarded":false,"requestHeader":{{"requestApiKey":12,"re',
    "Completed request:RequestHeader(apiKey=HEARTBEAT, apiVersion=1, clientId={id}, correlationId=48969) -- {{group_id=orders,"
    "generation_id=30,member_id={member}}},response:{{throttle_time_ms=0,error_code=0}} "
    "from connection 10.0.0.3:9092-10.0.1.1:40000-1;totalTime:0.400,"
    "requestQueueTime:0.1,localTime:0.2,remoteTime:0.000,throttleTime:0.0,responseQueueTime:0.05,sendTime:0.05,securityProtocol:PLAINTEXT,"
    "principal:User:ANONYMOUS,listener:PLAINTEXT",
    "Processor 1 received request: RequestHeader(apiKey=HEARTBEAT, apiVersion=1, clientId=c [2026-11-21 09:07:55,040] INFO {id}",
    "[KafkaServer id=1] started",
    "starting {id}",
    "",
)
IDS = st.one_of(
    st.sampled_from(
        ["orders", "a b", "grüppe", 'say "hi"', "back\\slash", "x] y", "in state Stable with old generation 1", "(a)", "[b", "'"]
    ),
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=20),
)
STAMPS = st.sampled_from(
    [
        "[2026-11-21 09:07:55,040] ",
        "[2026-11-21 09:07:55.041] ",
        "[2026-11-21 09:07:55] ",
        "[2026-11-21T09:07:60,999+0100] ",
        "[2026-02-30 09:07:55,040] ",
        "[2026-10-25 02:30:00,000] ",
        "2026-11-21 09:07:55,040 ",
        "[2026-11-21 09:0",
        "",
    ]
)
TAILS = st.sampled_from(["\n", "\r\n", "\n\n", "\n\tat kafka.Kafka.main(Kafka.scala:92)\n", " ", "\r\r\n", "\n\x00\x00\x00", "\n\xff\n"])


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    message = draw(st.sampled_from(MESSAGES)).format(id=draw(IDS), member=draw(st.sampled_from([MEMBER, "odd member"])))
    logger = draw(st.sampled_from(LOGGERS))
    level = draw(st.sampled_from(["INFO", "DEBUG", "WARN", "INFO ", "ERROR", "FATAL", "NOTICE"]))
    head = draw(STAMPS)
    text = f"{head}{level} {message} ({logger})" + draw(TAILS)
    return text.replace("\xff", "\udcff").encode("utf-8", "surrogateescape")


QUIET = b"[2026-11-21 09:07:54,999] INFO [Log partition=a-0, dir=/d] Rolled new log segment (kafka.log.Log)\n"
FIRST = b"[2026-11-21 09:07:54,000] INFO starting (kafka.server.KafkaServer)\n"
PREFIXED = b"[2026-11-21 09:07:55,040] INFO [Consumer clientId=c-1, groupId=g]%s (Re-)joining group (x)\n"


@settings(max_examples=examples(60, 150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(lines(), max_size=12).map(b"".join), st.integers(min_value=1, max_value=3000), st.booleans())
@example(QUIET + PREFIXED % b"[x]" + PREFIXED % b"[y]" + PREFIXED % b"", 64, False)
@example(QUIET + b"\n", 24, False)
def test_made_logs_read_in_columns_as_record_by_record(tmp_path: Path, made: bytes, chunk_bytes: int, fold_runs: bool) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(FIRST + made + QUIET)
    (source,) = find(path).files
    with record_by_record():
        expected = told(read_source(source, log_tz=[(None, "Europe/Berlin")], fold_runs=fold_runs))

    assert told(read_source(source, log_tz=[(None, "Europe/Berlin")], fold_runs=fold_runs)) == expected
    if not fold_runs:
        assert told(read_source(source, log_tz=[(None, "Europe/Berlin")], chunk_bytes=chunk_bytes)) == expected
