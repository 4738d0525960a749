"""Mutation tests: small changes of a module that no test notices.

Each mutant is tested in a process of its own, which imports it in place of the module. The unchanged run shows which tests reach
which statement: only these can notice a change of it. A mutant that takes many times the processor time of all tests is endless.
"""

from __future__ import annotations

import ast
import copy
import importlib.abc
import importlib.util
import multiprocessing
import os
import random
import resource
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from tests.conftest import ROOT
from tests.reliability.reached_lines import Reach, run_tests, unchanged

_RULES = (
    "tests/models/kafka/groups",
    "tests/models/kafka/hypotheses",
    "tests/models/kafka/verdicts",
    "tests/models/kafka/reconstruction",
    "tests/models/kafka/observations",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests" / "behaviour").glob("test_*.py") if path.stem != "test_final_rows"),
    "tests/test_golden_rows.py",
)
"""All but `test_final_rows`, which asks of stored states and takes longer than all others."""
SUITES = {
    "models/kafka/coordinator": ("tests/models/kafka/coordinator",),
    "models/kafka/conformance": ("tests/models/kafka/conformance", "tests/models/kafka/groups/rows/test_model_states.py"),
    "models/kafka/reconstruction": _RULES,
    "models/kafka/hypotheses": _RULES,
    "models/kafka/verdicts": _RULES,
}
"""Packages, and the tests that hold them."""

FIRST_PARTY = frozenset({"conf", "dashboards", "groupscope", "models", "parsers", "pipelines", "tests"})
"""Our own packages, which import mutants and are never imported beforehand."""
MEMORY_MAX = 6 << 30
"""Bytes: what grows without end fails by it, and leaves the machine alone."""
ENDLESS = frozenset({int(signal.SIGXCPU), int(signal.SIGKILL)})
"""Signals by which the limit of processor time ends a process."""

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
    statement: range = range(0)
    """Lines of the statement that is changed, without those of its body."""

    @property
    def module(self) -> str:
        """Name by which it is imported."""
        return ".".join(self.path.relative_to(ROOT).with_suffix("").parts)

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line} {self.change}"


def mutants(path: Path) -> Iterator[Mutant]:
    """All mutants of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    statements = dict(_statements(tree))
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
            yield Mutant(path, getattr(node, "lineno", 0), change, source, statements[node])


def _statements(tree: ast.AST) -> Iterator[tuple[ast.AST, range]]:
    """Each node with the lines of the innermost statement around it."""
    left: list[tuple[ast.AST, range]] = [(tree, range(0))]
    while left:
        node, lines = left.pop()
        if isinstance(node, (ast.stmt, ast.excepthandler)):
            body = getattr(node, "body", None)
            last = max(body[0].lineno - 1, node.lineno) if body else node.end_lineno or node.lineno
            lines = range(node.lineno, last + 1)
        yield node, lines
        left += [(child, lines) for child in ast.iter_child_nodes(node)]


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


def survives(mutant: Mutant | None, tests: Sequence[str], seconds_max: int | None = None, method: str = "spawn") -> bool:
    """Return True if all tests pass; None is the module as it is."""
    process = multiprocessing.get_context(method).Process(target=_test, args=(mutant, list(tests), seconds_max))  # type: ignore[attr-defined]
    process.start()
    process.join()
    if process.exitcode is not None and -process.exitcode in ENDLESS:
        raise TimeoutError
    return bool(process.exitcode == 0)


def _test(mutant: Mutant | None, tests: list[str], seconds_max: int | None) -> None:
    if mutant is not None:
        sys.meta_path.insert(0, _Finder(mutant))
    if seconds_max is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds_max, seconds_max + 1))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_MAX, MEMORY_MAX))
    os._exit(run_tests(tests))


def sample(package: str, count: int, seed: int) -> list[Mutant]:
    """Some mutants of a package, drawn at random; all of them if `count` is 0."""
    found = [each for path in sorted((ROOT / package).rglob("*.py")) for each in mutants(path)]
    return random.Random(seed).sample(found, min(count, len(found))) if count else found  # noqa: S311 - repeatable


@dataclass(frozen=True, slots=True)
class Tally:
    """What came of the mutants of a package."""

    tested: int
    survivors: list[Mutant]
    endless: list[Mutant]
    unreached: int
    """How many of the survivors stand where no test comes."""


def measure(package: str, count: int, seed: int) -> Tally:
    """Test some mutants, each by the tests that reach it."""
    reach = unchanged(ROOT / package, SUITES[package])
    if reach is None:
        raise SystemExit(f"the tests of {package} fail without any change")
    drawn = sample(package, count, seed)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([name for name in reach.imported if name.partition(".")[0] not in FIRST_PARTY])
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        fates = list(pool.map(lambda mutant: _fate(mutant, reach), drawn))
    survivors = [mutant for mutant, fate in zip(drawn, fates, strict=True) if fate in ("survives", "unreached")]
    endless = [mutant for mutant, fate in zip(drawn, fates, strict=True) if fate == "endless"]
    return Tally(len(drawn), survivors, endless, fates.count("unreached"))


def _fate(mutant: Mutant, reach: Reach) -> str:
    tests = reach.tests(mutant.path, mutant.statement)
    if not tests:
        return "unreached"
    try:
        return "survives" if survives(mutant, tests, reach.seconds_max, "forkserver") else "killed"
    except TimeoutError:
        return "endless"
