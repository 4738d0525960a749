"""The command line: parses options, runs one use case, shows the answer.

Modules here import nothing heavy at module level, so that `--help` answers at once. `arguments` parses, `answers`
selects rows, `output` shows them, `json_schema` describes JSON, `commands` has one file per command. Start with `main`
and `registry`.
"""
