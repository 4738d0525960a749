"""The Spark form of `pipelines.analysis.client_sightings`."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from models.events import Witness
from models.kafka.observations.attribution import ClientSighting
from pipelines.analysis.client_sightings import CLIENT_NUMBER, MEMBER_OWNER, REASON_MEMBER, sightings_of


def sightings_of_all(events: DataFrame) -> Iterator[ClientSighting]:
    """Collect sightings of clients in groups.

    They are few, so they are collected in the driver.
    """
    has_group = events.where(F.col("group").isNotNull() & F.col("event").isNotNull())
    member = F.coalesce("member_id", _extracted("fields", REASON_MEMBER))
    by_client = F.col("witness") == Witness.CLIENT.value
    named = has_group.select(
        "file",
        "witness",
        "group",
        F.when(by_client, F.col("client_id")).otherwise(F.coalesce("client_id", _extracted(member, MEMBER_OWNER))).alias("client_id"),
        _extracted("fields", CLIENT_NUMBER).alias("client_number"),
        F.when(by_client, member).alias("member_id"),
        F.coalesce("file_time_max_at", F.timestamp_micros(F.lit(0))).alias("seen_at"),  # before the first time of a file
    )
    keys = [name for name in named.columns if name != "seen_at"]
    return sightings_of(named.groupBy(*keys).agg(F.min("seen_at").alias("first_at"), F.max("seen_at").alias("last_at")).toArrow())


def _extracted(column: str | Column, pattern: str) -> Column:
    return F.nullif(F.regexp_extract(column, pattern, 1), F.lit(""))
