"""The file that spark-submit runs: `groupscope run`, with the options behind it."""

from groupscope.job import main

main()
