"""The page's sources: types, licences, nothing from elsewhere."""

import json

import pytest

from vivace.viewer.pages import PAGE

from .node import PAGE_SOURCES, run_npm


@pytest.mark.slow
@pytest.mark.skipif(not (PAGE_SOURCES / "node_modules" / "typescript").is_dir(), reason="typescript is not installed")
def test_types():
    done = run_npm("run", "check")
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(not PAGE_SOURCES.is_dir(), reason="the page's sources are not here")
def test_the_lock_file_says_what_but_not_from_where():
    lock = json.loads((PAGE_SOURCES / "package-lock.json").read_text(encoding="utf-8"))
    for name, package in lock["packages"].items():
        assert "resolved" not in package, name
        assert "integrity" in package or name == "" or package.get("link"), name


@pytest.mark.skipif(not (PAGE / "app.js").is_file(), reason="the page has not been built")
def test_the_built_page_names_its_licences():
    text = (PAGE / "licences.txt").read_text(encoding="utf-8")
    for name in ("three", "three-mesh-bvh", "uplot", "preact"):
        assert name in text.lower()
