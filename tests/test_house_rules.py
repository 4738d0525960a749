"""Rules of the house that no linter knows."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("groupscope", "parsers", "models", "pipelines", "dashboards", "conf")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
TOP_LEVEL = {
    *PACKAGES,
    "tests",
    "data_samples",
    "docs",
    ".ci",
    ".editorconfig",
    ".git-blame-ignore-revs",
    ".gitattributes",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "SECURITY.md",
    ".github",
    ".pre-commit-config.yaml",
    "hatch_build.py",
    "mkdocs.yml",
    "pyproject.toml",
    "requirements.lock",
}
BARE_BOOLEANS = {
    # columns, keys of JSON and of scenarios, and fields of recordings, which have these names in `docs/tables.md` and elsewhere
    *("awaited", "expected", "first", "inferred", "rejoined", "running", "static", "synced", "unclean", "cooperative"),
    # flags as commands of all programs call them
    *("follow", "nullable", "once", "quiet", "strict", "verbose"),
    # what is to be done
    *("came", "commit", "discard", "forget", "rebuild", "remake", "space"),
}
Function = ast.FunctionDef | ast.AsyncFunctionDef
MODULE_LINES = 500
FUNCTION_LINES = 60
USUAL_FUNCTION_LINES = 25

# Spelled in pieces, so that this file keeps its own rules.
FORBIDDEN = {
    "a machine's path": r"(?<![\w.])/" + r"(?:work|root)/",
    "a registry's host": r"pypi\." + r"org|python" + r"hosted\.org|maven\." + r"org|index-" + r"url[ =]\S+:",
    "unfinished work": r"\b(?:TO" + r"DO|FIX" + r"ME)\b",
    "a tracker's number": r"(?i)\bissues? #?\d+\b",
}

# Packages whose public methods have docstrings, too.
WELL_TOLD = (
    "parsers",
    "models",
    "dashboards",
    "conf",
    "pipelines/headlines",
    "pipelines/quality",
    "pipelines/transforms",
    "pipelines/simulate",
)


def tracked() -> list[str]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    return [name for name in done.stdout.split("\0") if name]


def short(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=short(path))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


OF_CLASSIC_SESSIONS = {"sparkContext", "_sc", "_jvm", "_jsc", "_jdf", "_jsparkSession", "rdd"}
STARTS_SESSIONS = "pipelines/spark/session.py"


def test_only_what_starts_a_session_needs_a_jvm_of_its_own() -> None:
    """Under Spark Connect there is none; `python -m tests.cluster` runs the job there."""
    used = {(short(path), node.attr) for path in MODULES for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)}
    assert {place for place, name in used if name in OF_CLASSIC_SESSIONS} == {STARTS_SESSIONS}


def test_the_top_level_is_as_designed() -> None:
    assert {name.split("/")[0] for name in tracked()} - TOP_LEVEL == set()


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_holds(what: str) -> None:
    pattern = re.compile(FORBIDDEN[what])
    held = []
    for name in tracked():
        path = ROOT / name
        # Samples are kept as they were written; a file that was deleted may still be in the index.
        if name.startswith(("data_samples/kafka/", "data_samples/rocketmq/")) or not path.is_file():
            continue
        text = path.read_bytes().decode("utf-8", errors="replace")
        held += [f"{name}:{number}: {line.strip()[:120]}" for number, line in enumerate(text.splitlines(), 1) if pattern.search(line)]

    assert held == []


@pytest.mark.parametrize("path", MODULES, ids=short)
def test_a_module_can_be_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MODULE_LINES


def functions(path: Path) -> Iterator[Function]:
    return (node for node in ast.walk(tree(path)) if isinstance(node, Function))


FOLDERS = sorted({path.parent for path in MODULES})
FILES_MAX = 16
SAME_PREFIX_MAX = 3
PUBLIC_FACE = "groupscope"


@pytest.mark.parametrize("folder", FOLDERS, ids=short)
def test_a_folder_is_a_subject(folder: Path) -> None:
    """Few files, none of them flattened: what many names begin with is a folder of its own."""
    names = [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]
    prefixes = Counter(name.split("_")[0] for name in names if "_" in name)

    assert len(names) <= FILES_MAX
    assert [prefix for prefix, count in prefixes.items() if count > SAME_PREFIX_MAX] == []


@pytest.mark.parametrize("folder", FOLDERS, ids=short)
def test_a_package_says_what_it_owns(folder: Path) -> None:
    body = tree(folder / "__init__.py").body

    assert len(body) == 1 or folder.name == PUBLIC_FACE
    assert len((ast.get_docstring(tree(folder / "__init__.py")) or "").splitlines()) > 1


def test_most_functions_are_short() -> None:
    lengths = sorted((node.end_lineno or node.lineno) - node.lineno + 1 for path in MODULES for node in functions(path))

    assert lengths[int(0.95 * len(lengths))] <= USUAL_FUNCTION_LINES


def test_functions_fit_a_screen() -> None:
    long = [
        f"{short(path)}:{node.lineno} {node.name}"
        for path in MODULES
        for node in functions(path)
        if (node.end_lineno or node.lineno) - node.lineno >= FUNCTION_LINES
    ]

    assert long == []


def public(body: Iterable[ast.stmt]) -> Iterator[Function]:
    return (node for node in body if isinstance(node, Function) and not node.name.startswith("_"))


@pytest.mark.parametrize("package", PACKAGES)
def test_public_functions_have_a_docstring(package: str) -> None:
    silent = {
        f"{short(path)} {node.name}"
        for path in (ROOT / package).rglob("*.py")
        for node in public(tree(path).body)
        if not ast.get_docstring(node)
    }

    assert silent == set()


@pytest.mark.parametrize("package", WELL_TOLD)
def test_public_methods_have_a_docstring(package: str) -> None:
    """What several classes of a module have in common is told once, in one of them."""
    silent = set()
    for path in (ROOT / package).rglob("*.py"):
        classes = [node for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)]
        told = {node.name for each in classes for node in public(each.body) if ast.get_docstring(node)}
        silent |= {
            f"{short(path)} {each.name}.{node.name}"
            for each in classes
            if not each.name.startswith("_")
            for node in public(each.body)
            if node.name not in told
        }

    assert silent == set()


def booleans(path: Path) -> Iterator[str]:
    """Names of fields and parameters that are annotated as Booleans."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and is_boolean(node.annotation):
            yield node.target.id
        if isinstance(node, Function):
            yield from (each.arg for each in (*node.args.args, *node.args.kwonlyargs) if is_boolean(each.annotation))


def is_boolean(annotation: ast.expr | None) -> bool:
    return annotation is not None and ast.unparse(annotation) in {"bool", "bool | None"}


@pytest.mark.parametrize("path", MODULES, ids=short)
def test_a_boolean_is_no_bare_adjective_or_participle(path: Path) -> None:
    """It begins with is, has or was, or with a verb: one word is enough for a verb only."""
    bare = {name for name in booleans(path) if "_" not in name.strip("_") and not name.endswith("s")}

    assert bare <= BARE_BOOLEANS


@pytest.mark.parametrize("path", MODULES, ids=short)
def test_a_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(tree(path))


def test_only_the_command_line_prints() -> None:
    printing = [
        f"{short(path)}:{node.lineno}"
        for path in MODULES
        if not path.is_relative_to(ROOT / "pipelines" / "cli")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]

    assert printing == []


def test_no_job_of_spark_is_kept_for_good() -> None:
    """Spark 4.1 never forgets the jobs of such an iterator (pipelines/spark/results.py)."""
    using = [short(path) for path in MODULES if re.search(r"\.toLocalIterator\(", path.read_text(encoding="utf-8"))]
    assert using == []


def test_no_except_without_a_class() -> None:
    handlers = ((path, node) for path in MODULES for node in ast.walk(tree(path)) if isinstance(node, ast.ExceptHandler))

    assert [f"{short(path)}:{node.lineno}" for path, node in handlers if node.type is None] == []


def test_models_need_the_standard_library_only() -> None:
    allowed = sys.stdlib_module_names | {"models"}
    names = {(short(path), name) for path in (ROOT / "models").rglob("*.py") for name in imported(path)}

    assert {(path, name) for path, name in names if name.split(".")[0] not in allowed} == set()


def test_the_command_line_starts_without_the_heavy_libraries() -> None:
    heavy = ["pyspark", "great_expectations", "pandas", "plotly", "deltalake", "duckdb"]
    script = f"import sys, pipelines.cli.registry, pipelines.cli.main; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_the_lock_holds_every_dependency_with_its_hashes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(each for extra in ("dev", "spark", "sql", "warehouse") for each in project["optional-dependencies"][extra]),
    ]
    wanted = [each for each in wanted if not each.startswith("groupscope")]
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked = {normal(found) for found in re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)}

    assert {normal(re.split(r"[^\w.-]", requirement, maxsplit=1)[0]) for requirement in wanted} - locked == set()
    assert "://" not in lock
    entries = re.split(r"\n(?=[\w.-]+==)", "\n" + lock.strip())[1:]
    assert [entry.split("\n")[0] for entry in entries if "--hash=sha256:" not in entry] == []


def normal(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


# -- names ---------------------------------------------------------------------------------------------------------

PRIVATE_NAMES = frozenset(
    {
        *("asked", "each", "few", "found", "goings", "got", "held", "here", "looks", "mine", "one", "ours", "own", "said"),
        *("strays", "there", "told", "untold"),
    }
)
"""Adjectives, participles and pronouns that name no object: write the noun of the field (`line`, `match`, `row`)."""

KEYS_OF_JSON = {("pipelines/cli/commands/doctor.py", "found")}
"""Fields named as the keys of JSON that they fill."""


def defined(path: Path) -> Iterator[str]:
    """Names of classes, functions, parameters, fields and variables that a module defines."""
    for node in ast.walk(tree(path)):
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def test_names_are_nouns_of_the_field() -> None:
    names = {(short(path), name.strip("_").lower()) for path in MODULES for name in defined(path)}

    assert {place for place in names if place[1] in PRIVATE_NAMES} <= KEYS_OF_JSON


ONE_FOR_EACH_PROTOCOL = "models/kafka/coordinator/"
"""Each protocol has classes of the same names here, for the same roles."""

ROWS_AND_WHAT_IS_SHOWN_OF_THEM = frozenset({"BrokerOutage", "Condition", "Divergence", "Incident", "Person", "Rebalance"})
"""A class of `models/rows.py`, and the same thing as a page shows it (`dashboards/view`)."""


TYPES_OF_JSON_AND_OF_COLUMNS = frozenset({"COUNT", "SECONDS", "TEXT", "TEXTS"})
"""Types of values, once as JSON Schema and once as columns of Arrow."""

OF_THE_PUBLIC_FACE = frozenset({"TABLES"})
"""What `groupscope` exports is stable; its names come from the tables and rows behind it."""


def module_of(path: Path) -> str:
    return short(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def is_variable_of_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "TypeVar"


def assigned(node: ast.stmt) -> Iterator[str]:
    """Names that a statement of a module assigns: constants and type aliases."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    for target in targets:
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        yield from (name.id for name in names if isinstance(name, ast.Name))


def places_of_public_names() -> dict[str, list[str]]:
    """Files that define each public class, constant and type alias, without those of one name for each protocol."""
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for node in tree(path).body:
            names = [node.name] if isinstance(node, ast.ClassDef) else [] if is_variable_of_types(node) else assigned(node)
            for name in {name for name in names if not name.startswith("_")}:
                places.setdefault(name, []).append(short(path))
    return {name: paths for name, paths in places.items() if not all(path.startswith(ONE_FOR_EACH_PROTOCOL) for path in paths)}


@cache
def classes() -> frozenset[str]:
    return frozenset(node.name for path in MODULES for node in tree(path).body if isinstance(node, ast.ClassDef))


@cache
def used_elsewhere() -> frozenset[tuple[str, str]]:
    """Modules, and those of their names that other files import or read as attributes, tests included."""
    modules = {module_of(path): path for path in MODULES}
    used: set[tuple[str, str]] = set()
    for path in (*MODULES, *sorted((ROOT / "tests").rglob("*.py"))):
        local: dict[str, str] = {}
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom) and node.module:
                used |= {(node.module, alias.name) for alias in node.names}
                local |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in local:
                used.add((local[node.value.id], node.attr))
    return frozenset(place for place in used if place[0] in modules)


def test_a_public_class_has_a_name_of_its_own() -> None:
    """A stranger who searches for a class finds one."""
    several = {name: paths for name, paths in places_of_public_names().items() if name in classes() and len(paths) > 1}

    assert several.keys() == ROWS_AND_WHAT_IS_SHOWN_OF_THEM
    for paths in several.values():
        assert {path.rpartition("/")[0] for path in paths} == {"models", "dashboards/view"}


def test_a_constant_or_alias_that_others_use_has_a_name_of_its_own() -> None:
    """A stranger who follows an import by its name finds one place; what a module needs for itself begins with `_`."""
    several = {
        name: paths
        for name, paths in places_of_public_names().items()
        if len(paths) > 1 and any((module_of(ROOT / path), name) in used_elsewhere() for path in paths)
    }

    assert several.keys() - ROWS_AND_WHAT_IS_SHOWN_OF_THEM == TYPES_OF_JSON_AND_OF_COLUMNS | OF_THE_PUBLIC_FACE
    for name in TYPES_OF_JSON_AND_OF_COLUMNS:
        assert several[name] == ["pipelines/cli/json_schema/value_types.py", "pipelines/schema/columns.py"]
    for name in OF_THE_PUBLIC_FACE:
        assert "groupscope/analysis.py" in several[name]


@pytest.mark.parametrize("folder", [*PACKAGES, "tests"])
def test_no_private_name_is_imported(folder: str) -> None:
    """What others need is public, also where the others are tests."""
    private = [
        f"{short(path)}:{node.lineno} {alias.name}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]

    assert private == []


def private_names(path: Path) -> Iterator[str]:
    return (name for name in defined(path) if name.startswith("_") and not name.endswith("_"))


def reaches(path: Path) -> Iterator[str]:
    """Names that begin with `_`, read or replaced in objects other than a test's own."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}):
            yield node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"setattr", "setitem"}:
            texts = (argument.value for argument in node.args[:2] if isinstance(argument, ast.Constant))
            yield from (text.rpartition(".")[2] for text in texts if isinstance(text, str))


NAMES_OF_LIBRARIES = frozenset({"_gateway", "_replace"})
"""Those of py4j and of named tuples, which product code has, too."""

REACHED_INSIDE = {
    # how much is held in memory, which rows do not show
    "tests/behaviour/test_final_rows.py": {"_current", "_ids", "_lanes"},
    "tests/models/kafka/observations/test_client_clocks.py": {"_clients", "_coordinators"},
    "tests/models/kafka/partitions/test_broker_clocks.py": {"_epochs"},
    # how often something is searched or looked through, which only time shows
    "tests/models/kafka/outages/test_long_outages.py": {"_close_incidents"},
    "tests/parsers/reading/test_version_ranges.py": {"_messages_in"},
    "tests/parsers/reading/test_whole_records.py": {"_learned"},
    # what the reference coordinator and its clients do in steps that no request or scenario brings about
    "tests/models/kafka/coordinator/test_consumer_machine.py": {"_topics"},
    "tests/models/kafka/coordinator/test_corners.py": {"_beaten", "_heap", "_poll", "_poll_timed_out", "_rejoin", "_reset"},
    "tests/models/kafka/simulation/test_simulation.py": {"_poll_timed_out", "_polled", "_reconnect", "_refused", "_release"},
    # where stores, processes, scripts and writes are made to fail, or to belong to another
    "tests/parsers/formats/test_layouts.py": {"_last_best"},
    "tests/parsers/sources/test_filesystems_at_once.py": {"_served", "_store"},
    "tests/pipelines/analysis/parallel/test_pool.py": {"_processes"},
    "tests/pipelines/analysis/parallel/test_same_rows.py": {"_processes"},
    "tests/pipelines/analysis/test_replay_failures.py": {"_GroupHistory"},
    "tests/pipelines/jobs/operations/test_maintain.py": {"_error_text"},
    "tests/pipelines/jobs/operations/test_operation.py": {"_append"},
    "tests/pipelines/spark/test_filesystem.py": {"_beginnings", "_served"},
    "tests/pipelines/storage/test_object_stores.py": {"_parts", "_store", "_warn"},
    "tests/pipelines/warehouse/test_catalog_names.py": {"_taken"},
}
"""Private names that tests need, by file; the list may only get shorter."""


def test_tests_use_the_public_face() -> None:
    """What a test sees is what callers see, so that insides may change."""
    private = {name for path in MODULES for name in private_names(path)} - NAMES_OF_LIBRARIES
    reached = {short(path): private.intersection(reaches(path)) for path in sorted((ROOT / "tests").rglob("*.py"))}

    assert {path: names for path, names in reached.items() if names} == REACHED_INSIDE


# -- words of docstrings and comments ----------------------------------------------------------------------------

FIRST_LINE_WORDS = 14
STIFF = (
    "so many", "as it was", "of which", "wherever", "in that", "that is there", "is told", "was told", "rests on",
    "brought home", "put away", "let go", "goings",
)  # fmt: skip
_STIFF = re.compile(rf"\b(?:{'|'.join(STIFF)})\b", re.IGNORECASE)


def docstrings(path: Path) -> Iterator[str]:
    """Docstrings of modules, classes, functions and attributes."""
    for node in ast.walk(tree(path)):
        body = getattr(node, "body", ())
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str):
                yield statement.value.value.strip()


def comments(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        yield from (token.string for token in tokenize.tokenize(file.readline) if token.type == tokenize.COMMENT)


@pytest.mark.parametrize("path", MODULES, ids=short)
def test_docstrings_and_comments_are_plain(path: Path) -> None:
    texts = list(docstrings(path))

    assert [text for text in texts if len(text.split("\n")[0].split()) > FIRST_LINE_WORDS] == []
    assert [text for text in (*texts, *comments(path)) if _STIFF.search(" ".join(text.split()))] == []


def fields_of(node: Function | ast.ClassDef) -> set[str]:
    """Parameters of a function, or fields of a class."""
    if isinstance(node, Function):
        return {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
    return {each.target.id for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)}


@pytest.mark.parametrize("path", MODULES, ids=short)
def test_docstrings_call_parameters_by_their_names(path: Path) -> None:
    """A name without the `is_` of its parameter was left behind by a renaming."""
    for node in ast.walk(tree(path)):
        if not isinstance(node, Function | ast.ClassDef):
            continue
        names = fields_of(node)
        for word in re.findall(r"`([a-z_]+)`", ast.get_docstring(node) or ""):
            assert word in names or not names & {f"{prefix}_{word}" for prefix in ("is", "has", "was", "are")}, word
