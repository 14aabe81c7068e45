"""A dress on a body that walks: sewn, held where the body carries it, and nothing goes through anything."""

import numpy as np
import pytest

from vivace import Budget, FileError, InputError, caches, mesh
from vivace.collisions import crossings
from vivace.scenes import garment, load_scene, make_scene

SMALL = {"resolution": 24, "spacing": 0.06, "seconds": 1.0}


@pytest.mark.slow
def test_the_body_is_closed_and_walks():
    """Every edge has two triangles; the feet swing against each other, the torso turns, and it begins at rest."""
    walk = garment.walking(0.06, 1.6, np.radians(50.0), 1.6)
    edges = np.sort(walk.triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    _, times = np.unique(edges, axis=0, return_counts=True)
    assert (times == 2).all()
    first = walk.positions[0]
    still, _ = garment.figure(0.06)
    np.testing.assert_allclose(first, still, atol=1e-6)
    feet = [np.flatnonzero((first[:, 1] < 0.1) & (side * first[:, 0] > 0)) for side in (1.0, -1.0)]
    swung = walk.positions[round(1.2 * garment.RATE)]  # three quarters of two steps
    back = swung @ turning(-50.0 * begun(0.75) * np.sin(0.75 * np.pi)).T
    left, right = ((back[foot] - first[foot])[:, 2].mean() for foot in feet)
    assert min(abs(left), abs(right)) > 0.15
    assert left * right < 0
    head = np.flatnonzero(first[:, 1] > 1.6)
    np.testing.assert_allclose(back[head], first[head], atol=1e-3)


def begun(share):
    return share**2 * (3 - 2 * share)


def turning(degrees):
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def test_bad_settings_are_refused():
    for bad in ({"turn": 200.0}, {"seconds": 0.0}, {"resolution": 8}, {"spacing": -1.0}):
        with pytest.raises(InputError, match=next(iter(bad))):
            make_scene("garment-on-body", **bad)


@pytest.mark.slow
def test_nothing_goes_through_the_body_or_the_dress():
    scene = make_scene("garment-on-body", **SMALL)
    sim = scene.simulate(threads=1, budget=Budget(iterations=40))
    (body,) = scene.model.collisions.animated
    sheet, n = scene.model.mesh, scene.model.n
    welds = np.concatenate([group.vertices for group in scene.model.groups if group.kind.name == "weld"])
    one = mesh.connected_components(n + body.n_vertices, welds)[1]  # what is sewn together is at one place
    whole = one[np.concatenate([sheet.triangles, body.triangles + n])]
    for _ in range(12):
        assert sim.step().finite
        places = np.zeros((one.max() + 1, 3))
        np.add.at(places, one, np.concatenate([sim.positions, body.at(sim.time)]))
        edges, _ = crossings(places / np.bincount(one)[:, None], whole)
        assert not len(edges)
        apart = np.linalg.norm(sim.positions[welds[:, 0]] - sim.positions[welds[:, 1]], axis=1)
        assert apart.max() < 0.01
    top = sheet.groups["top"]
    carried = body.carried(sheet.vertices[top]).at(sim.time)
    np.testing.assert_allclose(sim.positions[top], carried, atol=0.01)


def test_an_animation_beside_a_scene_file(tmp_path):
    """kind = "animation": what `vivace.caches.read` makes of the file, with a start, and a friction."""
    x = np.array([[0.0, 0, 0], [1, 0, 0], [0, 0, 1]])
    frames = np.stack([x, x + np.array([0.0, 0.5, 0.0])])
    caches.export(frames, tmp_path / "lift.npz", time_step=0.5, surface=np.array([[0, 1, 2]]))
    file = tmp_path / "scene.toml"
    file.write_text(
        """
        [mesh]
        generator = "cloth"
        nx = 3
        ny = 3
        [collisions]
        thickness = 0.01
        [[collisions.colliders]]
        kind = "animation"
        file = "lift.npz"
        start = 1.0
        friction = 0.2
        """
    )
    collisions = load_scene(file).model.collisions
    assert not collisions.colliders
    (made,) = collisions.animated
    np.testing.assert_array_equal(made.triangles, [[0, 1, 2]])
    assert made.friction == (0.2, 0.2)
    lift = made.at(1.0 + made.animation.times[-1] - made.animation.times[0]) - made.at(1.0)
    np.testing.assert_allclose(lift, [[0.0, 0.5, 0.0]] * 3, atol=1e-6)
    np.testing.assert_allclose(made.at(0.5), made.at(1.0))
    file.write_text(file.read_text().replace("lift.npz", "none.npz"))
    with pytest.raises(FileError, match=r"none\.npz"):
        load_scene(file)
