"""Films of rigid bodies: every frame is the surface of the collider, moved as the body was."""

import pickle

import numpy as np
import pytest

from vivace import InputError
from vivace.collisions import Box, Capsule, ConvexMesh, Plane, Sphere
from vivace.pictures import Look
from vivace.pictures.bodies import MOST_TRIANGLES, film_of_bodies
from vivace.rigid import rotation
from vivace.rigid.bodies import Bodies, Body

VIEW = (0.5, 0.5, 1.0)
SHAPES = {
    "box": Box((1, 2, 3), (0.1, 0.2, 0.3), rotate=(0.3, 0.2, 0.1)),
    "ball": Sphere((1, 2, 3), 0.2),
    "rod": Capsule((1, 2, 3), (1.5, 2.2, 3.1), 0.2),
    "stone": ConvexMesh(np.random.default_rng(0).standard_normal((12, 3)), rotate=(0.1, 0.5, 0.2), centre=(1, 2, 3)),
}


def filmed(bodies, motions):
    """A film whose frames are the first poses, moved and turned about the origin."""
    start = Bodies.of(bodies)
    positions = [start.positions @ rotation.matrices(q).T + move for move, q in motions]
    orientations = [
        rotation.product(np.broadcast_to(q, start.orientations.shape), start.orientations) for _, q in motions
    ]
    return film_of_bodies(bodies, positions, orientations, 1 / 60, view=VIEW, settings={})


@pytest.mark.parametrize("name", SHAPES)
def test_frames_are_the_surface_moved_rigidly(name):
    turn = rotation.exponential(np.array([0.4, -0.3, 0.8]))
    moves = [(np.zeros(3), rotation.IDENTITY), (np.array([0.5, 1.0, -0.2]), turn)]
    found = filmed([Body(SHAPES[name])], moves)
    surface = SHAPES[name].surface()
    corners = surface.vertices[surface.triangles]
    assert len(found.frames) == 2
    np.testing.assert_allclose(found.frames[0][found.triangles], corners, atol=1e-12)
    moved = corners @ rotation.matrices(turn).T + moves[1][0]
    np.testing.assert_allclose(found.frames[1][found.triangles], moved, atol=1e-12)
    np.testing.assert_array_equal(found.frames[1:][0], found.frames[1])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).frames[1], found.frames[1])


def test_what_is_fixed_is_scenery_and_what_follows_a_path_is_darker():
    path = Body(SHAPES["box"], path=lambda t: (np.zeros(3), np.zeros(3)))
    fixed = Body(Box((0, 0, 0), (1, 0.1, 1)), fixed=True)
    found = filmed([Body(Plane(), fixed=True), fixed, path, Body(SHAPES["ball"])], [(np.zeros(3), rotation.IDENTITY)])
    assert found.scenery.ground == 0.0
    assert len(found.scenery.boxes) == 1
    owner = found.frames.owner
    assert set(owner) == {2, 3}
    assert (found.colours[owner == 2] < Look().scenery).all()
    assert len(np.unique(found.colours[owner == 2], axis=0)) == 1
    assert len(np.unique(found.colours[owner == 3], axis=0)) == 2  # two halves


@pytest.mark.slow
def test_many_balls_are_drawn_coarser():
    balls = [Body(Sphere((0.3 * k, 0.1, 0), 0.1)) for k in range(300)]
    found = filmed(balls, [(np.zeros(3), rotation.IDENTITY)])
    assert len(found.triangles) <= MOST_TRIANGLES
    few = filmed(balls[:2], [(np.zeros(3), rotation.IDENTITY)])
    assert len(few.triangles) / 2 > len(found.triangles) / 300


@pytest.mark.parametrize(
    ("bodies", "shapes", "message"),
    [
        ([Body(Plane(), fixed=True)], ((1, 1, 3), (1, 1, 4)), "no body moves"),
        ([Body(SHAPES["ball"])], ((1, 2, 3), (1, 2, 4)), "must have the shapes"),
        ([Body(SHAPES["ball"])], ((2, 1, 3), (1, 1, 4)), "must have the shapes"),
        ([Body(SHAPES["ball"])], ((0, 1, 3), (0, 1, 4)), "must have the shapes"),
    ],
)
def test_what_cannot_be_drawn_is_refused(bodies, shapes, message):
    with pytest.raises(InputError, match=message):
        film_of_bodies(bodies, np.zeros(shapes[0]), np.zeros(shapes[1]), 1 / 60, view=VIEW, settings={})
