"""Films of soft models with the rigid bodies that they touch: each is drawn where the report says it is."""

import pickle

import numpy as np
import pytest

from vivace import InputError, Model, make_scene, mesh
from vivace.bench.run import run
from vivace.bench.run_files import write_run
from vivace.collisions import Box, Plane, Sphere
from vivace.pictures import Look, bounds_of, save_picture
from vivace.pictures.bodies import film_of_model
from vivace.pictures.moving import refined
from vivace.rigid import rotation
from vivace.rigid.bodies import Bodies, Body
from vivace.solvers import Budget

VIEW = (0.5, 0.5, 1.0)


def filmed(bodies, moves):
    """A cloth that stays where it is; bodies go from their first places by `moves` (frames, B, 3)."""
    model = Model.of(mesh.cloth(5, 5)).collide([Plane(point=(0, -1, 0)), *bodies])
    start = Bodies.of(bodies)
    frames = np.repeat(model.mesh.vertices[None], len(moves), axis=0)
    poses = start.positions + moves, np.repeat(start.orientations[None], len(moves), axis=0)
    return film_of_model(model, frames, 1 / 60, poses=poses, view=VIEW, settings={})


@pytest.mark.slow
def test_bodies_are_drawn_where_reports_say(tmp_path):
    """Moved back by the pose of its frame, every vertex drawn lies on the surface of the body as it was made."""
    scene = make_scene("cloth-on-moving-box", resolution=8, seconds=0.5)
    found = run(scene, budget=Budget(iterations=5), frames=6, record=True)
    write_run(found, tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as numbers:
        positions, poses = numbers["positions"], (numbers["body_positions"], numbers["body_orientations"])
    assert poses[0].shape == (6, 1, 3)
    assert poses[1].shape == (6, 1, 4)
    np.testing.assert_array_equal(poses[0][-1], found.sim.bodies.positions)
    np.testing.assert_array_equal(poses[1][-1], found.sim.bodies.orientations)
    assert np.ptp(poses[0][:, 0, 0]) > 0.01  # it does move
    film = film_of_model(scene.model, positions, scene.time_step, poses=poses, view=scene.view, settings={})
    frames, triangles = pickle.loads(pickle.dumps(film)).drawn()
    n, (body,) = scene.model.n, scene.model.collisions.bodies
    assert len(frames) == 6
    start = Bodies.of([body])
    first = rotation.matrices(start.orientations[0])
    for frame, soft, (where,), (turned,) in zip(frames, positions, *poses, strict=True):
        np.testing.assert_array_equal(frame[:n], soft)
        back = (frame[n:] - where) @ rotation.matrices(turned) @ first.T + start.positions[0]
        assert np.abs(body.shape.distance(back)).max() < 2e-3  # flat triangles on round edges
    assert triangles[len(scene.model.mesh.triangles) :].min() == n


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["painter", "auto"])
def test_every_renderer_shows_them(tmp_path, backend):
    """A ball before the cloth changes the middle of the picture to its colour, which has more red than the cloth's."""
    from PIL import Image

    film = filmed([Body(Sphere((0, 0, 0.5), 0.2))], np.zeros((1, 1, 3)))
    frames, triangles = film.drawn()
    options = film._options(slice(None)) | {"size": (64, 48), "backend": backend}
    red = []
    for name, shown in (("with", triangles), ("without", film.triangles)):
        save_picture(tmp_path / f"{name}.png", frames[0], shown, **options)
        with Image.open(tmp_path / f"{name}.png") as picture:
            red.append(np.asarray(picture.convert("RGB"), int)[..., 0])
    assert 40 < (red[0] - red[1] > 30).sum() < 1000


@pytest.mark.slow
def test_what_flies_away_does_not_make_the_picture_smaller():
    near = np.array([[[0.0, 0, 0]], [[0, 0.3, 0]]])
    bodies = [Body(Sphere((0, 0.5, 0.2), 0.1))]
    away = np.concatenate([near, [[[100.0, 300, 0]]]])
    looked, still = filmed(bodies, away)._options(slice(None)), filmed(bodies, near)._options(slice(None))
    assert looked["camera"] == still["camera"]
    assert looked["ground"] == still["ground"]
    soft = bounds_of([filmed(bodies, near).frames[0]])
    low, high = filmed(bodies, near).bodies.frame(*soft)
    assert high[1] == pytest.approx(0.9)  # the top of the ball in the second frame
    np.testing.assert_array_equal(low, soft[0])


def test_a_film_that_leaves_frames_out_leaves_out_poses_too():
    film = filmed([Body(Sphere((0, 0, 0.5), 0.2))], np.linspace(0, 1, 9)[:, None, None] * np.ones(3))
    whole, thin = film.drawn()[0], film.thinned(".gif").drawn()[0]
    assert len(thin) == 5
    np.testing.assert_array_equal(thin[1], whole[2])


@pytest.mark.slow
def test_colours_tell_them_from_the_cloth_and_fixed_ones_are_scenery():
    boxes = [Body(Box((k, 0, 1), (0.1, 0.1, 0.1))) for k in range(30)]
    fixed = Body(Box((0, 0, -1), (0.2, 0.2, 0.2)), fixed=True)
    film = filmed([fixed, *boxes], np.zeros((1, 31, 3)))
    assert len(film.scenery.boxes) == 1
    assert set(film.bodies.owner) == set(range(1, 31))
    assert np.linalg.norm(film.bodies.colours - Look().front, axis=1).min() > 0.15
    assert filmed([fixed], np.zeros((1, 1, 3))).bodies is None


def test_refined_surfaces_are_the_same_with_shorter_edges():
    """Area, volume and the box around it stay; no edge is longer than asked for; every edge has two triangles."""
    cube = mesh.cube(2, 1.0).transformed(scale=(1.0, 2.0, 0.3))
    vertices, triangles, origin = refined(cube.vertices, cube.triangles, 0.4)
    assert len(origin) == len(vertices)

    def measures(points, corners):
        a, b, c = points[corners].swapaxes(0, 1)
        return np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2, np.einsum("ij,ij", a, np.cross(b, c)) / 6

    assert measures(vertices, triangles) == pytest.approx(measures(cube.vertices, cube.triangles))
    np.testing.assert_allclose(bounds_of([vertices]), bounds_of([cube.vertices]))
    edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    edges, count = np.unique(edges, axis=0, return_counts=True)
    assert (count == 2).all()
    assert np.linalg.norm(vertices[edges[:, 0]] - vertices[edges[:, 1]], axis=1).max() <= 0.4


def test_as_many_poses_as_frames_are_needed():
    body = Body(Sphere((0, 0, 0.5), 0.2))
    model = Model.of(mesh.cloth(3, 3)).collide([body])
    poses = np.zeros((2, 1, 3)), np.tile([1.0, 0, 0, 0], (2, 1, 1))
    with pytest.raises(InputError, match=r"3 frames of the model and 2 of its bodies"):
        film_of_model(model, [model.mesh.vertices] * 3, 1 / 60, poses=poses, view=VIEW, settings={})
