"""Probabilities, shares, tolerances and thresholds stand in the data files, not in rules."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from models import weights
from models.incidents.incidents import Limits
from models.tolerances import TOLERANCES, Tolerance
from models.weights import COUNTS, LIKELIHOODS, Prior, Shares

MODELS = Path(__file__).resolve().parents[2] / "models"
DATA = {"weights.py", "tolerances.py", "units.py"}
NO_RULES = ("kafka/coordinator", "kafka/elections", "kafka/simulation")
"""What does as the servers do, and the generator of logs: their figures are the product's own."""
RULES = sorted(
    path
    for path in MODELS.rglob("*.py")
    if not str(path.relative_to(MODELS)).startswith(NO_RULES) and not (path.parent == MODELS and path.name in DATA)
)
MEASURES = re.compile(r"_(?:US|MS|SECONDS|MINUTES|SHARE|OVERRUN)$")
UNITS = re.compile(r"US_PER_\w+|MS_PER_\w+|SECONDS_PER_\w+")
LEFT = {
    "durations.py UNITS_US": "what the units of time are",
    "events.py BEFORE_ANY_TIME_US": "the time of lines before any stamp",
    "rocketmq/diagnosis/popping.py _LEAST_US": "a zero beside named values",
    "whatif/advice.py ROUND_MS": "steps to which advice is rounded",
    "whatif/advice.py SHORTER_MS": "values that are tried one after the other",
    "whatif/behaviour/heartbeats.py USUAL_MS": "intervals that have weights",
}
"""Numbers that weigh and compare nothing, with what they are; the list may only get shorter."""


def short(path: Path) -> str:
    return path.relative_to(MODELS).as_posix()


def fractions(source: str) -> Iterator[str]:
    """Fractions in a module: 0.0 and 1.0 are none."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value not in {0.0, 1.0}:
            yield f"{node.lineno}: {node.value}"


def measures(source: str) -> Iterator[str]:
    """Constants with a unit in their name that are given as numbers."""
    for node in ast.parse(source).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AnnAssign) else None
        if not isinstance(target, ast.Name) or not MEASURES.search(target.id):
            continue
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if value is not None and any(isinstance(each, ast.Constant) and isinstance(each.value, int) for each in _outside_calls(value)):
            yield target.id


def products(source: str) -> Iterator[str]:
    """Numbers of a unit within functions; one of a unit is no figure."""
    for function in ast.walk(ast.parse(source)):
        for node in ast.walk(function) if isinstance(function, ast.FunctionDef) else ():
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
                sides = (node.left, node.right)
                units = {each.id for each in sides if isinstance(each, ast.Name) and UNITS.fullmatch(each.id)}
                if units and any(isinstance(each, ast.Constant) for each in sides):
                    yield f"{node.lineno}: {ast.unparse(node)}"


def _outside_calls(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call | ast.Subscript):
        return
    yield node
    for each in ast.iter_child_nodes(node):
        yield from _outside_calls(each)


@pytest.mark.parametrize("path", RULES, ids=short)
def test_no_rule_holds_a_figure_of_its_own(path: Path) -> None:
    source = path.read_text(encoding="utf-8")

    assert list(fractions(source)) == []
    assert list(products(source)) == []
    assert {f"{short(path)} {name}" for name in measures(source)} <= LEFT.keys()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("SURE = 0.8", ["1: 0.8"]),
        ("def f(x):\n    return x > 2.5", ["2: 2.5"]),
        ("x = 1.0 - y", []),
        ("LATE_US = 5_000_000", ["LATE_US"]),
        ("LATE_US = 2 * US_PER_SECOND", ["LATE_US"]),
        ("LATE_MS: int = 5", ["LATE_MS"]),
        ('LATE_US = whole("some.late_us")', []),
        ("KEPT_MAX = 5", []),
    ],
)
def test_figures_are_found(source: str, found: list[str]) -> None:
    assert [*fractions(source), *measures(source)] == found


@pytest.mark.parametrize("name", TOLERANCES)
def test_a_tolerance_has_a_source_and_a_reader(name: str) -> None:
    tolerance = TOLERANCES[name]

    assert isinstance(tolerance, Tolerance)
    assert tolerance.source
    assert tolerance.value >= 0
    assert any(f'("{name}")' in path.read_text(encoding="utf-8") for path in RULES)


def test_limits_of_incidents_are_tolerances() -> None:
    limits = {name: value for name, value in dataclasses.asdict(Limits()).items() if not isinstance(value, bool)}

    assert limits == {name: TOLERANCES[f"incidents.{name}"].value for name in limits}


def named() -> dict[str, Prior | Shares]:
    found: dict[str, Prior | Shares] = {}
    for name, value in vars(weights).items():
        if isinstance(value, Prior | Shares):
            found[name] = value
        elif isinstance(value, tuple) and value and isinstance(value[0], Prior):
            found |= {f"{name}[{index}]": each for index, each in enumerate(value)}
    return found


@pytest.mark.parametrize("name", named())
def test_a_weight_is_a_probability_with_a_source(name: str) -> None:
    weight = named()[name]

    assert weight.source
    shares = list(weight.of.values()) if isinstance(weight, Shares) else [weight.value]
    assert all(0 < share < 1 for share in shares)
    assert sum(shares) <= 1 + 1e-9


def test_likelihoods_are_logarithms_with_a_source() -> None:
    assert all(each.source and each.value <= 0 for each in LIKELIHOODS.values())


def test_counts_are_of_weights() -> None:
    assert COUNTS.keys() <= named().keys()
    assert all(0 <= right <= decided for right, decided in COUNTS.values())
