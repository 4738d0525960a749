"""Airflow 3: the job every ten minutes by spark-submit, and upkeep once a night."""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

WAREHOUSE = "s3a://lake/groupscope"
S3A = "org.apache.hadoop:hadoop-aws:3.5.0"  # of the Hadoop that Spark 4.2 comes with

with DAG(
    dag_id="groupscope",
    schedule=timedelta(minutes=10),
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=1)},
):
    SparkSubmitOperator(
        task_id="run",
        conn_id="spark_default",
        application="/opt/groupscope/job.py",
        archives="/opt/groupscope/environment.tar.gz#environment",
        packages=f"io.delta:delta-spark_4.2_2.13:4.4.0,{S3A}",
        conf={
            "spark.pyspark.python": "./environment/bin/python",
            # The hook submits in client mode: the driver runs here, where nothing unpacks the archive but you, once.
            "spark.pyspark.driver.python": "/opt/groupscope/environment/bin/python",
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        },
        application_args=["--input", "/logs", "--warehouse", WAREHOUSE, "--log-json"],
    )

with DAG(
    dag_id="groupscope_upkeep",
    schedule="17 3 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    # Where a run is at work, upkeep ends with 6.
    default_args={"retries": 12, "retry_delay": timedelta(minutes=5)},
):
    BashOperator(task_id="maintain", bash_command=f"groupscope maintain --warehouse {WAREHOUSE} --conf spark.jars.packages={S3A}")
