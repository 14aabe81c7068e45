"""The command that makes docs/comparison.md, on tiny scenes; and the parts of it that compute something themselves."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vivace.scenes import make_scene

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def comparison(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("comparison")


@pytest.fixture
def position_based(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("comparison_position_based")


@pytest.mark.slow
def test_comparison_quick(tmp_path, comparison):
    """Every part leaves its figure, and every number that was measured is on the page."""
    command = [sys.executable, str(BENCHMARKS / "comparison.py"), "--quick", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(tmp_path / "comparison.md")
    page = (tmp_path / "comparison.md").read_text(encoding="utf-8")
    parts = json.loads((tmp_path / "figures" / "comparison.json").read_text(encoding="utf-8"))
    assert list(parts) == list(comparison.PARTS)
    figures = re.findall(r"\]\((figures/\S+)\)", page)
    assert len(figures) == len(parts) - 1  # the table of solvers has none
    for figure in figures:
        assert (tmp_path / figure).read_bytes().startswith(b"\x89PNG"), figure
    flat = " ".join(page.split())
    for name, part in parts.items():
        for key, value in part["values"].items():
            assert " ".join(value.split()) in flat, (name, key)
    assert "{{" not in page
    assert "nan" not in re.findall(r"\w+", page)
    assert not any(len(line) > 120 for line in page.splitlines() if not line.startswith(("|", "#")))
    assert str(tmp_path) not in page


def test_page_without_a_part(comparison):
    """A page of one part has the headings of all, and says what was not measured."""
    settings = {"version": "1", "threads": 2, "tablecloth": "a", "armadillo": "b", "quick": False}
    values = dict.fromkeys(("table", "most", "before"), "7")
    page = comparison.page({"fig4": {"settings": settings, "values": values}})
    assert page.count("Not measured yet.") == len(comparison.PARTS) - 1
    assert page.count("\n## ") == len(comparison.PARTS)
    assert "what 7 iterations leave" in page


@pytest.mark.parametrize("name", ["tablecloth", "bar"])
def test_position_based_iteration_equals_loop(position_based, name):
    """Σ_c Δq_(i,c) by one loop over the edges, each pulled to its rest length by its free ends."""
    scene = make_scene(name, resolution=4)
    mesh = scene.model.mesh
    body = position_based.PositionBased(scene)
    q = mesh.vertices + 0.05 * np.random.default_rng(0).standard_normal(mesh.vertices.shape)
    weight = np.ones(scene.model.n)
    weight[scene.model.pinned] = 0.0
    expected, squares = np.zeros_like(q), []
    for i, j in mesh.edges:
        d = q[i] - q[j]
        length, rest = np.linalg.norm(d), np.linalg.norm(mesh.vertices[i] - mesh.vertices[j])
        squares.append((length - rest) ** 2)
        if weight[i] + weight[j]:
            step = (length - rest) / (weight[i] + weight[j]) * d / length
            expected[i] -= weight[i] * step
            expected[j] += weight[j] * step
    np.testing.assert_allclose(body.moved(q), expected, atol=1e-14)
    assert body.violation(q) == pytest.approx(np.sqrt(np.mean(squares)), rel=1e-12)
    plain = list(body.violations(q, 0.1, 3))
    assert plain[0] == pytest.approx(body.violation(q + 0.1 * expected), rel=1e-12)
    assert list(body.violations(q, 0.1, 3, rho=0.9, delay=3)) == pytest.approx(plain, rel=1e-12)


def test_chebyshev_weights_equal_closed_form(position_based):
    """ω_(k+1) = 2 C_k(1/ρ) / (ρ C_(k+1)(1/ρ)) [fratarcangeli2018, Eq. 24], C_k(x) = cosh(k arcosh x)."""
    rho = 0.97
    weights = np.array(list(position_based.chebyshev_weights(30, rho, delay=1)))
    k = np.arange(1, 30)
    angle = np.arccosh(1 / rho)
    assert weights[0] == 1.0
    np.testing.assert_allclose(weights[1:], 2 * np.cosh(k * angle) / (rho * np.cosh((k + 1) * angle)), rtol=1e-12)


@pytest.mark.slow
def test_contacts_quick(tmp_path):
    """The parts of motion.py that touch, on tiny cloths: they run, nothing is pierced, and the figures are written."""
    out = tmp_path / "found.json"
    command = [
        sys.executable,
        str(BENCHMARKS / "motion.py"),
        "--resolution",
        "10",
        "--only",
        "sphere",
        "--json",
        str(out),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]["sphere"]
    assert len(rows) == 4
    assert all(row["pierced"] == 0 and row["mean_most"] < 0.01 for row in rows.values())
