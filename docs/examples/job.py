"""The file that spark-submit runs: `groupscope run`, with the options behind it."""

from pipelines.cli.job import main

main()
