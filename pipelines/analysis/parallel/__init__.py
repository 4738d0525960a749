"""Reading and replaying on several processors.

Owns the worker processes and what they are sent: ranges of files, and groups. Results come back in the order of the tasks, so the rows
are those of one process. Imports the stages of `pipelines.analysis`. Start with `pool`, then `reading` and `replay`.
"""
