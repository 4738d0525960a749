"""From files to events, in one process or as a Spark data source.

Owns the splits of large files, resume points and reports on files. Imports all of `parsers`; only `spark_source` imports
Spark. Start with `reader`. `file_dates` chooses the day or the year of files that do not write it.

The rules of reading without loss:

1. Every byte of the decompressed content is counted once: as recognised, unknown, ignored or rejected. The counts of a
   file add up to the bytes that were read.
2. A record is a line that begins with a header, and all lines after it that do not. Whether a line begins a record
   depends on that line alone, so the result does not depend on how a file is cut into chunks or ranges.
3. The last record of a chunk is left over until its end is known. A record longer than the limit is read up to the
   limit and marked as cut.
4. Nothing in a file ends a run. A record that cannot be read is rejected with a reason, and its text is kept. If a
   stream is damaged, all records before the damage stay, and the report names the position.
5. A range of a file consists of the records that begin in it. Its reader looks at the byte before it to see whether a
   line begins there, and reads beyond its end to complete the last record.
6. Runs of equal heartbeats and commits become one event, but never across a multiple of a block. Ranges begin at such
   multiples, so all ways of reading give the same events.
7. A growing file has a resume point at its last multiple of a block where no line is torn. The bytes after it are
   reported as a part of their own, and the next run reads them again together with the additions.
8. A file is read up to the size that it had when it was found. If its beginning has changed since, nothing of it is
   kept, and the next run reads it as what it is by then.
9. Names and secrets are removed from each record separately, before anything is stored.
"""
