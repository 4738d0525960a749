"""First commit of an empty table on a local disk, without Spark.

A warehouse has more than thirty tables, and Spark needs a second for each `CREATE TABLE`. The commit holds what Delta's
own would hold (Delta's PROTOCOL.md: change metadata, protocol evolution, clustered tables). Where a link can't be made,
the caller creates the table by Spark.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from pipelines.warehouse.delta.files import put_commit

CONSTRAINT_PREFIX = "delta.constraints."
_LEGACY = {"minReaderVersion": 1, "minWriterVersion": 2}
_WITH_CHECKS = {"minReaderVersion": 1, "minWriterVersion": 3}
FEATURES = ("domainMetadata", "invariants", "appendOnly", "clustering")
_WITH_FEATURES = {"minReaderVersion": 1, "minWriterVersion": 7}


def commit_creation(path: str, schema: StructType, description: str, properties: Mapping[str, str], clustering: Sequence[str] = ()) -> bool:
    """Create an empty table unless it exists; return False if this disk can't.

    The commit appears as a whole or not at all, and never replaces another.
    """
    try:
        with suppress(FileExistsError):
            put_commit(Path(path), 0, _actions(schema, description, properties, clustering))
    except OSError:
        return False
    return True


def _actions(schema: StructType, description: str, properties: Mapping[str, str], clustering: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    now = time.time_ns() // 1_000_000
    yield {"commitInfo": {"timestamp": now, "operation": "CREATE TABLE", "isBlindAppend": True, "engineInfo": "groupscope"}}
    yield {
        "metaData": {
            "id": str(uuid.uuid4()),
            "description": description,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": _declared(schema).json(),
            "partitionColumns": [],
            "configuration": dict(properties),
            "createdTime": now,
        }
    }
    yield {"protocol": _protocol(has_check=any(name.startswith(CONSTRAINT_PREFIX) for name in properties), is_clustered=bool(clustering))}
    if clustering:
        columns = {"clusteringColumns": [[name] for name in clustering], "domainName": "delta.clustering"}
        yield {"domainMetadata": {"domain": "delta.clustering", "configuration": json.dumps(columns), "removed": False}}


def _protocol(*, has_check: bool, is_clustered: bool) -> Mapping[str, object]:
    if is_clustered:
        return {**_WITH_FEATURES, "writerFeatures": [*FEATURES, *(["checkConstraints"] if has_check else [])]}
    return _WITH_CHECKS if has_check else _LEGACY


def _declared(schema: StructType) -> StructType:
    """Columns as `CREATE TABLE` declares them: what is inside may be null."""
    return StructType([StructField(field.name, _nullable(field.dataType), field.nullable, field.metadata) for field in schema])


def _nullable(kind: DataType) -> DataType:
    if isinstance(kind, ArrayType):
        return ArrayType(_nullable(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(_nullable(kind.keyType), _nullable(kind.valueType))
    if isinstance(kind, StructType):
        return StructType([StructField(field.name, _nullable(field.dataType)) for field in kind])
    return kind
