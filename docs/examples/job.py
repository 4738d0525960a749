"""The file that spark-submit runs: `groupscope run`, with the options behind it."""

import sys

import pipelines

try:
    from pipelines.cli.spark_submit import main
except ModuleNotFoundError:
    print(f"error: the package pipelines is taken from {pipelines.__file__}, which is not groupscope's", file=sys.stderr)
    sys.exit(2)

main()
