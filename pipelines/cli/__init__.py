"""The command line: parses options, calls one use case, shows the answer.

Modules here import nothing heavy at their top, so that `--help` answers at once. `arguments` parses, `answers` selects rows, `output`
shows them, `json_schema` describes JSON, `commands` has one file per command. Start with `main` and `registry`.
"""
