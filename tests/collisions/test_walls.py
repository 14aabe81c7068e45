"""Contacts with colliders: nothing tunnels, planes are tangents, order and bits do not depend on threads."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from vivace import InputError
from vivace.collisions.collider_contacts import ColliderSearch, penetration
from vivace.collisions.colliders import Box, Capsule, Collider, Plane, Sphere
from vivace.collisions.contacts import ContactList
from vivace.collisions.furniture import armchair
from vivace.collisions.kernels.distance import may_enter
from vivace.collisions.sampled import Sampled
from vivace.mesh import Mesh, torus

THICKNESS = 0.004
SLACK = 1e-6  # m: float32 normals and offsets, one metre from the origin
COLLIDERS = {
    "plane": Plane((0, 0.1, 0), (0.3, 1, 0.2)),
    "sphere": Sphere((0, 0, 0), 0.05),
    "sheet": Box((0, 0, 0), (0.5, 0.001, 0.5), (0.2, 0.1, -0.4)),
    "rounded": Box((0, 0, 0), (0.4, 0.1, 0.2), (0.2, 0.1, -0.4), 0.05),
    "wire": Capsule((-0.4, 0, 0), (0.4, 0.1, 0.1), 0.002),
}
each_collider = pytest.mark.parametrize("collider", COLLIDERS.values(), ids=COLLIDERS.keys())


def as_rows(points: np.ndarray) -> np.ndarray:
    out = np.zeros((len(points), 4), np.float32)
    out[:, :3] = points
    return out


def flights(count: int, seed: int, long: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Starts anywhere; ways of all lengths, most of them aimed at the middle."""
    rng = np.random.default_rng(seed)
    start = rng.uniform(-0.6, 0.6, (count, 3))
    way = rng.uniform(-0.3, 0.3, (count, 3)) - start
    return as_rows(start), as_rows(start + way * rng.uniform(0, 2 * long, (count, 1)))


def nearest_on_way(collider: Collider, q: np.ndarray, s: np.ndarray, points: int = 2000) -> np.ndarray:
    """The least distance on each way, by brute force."""
    a, b = q[:, :3].astype(float), s[:, :3].astype(float)
    least = np.full(len(q), np.inf)
    for t in np.linspace(0, 1, points):
        np.minimum(least, collider.distance(a + t * (b - a)), out=least)
    return least


def heights(found: ContactList, x: np.ndarray) -> np.ndarray:
    """n . x - offset of each contact for the positions x of its vertex."""
    planes = found.planes.astype(float)
    return (planes[:, :3] * x[found.corners, :3]).sum(axis=1) - planes[:, 3]


@pytest.mark.slow
@each_collider
def test_nothing_tunnels(collider):
    q, s = flights(3000, 0)
    found = ColliderSearch([collider], THICKNESS).find(q, s)
    start, end = collider.distance(q[:, :3]), collider.distance(s[:, :3])
    meets = nearest_on_way(collider, q, s) < THICKNESS
    outside = start > THICKNESS
    assert (meets & outside).sum() > 20
    # a vertex that passes through the collider and is free again at its end is the hard case
    if not isinstance(collider, Plane):
        assert (meets & outside & (end > THICKNESS)).sum() > 10
    assert set(np.flatnonzero(meets)) <= set(found.corners)
    # The plane separates: q before it, but for the hundredth of the thickness that the walk goes too far, s behind it.
    hit = np.isin(found.corners, np.flatnonzero(meets & outside))
    assert (heights(found, q)[hit] > -0.01 * THICKNESS - SLACK).all()
    assert (heights(found, s)[hit] < SLACK).all()


@each_collider
def test_planes_are_tangents(collider):
    """All of a convex collider lies behind n . x = offset - thickness, and some of it on that plane."""
    q, s = flights(1000, 1)
    found = ColliderSearch([collider], THICKNESS).find(q, s)
    np.testing.assert_allclose(np.linalg.norm(found.planes[:, :3], axis=1), 1, atol=1e-6)
    if isinstance(collider, Plane):
        np.testing.assert_allclose(found.planes[:, :3] - collider.normal, 0, atol=1e-7)
        return
    steps = 1e-3  # the picture's circles are polygons of this sagitta at most, for these radii
    support = (collider.surface().vertices @ found.planes[:, :3].T).max(axis=0)
    touch = found.planes[:, 3] - THICKNESS
    assert (support < touch + SLACK).all()
    assert (support > touch - steps).all()


@pytest.mark.slow
@each_collider
def test_far_vertices_have_none_and_near_ones_do(collider):
    """In reach at the end of a way: thickness + max(thickness, half the way)."""
    q, s = flights(3000, 2, long=0.2)
    found = ColliderSearch([collider], THICKNESS).find(q, s)
    length = np.linalg.norm((s - q).astype(float), axis=1)
    reach = THICKNESS + np.maximum(THICKNESS, 0.5 * length)
    end = collider.distance(s[:, :3])
    least = nearest_on_way(collider, q, s, 500)
    wanted = (least < THICKNESS) | (end < reach - SLACK)
    assert set(np.flatnonzero(wanted)) <= set(found.corners)
    unwanted = (least > THICKNESS + 1e-3) & (end > reach + SLACK)
    assert unwanted.sum() > 100
    assert not set(np.flatnonzero(unwanted)) & set(found.corners)
    # A way that touches nothing lies before its plane as a whole.
    free = np.isin(found.corners, np.flatnonzero(least > THICKNESS))
    assert (heights(found, q)[free] > -1e-4).all()
    assert (heights(found, s)[free] > -1e-4).all()


def test_who_starts_in_contact_keeps_the_side_it_is_on():
    top = Box((0, -0.01, 0), (0.5, 0.01, 0.5))
    q = as_rows(np.array([[0, 0.003, 0], [0, -0.003, 0], [0, -0.018, 0], [0, -0.023, 0], [0.1, -0.009, 0]]))
    s = as_rows(np.array([[0, -1.0, 0], [0, -1.0, 0], [0, 1.0, 0], [0, 1.0, 0], [0.1, -0.012, 0]]))
    found = ColliderSearch([top], THICKNESS).find(q, s)
    np.testing.assert_array_equal(found.corners, np.arange(5))
    np.testing.assert_allclose(found.planes[:, 1], [1, 1, -1, -1, -1])  # the last is lost: it goes the shorter way
    np.testing.assert_allclose(found.planes[:, 3], [THICKNESS, THICKNESS, *[0.02 + THICKNESS] * 3], atol=1e-7)


@pytest.mark.parametrize("collider", [Plane((0, 0.3, 0)), Box((0.1, 0.2, 0.3), (5, 0.1, 5), (0.0, 0.7, 0.0))])
def test_a_face_gives_every_vertex_the_same_bits(collider):
    """What rests on a face must not be asked to move by rounding: one plane, whoever asks and from where."""
    rng = np.random.default_rng(3)
    q = as_rows(np.column_stack([rng.uniform(-1, 1, 500), rng.uniform(0.301, 0.32, 500), rng.uniform(-1, 1, 500)]))
    s = as_rows(q[:, :3] - [0, 0.05, 0] + rng.normal(0, 0.01, (500, 3)))
    found = ColliderSearch([collider], THICKNESS).find(q, s)
    assert len(found) == 500
    assert len(np.unique(found.planes, axis=0)) == 1
    np.testing.assert_allclose(found.planes[0], [0, 1, 0, 0.304], atol=1e-7)


def test_a_corner_gives_a_plane_for_each_collider():
    walls = ColliderSearch(
        [Plane(), Plane(normal=(1, 0, 0), friction=0.9), Plane((0, -5, 0))], THICKNESS, friction=(0.5, 0.2)
    )
    q, s = as_rows(np.array([[1.0, 1, 1], [0.01, 0.01, 0]])), as_rows(np.array([[1.0, 1, 1], [-0.01, -0.01, 0]]))
    found = walls.find(q, s, threads=1)
    np.testing.assert_array_equal(found.corners, [1, 1])
    np.testing.assert_array_equal(found.second, [0, 1])
    np.testing.assert_allclose(found.friction, [[0.5, 0.2], [0.9, 0.9]], atol=1e-7)
    np.testing.assert_allclose(found.planes, [[0, 1, 0, THICKNESS], [1, 0, 0, THICKNESS]], atol=1e-9)


# --- samples ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ring() -> Sampled:
    body = torus(0.35, 0.15, 24, 2)
    return Sampled.of(Mesh.from_triangles(body.vertices, body.triangles, repair=True), 0.02, cache=False)


@pytest.mark.slow
def test_nothing_tunnels_through_samples(ring):
    """A torus is not convex: a tangent plane may cut off another part of it, but never q, nor may it let s pass."""
    q, s = flights(3000, 4)
    found = ColliderSearch([ring], THICKNESS).find(q, s)
    meets = nearest_on_way(ring, q, s) < 0
    outside = ring.distance(q[:, :3]) > THICKNESS
    assert (meets & outside & (ring.distance(s[:, :3]) > THICKNESS)).sum() > 100
    assert set(np.flatnonzero(meets)) <= set(found.corners)
    hit = np.isin(found.corners, np.flatnonzero(meets & outside))
    assert (heights(found, s)[hit] < SLACK).mean() > 0.99  # the rest meet it twice, and first where they graze it
    assert (heights(found, q)[hit] > -0.02).mean() > 0.99  # within the spacing


@pytest.mark.slow
def test_a_way_along_one_side_of_a_valley_does_not_end_below_its_floor(ring):
    """From contact with the inner wall of the ring, across its hole, into the opposite wall."""
    t = np.linspace(0, 2 * np.pi, 50)
    inner = np.column_stack([np.cos(t), np.zeros(50), np.sin(t)])
    q, s = as_rows(0.199 * inner), as_rows(-0.3 * inner)
    assert (ring.distance(q[:, :3]) < 0.02).all()
    found = ColliderSearch([ring], 0.02).find(q, s)
    np.testing.assert_array_equal(found.corners, np.arange(50))
    assert (heights(found, s) < 0).all()
    assert (heights(found, q) > 0).all()


# --- many ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_threads_do_not_change_a_bit(ring):
    walls = ColliderSearch([*armchair(), Plane(), ring], THICKNESS)
    q, s = flights(5000, 5)
    q[:, 1] += 0.4
    s[:, 1] += 0.4
    reference = walls.find(q, s, threads=1)
    assert len(reference) > 2000
    order = reference.corners.astype(np.int64) * 100 + reference.second
    assert (np.diff(order) > 0).all()
    for threads in (2, 3, 7):
        for twin in (walls.find(q, s, threads), copy.deepcopy(walls).find(q, s, threads)):
            for name in ("vertices", "planes", "friction", "ids"):
                assert getattr(twin, name).tobytes() == getattr(reference, name).tobytes()


def test_contacts_follow_the_arrays_and_do_not_change_later():
    walls = ColliderSearch([Plane()], THICKNESS)
    q, s = as_rows(np.ones((700, 3))), as_rows(np.ones((700, 3)))
    assert len(walls.find(q, s)) == 0
    s[300:, 1] = -1
    first = walls.find(q, s)
    np.testing.assert_array_equal(first.corners, np.arange(300, 700))
    s[:] = 1
    assert len(walls.find(q, s)) == 0
    assert len(first) == 400
    assert (first.planes == np.array([0, 1, 0, THICKNESS], np.float32)).all()
    assert len(walls.find(q[:10].copy(), -q[:10])) == 10


def test_nothing_to_do_and_nothing_sensible_to_do():
    q = as_rows(np.zeros((3, 3)))
    assert len(ColliderSearch([], THICKNESS).find(q, q)) == 0
    assert len(ColliderSearch([Plane()], THICKNESS).find(q[:0], q[:0])) == 0
    s = q.copy()
    s[0, 0], s[1, 2] = np.nan, np.inf
    np.testing.assert_array_equal(ColliderSearch([Plane(), *armchair()], THICKNESS).find(q, s).corners, [2])
    still = ColliderSearch([COLLIDERS["sphere"]], THICKNESS).find(q, q)
    assert len(still) == 3
    assert np.isfinite(still.planes).all()


def test_penetration_is_the_deepest():
    colliders = [Sphere((0, 0, 0), 0.5), Plane((0, -0.2, 0))]
    points = [[0, 0, 0], [0, -0.4, 0], [0, -1, 0], [0, 1, 0]]
    np.testing.assert_allclose(penetration(colliders, points), [0.5, 0.2, 0.8, 0], atol=1e-15)
    assert (penetration([], points) == 0).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda q: ColliderSearch(Plane()), "must be a list"),
        (lambda q: ColliderSearch(["plane"]), "collider 0 must be a Plane"),
        (lambda q: ColliderSearch([Plane()], thickness=0), "thickness must be a positive"),
        (lambda q: ColliderSearch([Plane()], thickness=float("nan")), "thickness must be a positive"),
        (lambda q: ColliderSearch([Plane()], friction=None), "friction must be"),
        (lambda q: ColliderSearch([Plane()], friction=(0.1, 0.2)), "static >= kinetic"),
        (lambda q: ColliderSearch([Plane()]).find(q.astype(float), q), "q must be an"),
        (lambda q: ColliderSearch([Plane()]).find(q, q[:, :3]), "s must be an"),
        (lambda q: ColliderSearch([Plane()]).find(q, q[:2]), "the same shape"),
        (lambda q: ColliderSearch([Plane()]).find(q[::2], q[::2]), "C-contiguous"),
        (lambda q: ColliderSearch([Plane()]).find(q, q, threads=0), "threads must be"),
    ],
)
def test_bad_values_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make(np.zeros((4, 4), np.float32))


# --- keeping vertices out, wherever a solver has led them -----------------------------------------------------------


@pytest.mark.slow
@each_collider
def test_nothing_that_was_outside_ends_inside(collider):
    """Ways that nobody has foreseen: pushed back before the plane where they met it, and no others are moved."""
    q, x = flights(3000, 4)
    nobody = np.zeros(len(q), bool)
    outside = collider.distance(q[:, :3].astype(float)) > THICKNESS
    wanted = x.copy()
    least = nearest_on_way(collider, q, x)
    count = ColliderSearch([collider], THICKNESS).keep_out(q, x, nobody, 0.25 * THICKNESS)
    moved = (x != wanted).any(axis=1)
    assert count == np.count_nonzero(moved)
    assert collider.distance(x[outside, :3].astype(float)).min() > -SLACK
    assert moved[outside & (least < -0.001)].all()
    assert not moved[least > THICKNESS + SLACK].any()
    np.testing.assert_array_equal(x[:, 3], 0)


def test_what_is_held_or_has_nothing_to_fear_is_left_alone():
    box, nobody = Box((0, 0, 0), (0.1, 0.1, 0.1)), np.zeros(3, bool)
    q = as_rows(np.array([[0, 0.2, 0], [0, 0.2, 0], [0, 0.104, 0]]))
    x = as_rows(np.array([[0, 0.0, 0], [0, 0.15, 0], [0.05, 0.104, 0]]))
    before, walls = x.copy(), ColliderSearch([box, Plane((0, -1, 0))], THICKNESS)
    assert walls.keep_out(q, x, np.array([True, False, False]), 0.001) == 0
    np.testing.assert_array_equal(x, before)
    assert walls.keep_out(q, x, nobody, 0.001) == 1
    assert x[0, 1] == pytest.approx(0.1 + THICKNESS, abs=SLACK)
    np.testing.assert_array_equal(x[1:], before[1:])


def test_what_is_inside_already_recovers_step_by_step():
    """By `recovery` at most, towards the nearest face."""
    walls = ColliderSearch([Box((0, 0, 0), (0.5, 0.1, 0.5))], THICKNESS)
    q = as_rows(np.array([[0.0, 0.05, 0.0]]))
    for _ in range(3):
        x = q.copy()
        assert walls.keep_out(q, x, np.zeros(1, bool), 0.001) == 1
        assert x[0, 1] - q[0, 1] == pytest.approx(0.001, abs=SLACK)
        q = x


@pytest.mark.parametrize("seed", range(3))
def test_may_enter_against_numpy(seed):
    """Boxes around ways that overlap bounds, and ends below planes."""
    q, x = flights(500, seed)
    held = np.random.default_rng(seed).random(500) < 0.2
    walls = ColliderSearch([COLLIDERS["rounded"], COLLIDERS["wire"], COLLIDERS["plane"]], THICKNESS)
    low, high = np.minimum(q, x)[:, :3], np.maximum(q, x)[:, :3]
    expected = np.zeros(500, bool)
    for bounds in walls._bounds[:2]:
        expected |= ((low < bounds[3:]) & (high > bounds[:3])).all(axis=1)
    expected |= COLLIDERS["plane"].distance(x[:, :3].astype(float)) < 0
    found = may_enter(walls._sizes, walls._shape, walls._bounds, q, x, held)
    np.testing.assert_array_equal(found, np.flatnonzero(expected & ~held))
