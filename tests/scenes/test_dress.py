"""A dress on a mannequin: it hangs, stays outside, hardly stretches, and goes with what turns."""

import numpy as np
import pytest

from vivace import Budget, InputError, mesh
from vivace.scenes import dress, make_scene
from vivace.scenes.dress import mannequin, outside, sewn


def depth(parts, points):
    """How deep the deepest of the points is inside (m)."""
    return float(-np.min([part.distance(points) for part in parts]))


def turned(points, angle):
    c, s = np.cos(angle), np.sin(angle)
    return points @ np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])


def test_a_dress_is_sewn_around_the_body():
    """One piece without seams, with two edges; nowhere nearer to the body than told, nor far from the waist."""
    sheet = sewn(40, 0.01)
    count, _ = mesh.connected_components(sheet.n_vertices, sheet.edges)
    assert count == 1
    assert sheet.n_vertices - len(sheet.edges) + len(sheet.triangles) == 0  # Euler's number of a tube
    assert depth(mannequin(torso_only=True), sheet.vertices) < -0.009
    waist = sheet.vertices[np.abs(sheet.vertices[:, 1] - 1.08) < 0.03]
    assert np.min([part.distance(waist) for part in mannequin(True)], axis=0).max() < 0.04
    hem = sheet.vertices[sheet.groups["hem"]]
    np.testing.assert_allclose(hem[:, 1], 0.42)


@pytest.mark.slow
def test_it_has_the_papers_size():
    """15K vertices and 44K elements [fratarcangeli2018, Tab. 2], as springs; eight substeps of 40 iterations."""
    scene = make_scene("dress")
    sheet = scene.model.mesh
    assert sheet.n_vertices == pytest.approx(15e3, rel=0.02)
    assert len(sheet.edges) == pytest.approx(44e3, rel=0.02)
    assert (scene.substeps, scene.budget, scene.time_step) == (8, Budget(iterations=320), 1 / 30)


@pytest.mark.slow
def test_it_turns_with_the_mannequin():
    """After half a second of a fast turn: nothing inside, edges within 1 % on the average and 2 % at most longer."""
    scene = make_scene("dress", resolution=24, seconds=0.8)
    sim = scene.simulate(threads=1, budget=Budget(iterations=96))
    sheet = scene.model.mesh
    first, second = sheet.edges.T
    rest = np.linalg.norm(sheet.vertices[first] - sheet.vertices[second], axis=1)
    body = scene.model.collisions.bodies[0]
    for _ in range(15):
        report = sim.step()
        assert report.finite
        q, angle = sim.positions.astype(np.float64), body.path(sim.time)[1][1]
        free = np.setdiff1d(np.arange(sheet.n_vertices), sheet.groups["top"])
        assert depth(mannequin(), turned(q[free], -angle)) < 1e-4
        stretch = np.linalg.norm(q[first] - q[second], axis=1) / rest - 1
        assert np.abs(stretch).mean() < 0.01
        assert stretch.max() < 0.02
    assert abs(angle) > 0.1
    top = sheet.groups["top"]
    np.testing.assert_allclose(q[top], turned(sheet.vertices[top], angle), atol=2e-3)
    assert q[:, 1].min() < 0.4  # the skirt has come down


@pytest.mark.slow
def test_a_dress_of_ones_own(tmp_path):
    """Whatever its size and place, it hangs around the mannequin, and begins outside it."""
    mesh.save(sewn(16, 0.01).transformed(scale=(30.0, 40.0, 30.0), translate=(5, 1, 2)), tmp_path / "own.obj")
    scene = make_scene("dress", path=str(tmp_path / "own.obj"), turn=0)
    low, high = scene.model.mesh.bounds
    np.testing.assert_allclose([low[1], high[1]], [0.42, 1.27], atol=1e-6)
    np.testing.assert_allclose((low + high)[[0, 2]], 0, atol=1e-6)
    assert depth(mannequin(), scene.start) < 0
    assert all(body.fixed for body in scene.model.collisions.bodies)
    sim = scene.simulate(threads=1, budget=Budget(iterations=16))
    assert sim.step().finite
    mesh.save(mesh.bar(2, 2, 2), tmp_path / "solid.msh")
    with pytest.raises(InputError, match="needs a surface"):
        make_scene("dress", path=str(tmp_path / "solid.msh"))


def test_points_are_moved_out():
    points = np.random.default_rng(0).uniform([-0.3, 0, -0.2], [0.3, 1.7, 0.2], (200, 3))
    moved = outside(mannequin(), points, 0.01)
    assert depth(mannequin(), moved) < -0.0099
    far = np.min([part.distance(points) for part in mannequin()], axis=0) > 0.01
    np.testing.assert_array_equal(moved[far], points[far])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"turn": -1.0}, "turn must lie between 0 and 360"),
        ({"seconds": 0.0}, "seconds"),
        ({"resolution": 4}, "resolution must be 12 or more, not 4"),
    ],
)
def test_bad_parameters_say_what_is_wrong(parameters, message):
    with pytest.raises(InputError, match=message):
        make_scene("dress", **{"resolution": 16, **parameters})
    assert dress.SUBSTEPS == 8
