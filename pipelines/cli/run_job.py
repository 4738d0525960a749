from __future__ import annotations


def run() -> int:
    """x"""
    return 0
