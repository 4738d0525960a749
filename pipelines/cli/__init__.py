"""The command line: it parses options, calls one use case, shows the answer and sets the exit code.

Modules here import nothing heavy at their top, so that `--help` answers at once.
"""
