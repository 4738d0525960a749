"""JSON Schema of each command's answer.

Imports `output` and `schema`. Start with `schema`.
"""
