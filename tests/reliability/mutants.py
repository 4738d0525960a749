"""Mutation tests: small changes of a module that no test notices.

Each mutant is tested in a process of its own, which imports it in place of the module.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import importlib.abc
import importlib.util
import multiprocessing
import os
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from tests.conftest import ROOT

_RULES = (
    "tests/models/kafka/groups",
    "tests/models/kafka/hypotheses",
    "tests/models/kafka/verdicts",
    "tests/models/kafka/reconstruction",
    "tests/models/kafka/observations",
    "tests/behaviour/test_field_cases.py",
    "tests/behaviour",
)
SUITES = {
    "models/kafka/coordinator": ("tests/models/kafka/coordinator",),
    "models/kafka/conformance": ("tests/models/kafka/conformance",),
    "models/kafka/reconstruction": _RULES,
    "models/kafka/hypotheses": _RULES,
    "models/kafka/verdicts": _RULES,
}
"""Packages, and the tests that hold them."""

SECONDS_MAX = 180.0

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module with one change."""

    path: Path
    line: int
    change: str
    source: str

    @property
    def module(self) -> str:
        """Name by which it is imported."""
        return ".".join(self.path.relative_to(ROOT).with_suffix("").parts)

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line} {self.change}"


def mutants(path: Path) -> Iterator[Mutant]:
    """All mutants of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    places = [place for function in ast.walk(tree) if isinstance(function, (ast.FunctionDef, ast.Lambda)) for place in _inside(function)]
    for node in dict.fromkeys(places):
        for change, changed in _changes(node):
            kept = node.__dict__.copy()
            node.__dict__.clear()
            node.__dict__.update(changed.__dict__)
            kind, node.__class__ = node.__class__, changed.__class__
            source = ast.unparse(ast.fix_missing_locations(tree))
            node.__class__ = kind
            node.__dict__.clear()
            node.__dict__.update(kept)
            yield Mutant(path, getattr(node, "lineno", 0), change, source)


def _inside(function: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a function's body, without annotations."""
    body = function.body if isinstance(function, ast.FunctionDef) else [function.body]  # type: ignore[attr-defined]
    left: list[ast.AST] = list(body)
    while left:
        node = left.pop()
        yield node
        left += [child for name, child in _children(node) if name not in ("annotation", "returns", "args")]


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield (name if not isinstance(node, ast.Call) else "", child)


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Each change of a node, with what it is."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED:
        changed = copy.copy(node)
        changed.ops = [_COMPARED[type(node.ops[0])](), *node.ops[1:]]
        yield f"{ast.unparse(node)} -> {ast.unparse(changed)}", changed
    elif isinstance(node, ast.BoolOp):
        changed_op = copy.copy(node)
        changed_op.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield f"{ast.unparse(node)} -> {ast.unparse(changed_op)}", changed_op
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in _COMPUTED:
        computed = copy.copy(node)
        computed.op = _COMPUTED[type(node.op)]()
        yield f"{ast.unparse(node)} -> {ast.unparse(computed)}", computed
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield f"{ast.unparse(node)} -> {ast.unparse(node.operand)}", node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int)):
        value = not node.value if isinstance(node.value, bool) else node.value + 1
        yield f"{node.value} -> {value}", ast.Constant(value)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield f"{ast.unparse(node)} -> nothing", ast.Pass()
    elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield f"{ast.unparse(node)} -> return None", ast.Return(ast.Constant(None))


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the mutant in place of the module."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        return importlib.util.spec_from_loader(name, self, origin=str(self._mutant.path)) if name == self._mutant.module else None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self._mutant.path)
        exec(compile(self._mutant.source, str(self._mutant.path), "exec"), module.__dict__)  # noqa: S102 - our own module


def survives(mutant: Mutant | None, tests: Sequence[str]) -> bool:
    """Return True if all tests pass; None is the module as it is."""
    process = multiprocessing.get_context("spawn").Process(target=_test, args=(mutant, list(tests)))
    process.start()
    process.join(SECONDS_MAX)
    if process.is_alive():
        process.kill()
        process.join()
        return False
    return process.exitcode == 0


def _test(mutant: Mutant | None, tests: list[str]) -> None:
    import pytest

    if mutant is not None:
        sys.meta_path.insert(0, _Finder(mutant))
    os.chdir(ROOT)
    with Path(os.devnull).open("w") as nothing, contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
        code = pytest.main(["-q", "-x", "-n0", "-p", "no:cacheprovider", "-p", "no:randomly", *tests])
    os._exit(int(code))


def sample(package: str, count: int, seed: int) -> list[Mutant]:
    """Some mutants of a package, drawn at random; all of them if `count` is 0."""
    found = [each for path in sorted((ROOT / package).rglob("*.py")) for each in mutants(path)]
    return random.Random(seed).sample(found, min(count, len(found))) if count else found  # noqa: S311 - repeatable


def measure(package: str, count: int, seed: int) -> tuple[int, list[Mutant]]:
    """How many mutants were tested, and those that survived."""
    tests = SUITES[package]
    if not survives(None, tests):
        raise SystemExit(f"the tests of {package} fail without any change")
    drawn = sample(package, count, seed)
    return len(drawn), [mutant for mutant in drawn if survives(mutant, tests)]
