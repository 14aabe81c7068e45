"""The parts of benchmarks/motion.py that compute something themselves; and one row of it, on a tiny cloth."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def load(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setenv("VIVACE_CACHE", str(tmp_path / "cache"))
    return importlib.import_module


def test_turning_points_of_a_cosine(load):
    """cos(ω t) is lowest at π/ω and every 2π/ω after; the parabola errs by about (ω h)² h."""
    common, omega, h = load("motion_common"), 4.0, 0.03
    times = h * np.arange(100)
    found = common.turning(times, np.cos(omega * times))
    error = (omega * h) ** 2 * h
    assert found.seconds == pytest.approx(np.pi / omega, abs=error)
    assert found.period == pytest.approx(2 * np.pi / omega, abs=2 * error)
    assert found.metres == pytest.approx(-1.0, abs=(omega * h) ** 4)
    assert common.turning(times, times).seconds is None
    assert common.turning(times[:30], np.cos(omega * times[:30])).period is None


def test_path_length(load):
    angle = np.linspace(0, 2 * np.pi, 1001)
    circle = np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    assert load("motion_common").path_length(circle) == pytest.approx(2 * np.pi, rel=1e-5)


@pytest.mark.slow
def test_a_hanging_mass_at_rest(load):
    """It hangs by m g/k below where its spring is at rest, and its pin gives way by (m + m₀) g/w."""
    from vivace import Model, Wire
    from vivace.mesh import Mesh

    wire = Mesh.from_edges([[0.0, 0.0, 0.0], [0.0, -0.5, 0.0]], [[0, 1]])
    model = Model.of(wire, Wire(density=0.4, stretch=50.0)).pin([0], stiffness=2e3)
    q = load("motion_answers").at_rest(model, wire.vertices)
    spring = next(group for group in model.groups if group.kind.name == "spring")
    pin = -9.81 * model.masses.sum() / 2e3
    low = pin - 0.5 - 9.81 * model.masses[1] / spring.weights[0]
    np.testing.assert_allclose(q[:, 1], [pin, low], atol=1e-6)


def test_every_variant_can_be_converged(load):
    scenes = load("motion").variant_scenes(12)
    assert len(scenes) == 10
    for scene in scenes.values():
        assert load("vivace.bench.converged").is_solvable(scene)
        assert 0.8 * 144 < scene.model.n < 1.2 * 144


def test_seams_hold_the_garment_together(load):
    """The sides of the two halves lie on each other, and each pair is welded."""
    model = load("motion").garment(12)
    (welds,) = [group for group in model.groups if group.kind.name == "weld"]
    i, j = welds.vertices.T
    np.testing.assert_allclose(model.mesh.vertices[i], model.mesh.vertices[j], atol=1e-12)


@pytest.mark.slow
def test_one_row(load, monkeypatch, tmp_path, capsys):
    out = tmp_path / "rows.json"
    command = ["motion.py", "--only", "tablecloth,threads", "--resolution", "6", "--repeat", "1", "--json", str(out)]
    monkeypatch.setattr(sys, "argv", command)
    load("motion").main()
    assert "tablecloth, 8 ms, same step" in capsys.readouterr().out
    rows = json.loads(out.read_text())["rows"]
    (row,) = rows["tablecloth"].values()
    assert row["seconds"] == pytest.approx([0.264, 0.495, 0.759, 0.99, 2.013])
    assert len(row["cm"]) == 5
    assert all(found["same"] for found in rows["threads"].values())


def test_unknown_parts_are_named(load, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["motion.py", "--only", "tableclot"])
    with pytest.raises(SystemExit):
        load("motion").main()
    assert "there is no part 'tableclot'" in capsys.readouterr().err
