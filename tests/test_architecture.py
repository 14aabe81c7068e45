"""The layout of the package: dependencies point down only, no cycles, nothing private across rooms, short files."""

import ast
import statistics
from functools import cache
from pathlib import Path

import pytest

import vivace

PACKAGE = Path(vivace.__file__).parent
ROOT = PACKAGE.parents[1]

# From the bottom up. Rooms in one line know nothing of each other.
LAYERS = [
    ("errors", "_version"),
    ("checks",),
    ("registry", "files", "confined", "blocks", "deprecation", "interrupts", "forking"),
    ("storage",),
    ("backends",),
    ("mesh", "colouring", "constraints"),
    ("caches",),
    ("collisions",),
    ("rigid",),
    ("terms",),
    ("hyperelastic",),
    ("model",),
    ("energy",),
    ("solvers",),
    ("simulation",),
    ("scenes",),
    ("pictures",),
    ("bench", "blender", "newton"),
    ("sweeps",),
    ("viewer",),
    ("cli",),
    ("everything",),
    ("__main__", "__init__"),
]
RANK = {room: rank for rank, rooms in enumerate(LAYERS) for room in rooms}


@cache
def nodes(file):
    """Everything in a file's syntax."""
    return list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))


def modules():
    """Dotted names below the package, as tuples, and their files."""
    for file in sorted(PACKAGE.rglob("*.py")):
        yield file.relative_to(PACKAGE).with_suffix("").parts, file


def imports(parts, file):
    """(module, name) of everything a file imports from the package, wherever the import stands."""
    package = parts[:-1]
    for node in nodes(file):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                base = package[: len(package) - (node.level - 1)]
            elif node.module == "vivace" or (node.module or "").startswith("vivace."):
                base = ()
            else:
                continue
            module = tuple(part for part in (node.module or "").split(".") if part and part != "vivace")
            for alias in node.names:
                yield (*base, *module), alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("vivace."):
                    yield tuple(alias.name.split(".")[1:]), ""


def target(module, name):
    """The module that an import reaches: the name itself may be one."""
    for parts in ((*module, name), module):
        if (PACKAGE.joinpath(*parts).with_suffix(".py")).exists() and parts:
            return parts
        if PACKAGE.joinpath(*parts, "__init__.py").exists():
            return (*parts, "__init__")
    raise AssertionError(f"{module} {name}: no such module")


def room_of(parts):
    return parts[0]


def test_every_room_has_a_place():
    found = {room_of(parts) for parts, _ in modules()}
    assert found == set(RANK)


@pytest.mark.slow
def test_dependencies_point_down_only():
    upward = [
        f"{'.'.join(parts)} imports {'.'.join(target(*found))}"
        for parts, file in modules()
        for found in imports(parts, file)
        if room_of(parts) != room_of(target(*found)) and RANK[room_of(target(*found))] >= RANK[room_of(parts)]
    ]
    assert upward == []


@pytest.mark.slow
def test_nothing_private_is_imported_from_another_room():
    private = [
        f"{'.'.join(parts)} imports {name} of {'.'.join(module)}"
        for parts, file in modules()
        for module, name in imports(parts, file)
        if name.startswith("_") and not name.startswith("__") and room_of(target(module, name)) != room_of(parts)
    ]
    assert private == []


@pytest.mark.slow
def test_there_are_no_cycles():
    """Not between modules either, lazy imports included."""
    graph = {parts: {target(*found) for found in imports(parts, file)} - {parts} for parts, file in modules()}
    done, path = set(), []

    def visit(module):
        if module in path:
            pytest.fail("a cycle: " + " -> ".join(".".join(p) for p in [*path[path.index(module) :], module]))
        if module not in done:
            path.append(module)
            for other in sorted(graph[module]):
                visit(other)
            path.pop()
            done.add(module)

    for module in graph:
        visit(module)


@pytest.mark.slow
def test_compilers_are_the_backends_business():
    """Nothing but backends imports Numba: kernels are written with what these offer."""
    foreign = []
    for parts, file in modules():
        if room_of(parts) == "backends":
            continue
        for node in nodes(file):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            foreign += [".".join(parts) for name in names if name.split(".")[0] in ("numba", "llvmlite")]
    assert foreign == []


@pytest.mark.slow
def test_files_are_short_enough_to_read():
    lengths = {
        file: len(file.read_text(encoding="utf-8").splitlines())
        for folder in ("src", "tests", "benchmarks", "examples")
        for file in (ROOT / folder).rglob("*.py")
    }
    assert {str(file.relative_to(ROOT)): n for file, n in lengths.items() if n > 400} == {}
    assert statistics.median(lengths.values()) <= 200
