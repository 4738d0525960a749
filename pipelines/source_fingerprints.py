"""Fingerprints of what code means.

They ignore docstrings, comments, layout and the location of files. A module's form is its syntax tree without
docstrings, comments, positions and imports. Each imported name is replaced by a number, in order of first use, so that
neither aliases nor module paths are part of the form. What the numbers refer to is hashed separately: the form of the
defining module and the name in it, or the dotted name for third-party libraries. The relevant modules are found by
following imports from entry modules, without importing anything.
"""

from __future__ import annotations

import ast
import inspect
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from importlib.resources.abc import Traversable
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

import orjson

DIGEST_BYTES = 10
_CODE, _YAML = ".py", (".yaml", ".yml")
_LEFT_OUT = ("__pycache__", ".pyc", "py.typed")
_FORMS_MAX = 2_000


def digest_of(*parts: str | bytes) -> str:
    """Hash parts separately, so that moving a byte between parts changes the hash."""
    digest = blake2b(digest_size=DIGEST_BYTES)
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(b"%d\0" % len(content))
        digest.update(content)
    return digest.hexdigest()


def as_in_checkout(source: bytes) -> bytes:
    """Restore the names that modules have in a checkout."""
    below = __name__.rpartition("pipelines.")[0].encode()
    return source.replace(below, b"") if below else source


# An imported name: its module, its name there, and whether the import runs (False for type-only imports).
Imported = tuple[str, str, bool]


@dataclass(frozen=True, slots=True)
class Form:
    """The meaning of a module, without that of its imported names.

    For data only the digest is set.
    """

    digest: str
    used: list[list[Imported]] = field(default_factory=list)
    """Meaning of each number in the form.

    Usually one import, several for alternatives.
    """
    unused: list[tuple[str, Imported]] = field(default_factory=list)
    """Unused imports by local name, which other modules may import from here."""
    followed: list[tuple[str, str]] = field(default_factory=list)
    """All imports that run: module and name."""
    is_empty: bool = False


class Forms:
    """Forms by the content of files, cached because parsing takes a second.

    The cache is valid for one version of this code and of Python; if it cannot be read or written, everything is
    parsed. `lean` removes irrelevant parts of a YAML document.
    """

    def __init__(self, kept_in: Path | None = None, lean: Callable[[Any], Any] | None = None) -> None:
        self._file, self._lean = kept_in, lean or _whole
        self._used: dict[str, Any] = {}
        self._new = False

    @cached_property
    def _valid_for(self) -> list[Any]:
        contents = (Path(path).read_bytes() for path in (__file__, inspect.getfile(self._lean)))
        return [digest_of(*contents), sys.version]

    @cached_property
    def _kept(self) -> dict[str, Any]:
        """Forms cached by earlier processes."""
        if self._file is None:
            return {}
        try:
            forms = orjson.loads(self._file.read_bytes())
            return dict(forms["forms"]) if forms["valid_for"] == self._valid_for else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def save(self) -> None:
        """Write newly parsed forms to the cache if it is writable."""
        if not self._new or self._file is None:
            return
        forms = self._kept | self._used
        content = {"valid_for": self._valid_for, "forms": forms if len(forms) <= _FORMS_MAX else self._used}
        part = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        try:
            self._file.parent.mkdir(exist_ok=True)
            part.write_bytes(orjson.dumps(content))
            part.replace(self._file)
        except OSError:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        self._new = False

    def form_of(self, name: str, content: bytes) -> Form:
        """The form of a file.

        Its name only determines whether it is code, YAML or other data.
        """
        kind = _CODE if name.endswith(_CODE) else _YAML[0] if name.endswith(_YAML) else ""
        key = digest_of(kind, content)
        row = self._used.get(key) or self._kept.get(key)
        if row is None:
            self._new = True
            row = self._made(kind, content)
        self._used[key] = row
        digest, used, unused, followed, empty = row
        return Form(digest, used, unused, followed, empty)

    def _made(self, kind: str, content: bytes) -> tuple[Any, ...]:
        if kind == _CODE:
            form = form_of_module(content)
            return form.digest, form.used, form.unused, form.followed, form.is_empty
        return digest_of(kind, _form_of_yaml(content, self._lean) if kind else content), [], [], [], not content


def form_of_module(content: bytes) -> Form:
    """The form of a module's source."""
    tree = ast.parse(content)
    walk = _Walk()
    walk.body(tree, _imports(tree))
    imported_names = ((name, origin) for name, imported in _imports(tree).items() if name not in walk.names for origin in imported)
    unused = [(name, origin) for name, origin in imported_names if origin[2] and origin[0] != "typing"]
    followed = {(module, name) for module, name, runs in walk.imports if runs}
    return Form(
        digest_of("\n".join(walk.tokens)),
        [list(names) for names in walk.used],
        sorted(unused),
        sorted(followed),
        not walk.tokens and not unused,
    )


_Scope = Mapping[str, tuple[Imported, ...]]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SAYS_NOTHING = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING" and not node.orelse


def _imports(scope: ast.AST) -> dict[str, tuple[Imported, ...]]:
    """Imports of a module or function by local name, without those of nested functions."""
    imports: dict[str, tuple[Imported, ...]] = {}

    def visit(node: ast.AST, runs: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    name = alias.asname or alias.name.split(".")[0]
                    imports[name] = (*imports.get(name, ()), (alias.name if alias.asname else name, "", runs))
            elif isinstance(child, ast.ImportFrom):
                module = "." * child.level + (child.module or "")
                for alias in child.names if module != "__future__" else ():
                    name = alias.asname or alias.name
                    imports[name] = (*imports.get(name, ()), (module, alias.name, runs))
            elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case) and not isinstance(child, _FUNCTIONS):
                visit(child, runs and not _is_type_checking(child))

    visit(scope, True)
    return imports


class _Walk:
    """Serialises a syntax tree without irrelevant parts."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.used: dict[tuple[Imported, ...], int] = {}
        self.names: set[str] = set()
        self.imports: set[Imported] = set()

    def body(self, node: ast.AST, scope: _Scope) -> None:
        """Serialise the non-empty fields of a node."""
        for name in node._fields:
            value = getattr(node, name, None)
            if value is None or value == [] or name in _SAYS_NOTHING:
                continue
            if isinstance(value, list):
                self._items(name, value, scope)
            else:
                self.tokens.append(name)
                self._value(value, scope)

    def _items(self, name: str, values: list[Any], scope: _Scope) -> None:
        at = len(self.tokens)
        self.tokens.append(f"{name}[")
        for value in values:
            self._value(value, scope)
        if len(self.tokens) == at + 1:
            self.tokens.pop()
        else:
            self.tokens.append("]")

    def _value(self, value: Any, scope: _Scope) -> None:
        if not isinstance(value, ast.AST):
            self.tokens.append(repr(value))
        elif isinstance(value, ast.Import | ast.ImportFrom):
            self._import(value)
        elif isinstance(value, ast.Name) and value.id in scope:
            self.names.add(value.id)
            self.tokens.append(f"import {self.used.setdefault(scope[value.id], len(self.used))}")
        elif not _is_idle(value):
            self._node(value, scope)

    def _node(self, node: ast.AST, scope: _Scope) -> None:
        if _is_type_checking(node):  # its imports are known to the scope, and nothing else in it runs
            return
        if isinstance(node, _FUNCTIONS):
            imports = _imports(node)
            scope = {**scope, **imports} if imports else scope
        self.tokens.append(f"{type(node).__name__}(")
        self.body(node, scope)
        self.tokens.append(")")

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.ImportFrom):
            self.imports |= {("." * node.level + (node.module or ""), alias.name, True) for alias in node.names}
        else:
            self.imports |= {(alias.name, "", True) for alias in node.names}


def _is_idle(node: ast.AST) -> bool:
    """Return True for docstrings, also of attributes, and for `pass`."""
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return text or isinstance(node, ast.Pass)


def _whole(document: Any) -> Any:
    return document


def _form_of_yaml(content: bytes, lean: Callable[[Any], Any]) -> str:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return repr(_pairs(lean(yaml.load(content, Loader=loader))))  # noqa: S506  (a safe loader, in C if available)


def _pairs(node: Any) -> Any:
    """Convert a document to nested lists.

    Keys keep their order, because it may be relevant.
    """
    if isinstance(node, dict):
        return "mapping", [(_pairs(key), _pairs(value)) for key, value in node.items()]
    return [_pairs(item) for item in node] if isinstance(node, list) else node


class Sources:
    """Packages as folders of source text, by top-level name; none is imported."""

    def __init__(self, roots: Mapping[str, Traversable | Path], forms: Forms | None = None, left_out: Collection[str] = ()) -> None:
        """Set the folders.

        `left_out` are names of data files generated from others.
        """
        self._roots, self._left_out = roots, left_out
        self.forms = Forms() if forms is None else forms
        self._of: dict[str, Form] = {}

    @cached_property
    def modules(self) -> dict[str, Traversable]:
        """Files of all modules by dotted name; a package's file is its `__init__.py`."""
        return {name: file for root, folder in self._roots.items() for name, file in _modules(root, folder)}

    def form(self, module: str) -> Form:
        """The form of a module."""
        if module not in self._of:
            self._of[module] = self.forms.form_of(_CODE, as_in_checkout(self.modules[module].read_bytes()))
        return self._of[module]

    def defining(self, importer: str, module: str, name: str) -> tuple[str, str]:
        """The module and the name that an import refers to.

        The name is empty for the module itself.
        """
        if module.startswith("."):
            is_package = self.modules[importer].name == "__init__.py"
            module = resolve_name(module, importer if is_package else importer.rpartition(".")[0])
        inner = f"{module}.{name}" if name else module
        return (inner, "") if not name or inner in self.modules else (module, name)

    def reached(self, entries: Iterable[str], boundaries: Collection[str] = ()) -> set[str]:
        """Modules that run when the entries are imported, with their packages.

        Modules at or below a boundary are excluded.
        """
        modules: set[str] = set()
        todo = list(entries)
        if missing := set(todo) - self.modules.keys():
            raise LookupError(f"no module {', '.join(sorted(missing))}")
        while todo:
            module = todo.pop()
            if module in modules or module not in self.modules or any(package in boundaries for package in _upwards(module)):
                continue
            modules.add(module)
            todo += _upwards(module)
            todo += (self.defining(module, *imported)[0] for imported in self.form(module).followed)
        return modules

    def fingerprint(self, entries: Iterable[str], boundaries: Collection[str] = (), data: Iterable[str] = ()) -> str:
        """Fingerprint of modules reached from entries, and of data in packages `data`."""
        modules = self.reached(entries, boundaries)
        meanings = sorted(self._meaning(module, modules) for module in modules if not self.form(module).is_empty)
        folders = sorted(folder for root in data for folder in self._data(self._roots[root]))
        return digest_of(*meanings, "data", *folders)

    def _meaning(self, module: str, among: Collection[str]) -> str:
        """A module's form with the meaning of its imported names."""
        form = self.form(module)
        used = (" or ".join(self._identity(module, imported, among) for imported in imported_names) for imported_names in form.used)
        unused = sorted(f"{name} {self._identity(module, imported, among)}" for name, imported in form.unused)
        return digest_of(form.digest, *used, "unused", *unused)

    def _identity(self, importer: str, imported: Imported, among: Collection[str]) -> str:
        defined_in, name = self.defining(importer, *imported[:2])
        if defined_in in self.modules:
            return f"{self.form(defined_in).digest} {name}" if imported[2] and defined_in in among else f"- {name}"
        return f"{defined_in}.{name}" if name else defined_in

    def _data(self, folder: Traversable | Path) -> Iterator[str]:
        """Digests of folders with data.

        The order of files may be relevant, so it counts; their names do not.
        """
        forms = []
        for entry in sorted(folder.iterdir(), key=lambda path: path.name):
            if entry.name.startswith(".") or entry.name.endswith((*_LEFT_OUT, _CODE)) or entry.name in self._left_out:
                continue
            if entry.is_dir():
                yield from self._data(entry)
            else:
                forms.append(self.forms.form_of(entry.name, entry.read_bytes()).digest)
        if forms:
            yield digest_of(*forms)


def _upwards(module: str) -> list[str]:
    """A module and its enclosing packages."""
    parts = module.split(".")
    return [".".join(parts[:length]) for length in range(len(parts), 0, -1)]


def _modules(name: str, folder: Traversable | Path) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.name == "__init__.py":
            yield name, entry
        elif entry.name.endswith(_CODE):
            yield f"{name}.{entry.name.removesuffix(_CODE)}", entry
        elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
            yield from _modules(f"{name}.{entry.name}", entry)
