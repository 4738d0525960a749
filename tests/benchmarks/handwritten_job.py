"""What a data engineer would write to get events out of a server.log: the measure of `bench_job`.

Spark reads lines of text, keeps those with the literals of the messages in question, extracts the fields of each message with regular
expressions, and writes a Delta table. It knows one layout and one wording of each message, no numbers of lines, and does all again at
each run.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from pathlib import Path

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

HEADER = r"^\[([^\]]*)\] (\w+) +(.*) \(([^ ()]+)\)$"
MESSAGES: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    (
        "RebalanceStarted",
        "Preparing to rebalance group ",
        r"group (\S+) in state (\w+) with old generation (\d+) \(__consumer_offsets-(\d+)\) \(reason: (.*)\) \(",
        ("group", "state", "generation", "partition", "reason"),
    ),
    (
        "GenerationStarted",
        "Stabilized group ",
        r"group (\S+) generation (\d+) \(__consumer_offsets-(\d+)\) with (\d+) members",
        ("group", "generation", "partition", "member_count"),
    ),
    (
        "AssignmentReceived",
        "Assignment received from leader ",
        r"leader (\S+) for group (\S+) for generation (\d+)\. The group has (\d+) members, (\d+) of which",
        ("leader", "group", "generation", "member_count", "static_count"),
    ),
    (
        "MemberJoined",
        "Dynamic member with unknown member id joins group ",
        r"joins group (\S+) in (\w+) state\. Created a new member id (\S+) and",
        ("group", "state", "member_id"),
    ),
    ("SessionExpired", " has failed, removing it from the group", r"Member (\S+) in group (\S+) has failed", ("member_id", "group")),
    ("FetcherRemoved", "Removed fetcher for partitions ", r"Removed fetcher for partitions Set\((\S+)\)", ("partitions",)),
)
"""Each message's name, literal, regular expression, and the names of its groups: all that `bench_parse.Maker` writes about groups."""


def write_events(session: SparkSession, logs: Path, table: Path) -> None:
    """Read logs and write their events as a Delta table."""
    line = F.col("value")
    lines = session.read.text(str(logs)).select("value", F.col("_metadata.file_path").alias("file"))
    chosen = lines.where(reduce(or_, (line.contains(literal) for _, literal, _, _ in MESSAGES)))
    names = dict.fromkeys(name for *_, fields in MESSAGES for name in fields)
    events = chosen.select(
        "file",
        F.to_timestamp(F.regexp_extract(line, HEADER, 1), "yyyy-MM-dd HH:mm:ss,SSS").alias("at"),
        F.regexp_extract(line, HEADER, 2).alias("level"),
        F.regexp_extract(line, HEADER, 4).alias("logger"),
        F.coalesce(*(F.when(line.contains(literal), F.lit(name)) for name, literal, _, _ in MESSAGES)).alias("event"),
        *(_field(line, name).alias(name) for name in names),
        F.regexp_extract(line, HEADER, 3).alias("message"),
    )
    events.write.format("delta").mode("overwrite").save(str(table))


def _field(line: Column, name: str) -> Column:
    """A field, out of whichever message has it."""
    return F.coalesce(
        *(
            F.when(line.contains(literal), F.regexp_extract(line, expression, fields.index(name) + 1))
            for _, literal, expression, fields in MESSAGES
            if name in fields
        )
    )
