"""A mesh of one's own starts well: what it becomes, where it stands, and that it stays there."""

import numpy as np
import pytest
import scipy.sparse as sp

import vivace as vv
from vivace.energy.hessian import Hessian
from vivace.energy.system import System
from vivace.errors import InputError
from vivace.mesh import filling
from vivace.mesh.mesh import Mesh
from vivace.scenes import load_scene
from vivace.scenes import own as module
from vivace.scenes.own import kinds_of, own_scene, stuffed, surface_of, upper_patch
from vivace.scenes.writing import scene_text
from vivace.viewer import Target


def ball(n=6, radius=40.0):
    """A closed surface in a unit of its own, around some far point."""
    body = vv.mesh.ball(n, radius)
    return surface_of(body).transformed(translate=(300, -20, 5))


def stretch(scene, frames, iterations=20):
    sim = scene.simulate(budget=vv.Budget(iterations=iterations), threads=1)
    for _ in range(frames):
        sim.step()
    edges, rest = scene.model.mesh.edges, scene.model.mesh.vertices
    lengths = np.linalg.norm(np.diff(sim.positions[edges], axis=1)[:, 0], axis=1)
    change = np.abs(lengths / np.linalg.norm(np.diff(rest[edges], axis=1)[:, 0], axis=1) - 1)
    return sim, float(change.mean()), float(change.max())


def test_what_a_mesh_can_become():
    assert kinds_of(ball()) == ("jelly", "shell", "cloth")
    assert kinds_of(vv.mesh.cube(3)) == ("jelly", "shell", "cloth")
    assert kinds_of(vv.mesh.cloth(4, 4)) == ("cloth", "shell")
    with pytest.raises(InputError, match="not closed"):
        own_scene(vv.mesh.cloth(4, 4), "jelly")
    with pytest.raises(InputError, match="kind of body"):
        own_scene(ball(), "stone")


def test_size_and_place():
    """Brought to a metre and to the middle of the floor; what is of such a size already keeps it."""
    low, high = own_scene(ball(), "shell").model.mesh.bounds
    assert np.ptp([low, high], axis=0).max() == pytest.approx(1.0)
    assert 0 < low[1] < 0.05
    np.testing.assert_allclose(0.5 * (low + high)[[0, 2]], 0, atol=1e-9)
    sheet = vv.mesh.cloth(5, 5, 1.3, 1.3)
    np.testing.assert_allclose(np.ptp(own_scene(sheet).model.mesh.bounds, axis=0), np.ptp(sheet.bounds, axis=0))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["jelly", "shell", "cloth"])
def test_a_ball_of_each_kind(kind, monkeypatch):
    if kind == "jelly":
        pytest.importorskip("tetgen")
    sim, mean, largest = stretch(own_scene(ball(), kind), 30)
    assert mean < 0.02
    assert largest < 0.3
    assert sim.positions[:, 1].min() > 0


@pytest.mark.slow
def test_what_would_fall_over_is_held_by_its_feet():
    """A pole on a point stands; a cube needs no holding."""
    pole = vv.mesh.bar(9, 2, 2, (1.0, 0.04, 0.04)).transformed(rotate=(0, 0, np.pi / 2))
    scene = own_scene(pole)
    assert len(scene.model.pinned)
    sim, mean, largest = stretch(scene, 30, 40)
    assert sim.positions[:, 1].max() > 0.85
    assert (mean < 0.02, largest < 0.3) == (True, True)
    assert not len(own_scene(vv.mesh.cube(4, 1.0)).model.pinned)


@pytest.mark.slow
def test_weight_bends_it_by_what_was_asked_for():
    """Stiffness is fitted so that linear elasticity gives the displacement that is wanted: twice is once."""
    model = own_scene(vv.mesh.bar(12, 4, 4, (1.0, 0.2, 0.2)).transformed(rotate=(0, 0, np.pi / 2))).model
    assert module.stiff_enough(vv.Model.of(model.mesh, vv.Solid(300, 1e5, 0.3))) > 0
    free = vv.Model(model.mesh, model.masses, tuple(g for g in model.groups if g.kind.name != "pin"), model.gravity)
    assert module.stiff_enough(free) == pytest.approx(1.0, rel=1e-3)


def test_displacements_are_those_of_a_dense_solve():
    """Of an elastic bar by multigrid; of a matrix that conjugate gradients cannot solve by factors, which are exact."""
    bar = vv.mesh.bar(8, 3, 3, (1.0, 0.1, 0.1))
    elastic = Hessian(System(vv.Model.of(bar, vv.Solid(300, 1e5, 0.3)).pin("left"), 100.0))(bar.vertices)
    rng, size = np.random.default_rng(0), 3 * bar.n_vertices
    turned = np.linalg.qr(rng.normal(size=(size, size)))[0]
    wild = sp.csr_matrix(turned * 10.0 ** np.linspace(0, 9, size) @ turned.T)
    forces = rng.normal(size=size)
    for matrix, near in ((elastic, 5 * module.SAG_TOLERANCE), (wild, 1e-6)):
        true = np.linalg.solve(matrix.toarray(), forces)
        found = module.displacements(matrix, forces, bar.vertices)
        assert np.linalg.norm(found - true) < near * np.linalg.norm(true)


@pytest.mark.slow
def test_a_shirt_hangs_by_its_shoulders():
    """An open tube hangs by its upper rim, all around, and is no longer than at rest."""
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    heights = np.linspace(0, 0.8, 20)
    points = np.array([(0.2 * np.cos(a), y, 0.12 * np.sin(a)) for y in heights for a in angle])
    quads = [
        (r * 24 + k, r * 24 + (k + 1) % 24, (r + 1) * 24 + k, (r + 1) * 24 + (k + 1) % 24)
        for r in range(19)
        for k in range(24)
    ]
    tube = Mesh.from_triangles(points, [t for a, b, c, d in quads for t in ((a, b, c), (b, d, c))], name="shirt")
    scene = own_scene(tube)
    assert scene.settings["kind"] == "cloth"
    held = scene.model.pinned
    assert np.ptp(tube.vertices[held, 0]) > 0.3
    sim, mean, largest = stretch(scene, 20)
    assert (mean < 0.02, largest < 0.3) == (True, True)
    assert np.ptp(sim.positions[:, 1]) < 0.85


def test_a_flat_sheet_is_held_at_an_end():
    sheet = vv.mesh.cloth(9, 9, plane="horizontal")
    held = upper_patch(sheet)
    assert 0 < len(held) < 20
    assert sheet.vertices[held, 0].min() > 0.3


@pytest.mark.slow
def test_without_tetgen_a_lattice_fills_it(monkeypatch):
    monkeypatch.setattr(filling.importlib.util, "find_spec", lambda name: None)
    surface = ball(8, 0.5)
    scene = own_scene(surface, "jelly", file="ball.obj")
    assert scene.model.mesh.is_volumetric
    assert "description" not in scene.settings  # no scene file could tell how
    volume = stuffed(surface, 3000).tet_volumes().sum()
    assert volume == pytest.approx(4 / 3 * np.pi * 0.125, rel=0.05)


@pytest.mark.slow
def test_tetgen_is_given_up_when_it_takes_too_long():
    pytest.importorskip("tetgen")
    with pytest.raises(InputError, match=r"within 0\.001 s"):
        vv.mesh.tetrahedralise(ball(8, 0.5), seconds=0.001)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["jelly", "shell", "cloth"])
def test_it_is_saved_as_it_is(kind, tmp_path):
    if kind == "jelly":
        pytest.importorskip("tetgen")
    vv.mesh.save(ball(), tmp_path / "ball.obj")
    scene = Target(str(tmp_path / "ball.obj"), {"kind": kind}).load()
    (tmp_path / "again.toml").write_text(scene_text(scene))
    again = load_scene(tmp_path / "again.toml")
    np.testing.assert_allclose(again.model.mesh.vertices, scene.model.mesh.vertices, atol=1e-9)
    np.testing.assert_allclose(again.model.masses, scene.model.masses, rtol=1e-6)
    np.testing.assert_array_equal(again.model.pinned, scene.model.pinned)
    for mine, theirs in zip(again.model.groups, scene.model.groups, strict=True):
        np.testing.assert_allclose(mine.weights, theirs.weights, rtol=1e-6)
    assert again.model.collisions.itself == scene.model.collisions.itself
