"""Topics in the `fields` of groups' events, extracted by Arrow or Spark.

The Spark form needs no Python per row.
"""

from __future__ import annotations

import orjson
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from models.kafka.outages.affected_groups import topics_in
from pipelines.warehouse.rows.first_times import FIRST_AT, DerivedColumns, firsts_of

EVENT_COLUMNS = ("cluster", "group", "fields")
TOPIC_COLUMNS = ("cluster", "group", "topic")

_NUMBER = r"-\p{Nd}++\z"
"""Matches the partition number after a name's last dash, as `str.isdecimal` does."""


def _topics_by_arrow(rows: pa.Table) -> pa.Table:
    """Extract topics in the driver.

    Equal fields are parsed once, because most of them repeat.
    """
    topics: dict[tuple[str, str, str], int] = {}
    columns = (column.to_pylist() for column in firsts_of(rows, EVENT_COLUMNS).columns)
    for cluster, group, fields, at in zip(*columns, strict=True):
        for topic in topics_in(orjson.loads(fields)) if fields else ():
            key = (cluster, group, topic)
            topics[key] = min(at, topics.get(key, at))
    names = zip(*topics, strict=True) if topics else ((),) * len(TOPIC_COLUMNS)
    texts = {name: pa.array(values, pa.string()) for name, values in zip(TOPIC_COLUMNS, names, strict=True)}
    return pa.table(texts | {FIRST_AT: pa.array(topics.values(), pa.int64())})


def _topics_by_spark(rows: DataFrame) -> DataFrame:
    cut = F.transform(F.filter(_texts("partitions"), _is_numbered), lambda name: F.regexp_replace(name, _NUMBER, ""))
    topics = F.array_distinct(F.concat(_texts("topics"), cut))
    return rows.select("cluster", "group", F.explode(topics).alias("topic"), FIRST_AT)


def _texts(name: str) -> Column:
    """The texts of a list field, as `topics_in` reads them.

    Everything else is ignored; the variant type shows what an element is.
    """
    items = F.from_json("fields", f"{name} array<variant>")[name]
    texts = F.filter(items, lambda item: F.schema_of_variant(item) == "STRING")
    return F.coalesce(F.transform(texts, lambda item: item.cast("string")), F.array().cast("array<string>"))


def _is_numbered(name: Column) -> Column:
    return F.regexp_like(name, F.lit(_NUMBER))


READ_TOPICS = DerivedColumns(TOPIC_COLUMNS, _topics_by_arrow, _topics_by_spark)
"""Derives TOPIC_COLUMNS from rows of EVENT_COLUMNS."""
