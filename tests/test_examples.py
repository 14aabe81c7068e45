"""Every example says what must be true of it and is run here; it is short, and knows public names only."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import sys
from pathlib import Path

import pytest

import vivace

FOLDER = Path(__file__).parents[1] / "examples"
SCRIPTS, NOTEBOOKS = sorted(FOLDER.glob("*.py")), sorted(FOLDER.glob("*.ipynb"))
MOST_LINES = 59
ROOMS = ("mesh", "collisions", "scenes", "solvers", "constraints", "bench", "hyperelastic")
PUBLIC = {"vivace", *(f"vivace.{room}" for room in ROOMS)}
LIBRARIES = {"numpy", "scipy", *sys.stdlib_module_names}


def cells(path):
    """The code cells of a notebook."""
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == "code"]


def source(path):
    return "\n".join(cells(path)) + "\n" if path.suffix == ".ipynb" else path.read_text(encoding="utf-8")


def public_names(module):
    return set(importlib.import_module(module).__all__)


def is_private(name):
    """A leading underscore; neither `_` itself nor what Python has its own meaning for."""
    return name.startswith("_") and name.strip("_") != "" and not name.startswith("__")


def foreign(tree):
    """What code imports or names that is not public."""
    known_as = {}  # names that stand for a module of ours
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from unknown_module(alias.name)
                if alias.asname and alias.name in PUBLIC:
                    known_as[alias.asname] = alias.name
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from unknown_module(module)
            names = [alias.name for alias in node.names]
            yield from (f"{module}.{name}" for name in names if is_private(name))
            if module in PUBLIC:
                yield from (f"{module}.{name}" for name in names if name not in public_names(module))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and is_private(node.id):
            yield node.id
        if isinstance(node, ast.Attribute):
            if is_private(node.attr):
                yield node.attr
            module = module_of(node.value, known_as)
            if module and node.attr not in public_names(module):
                yield f"{module}.{node.attr}"


def unknown_module(module):
    parts = module.split(".")
    known = module in PUBLIC if parts[0] in ("vivace", "") else parts[0] in LIBRARIES
    if not known or any(part.startswith("_") for part in parts):
        yield module


def module_of(node, known_as):
    """The module of ours that an expression such as `vv.mesh` stands for, or None."""
    if isinstance(node, ast.Name):
        return known_as.get(node.id)
    if isinstance(node, ast.Attribute):
        base = module_of(node.value, known_as)
        return f"{base}.{node.attr}" if base and f"{base}.{node.attr}" in PUBLIC else None
    return None


@pytest.fixture
def registries(monkeypatch):
    """What an example registers is forgotten after it."""
    named = [getattr(vivace, name) for name in ("CONSTRAINTS", "MATERIALS", "SCENES", "SOLVERS")]
    for registry in (*named, vivace.hyperelastic.HYPERELASTIC):
        monkeypatch.setattr(registry, "_things", dict(registry._things))


@pytest.mark.slow
@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_example(path):
    """A script ends in a test_final() that says what must be true of it."""
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there for the module of a class
    try:
        spec.loader.exec_module(module)
        module.test_final()
    finally:
        del sys.modules[spec.name]


@pytest.mark.slow
@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path):
    """A notebook runs from its first cell to its last, without a browser, and asserts as it goes."""
    names = {"__name__": "notebook"}
    for number, text in enumerate(cells(path), 1):
        exec(compile(text, f"{path.name}, cell {number}", "exec"), names)


@pytest.mark.parametrize("path", [*SCRIPTS, *NOTEBOOKS], ids=lambda path: path.name)
def test_examples_are_short_and_public(path):
    tree = ast.parse(source(path))
    assert len(source(path).splitlines()) <= MOST_LINES
    assert sorted(set(foreign(tree))) == []
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_examples_begin_with_what_they_teach(path):
    tree = ast.parse(source(path))
    assert ast.get_docstring(tree).partition("\n")[0].endswith((".", ":"))
    final = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "test_final")
    assert ast.get_docstring(final), "test_final() says what must be true"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_results(path):
    """A result is as old as the machine it was made on; a notebook begins with words."""
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["nbformat"] == 4
    assert found["cells"][0]["cell_type"] == "markdown"
    for cell in found["cells"]:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None


def test_every_example_is_listed():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in (*SCRIPTS, *NOTEBOOKS) if f"[{path.name}]({path.name})" not in text] == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import vivace as vv\nvv.mesh.cloth(3, 3)", []),
        ("import vivace as vv\nvv.mesh.generate.cloth(3, 3)", ["vivace.mesh.generate"]),
        ("import vivace as vv\nvv.energy", ["vivace.energy"]),
        ("from vivace.solvers import make_solver, parse_solver", ["vivace.solvers.parse_solver"]),
        ("from vivace.solvers.base import Solver", ["vivace.solvers.base"]),
        ("import vivace.model", ["vivace.model"]),
        ("from vivace._version import __version__", ["vivace._version"]),
        ("from . import something", ["."]),
        ("import matplotlib.pyplot as plt", ["matplotlib.pyplot"]),
        ("import scipy.sparse.linalg, json\nfor _ in range(3): x.__class__", []),
        ("sim._motion.q", ["_motion"]),
    ],
)
def test_what_is_not_public_is_found(code, found):
    assert sorted(foreign(ast.parse(code))) == found
