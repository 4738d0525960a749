"""What Spark is told of object stores, as Arrow and delta-rs are told it. Without Spark, and without a store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from parsers import places
from pipelines import session, stores, tables
from pipelines.jobs.maintain import MaintainOptions, maintain


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """What one test says of stores is not known to the next."""
    yield
    places.configure({})


class Enough(Exception):
    """So far a test lets a command go."""


def test_upkeep_knows_of_stores_what_spark_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """delta-rs takes old entries away, which hold names that are hidden by now."""

    def enough(*_: Any) -> None:
        raise Enough

    monkeypatch.setattr(session, "get_session", lambda _: None)
    monkeypatch.setattr(tables, "Warehouse", enough)
    keys = {"spark.hadoop.fs.s3a.access.key": "one", "spark.hadoop.fs.s3a.secret.key": "two"}
    with pytest.raises(Enough):
        maintain(MaintainOptions("s3a://lake/groupscope", spark=keys))

    assert stores.delta_options("s3a://lake/groupscope") == {"aws_access_key_id": "one", "aws_secret_access_key": "two"}
