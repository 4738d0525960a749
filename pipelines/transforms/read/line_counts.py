"""Line counts of large plain files, made by Spark's workers.

Each range of a file then knows its first line number. Small files are counted during planning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from parsers.reading.resume import ends_of_lines
from parsers.reading.splits import LineEndsByFile, StartedSource, edges
from parsers.sources import filesystems as places
from pipelines.spark.shuffle_partitions import partitions_of

COUNTED_BY_SPARK_BYTES = 1 << 30
"""From this size on, a Spark job counts faster than the planning process."""

_ENDS = pa.schema([("number", pa.int64()), ("ends", pa.int64())])


def count_lines(spark: SparkSession, sources: Sequence[StartedSource], partition_bytes: int) -> LineEndsByFile:
    """Count the lines needed by `parsers.reading.splits.share_out`.

    `partition_bytes` is the size of a share. Empty if the files are small.
    """
    cut = [(source, list(pairwise(edges(source, partition_bytes, start)))) for source, start in sources]
    ranges = {source.name: ranges_of_file for source, ranges_of_file in cut if ranges_of_file}
    wanted = [(places.absolute(source.path), *part) for source, ranges_of_file in cut for part in ranges_of_file]
    if sum(end - begin for _, begin, end in wanted) < COUNTED_BY_SPARK_BYTES:
        return {}
    stores = places.configuration()

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        places.configure(stores)
        for batch in batches:
            numbers = batch.column("id")
            ends = [ends_of_lines(*wanted[number]) for number in numbers.to_pylist()]
            yield pa.RecordBatch.from_arrays([numbers, pa.array(ends, pa.int64())], schema=_ENDS)

    rows = spark.range(0, len(wanted), 1, min(len(wanted), partitions_of(spark))).mapInArrow(count, from_arrow_schema(_ENDS)).toArrow()
    ends_by_number = dict(zip(rows["number"].to_pylist(), rows["ends"].to_pylist(), strict=True))
    ends = iter([ends_by_number[number] for number in range(len(wanted))])
    counts = {name: [next(ends) for _ in part] for name, part in ranges.items()}
    return {name: None if None in ends_of_file else ends_of_file for name, ends_of_file in counts.items()}
