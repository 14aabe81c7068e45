"""Scenes to TOML and back."""

import tomllib

import numpy as np
import pytest

from vivace import Budget, InputError, Model, mesh
from vivace.scenes import Scene, load_scene
from vivace.scenes.writing import scene_text

OBJ = "v 0 0 0\nv 1 0 0\nv 0 -1 0\nv 1 -1 0\nf 1 2 3\nf 2 4 3\n"


def again(tmp_path, scene, **changes):
    path = tmp_path / "again.toml"
    path.write_text(scene_text(scene, **changes), encoding="utf-8")
    return load_scene(path)


def test_a_scene_of_rigid_bodies(tmp_path):
    scene = load_scene("box-stack", n=2)
    changes = {"budget": Budget(iterations=9), "time_step": 0.02, "gravity": (0, -3, 0)}
    other = again(tmp_path, scene, solver=("coloured", {"merged": 3}), **changes)
    assert (other.solver, other.budget, other.time_step) == ("coloured:merged=3", Budget(iterations=9), 0.02)
    assert list(other.gravity) == [0, -3, 0]
    assert other.settings["parameters"]["n"] == 2
    assert len(other.bodies) == 3
    for bad in ({"wind": (1, 0, 0)}, {"stiffness": 2.0}):
        with pytest.raises(InputError, match="made of rigid bodies"):
            scene_text(scene, **bad)
    with pytest.raises(InputError, match="unknown contact solver"):
        scene_text(scene, solver=("vivace", {}))


def test_a_named_scene(tmp_path):
    scene = load_scene("tablecloth", resolution=9, table=True)
    other = again(
        tmp_path,
        scene,
        solver=("vivace", {"omega": 1.8}),
        budget=Budget(ms=5.5),
        time_step=0.02,
        gravity=(0, -3, 0),
        wind=(1, 2, 3),
        stiffness=4.0,
    )
    assert other.settings["parameters"]["resolution"] == 9
    assert other.model.collisions is not None
    sim = other.simulate(threads=1)
    assert (sim.solver.name, sim.solver.omega, sim.budget.ms, sim.time_step) == ("vivace", 1.8, 5.5, 0.02)
    np.testing.assert_array_equal(sim.gravity, [0, -3, 0])
    np.testing.assert_array_equal(sim.wind, [1, 2, 3])
    np.testing.assert_allclose(sim.model.groups[0].weights, 4 * scene.model.groups[0].weights)


def test_what_is_none_is_left_out(tmp_path):
    """TOML has no word for it; where it is not the default, that is an error."""
    plain, creased = load_scene("tablecloth", resolution=3), load_scene("tablecloth", resolution=3, crease=20.0)
    assert "crease" not in tomllib.loads(scene_text(plain))["parameters"]
    assert again(tmp_path, plain).settings["parameters"]["crease"] is None
    assert again(tmp_path, creased).settings["parameters"]["crease"] == 20.0
    plain.settings["parameters"]["side"] = None
    with pytest.raises(InputError, match="cannot say that side of 'tablecloth' is None"):
        scene_text(plain)


def test_twice(tmp_path):
    """What was saved can be saved again: stiffness multiplies, the rest is replaced."""
    once = again(tmp_path, load_scene("bar", resolution=3), stiffness=2.0, wind=(1, 0, 0))
    twice = again(tmp_path, once, stiffness=3.0)
    assert twice.settings["world"]["stiffness"] == 6.0
    assert list(twice.wind) == [1, 0, 0]


@pytest.mark.parametrize("solver", [("chebyshev", {"inner": "jacobi", "rho": 0.9}), ("auto", {})])
def test_solvers_keep_their_options(tmp_path, solver):
    sim = again(tmp_path, load_scene("cube", resolution=3), solver=solver).simulate(threads=1)
    assert sim.solver.name == ("auto" if solver[0] == "auto" else "chebyshev(jacobi)")
    assert getattr(sim.solver, "rho", 0.9) == 0.9


def test_files(tmp_path):
    (tmp_path / "sheet.obj").write_text(OBJ)
    other = again(tmp_path, load_scene(tmp_path / "sheet.obj"), wind=(0, 0, 1))
    assert other.model.n == 4
    assert len(other.model.pinned) == 2
    (tmp_path / "mine.toml").write_text('[mesh]\nfile = "sheet.obj"\n[material]\nkind = "cloth"\nstretch = 77.0\n')
    other = again(tmp_path, load_scene(tmp_path / "mine.toml"), stiffness=2.0)
    np.testing.assert_allclose(other.model.groups[0].weights, 154.0)


def test_what_was_made_in_python_cannot_be_written():
    with pytest.raises(InputError, match="made in Python"):
        scene_text(Scene("mine", Model.of(mesh.cloth(4, 4)), 1 / 30))


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_winds_are_written_as_they_were_meant(degrees):
    """cos 90° is 6e-17, and nobody wants to read that."""
    angle = np.radians(degrees)
    text = scene_text(load_scene("bar", resolution=3), wind=(6 * np.cos(angle), 0.0, -6 * np.sin(angle)))
    wind = tomllib.loads(text)["world"]["wind"]
    assert sorted(map(abs, wind)) == [0.0, 0.0, 6.0]
    assert "e-" not in text.partition("[world]")[2].partition("[")[0]
    assert tomllib.loads(scene_text(load_scene("bar", resolution=3), stiffness=0.1 * 3))["world"]["stiffness"] == 0.3
