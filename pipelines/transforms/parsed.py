"""From files to records: what the parsers give, as one data frame that is read once and used for several tables."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from parsers.kernel import ParsedChunk
from parsers.reader import FileReader, ReadOptions, SourceFile
from parsers.schema import EVENT_SCHEMA, REJECTED_SCHEMA, UNKNOWN_SCHEMA
from pipelines.schemas import TABLES
from pipelines.stages import log_file_row

_FILES = pa.schema([field.remove_metadata() for field in TABLES["log_files"].arrow_schema() if field.name != "run_id"])
KINDS = {"events": EVENT_SCHEMA, "unknown": UNKNOWN_SCHEMA, "rejected": REJECTED_SCHEMA, "files": _FILES}


def parsed(spark: SparkSession, sources: Sequence[SourceFile], options: ReadOptions) -> DataFrame:
    """Records of all kinds: the name of the kind, and the record in the column of that name."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for blob in batch["source"].to_pylist():
                source = pickle.loads(blob)  # noqa: S301 - made a moment ago by this very job
                reader = FileReader(source, options)
                for chunk in reader:
                    yield from (_tagged(kind, rows) for kind, rows in _parts(chunk) if rows.num_rows)
                row = log_file_row(reader.report, source, options)
                yield _tagged("files", pa.RecordBatch.from_pylist([row], schema=_FILES))

    listed = pa.table({"source": [pickle.dumps(source) for source in sources]}, schema=pa.schema([("source", pa.binary())]))
    frame = spark.createDataFrame(listed).repartition(max(1, min(len(sources), spark.sparkContext.defaultParallelism)))
    structs = [StructField(kind, from_arrow_schema(schema)) for kind, schema in KINDS.items()]
    return frame.mapInArrow(read, StructType([StructField("kind", StringType()), *structs]))


def _parts(chunk: ParsedChunk) -> tuple[tuple[str, pa.RecordBatch], ...]:
    return (("events", chunk.events), ("unknown", chunk.unknown), ("rejected", chunk.rejected))


def _tagged(kind: str, rows: pa.RecordBatch) -> pa.RecordBatch:
    columns = {"kind": pa.repeat(pa.scalar(kind, pa.string()), rows.num_rows)}
    for name, schema in KINDS.items():
        struct = pa.struct(list(schema))
        columns[name] = pa.StructArray.from_arrays(rows.columns, fields=list(schema)) if name == kind else pa.nulls(rows.num_rows, struct)
    return pa.RecordBatch.from_pydict(columns)
