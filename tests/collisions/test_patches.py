"""Triangles that rigid bodies meet between their vertices, against distances at very many points of each triangle."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from vivace.collisions import Box, Capsule, ConvexMesh, Plane, Sphere
from vivace.collisions.contacts import feature_ids
from vivace.collisions.kernels.triangles import SLACK
from vivace.collisions.moving import MovingSearch, Poses
from vivace.collisions.patches import NEAR, ROUND, core, inscribed

THICKNESS = 0.1
KEPT = NEAR * THICKNESS
FINE = 40  # points along the edge of a triangle

SHAPES = {
    "ball": Sphere((0.1, 0.0, -0.05), 0.08),
    "box": Box((0.0, 0.05, 0.0), (0.12, 0.05, 0.08), rotate=(0.3, 0.5, 0.2)),
    "rounded box": Box((0.0, 0.05, 0.0), (0.12, 0.05, 0.08), rotate=(0.3, 0.5, 0.2), rounding=0.03),
    "capsule": Capsule((-0.1, 0.0, 0.0), (0.1, 0.1, 0.05), 0.05),
}
STILL = Poses(np.eye(3)[None], np.zeros((1, 3)))


def grid() -> np.ndarray:
    """Barycentric weights of points all over a triangle."""
    i, j = np.meshgrid(np.arange(FINE + 1), np.arange(FINE + 1), indexing="ij")
    i, j = i[i + j <= FINE], j[i + j <= FINE]
    return np.column_stack([FINE - i - j, i, j]) / FINE


def rows(points) -> np.ndarray:
    out = np.zeros((len(points), 4), np.float32)
    out[:, :3] = points
    return out


def soup(count: int, seed: int, size: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    """Triangles here and there: vertices and numbers."""
    rng = np.random.default_rng(seed)
    middles = rng.uniform(-0.3, 0.3, (count, 1, 3))
    vertices = (middles + rng.uniform(-size, size, (count, 3, 3))).astype(np.float32).astype(float)
    return vertices.reshape(-1, 3), np.arange(3 * count, dtype=np.int32).reshape(-1, 3)


def search(shape, vertices, triangles, apart=None) -> MovingSearch:
    one = np.full(len(vertices), 1e-3)
    return MovingSearch([shape], np.array([[0.4, 0.3]]), THICKNESS, 2, np.array([0.5]), one, apart, triangles)


def points_of(patches, x) -> np.ndarray:
    return np.einsum("ck,ckx->cx", patches.coefficients.astype(float), x[patches.vertices])


@pytest.mark.parametrize("name", SHAPES)
def test_the_nearest_points_of_triangles(name):
    """The point of a contact is as near as the nearest of all points; no triangle is left out but for its vertices."""
    shape, (vertices, triangles) = SHAPES[name], soup(300, 1)
    moving = search(shape, vertices, triangles)
    moving.place(STILL)
    moving.find(rows(vertices), rows(vertices), 2)
    patches = moving.patches
    all_points = np.einsum("gk,tkx->tgx", grid(), vertices[triangles])
    distances = shape.distance(all_points.reshape(-1, 3)).reshape(len(triangles), -1)
    sampled, corners = distances.min(axis=1), shape.distance(vertices).reshape(-1, 3).min(axis=1)
    longest = np.linalg.norm(vertices[triangles] - np.roll(vertices[triangles], 1, axis=1), axis=2).max(axis=1)
    unsure = longest / FINE  # no point is further from one that was tried
    number, at = patches.vertices[:, 0] // 3, shape.distance(points_of(patches, vertices))
    best = np.full(len(triangles), np.inf)
    np.minimum.at(best, number, at)
    found = np.isfinite(best)
    outside = found & (sampled > 0)  # inside, the way out of the core is another one than that to its nearest face
    assert np.count_nonzero(outside) > 10
    slack = 0.0 if name == "ball" else SLACK * KEPT  # corners over the triangle stand for a point that is no nearer
    assert (best[outside] < sampled[outside] + slack + 1e-6).all()
    assert (best[outside] > (sampled - unsure)[outside]).all()
    assert (best[outside] < 2 * KEPT + 1e-6).all()
    round_ = max(core(shape)[1], ROUND * inscribed(shape))
    large = longest**2 / 3 > (round_ + THICKNESS) ** 2 - (round_ + KEPT) ** 2
    must = large & (sampled < KEPT) & (corners > sampled + SLACK * KEPT + 1e-6)
    assert np.count_nonzero(must) > 30
    assert found[must].all()
    # planes are tangents: z is over them by how far it is from the body, but for what it has to keep
    over = np.einsum("cx,cx->c", patches.planes[:, :3], points_of(patches, vertices)) - patches.planes[:, 3]
    nearest = (at == best[number]) & outside[number]
    assert over[nearest] == pytest.approx(at[nearest] - KEPT, abs=slack + 1e-5)


def test_triangles_that_have_nearer_vertices_have_no_contacts():
    shape, (vertices, triangles) = SHAPES["ball"], soup(300, 2, size=0.2)
    moving = search(shape, vertices, triangles)
    moving.place(STILL)
    assert len(moving.find(rows(vertices), rows(vertices), 1)) > 20
    corners = shape.distance(vertices).reshape(-1, 3).min(axis=1)
    points = points_of(moving.patches, vertices)
    assert len(points) > 20
    assert (corners[moving.patches.vertices[:, 0] // 3] > shape.distance(points)).all()


def test_triangles_that_vertices_keep_off_have_no_contacts():
    """With vertices at the thickness, a third of the edge squared is at most (r + t)² - (r + kept)²."""
    ball, triangles = Sphere((0, 0, 0), 0.08), np.array([[0, 1, 2]], np.int32)
    most = np.sqrt(3 * ((0.08 + THICKNESS) ** 2 - (0.08 + KEPT) ** 2))
    for edge, count in ((0.99 * most, 0), (1.01 * most, 1)):
        around = edge / np.sqrt(3) * np.exp(2j * np.pi * np.arange(3) / 3)
        corners = np.column_stack([around.real, np.full(3, 0.08 + KEPT), around.imag])
        moving = search(ball, corners, triangles)
        moving.place(STILL)
        moving.find(rows(corners), rows(corners), 1)
        assert len(moving.patches) == count
        assert count or np.linalg.norm(corners[0]) < 0.08 + THICKNESS


SHEET = np.array([[-1.0, 0.0, -1.0], [1.2, 0.0, -1.0], [-1.0, 0.0, 1.3]])


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("height", [0.3, 3.0])
def test_what_is_fast_is_met_on_its_way(name, height):
    """From one side of a triangle to the other in one step, however far: the plane has the body where it came from."""
    shape, moving = SHAPES[name], search(SHAPES[name], SHEET, np.array([[0, 1, 2]], np.int32))
    turn = Rotation.from_rotvec([0.1, 0.4, -0.2]).as_matrix()[None]
    # x_made = R x + t: the triangle is seen below, and then above
    before, after = (Poses(turn, turn @ np.array([0.0, y, 0.0])) for y in (-height, height))
    moving.place(before, after)
    assert len(moving.find(rows(SHEET), rows(SHEET), 1)) == 0
    patches = moving.patches
    assert 1 <= len(patches) <= 8
    assert (patches.planes[:, 1] < -0.9).all()
    lowest = shape.distance(points_of(patches, SHEET) @ turn[0].T + before.shifts[0])
    assert lowest.min() > 0.1  # it was above the triangle when the step began
    # the plane asks the triangle to go where the body goes: down by more than its way below the triangle
    over = np.einsum("cx,cx->c", patches.planes[:, :3], points_of(patches, SHEET)) - patches.planes[:, 3]
    assert over.min() < -0.8 * height
    assert patches.motion == pytest.approx(np.tile([0, -2 * height, 0], (len(patches), 1)), abs=1e-5)


def test_a_corner_that_has_come_through_goes_back():
    """Along the normal of the triangle, to the side where the box is, and not out of its nearest face."""
    box = Box((0.0, 0.16, 0.0), (0.1, 0.1, 0.1), rotate=Rotation.from_euler("xz", [0.6155, np.pi / 4]).as_matrix())
    lowest = core(box)[0][:, 1].min()
    assert -0.02 < lowest < -0.005
    moving = search(box, SHEET, np.array([[0, 1, 2]], np.int32))
    moving.place(STILL)
    moving.find(rows(SHEET), rows(SHEET), 1)
    deepest = np.argmax(moving.patches.planes[:, 3])
    assert moving.patches.planes[deepest] == pytest.approx([0, -1, 0, KEPT - lowest], abs=1e-5)


def test_a_box_lies_on_a_triangle_with_its_corners():
    moving = search(Box((0.0, 0.053, 0.0), (0.05, 0.05, 0.05)), SHEET, np.array([[0, 1, 2]], np.int32))
    moving.place(STILL)
    moving.find(rows(SHEET), rows(SHEET), 1)
    before = moving.patches
    places = points_of(before, SHEET)
    assert sorted(map(tuple, places.round(5)[:, [0, 2]].tolist())) == [
        (-0.05, -0.05), (-0.05, 0.05), (0.05, -0.05), (0.05, 0.05)
    ]  # fmt: skip
    assert (before.ids < 0).all()
    assert (before.second == 2).all()
    moving.place(Poses(np.eye(3)[None], np.array([[-0.1, 0.0005, 0.2]])))
    moving.find(rows(SHEET), rows(SHEET), 1)
    assert (moving.patches.ids == before.ids).all()


def test_a_point_on_an_edge_is_one_contact():
    square = np.array([[-1, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]], float)
    tent = square + np.array([[0, 0, 0], [0, -0.5, 0], [0, 0, 0], [0, -0.5, 0]])
    triangles = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
    moving = search(Sphere((0.1, 0.103, 0.1), 0.1), tent, triangles)
    moving.place(STILL)
    moving.find(rows(tent), rows(tent), 1)
    assert len(moving.patches) == 1
    assert points_of(moving.patches, tent)[0] == pytest.approx([0.1, 0, 0.1], abs=1e-6)


def test_attached_triangles_and_planes_have_none():
    one = np.array([[0, 1, 2]], np.int32)
    for shape, apart in ((Sphere((0, 0.1, 0), 0.1), feature_ids(np.array([1]), np.array([2]))), (Plane(), None)):
        moving = search(shape, SHEET, one, apart)
        moving.place(STILL)
        moving.find(rows(SHEET), rows(SHEET), 1)
        assert len(moving.patches) == 0


def test_contacts_of_a_body_share_its_stiffness():
    """Vertices and triangles together: κ M/h² with κ = 3, in units of 300 m/h² of the masses that they touch."""
    vertices, triangles = soup(60, 4)
    moving = search(SHAPES["box"], vertices, triangles)
    moving.place(STILL)
    found = moving.find(rows(vertices), rows(vertices), 1)
    assert len(found) > 3
    assert len(moving.patches) > 3
    total = 300.0 * 1e-3 * (found.share.sum() + moving.patches.share.sum())
    assert total == pytest.approx(3.0 * 0.5, rel=1e-4)


@pytest.mark.parametrize("name", SHAPES)
def test_nothing_is_left_inside(name):
    """Triangles that would end in the body, or beyond it, end on the side that they were."""
    shape, (vertices, triangles) = SHAPES[name], soup(150, 5)
    all_points = np.einsum("gk,tkx->tgx", grid(), vertices[triangles])
    distances = shape.distance(all_points.reshape(-1, 3)).reshape(len(triangles), -1)
    outside = distances.min(axis=1) > THICKNESS
    vertices = vertices.reshape(-1, 3, 3)[outside].reshape(-1, 3)
    triangles = np.arange(len(vertices), dtype=np.int32).reshape(-1, 3)
    x = rows(vertices - 0.8 * np.repeat(vertices.reshape(-1, 3, 3).mean(axis=1), 3, axis=0))
    moving = search(shape, vertices, triangles)
    moving.place(STILL)
    held = np.zeros(len(x), bool)
    held[triangles[:5]] = True
    before = x.copy()
    pushes = moving.keep_out(rows(vertices), x, held, 0.001, 1)
    assert (x[held] == before[held]).all()
    moved = np.zeros((len(x), 3))
    np.add.at(moved, pushes.vertices, pushes.ways)
    assert moved == pytest.approx(x[:, :3] - before[:, :3], abs=1e-6)
    ends = np.einsum("gk,tkx->tgx", grid(), x[triangles, :3].astype(float))
    deepest = shape.distance(ends.reshape(-1, 3)).reshape(len(triangles), -1).min(axis=1)
    assert np.count_nonzero(moved.any(axis=1)) > 30
    assert (deepest[5:] > 0).mean() > 0.95  # a triangle that turns around an edge of the body may touch it again


def test_the_ball_inside_a_body():
    box = SHAPES["box"]
    assert inscribed(box) == pytest.approx(0.05)
    assert inscribed(ConvexMesh(core(box)[0])) == pytest.approx(0.05)
    assert inscribed(SHAPES["capsule"]) == pytest.approx(0.05)


@pytest.mark.slow
def test_a_hull_is_met_as_the_box_that_it_is():
    box = SHAPES["box"]
    vertices, triangles = soup(300, 6)
    found = []
    for shape in (box, ConvexMesh(core(box)[0])):
        moving = search(shape, vertices, triangles)
        moving.place(STILL)
        moving.find(rows(vertices), rows(vertices), 1)
        found.append(moving.patches)
    own, hull = found
    assert len(own) > 30
    assert {tuple(v) for v in own.vertices.tolist()} == {tuple(v) for v in hull.vertices.tolist()}
