"""What a run imports, so that processes which are forked from the one that imports this have it already."""

import atexit
import os

import pyspark.sql.connect.session  # noqa: F401

import pipelines.jobs.ingest
import pipelines.jobs.publish
import pipelines.jobs.replay
import pipelines.jobs.runs
import pipelines.jobs.unchanged  # noqa: F401
from parsers.catalogue import catalogue
from pipelines.quality.gate import prepare

catalogue()
prepare()
atexit.register(os._exit, 0)  # nothing is left to be done, and some of these libraries would wait for threads
