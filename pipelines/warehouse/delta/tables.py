"""Places, versions and identities of the warehouse's Delta tables."""

from __future__ import annotations

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from pyspark.sql import DataFrame, SparkSession

from pipelines.schema.tables import TABLES
from pipelines.storage.uris import is_uri, warehouse_uri
from pipelines.warehouse.delta import sql as delta


class DeltaTables:
    """The Delta tables below one URI, by name."""

    def __init__(self, spark: SparkSession, place: str) -> None:
        self.spark = spark
        self.uri = warehouse_uri(place)
        self.is_local = not is_uri(place)

    def path(self, name: str) -> str:
        """Location of a table."""
        return f"{self.uri}/{TABLES[name].path}"

    def delta_table(self, name: str) -> DeltaTable | None:
        """Read a local table without Spark; None if remote or missing."""
        if not self.is_local:
            return None
        try:
            return DeltaTable(self.path(name))
        except TableNotFoundError:
            return None

    def latest(self, name: str) -> int:
        """Latest version of a table by any writer."""
        delta_table = self.delta_table(name)
        if delta_table is not None:
            return delta_table.version()
        [row] = delta.commits_of(self.spark, self.path(name), 1).select("version").collect()
        return int(row[0])

    def identity(self, name: str) -> str:
        """Unique id of a table, different even between successive ones at one place."""
        delta_table = self.delta_table(name)
        return str(delta_table.metadata().id) if delta_table is not None else delta.identity(self.spark, self.path(name))

    def frame(self, name: str, version: int | None = None) -> DataFrame:
        """A table as Spark reads it, at its latest version unless one is named."""
        reader = self.spark.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        return reader.load(self.path(name))
