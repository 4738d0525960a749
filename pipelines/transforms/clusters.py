"""The cluster of each row, by its file."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.analysis.cluster_naming import DEFAULT_CLUSTER
from pipelines.warehouse.rows.arrow_diff import to_frame


def with_cluster(rows: DataFrame, names: Mapping[str, str]) -> DataFrame:
    """Add a first column `cluster` to rows with a `file`.

    `names` has an entry for each file, so it is small compared with the rows. Files without an entry get the default
    cluster.
    """
    table = pa.table({"_named_file": list(names), "_named_cluster": list(names.values())}, schema=_NAMES)
    known = F.broadcast(to_frame(rows.sparkSession, table))
    joined = rows.drop("cluster").join(known, F.col("file") == F.col("_named_file"), "left")
    cluster = F.coalesce("_named_cluster", F.lit(DEFAULT_CLUSTER)).alias("cluster")
    return joined.select(cluster, *[name for name in rows.columns if name != "cluster"])


def with_clusters(rows: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """Add the same column to rows in the driver."""
    clusters = [names.get(file, DEFAULT_CLUSTER) for file in rows["file"].to_pylist()]
    plain = rows.drop_columns(["cluster"]) if "cluster" in rows.column_names else rows
    return plain.append_column("cluster", pa.array(clusters, pa.string()))


_NAMES = pa.schema([("_named_file", pa.string()), ("_named_cluster", pa.string())])
