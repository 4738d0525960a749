"""`groupscope run` below spark-submit, without an exit that platforms take for a failure."""

from pipelines.cli.spark_submit import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
