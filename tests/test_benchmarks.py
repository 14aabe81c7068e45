"""The command that makes docs/comparison.md, on tiny scenes; and the parts of it that compute something themselves."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from vivace.bench.frozen import freeze
from vivace.cli.main import parser
from vivace.scenes import make_scene

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch, capsys):
    """Run a benchmark as its command does, in this process, which has loaded everything already; what it printed."""

    def run(name, *arguments):
        monkeypatch.syspath_prepend(str(BENCHMARKS))
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *map(str, arguments)])
        importlib.import_module(name).main()
        return capsys.readouterr().out

    return run


@pytest.fixture
def comparison(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("comparison")


@pytest.fixture
def position_based(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("comparison_position_based")


@pytest.mark.slow
def test_comparison_quick(tmp_path, benchmark, comparison):
    """Every part leaves its figure, and every number that was measured is on the page."""
    assert benchmark("comparison", "--quick", "--out", tmp_path).strip() == str(tmp_path / "comparison.md")
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


def by_loop(scene, q, alpha, rho, iterations):
    """RMS of l - l₀ over a cloth's edges after each iteration q ← ω (q + α ΣΔq - q⁻) + q⁻ [fratarcangeli2018, Eq. 27
    and Alg. 1]: plain loops in float64, the oracle of figure 7."""
    edges, rest = scene.model.mesh.edges, scene.model.mesh.vertices
    weight = 1.0 / scene.model.masses
    weight[scene.model.pinned] = 0.0
    before, omega, found = q, 1.0, []
    for k in range(iterations + 1):
        moved, squares = np.zeros_like(q), []
        for i, j in edges:
            d, length = q[i] - q[j], np.linalg.norm(rest[i] - rest[j])
            violation = np.linalg.norm(d) - length
            squares.append(violation**2)
            if weight[i] + weight[j]:
                step = violation / (weight[i] + weight[j]) * d / np.linalg.norm(d)
                moved[i] -= weight[i] * step
                moved[j] += weight[j] * step
        found.append(np.sqrt(np.mean(squares)))
        omega = 1.0 if k < 10 or not rho else 2 / (2 - rho**2) if k == 10 else 4 / (4 - rho**2 * omega)
        q, before = omega * (q + alpha * moved - before) + before, q
    return found


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.0, 0.97])
def test_position_based_iterations_equal_loop(position_based, rho):
    """What figure 7 shows of the package's solvers is what a loop over the edges leaves."""
    scene, alpha, count = make_scene("tablecloth", resolution=5), 0.25, 16
    frozen = freeze(scene, 3)
    inner = f"pbd-jacobi:stiffness=1,alpha={alpha}"
    found = position_based.violations(frozen, f"chebyshev({inner}):rho={rho},watch=False" if rho else inner, count)
    expected = by_loop(scene, frozen.frame.start, alpha, rho, count)
    np.testing.assert_allclose(found, expected, rtol=2e-4)
    assert found[-1] < found[0]


@pytest.mark.slow
def test_contacts_quick(tmp_path, monkeypatch):
    """The parts of motion.py that touch, on tiny cloths, for 0.7 s: they run, nothing is pierced, figures appear."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    contacts, motion = importlib.import_module("motion_contacts"), importlib.import_module("motion")
    live = contacts.live
    monkeypatch.setattr(contacts, "live", lambda sim, frames, hand=None: live(sim, min(frames, 40), hand))
    out = tmp_path / "found.json"
    given = ["--resolution", "10", "--only", "sphere", "--json", str(out)]
    monkeypatch.setattr(sys, "argv", ["motion.py", *given])
    motion.main()
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]["sphere"]
    assert len(rows) == 4
    assert all(row["pierced"] == 0 and row["mean_most"] < 0.01 for row in rows.values())


ROOT = BENCHMARKS.parent
TOLD = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs", "src", "benchmarks", "examples"]


def texts():
    for place in TOLD:
        found = [ROOT / place] if (ROOT / place).is_file() else sorted((ROOT / place).rglob("*"))
        for file in found:
            if file.suffix in {".md", ".py", ".in", ".ipynb"}:
                yield str(file.relative_to(ROOT)), file.read_text(encoding="utf-8")


@pytest.mark.slow
def test_benchmarks_that_are_named_exist():
    """Whoever reads `benchmarks/x.py` or `vivace bench x` anywhere finds it."""
    named = [(place, name) for place, text in texts() for name in re.findall(r"benchmarks/[\w/]+\.py", text)]
    assert len(named) > 20
    assert [found for found in named if not (ROOT / found[1]).is_file()] == []
    commands = {(place, name) for place, text in texts() for name in re.findall(r"vivace bench ([a-z]+)", text)}
    assert len(commands) > 2
    for _, name in commands:
        parser().parse_args(["bench", name])  # exits where there is no such thing


@pytest.mark.slow
def test_ball_pile_leaves_a_film_and_the_same_bits(tmp_path, benchmark):
    """Balls fall on each other; the steps that are measured have the same bits with one thread and with two."""
    options = ["--size", 4, "--frames", 30, "--steps", 2, "--every", 15, "--film", "pile.gif", "--out", tmp_path]
    assert "same bits" in benchmark("ball_pile", *options)
    found = json.loads((tmp_path / "pile.json").read_text())
    assert found["bodies"] == 4**3 + 5
    assert [run["threads"] for run in found["runs"]] == [1, 2]
    assert found["runs"][0]["contacts"] > 30
    assert {"pile.gif", "pile.png", "checkpoint.npz"} <= {path.name for path in tmp_path.iterdir()}
    benchmark("ball_pile", *options, "--resume", tmp_path / "checkpoint.npz", "--frames", 32)


@pytest.mark.slow
def test_force_against_stretch_is_that_of_the_material(tmp_path, benchmark):
    """A box between grips, against `hyperelastic.uniaxial`: forces within 1 %, at stretches of 0.4 and 2.5."""
    options = ["--resolution", 2, "--count", 1, "--materials", "neo-hookean,fung", "--out", tmp_path / "curves.png"]
    printed = benchmark("force_stretch", *options)
    off = [float(number) for number in re.findall(r"off by (\S+) %", printed)]
    assert len(off) == 2
    assert max(off) < 1
    stretches = [float(number) for number in re.findall(r"([\d.]+): -?\d+ N", printed)]
    assert min(stretches) < 0.41
    assert max(stretches) > 2.49
    assert (tmp_path / "curves.png").stat().st_size > 1000


@pytest.mark.slow
def test_box_figures(tmp_path, benchmark):
    """Two sheets of four materials, in balance; Mooney-Rivlin and Fung resist more when pressed, as in the paper."""
    printed = benchmark("box_figures", "--resolution", 3, "--out", tmp_path)
    found = dict(re.findall(r"^(\S+) +compress +(\S+) kN", printed, re.MULTILINE))
    force = {name: -float(value) for name, value in found.items()}
    assert 0 < force["stvk"] < force["neo-hookean"] < force["mooney-rivlin"] < force["fung"]
    assert "not in balance" not in printed
    assert printed.count(" % converted") == 4
    for name in ("box-models.png", "box-conversion.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_inside_out(benchmark):
    options = ["--seeds", 1, "--materials", "corotated", "--solvers", "descent", "--json"]
    assert json.loads(benchmark("inside_out", *options))[0]["back"] == 1


@pytest.mark.slow
def test_elements_are_timed_both_ways(benchmark):
    printed = benchmark("elements", "--resolution", 4, "--repeat", 2, "--materials", "neo-hookean")
    assert len(re.findall(r"\d+ / \d+ \([\d.]+\)", printed)) == 5


@pytest.mark.slow
def test_hyperelastic_motion_leaves_a_strip(tmp_path, benchmark):
    """A line for each solver, and a row of pictures for each and for the converged run.

    How far those come that have milliseconds is the machine's affair; those with iterations come as far on all.
    """
    options = ["--resolution", 16, "--frames", 2, "--out", tmp_path / "strip.png"]
    lines = benchmark("hyperelastic_motion", *options).splitlines()
    assert len(lines) == 8
    off = [float(re.findall(r"\(([\d.]+) %\)", line)[-1]) for line in lines]
    assert np.isfinite(off).all()
    assert off[-2] < 2
    assert off[-1] < 50
    assert (tmp_path / "strip.png").read_bytes().startswith(b"\x89PNG")
