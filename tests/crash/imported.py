"""Modules used by a run, imported before processes are forked from this one."""

import atexit
import os

import pyspark.sql.connect.session  # noqa: F401

import pipelines.jobs.ingest.idle_runs
import pipelines.jobs.ingest.ingest
import pipelines.jobs.publish
import pipelines.jobs.registry.runs
import pipelines.jobs.replay.replay  # noqa: F401
from parsers.catalogue.catalogue import catalogue
from pipelines.quality.gate import prepare

catalogue()
prepare()
atexit.register(os._exit, 0)  # nothing is left to do, and some libraries would wait for threads
