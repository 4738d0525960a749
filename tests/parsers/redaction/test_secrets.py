"""Credentials in logs reach no table, and all else stays as it was."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from parsers.reading.reader import ReadOptions, find_files, read_file
from parsers.redaction.secrets import KEY_SIGNS, MASK, PATTERNS, SIGNS, mask, mask_credentials

SECRET = "Zq9xTr0ub4dor"  # noqa: S105 - made up
NAMES = [
    "password", "ssl.keystore.password", "ssl.key.password", "SSL_TRUSTSTORE_PASSWORD", "db.passwd", "passphrase", "client.secret",
    "aws.secret.access.key", "secret_key", "api_key", "api-key", "apiKey", "access.key", "private_key", "auth.token", "access_token",
    "refresh_token", "bearer-token", "AccountKey", "KEYSTORE_PASS", "db.pass", "token", "id_token", "sas-token",
]  # fmt: skip
FORMS = [
    "{n}={s}",
    "{n} = {s}",
    "{n}: {s}",
    '{n}="{s}"',
    "{n}='{s}'",
    '{{"{n}": "{s}"}}',
    "-D{n}={s}",
    "{n}={s}, next=1",
    "?{n}={s}&x=1",
    "Map({n} -> {s}, a -> b)",
]
WHOLE = [
    "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"bob\" password=\"Zq9xTr0ub4dor\";",
    'PlainLoginModule required username="bob" password="x" user_bob="Zq9xTr0ub4dor" user_al.ice-2 = "Zq9xTr0ub4dor";',
    'DigestLoginModule required user_super="Zq9xTr0ub4dor";',
    '{"sasl.jaas.config": "DigestLoginModule required user_super=\\"Zq9xTr0ub4dor\\";"}',
    "connecting to jdbc:postgresql://bob:Zq9xTr0ub4dor@db:5432/x",
    "https://:Zq9xTr0ub4dor@registry.example.com/",
    "Authorization: Bearer Zq9xTr0ub4dor",
    "authorization=Basic Zq9xTr0ub4dor",
    "password=nuZq9xTr0ub4dor",
    "password=nullZq9xTr0ub4dor",
    'password="a\\\\Zq9xTr0ub4dor" next',
    'password="a\\"Zq9xTr0ub4dor" next',
    "password='a\\'Zq9xTr0ub4dor' next",
    'password="Zq9xTr0ub4dor cut Zq9xTr0ub4dor',
    "password=(Zq9xTr0ub4dor",
    "password=ab&Zq9xTr0ub4dor next",
    "password=ab,Zq9xTr0ub4dor",
    "password=ab,secret=Zq9xTr0ub4dor,token.secret=Zq9xTr0ub4dor,passwd=Zq9xTr0ub4dor",
    "ssl.key.password=a,b=c;Zq9xTr0ub4dor next",
    "https://u:p/Zq9xTr0ub4dor@host/",
    "https://u:p@Zq9xTr0ub4dor@host/",
    "https://u:p@ss/Zq9xTr0ub4dor@host/",
    "basic.auth.user.info=alice:Zq9xTr0ub4dor",
    "aws_session_token=Zq9xTr0ub4dor",
    "pwd=Zq9xTr0ub4dor",
    "AccountName=logs;AccountKey=Zq9xTr0ub4dor+/==;EndpointSuffix=x",
    "PUT https://logs.example.com/a?sv=2022-11-02&sp=rw&sig=Zq9xTr0ub4dor%3D&se=1",
    "sas_token=sv=2022-11-02&sig=Zq9xTr0ub4dor%3D",
    "headers={Authorization=[Bearer Zq9xTr0ub4dor], Accept=[*/*]}",
    "authorization=ApiKey Zq9xTr0ub4dor",
    "password: [Zq9xTr0ub4dor]",
    "ssl.key.password=[hZq9xTr0ub4dor], next",
    "<password>Zq9xTr0ub4dor</password>",
    "<ssl.keystore.password>Zq9xTr0ub4dor</ssl.keystore.password>",
    "kafka-configs --entity-name bob --password Zq9xTr0ub4dor --alter",
    "tool --ssl-keystore-password 'Zq9xTr0ub4dor' --alter",
    "Failed login of bob with password Zq9xTr0ub4dor",
    "using passphrase Zq9xTr0ub4dor for the key",
    "login bob passwd 'Zq9xTr0ub4dor', retrying",
    'ssl.key.password "Zq9xTr0ub4dor"',
    "Password\tZq9xTr0ub4dor==.",
    "password islandZq9xTr0ub4dor",
    "acl hook ak=AK12, sk=Zq9xTr0ub4dor, ons=x",
    "mq://a?ak=AK12&sk=Zq9xTr0ub4dor",
    '{"reason": "given password=\\"a\\\\\\"Zq9xTr0ub4dor\\" now", "n": 1}',
]  # fmt: skip
BY_THEMSELVES = [
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "ghp_" + "0123456789abcdefghijABCDEFGHIJ",
    "xoxb-" + "1234567890-abcdef",
    "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxIn0." + "abcdefgh12345678",
]
KEPT = [
    "ssl.key.password = null",
    "ssl.keystore.password = [hidden]",
    "sasl.jaas.config = [hidden]",
    "delegation.token.expiry.time.ms = 86400000",
    "password.encoder.iterations = 4096",
    "group.min.session.timeout.ms = 6000",
    "Member orders-password-1 in group secret-orders has failed, removing it from the group",
    "INFO [GroupCoordinator 1]: Preparing to rebalance group token-service in state Stable (reason: leaving)",
    "https://kafka.apache.org:443/documentation",
    "https://broker:8080/clients?id=10.0.3.17@4711",
    "listeners=PLAINTEXT://a:9092,SASL://b:9093 of bob@example.com",
    "ssl.keystore.password = \n\tssl.keystore.type = JKS",
    "Login(password=null, user=bob)",
    "Map(ssl.key.password -> null, ssl.keystore.password -> [hidden])",
    "ssl.key.password=[masked], <password>[masked]</password> --password [masked]",
    "disk=Zq9xTr0ub4dor task=1 token bucket: 3 nextToken=7 bypass=1",
    "--password --other",
    "Invalid username or password",
    "The password is incorrect; the passphrase was not given",
    "keystore password null, password [hidden]",
    "Wrong password for user bob",
    "Login failed: no password user=bob",
    "passwords do not match",
    "Completed request:RequestHeader(apiKey=JOIN_GROUP, apiVersion=2, clientId=a, correlationId=4) -- {group_id=g}",
    "Completed request:RequestHeader(apiKey=CONSUMER_GROUP_HEARTBEAT, apiVersion=1, clientId=a, correlationId=4) -- {}",
    "Completed request:{api_key=11,api_version=0,correlation_id=3,client_id=a} -- {}",
    'Completed request:{"isForwarded":false,"requestHeader":{"requestApiKey":11,"requestApiVersion":5,"correlationId":12345678}}',
]


def masked(text: str) -> str:
    return mask([text])[0]


@pytest.mark.parametrize(("name", "form"), list(itertools.product(NAMES, FORMS)))
def test_values_behind_names_of_credentials_are_masked(name: str, form: str) -> None:
    told = masked(form.format(n=name, s=SECRET))

    assert SECRET not in told
    assert MASK in told
    assert name in told


@pytest.mark.parametrize("text", WHOLE)
def test_credentials_in_their_usual_places_are_masked(text: str) -> None:
    assert SECRET not in masked(text)


@pytest.mark.parametrize("text", BY_THEMSELVES)
def test_what_is_a_credential_by_its_form_is_masked(text: str) -> None:
    assert masked(f"got {text} here") == f"got {MASK} here"


def test_private_keys_are_masked() -> None:
    told = masked("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nZq9xTr0ub4dor\n-----END RSA PRIVATE KEY-----\nafter")

    assert SECRET not in told
    assert told.endswith("-----END RSA PRIVATE KEY-----\nafter")


@pytest.mark.parametrize("text", KEPT)
def test_what_is_no_credential_is_kept(text: str) -> None:
    assert masked(text) == text


def test_json_stays_json() -> None:
    fields = {"reason": f'given password="{SECRET}"', "password": SECRET, "n": 1}
    told = masked(json.dumps(fields))

    assert SECRET not in told
    assert json.loads(told).keys() == fields.keys()


def test_fields_stay_json_whatever_they_hold() -> None:
    fields = {"reason": "no password=", "request": {"password": f'a"{SECRET}', "user": "bob"}, "told": [f"secret={SECRET}"], "n": 1}
    batch = pa.RecordBatch.from_pydict({"fields": [json.dumps(fields), None, "{}"]})
    told = mask_credentials(batch)["fields"].to_pylist()

    assert json.loads(told[0]) == fields | {"request": {"password": MASK, "user": "bob"}, "told": [f"secret={MASK}"]}
    assert told[1:] == [None, "{}"]


def test_each_pattern_passes_once_over_all_fields_of_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass compiles its pattern, so that one for each text would take 10 ms a line."""
    passes = []
    replace = pc.replace_substring_regex
    monkeypatch.setattr(pc, "replace_substring_regex", lambda *given: passes.append(given) or replace(*given))
    counts = []
    for size in (1, 50):
        fields = [{"reason": f"with password={SECRET}{number}", "cause": {f"db{number}.password": SECRET}} for number in range(size)]
        batch = mask_credentials(pa.RecordBatch.from_pydict({"fields": list(map(json.dumps, fields))}))
        assert SECRET not in str(batch.to_pylist())
        counts.append(len(passes))
        passes.clear()

    assert counts[0] == counts[1] <= 2 * len(PATTERNS)


@pytest.mark.parametrize("begin", range(4))
def test_texts_of_a_batch_are_masked_as_each_alone(begin: int) -> None:
    texts = ["nothing", "a mark ?", f"&sig={SECRET}", None, "", "ends in passw", f"password={SECRET}", f"secret={SECRET} b", "no"]
    batch = pa.RecordBatch.from_pydict({"text": texts}).slice(begin)
    assert mask_credentials(batch)["text"].to_pylist() == [text and masked(text) for text in texts[begin:]]
    assert mask_credentials(batch.slice(0, 5 - begin))["text"].to_pylist() == [text and masked(text) for text in texts[begin:5]]


@pytest.mark.parametrize("name", ["api_key", "api-key", "apiKey", "api.key"])
def test_fields_with_escaped_names_of_keys_are_masked(name: str) -> None:
    inner = json.dumps({name: "abc1234567890"})
    batch = pa.RecordBatch.from_pydict({"fields": [json.dumps({"told": inner}), json.dumps({"told": json.dumps(inner)})]})
    assert "abc1234567890" not in mask_credentials(batch)["fields"][0].as_py()


def test_small_numbers_of_request_kinds_need_no_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each JSON line of a request log names the key of its API."""
    monkeypatch.setattr(pc, "replace_substring_regex", None)
    texts = ['{"requestHeader":{"requestApiKey":12,"requestApiVersion":4}}'] * 3
    assert mask_credentials(pa.RecordBatch.from_pydict({"text": texts}))["text"].to_pylist() == texts


def test_signs_are_few_enough_to_be_searched_together() -> None:
    """The search of many bytes at a time takes 64 words at most."""
    assert len({*SIGNS, *KEY_SIGNS}) <= 64


def test_nothing_of_a_file_shows_its_credentials(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(
        "[2026-11-21 09:07:55,001] INFO [GroupCoordinator 1]: Group g with generation 5 is now empty (__consumer_offsets-12) "
        "(kafka.coordinator.group.GroupCoordinator)\n"
        f"\tat Login(password={SECRET})\n"
        f"[2026-11-21 09:07:55,002] WARN [GroupCoordinator 1]: no such words password={SECRET} (kafka.coordinator.group.GroupCoordinator)\n"
        f"[2026-13-41 09:07:55,003] INFO [GroupCoordinator 1]: Group g password={SECRET} (kafka.coordinator.group.GroupCoordinator)\n",
        encoding="utf-8",
    )
    (source,) = find_files([str(log)]).files
    chunks = list(read_file(source, ReadOptions()))
    kept = [batch.to_pylist() for chunk in chunks for batch in (chunk.events, chunk.unknown, chunk.rejected)]

    assert sum(map(len, kept)) >= 2
    assert SECRET not in str(kept)
    assert MASK in str(kept)


def test_every_pattern_is_one_of_re2() -> None:
    """RE2 compiles nothing that would need more time than a text is long."""
    for pattern, replacement in PATTERNS:
        assert pc.replace_substring_regex(pa.array(["nothing of the kind"]), pattern, replacement).to_pylist() == ["nothing of the kind"]
