"""Lines of large plain files, counted by Spark's workers, so that ranges of a file know in which line they begin.

What is not large is counted where the reading is planned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from parsers import places
from parsers.datasource import PARTITION_BYTES
from parsers.ranges import Lines, Source, edges
from parsers.resume import ends_of_lines

LARGE_BYTES = 4 * PARTITION_BYTES

_ENDS = pa.schema([("number", pa.int64()), ("ends", pa.int64())])


def counted(spark: SparkSession, sources: Sequence[Source], partition_bytes: int) -> Lines:
    """What `parsers.ranges.share_out` needs of files of which much is to be read, in shares of so many bytes."""
    large = [(source, start) for source, start in sources if source.size_bytes - (start.offset if start else 0) > LARGE_BYTES]
    ranges = {source.name: list(pairwise(edges(source, partition_bytes, start))) for source, start in large}
    paths = {source.name: places.absolute(source.path) for source, _ in large}
    wanted = [(paths[name], *each) for name, found in ranges.items() for each in found]
    if not wanted:
        return {}
    stores = places.configured()

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        places.configure(stores)
        for batch in batches:
            numbers = batch.column("id")
            ends = [ends_of_lines(*wanted[number]) for number in numbers.to_pylist()]
            yield pa.RecordBatch.from_arrays([numbers, pa.array(ends, pa.int64())], schema=_ENDS)

    tasks = min(len(wanted), int(spark.conf.get("spark.sql.shuffle.partitions") or "1"))
    rows = spark.range(0, len(wanted), 1, tasks).mapInArrow(count, from_arrow_schema(_ENDS)).toArrow()
    told = dict(zip(rows["number"].to_pylist(), rows["ends"].to_pylist(), strict=True))
    ends = iter([told[number] for number in range(len(wanted))])
    found = {name: [next(ends) for _ in each] for name, each in ranges.items()}
    return {name: None if None in each else each for name, each in found.items()}
