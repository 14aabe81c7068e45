"""The page's sources: types, licences, nothing from elsewhere."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from vivace.viewer.server import PAGE

SOURCES = Path(__file__).parents[2] / "page"


@pytest.mark.skipif(not (SOURCES / "node_modules" / "typescript").is_dir(), reason="typescript is not installed")
def test_types():
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node on the path")
    done = subprocess.run(
        [node, str(SOURCES / "node_modules" / "typescript" / "bin" / "tsc"), "--noEmit"],
        cwd=SOURCES,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(not SOURCES.is_dir(), reason="the page's sources are not here")
def test_the_lock_file_says_what_but_not_from_where():
    lock = json.loads((SOURCES / "package-lock.json").read_text(encoding="utf-8"))
    for name, package in lock["packages"].items():
        assert "resolved" not in package, name
        assert "integrity" in package or name == "" or package.get("link"), name


@pytest.mark.skipif(not (PAGE / "app.js").is_file(), reason="the page has not been built")
def test_the_built_page_names_its_licences():
    text = (PAGE / "licences.txt").read_text(encoding="utf-8")
    for name in ("three", "three-mesh-bvh", "uplot", "preact"):
        assert name in text.lower()
