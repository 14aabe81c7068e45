"""Benchmarks are not run by tests, but what they take from the package is there."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(p for room in ("benchmarks", "examples", "page/gallery") for p in (ROOT / room).rglob("*.py"))


def missing(source: str) -> list[str]:
    """What a script imports from the package and the package does not have."""
    out = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [(node.module, alias.name) for alias in node.names]
        else:
            continue
        for module, name in names:
            if module.split(".")[0] != "vivace" or module.startswith("vivace.newton"):  # which needs Newton
                continue
            try:
                there = importlib.import_module(module)
                if name is not None and not hasattr(there, name):
                    importlib.import_module(f"{module}.{name}")
            except ImportError:
                out.append(module if name is None else f"{module}.{name}")
    return out


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_scripts_import_is_there(path):
    assert missing(path.read_text(encoding="utf-8")) == []


def test_what_is_not_there_is_seen():
    source = "import vivace.nothing\nfrom vivace.simulation.simulation import NOTHING\nfrom vivace.mesh import Mesh\n"
    assert missing(source) == ["vivace.nothing", "vivace.simulation.simulation.NOTHING"]
