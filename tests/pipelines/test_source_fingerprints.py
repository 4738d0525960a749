"""Fingerprints change with what decides rows, and with nothing else."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Set
from functools import cache
from pathlib import Path

import pytest

from pipelines import versions
from pipelines.source_fingerprints import Forms, Sources, form_of_module
from pipelines.versions import DECIDE_NOTHING, DECLARED, READING, REPLAY, ROOTS, catalogue_version_of, model_version_of, sources_of
from tests.conftest import spread

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = {"catalogue": catalogue_version_of, "models": model_version_of}

INSTALLED = sources_of({name: ROOT / name for name in ROOTS})


@cache
def reached_for(version: str) -> Set[str]:
    """Modules that count for a version; not found at import, which each worker of the tests would pay for."""
    roots, without = {"catalogue": (READING, {*DECIDE_NOTHING, DECLARED}), "models": (REPLAY, {*DECIDE_NOTHING, "parsers"})}[version]
    return INSTALLED.reached(roots, without)


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the product's sources; each test leaves it as it was."""
    folder = tmp_path_factory.mktemp("product")
    for name in ROOTS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture
def edit() -> Iterator[Callable[[Path, str], None]]:
    """Writes a file for the time of one test."""
    before: dict[Path, str] = {}

    def write(path: Path, text: str) -> None:
        before.setdefault(path, path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")

    yield write
    for path, text in before.items():
        path.write_text(text, encoding="utf-8")


def told(folder: Path) -> dict[str, str]:
    """Both versions of the sources below a folder."""
    sources = sources_of({name: folder / name for name in ROOTS})
    sources.forms = INSTALLED.forms  # they depend on content alone
    return {name: version_of(sources) for name, version_of in VERSIONS.items()}


def file_of(folder: Path, module: str) -> Path:
    path = folder / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def changed(product: Path, edit: Callable[[Path, str], None], path: Path, text: str) -> set[str]:
    before = told(product)
    edit(path, text)
    return {name for name, version in told(product).items() if version != before[name]}


@pytest.mark.parametrize("module", sorted({*READING, *REPLAY, *DECIDE_NOTHING, DECLARED}))
def test_every_module_that_is_named_exists(module: str) -> None:
    assert module in INSTALLED.modules


def test_an_entry_that_is_gone_is_no_silent_hole() -> None:
    with pytest.raises(LookupError, match=r"pipelines\.gone"):
        INSTALLED.reached(["pipelines.gone"])


def test_the_version_of_what_is_installed_is_that_of_the_sources() -> None:
    assert versions.catalogue_version() == catalogue_version_of(INSTALLED)
    assert versions.model_version() == model_version_of(INSTALLED)


def test_every_transform_and_every_parser_counts() -> None:
    below = {name for name in INSTALLED.modules if name.startswith("pipelines.transforms.")}
    parsers = {name for name in INSTALLED.modules if name.startswith("parsers.")}

    assert below - reached_for("catalogue") - reached_for("models") == set()
    # Following a log that grows writes no table.
    assert parsers - reached_for("catalogue") == {"parsers.reading.growing_files"}


def test_what_only_shows_or_simulates_does_not_count() -> None:
    reached = reached_for("catalogue") | reached_for("models")

    assert [name for name in reached if name.startswith(("pipelines.cli", "pipelines.quality", "models.kafka.simulation"))] == []


DECIDING = {
    "pipelines.analysis.client_sightings": {"models"},
    "pipelines.analysis.rocketmq_spill": {"models"},
    "pipelines.transforms.events": {"catalogue"},
    "pipelines.transforms.group_replay": {"models"},
    "pipelines.transforms.outage_replay": {"models"},
    "pipelines.transforms.read.records": {"catalogue"},
    "pipelines.analysis.in_process": {"models"},
    "pipelines.analysis.cluster_naming": {"models"},
    "pipelines.schema.row_conversion": {"catalogue", "models"},
    "pipelines.analysis.stages": {"models"},
    "pipelines.analysis.log_file_rows": {"catalogue", "models"},
    "pipelines.schema.declarations_gold": {"models"},
    "pipelines.headlines.phrases": {"models"},
    "pipelines.headlines.outages": {"models"},
    "dashboards.wording.durations": {"models"},
    "models.kafka.groups.group_stage": {"models"},
    "models.rocketmq.rocketmq_stage": {"models"},
    "parsers.records.scalar_reader": {"catalogue"},
    "parsers.redaction.records": {"catalogue"},
    "dashboards.wording.units": set(),
    "dashboards.wording.story": set(),
    "pipelines.cli.main": set(),
    "pipelines.spark.session": set(),
    "pipelines.warehouse.warehouse": set(),
}
RULES = {
    "a constant": "_SETTLED_AFTER = {}\n",
    "a branch": "if len(__name__) > {}:\n    raise ValueError\n",
    "a default": "def _settled(after: int = {}) -> int:\n    return after\n",
}


@pytest.mark.parametrize("rule", spread(RULES, 3))
@pytest.mark.parametrize("module", DECIDING)
def test_a_changed_rule_changes_what_rests_on_it(product: Path, edit: Callable[[Path, str], None], module: str, rule: str) -> None:
    path = file_of(product, module)
    text = path.read_text(encoding="utf-8")
    edit(path, text + RULES[rule].format(300))

    assert changed(product, edit, path, text) == DECIDING[module]
    assert changed(product, edit, path, text + RULES[rule].format(301)) == DECIDING[module]


def test_a_changed_number_anywhere_in_a_module_that_counts_is_seen(product: Path, edit: Callable[[Path, str], None]) -> None:
    seen = 0
    before = told(product)
    for module in sorted(reached_for("catalogue") | reached_for("models"))[::7]:
        path = file_of(product, module)
        text = path.read_text(encoding="utf-8")
        found = re.search(r"(?m)^[A-Z_]+(?:: int)? = \d[\d_]*$", text)
        if found is not None:
            name = found.group()
            edit(path, text.replace(name, f"{name}1", 1))
            assert {name for name, version in told(product).items() if version != before[name]} == {
                name for name in VERSIONS if module in reached_for(name)
            }
            path.write_text(text, encoding="utf-8")
            seen += 1
    assert seen > 2
    assert told(product) == before


def without_meaning(text: str) -> str:
    """A module's source with another docstring and comment, other blank lines and its imports the other way round."""
    lines = text.split("\n")
    plain = [at for at, line in enumerate(lines) if re.match(r"from [\w.]+ import [^(]+$", line) and "__future__" not in line]
    for at, line in zip(plain, [lines[at] for at in reversed(plain)], strict=True):
        lines[at] = line
    return re.sub('^"""', '"""In other words. ', "\n".join(lines)) + '\n\n\n# A comment.\n"""A text that stands alone."""\n'


@pytest.mark.parametrize("module", [*DECIDING, "pipelines.schema.tables", "parsers.catalogue.loading"])
def test_words_layout_and_the_order_of_imports_change_nothing(product: Path, edit: Callable[[Path, str], None], module: str) -> None:
    path = file_of(product, module)
    text = path.read_text(encoding="utf-8")

    assert without_meaning(text) != text
    assert changed(product, edit, path, without_meaning(text)) == set()


def moved(folder: Path, old: str, new: str) -> None:
    """Move a module and rewrite who imports it, under the name by which each calls it."""
    target = folder / f"{new.replace('.', '/')}.py"
    source = file_of(folder, old)
    for package in target.relative_to(folder).parents[:-1]:
        (folder / package).mkdir(exist_ok=True)
        if not (folder / package / "__init__.py").exists():
            (folder / package / "__init__.py").write_text('"""A package."""\n', encoding="utf-8")
    source.rename(target)
    (old_package, old_name), (new_package, new_name) = old.rsplit(".", 1), new.rsplit(".", 1)
    for path in folder.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        after = re.sub(rf"\bfrom {re.escape(old)} import", f"from {new} import", text)
        alone = rf"\bfrom {re.escape(old_package)} import {old_name}( as \w+)?$"
        after = re.sub(alone, lambda found: f"from {new_package} import {new_name}{found[1] or f' as {old_name}'}", after, flags=re.M)
        if after != text:
            path.write_text(after, encoding="utf-8")


MOVES = {
    "a file into a folder": [("models.units", "models.values.time_units"), ("models.times", "models.values.instants")],
    "a parser that others call by its module": [("parsers.sources.filesystems", "parsers.places")],
    "a module into a package of its own name": [("models.incidents.incidents", "models.incidents_.incidents")],
    "a stage": [("pipelines.analysis.rocketmq_spill", "pipelines.spills"), ("pipelines.analysis.cluster_naming", "pipelines.names")],
    "a file in the other order": [("parsers.arrow_arrays", "parsers.zz_arrays"), ("parsers.formats.time_zones", "parsers.aa_zones")],
}


@pytest.mark.parametrize("moves", spread(MOVES.values(), 2), ids=spread(MOVES, 2))
def test_a_move_changes_nothing(product: Path, tmp_path: Path, moves: list[tuple[str, str]]) -> None:
    shutil.copytree(product, tmp_path / "moved")
    for old, new in moves:
        moved(tmp_path / "moved", old, new)

    assert told(tmp_path / "moved") == told(product)
    sources = sources_of({name: tmp_path / "moved" / name for name in ROOTS})
    reached = sources.reached(READING, {*DECIDE_NOTHING, DECLARED}) | sources.reached(REPLAY, {*DECIDE_NOTHING, "parsers"})
    assert {new for _, new in moves} <= reached
    for _, new in moves:
        path = file_of(tmp_path / "moved", new)
        path.write_text(path.read_text(encoding="utf-8") + "\n_NEW = 1\n", encoding="utf-8")
        assert told(tmp_path / "moved") != told(product)


CATALOGUE, LAYOUTS = "parsers/catalogue/messages/kafka_group_coordinator.yaml", "parsers/formats/data/records_1_kafka.yaml"


def first_text(text: str) -> str:
    """The first wording of a catalogue file."""
    found = re.search(r"text: .*\w", text)
    assert found is not None
    return found.group()


YAML_EDITS: dict[str, tuple[str, Callable[[str], str], set[str]]] = {
    "a wording": (CATALOGUE, lambda text: text.replace(first_text(text), f"{first_text(text)}ly", 1), {"catalogue"}),
    "a comment": (CATALOGUE, lambda text: f"# Why.\n\n{text}\n# Why.\n", set()),
    "a summary": (CATALOGUE, lambda text: re.sub(r"(?m)^(\s*)summary: .*$", r"\1summary: Other words.", text), set()),
    "a pattern of a layout": (LAYOUTS, lambda text: re.sub(r"(?m)^(\s*- name: )(\S+)", r"\1other_\2", text, count=1), {"catalogue"}),
    "a comment on a layout": (LAYOUTS, lambda text: f"# Why.\n{text}", set()),
    "a word": ("parsers/redaction/words.yaml", lambda text: f"{text.rstrip()} anotherword\n", {"catalogue"}),
}


@pytest.mark.parametrize(("name", "edited", "expected"), YAML_EDITS.values(), ids=YAML_EDITS)
def test_of_yaml_counts_what_decides(
    product: Path, edit: Callable[[Path, str], None], name: str, edited: Callable[[str], str], expected: set[str]
) -> None:
    path = product / name
    text = path.read_text(encoding="utf-8")

    assert edited(text) != text
    assert changed(product, edit, path, edited(text)) == expected


def test_the_order_of_layouts_counts_as_far_as_the_names_of_files_make_it(product: Path, tmp_path: Path) -> None:
    for number, (new, same) in enumerate({"records_1_kafkas.yaml": True, "records_8_kafka.yaml": False}.items()):
        folder = tmp_path / str(number)
        shutil.copytree(product, folder)
        (folder / LAYOUTS).rename(folder / "parsers/formats/data" / new)
        assert (told(folder) == told(product)) is same


SAME = {
    "an alias": ("from math import floor\nx = floor(1)", "from math import floor as down\nx = down(1)"),
    "the alias of a module": ("import pyarrow.compute as pc\npc.sum(1)", "from pyarrow import compute as c\nc.sum(1)"),
    "docstrings": ('def f():\n    """Text."""\n    return 1\n', "def f():\n    return 1\n"),
    "a class of words only": ('class A:\n    """Text."""\n', "class A:\n    pass\n"),
    "the future": ("from __future__ import annotations\nx = 1", "x = 1"),
    "types only": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from a import B\nx = TYPE_CHECKING",
        "from typing import TYPE_CHECKING as T\nx = T",
    ),
    "layout": ("x = [1,\n  2]", "x = [1, 2]"),
    "where an import stands": ("from a import b\ndef f():\n    return b()", "def f():\n    from a import b\n    return b()"),
}
OTHER = {
    "another function": ("from math import floor\nx = floor(1)", "from math import ceil as floor\nx = floor(1)"),
    "another module": ("from a import f\nf()", "from b import f\nf()"),
    "another function of a module": ("from a import b\nb.f()", "from a import b\nb.g()"),
    "swapped names": ("from a import f, g\nf(g())", "from a import f, g\ng(f())"),
    "swapped modules": ("from a import m, n\nm.f(n.f())", "from a import m, n\nn.f(m.f())"),
    "swapped imports of two functions": (
        "def f():\n    from a import x\n    x()\ndef g():\n    from b import x\n    x()",
        "def f():\n    from b import x\n    x()\ndef g():\n    from a import x\n    x()",
    ),
    "what others may import from here": ("from a import f", "from a import g"),
    "a text and a number": ("x = '1'", "x = 1"),
    "a whole number and another": ("x = 1", "x = 1.0"),
    "an argument": ("f(a, b)", "f(b, a)"),
    "a keyword": ("f(a=1)", "f(b=1)"),
    "a star": ("f(*a)", "f(a)"),
    "an operator": ("a < b", "a <= b"),
    "nothing and none": ("def f():\n    return 0", "def f():\n    return None"),
    "the order of statements": ("a()\nb()", "b()\na()"),
    "what is in a branch": ("if a:\n    b()\nc()", "if a:\n    b()\n    c()"),
    "an import that runs otherwise": (
        "try:\n    from a import f\nexcept ImportError:\n    f = 1",
        "try:\n    from a import f\nexcept OSError:\n    f = 1",
    ),
}


def meaning(text: str, folder: Path) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "m.py").write_text(text, encoding="utf-8")
    return Sources({"p": folder}).fingerprint(["p.m"])


@pytest.mark.parametrize(("one", "two"), SAME.values(), ids=SAME)
def test_the_same_meaning_has_one_fingerprint(tmp_path: Path, one: str, two: str) -> None:
    assert meaning(one, tmp_path / "p") == meaning(two, tmp_path / "p")


@pytest.mark.parametrize(("one", "two"), OTHER.values(), ids=OTHER)
def test_another_meaning_has_another(tmp_path: Path, one: str, two: str) -> None:
    assert meaning(one, tmp_path / "p") != meaning(two, tmp_path / "p")


def test_a_module_may_be_called_by_its_new_name(tmp_path: Path) -> None:
    found = set()
    for name in ("spans", "durations"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.py").write_text("def parse():\n    return 1\n", encoding="utf-8")
        (folder / "use.py").write_text(f"from p import {name}\nx = {name}.parse()\n", encoding="utf-8")
        found.add(Sources({"p": folder}).fingerprint(["p.use"]))

    assert len(found) == 1


def test_a_function_taken_from_another_of_our_modules_is_another(tmp_path: Path) -> None:
    texts = {
        "one.py": "def f():\n    return 1\n",
        "two.py": "def f():\n    return 2\n",
        "use.py": "from p import one, two\none.f(two.f())\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    first = Sources({"p": tmp_path}).fingerprint(["p.use"])
    (tmp_path / "use.py").write_text("from p import one, two\ntwo.f(one.f())\n", encoding="utf-8")

    assert Sources({"p": tmp_path}).fingerprint(["p.use"]) != first


def test_imports_in_functions_and_relative_ones_are_followed_and_those_of_types_are_not(tmp_path: Path) -> None:
    texts = {
        "__init__.py": "",
        "use.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.types import T\ndef f():\n    from .late import g\n",
        "late.py": "import p.last\n",
        "last.py": "",
        "types.py": "",
        "other.py": "",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    assert Sources({"p": tmp_path}).reached(["p.use"]) == {"p", "p.use", "p.late", "p.last"}
    assert Sources({"p": tmp_path}).reached(["p.use"], {"p.late"}) == {"p", "p.use"}


def test_forms_that_were_kept_give_the_same_and_damaged_ones_are_made_anew(tmp_path: Path) -> None:
    kept, source = tmp_path / "cache" / "forms.json", b"from a import b as c\nx = c(1)\n"
    first = Forms(kept)
    form = first.form_of("m.py", source)
    first.save()
    assert kept.is_file()
    assert Forms(kept).form_of("m.py", source).digest == form.digest == form_of_module(source).digest
    assert Forms(kept).form_of("m.py", b"x = 2\n").digest == form_of_module(b"x = 2\n").digest

    told = kept.read_text(encoding="utf-8")
    wrong = [told.replace(form.digest, "0" * 20).replace('"valid_for":["', '"valid_for":["other'), told[:-9], "[]", '{"valid_for":1}', ""]
    for text in wrong:
        kept.write_text(text, encoding="utf-8")
        assert Forms(kept).form_of("m.py", source).digest == form.digest
    kept.unlink()
    kept.mkdir()
    nowhere = Forms(kept)
    assert nowhere.form_of("m.py", source).digest == form.digest
    nowhere.save()
    assert [path.name for path in kept.parent.iterdir()] == ["forms.json"]
