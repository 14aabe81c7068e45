"""What stands in a scene: how it is made from colliders, framed and drawn, and the colours of several bodies."""

import numpy as np
import pytest

from vivace import Cloth, Model, mesh
from vivace.bench.run import run
from vivace.bench.run_files import write_run
from vivace.collisions import Box, Capsule, Plane, Sphere
from vivace.pictures import Camera, Look, Scenery, body_colours, offscreen, open_renderer
from vivace.pictures.backends import View
from vivace.pictures.opening import ground_under
from vivace.pictures.painter import cut
from vivace.scenes import Scene
from vivace.solvers import Budget

BODIES = np.array([-0.5, 0, -0.5]), np.array([0.5, 1, 0.5])
FRONT = Camera((0, 0, 5), (0, 0, 0))
SQUARE = np.array([[-0.5, -0.5, 0], [0.5, -0.5, 0], [0.5, 0.5, 0], [-0.5, 0.5, 0.0]])
QUAD = np.array([[0, 1, 2], [0, 2, 3]])
GREEN = Look(scenery=(0.1, 0.7, 0.1))  # so that it is not taken for the background


@pytest.fixture(params=["painter", "polyscope", "raster"])
def backend(request):
    if request.param == "polyscope" and offscreen.polyscope_trouble():
        pytest.skip(offscreen.polyscope_trouble())
    return request.param


def draw(scenery, backend, positions=SQUARE, camera=FRONT, **options):
    options = {"size": (200, 150), "look": GREEN, "backend": backend, **options}
    with open_renderer(QUAD, camera, scenery=scenery, **options) as renderer:
        return renderer.draw(positions).astype(int)


def area(corners):
    edges = corners[:, 1:, :3] - corners[:, :1, :3]
    return np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1).sum() / 2


def test_nothing_stands_where_there_are_no_colliders():
    assert Scenery.of((), *BODIES) is None


def test_a_level_plane_is_the_ground_and_not_a_square():
    planes = [Plane((3, -0.25, 2)), Plane((0, -7, 0)), Plane(normal=(0, -1, 0), point=(0, 9, 0))]
    scenery = Scenery.of(planes[:2], *BODIES)
    assert scenery.ground == -0.25  # the higher one: nothing is seen of the other
    assert len(scenery.triangles) == 0
    low, high = scenery.frame(*BODIES)
    np.testing.assert_array_equal(low, [-0.5, -0.25, -0.5])
    np.testing.assert_array_equal(high, BODIES[1])
    assert ground_under(*BODIES, FRONT, scenery) == -0.25
    assert len(Scenery.of(planes, *BODIES).triangles) == 2  # the ceiling


def test_other_planes_are_cut_to_the_neighbourhood():
    scenery = Scenery.of([Plane((0, 0, -1), (0, 0, 1))], *BODIES)
    assert scenery.ground is None
    np.testing.assert_allclose(scenery.vertices[:, 2], -1)
    low, high = scenery.vertices.min(axis=0), scenery.vertices.max(axis=0)
    assert (low[:2] < BODIES[0][:2]).all()
    assert (high[:2] > BODIES[1][:2]).all()
    assert np.ptp(scenery.vertices, axis=0).max() < 10
    for corner, framed in zip(BODIES, scenery.frame(*BODIES), strict=True):
        np.testing.assert_array_equal(corner, framed)


def test_the_frame_takes_in_what_is_near_and_not_too_large():
    near, far, huge = Sphere((1, 0.5, 0), 0.3), Sphere((40, 0, 0), 0.3), Box((0, -30, 0), (30, 29, 30))
    low, high = Scenery.of([near, far, huge], *BODIES).frame(*BODIES)
    np.testing.assert_allclose(low, BODIES[0])
    np.testing.assert_allclose(high, [1.3, 1, 0.5], atol=1e-9)


def test_without_a_plane_the_ground_is_at_the_foot_of_things():
    scenery = Scenery.of([Box((0, -0.5, 0), (1, 0.5, 1))], *BODIES)
    assert ground_under(*BODIES, FRONT, scenery) == pytest.approx(-1)
    above = Scenery.of([Sphere((0, 2, 0), 0.1)], *BODIES)
    assert ground_under(*BODIES, FRONT, above) == ground_under(*BODIES, FRONT)


def test_shading_stops_at_creases_only():
    box, ball = Box((0, 0, 0), (1, 1, 1)), Sphere((0, 0, 0), 1.0)
    assert len(Scenery.of([box], *BODIES).vertices) == 24  # three for each corner
    assert len(Scenery.of([ball], *BODIES).vertices) == ball.surface().n_vertices


def test_nothing_is_left_under_the_ground():
    for thing in (Sphere((0, 0.1, 0), 0.5), Box((0, 0, 0), (0.3, 0.3, 0.3), (0.2, 0, 0.4))):
        scenery = Scenery.of([Plane(), thing, Plane((0, 0, 0), (1, 1, 0))], *BODIES)
        assert scenery.vertices[:, 1].min() >= -1e-12
        assert scenery.vertices[:, 1].max() > 0.3
    assert len(Scenery.of([Plane(), Sphere((0, -2, 0), 0.5)], *BODIES).triangles) == 0


@pytest.mark.slow
def test_cutting_keeps_the_area_in_sight():
    view = View(QUAD, np.empty((0, 2), int), np.empty(0, int), FRONT)
    corners = SQUARE[QUAD]
    pieces = cut(corners, 0.07, view)
    assert area(pieces) == pytest.approx(1, rel=1e-12)
    assert np.linalg.norm(pieces - pieces[:, (1, 2, 0)], axis=2).max() <= 0.07
    assert len(cut(corners + np.array([9, 0, 0]), 0.07, view)) == 0  # out of the frame
    assert len(cut(corners + np.array([0, 0, 9]), 0.07, view)) == 0  # behind the eye
    slope = np.tan(np.radians(20))
    seen = (2 * 5 * slope) ** 2 * 4 / 3  # of a plane through the target
    assert seen < area(cut(1000 * corners, 0.1, view)) < 1.1 * seen
    plain = 1000 * corners[:, :, [0, 2, 1]] * [1, 1, -1] - np.array([0, 1, 0])  # to the horizon
    assert 1000 < len(cut(plain, 0.1, view)) < 1e-3 * (1000 / 0.1) ** 2


@pytest.mark.slow
def test_what_is_nearer_hides_what_is_farther(backend):
    """A body before a box, and behind one; blue and green."""
    behind = draw(Scenery.of([Box((0, 0, -0.5), (0.8, 0.8, 0.2))], *BODIES), backend)
    assert behind[75, 100].argmax() == 2
    assert behind[75, 128].argmax() == 1
    before = draw(Scenery.of([Box((0, 0, 0.5), (0.2, 0.2, 0.2))], *BODIES), backend)
    assert before[75, 100].argmax() == 1
    assert before[75, 115].argmax() == 2


@pytest.mark.slow
def test_what_lies_on_a_thing_is_before_it(backend):
    """A flat square, its corners a hair over a ball that bulges through its middle by two hundredths."""
    top = 0.2 * SQUARE + (0, 0, 1.0)
    picture = draw(Scenery.of([Sphere((0, 0, 0), 1.002)], *BODIES), backend, top, size=(400, 300))
    assert (picture[145:156, 195:206].argmax(axis=2) == 2).all()


@pytest.mark.slow
def test_walls_are_seen_from_outside_only(backend):
    toward, away = (Scenery.of([Plane((0, 0, 2), (0, 0, z))], *BODIES) for z in (1, -1))
    assert draw(toward, backend)[75, 100].argmax() == 1
    assert draw(away, backend)[75, 100].argmax() == 2
    np.testing.assert_array_equal(draw(away, backend, ground=None), draw(None, backend, ground=None))


@pytest.mark.slow
def test_a_plane_as_ground_is_lit_and_catches_shadows(backend):
    camera = Camera((0, 2, 5), (0, 0, 0))
    scenery = Scenery.of([Plane((0, -0.8, 0))], *BODIES)
    flat = SQUARE[:, [0, 2, 1]]
    shadow, none = (
        draw(scenery, backend, flat, camera, ground=-0.8),
        draw(scenery, backend, flat + 99, camera, ground=-0.8),
    )
    (under,), _ = camera.project(np.array([[0.0, -0.8, 0.2]]), (200, 150))
    x, y = int(under[0]), int(150 - under[1])
    assert shadow[y, x].sum() < none[y, x].sum() - 60
    assert abs(none[:40] - draw(None, backend, flat + 99, camera)[:40]).max() <= 1  # the sky stays as it is
    assert (none[y, x] != draw(None, backend, flat + 99, camera)[y, x]).any()


@pytest.mark.slow
def test_the_camera_is_found_with_scenery(backend):
    scenery = Scenery.of([Sphere((2, 0, 0), 0.3)], SQUARE.min(axis=0), SQUARE.max(axis=0))
    bounds = SQUARE.min(axis=0), SQUARE.max(axis=0)
    far = Scenery.of([Sphere((1, 0, 0), 0.3)], *bounds)
    assert (draw(far, backend, camera=bounds).argmax(axis=2) == 1).any()
    assert scenery.frame(*bounds)[1][0] == 0.5  # farther away than the bodies are large


@pytest.mark.slow
def test_wires_and_scenery(backend):
    scenery = Scenery.of([Capsule((-1, -0.5, 0), (1, -0.5, 0), 0.1)], *BODIES)
    options = {"size": (200, 150), "look": GREEN, "backend": backend, "edges": [[0, 1]], "ground": -1.0}
    with open_renderer(None, FRONT, scenery=scenery, **options) as renderer:
        picture = renderer.draw(SQUARE + np.array([0, 0.5, 0])).astype(int)
    assert (picture.argmax(axis=2) == 1).any()


def test_bodies_have_colours_of_their_own():
    parts = [mesh.cloth(3, 3) for _ in range(12)]
    joined = mesh.join(parts)
    first = Look().front
    colours = body_colours(joined.groups, joined.n_vertices, first)
    each = colours.reshape(12, 9, 3)
    assert (each == each[:, :1]).all()
    np.testing.assert_allclose(each[0, 0], first)
    assert ((colours >= 0) & (colours <= 1)).all()
    apart = np.linalg.norm(each[:, None, 0] - each[None, :, 0], axis=2) + 9 * np.eye(12)
    assert apart.min() > 0.08
    assert min(np.linalg.norm(each[k, 0] - each[k + 1, 0]) for k in range(11)) > 0.3
    assert body_colours(parts[0].groups, 9, first) is None
    assert body_colours(mesh.join(parts[:1]).groups, 9, first) is None


@pytest.mark.slow
def test_a_run_is_drawn_with_what_it_touches(tmp_path):
    from PIL import Image

    sheets = mesh.join([mesh.cloth(5, 5).transformed(translate=(0, 0.1 * k, 0)) for k in (1, 2)])
    bare = Model.of(sheets, Cloth())
    pictures = []
    for model in (bare, bare.collide([Plane((0, -0.5, 0)), Box((0, -0.1, 0), (0.7, 0.05, 0.7))], itself=False)):
        scene = Scene("sheets", model, 1 / 60, solver="pbd-coloured", budget=Budget(iterations=2))
        written, _ = write_run(run(scene, frames=2, error_samples=0, record=True), tmp_path / f"{len(pictures)}.png")
        pictures.append(np.asarray(Image.open(written[0])).astype(int))
    greyish = [(np.ptp(picture, axis=2) < 30) & (picture.max(axis=2) < 190) for picture in pictures]
    assert greyish[1].sum() > 20 * greyish[0].sum() + 1000
