"""What bodies weigh: closed forms, sums over tetrahedra, random points; and hulls whose triangles become faces."""

from __future__ import annotations

import numpy as np
import pytest

from vivace import InputError
from vivace.collisions import Box, Capsule, Collider, ConvexMesh, Plane, Sampled, Sphere
from vivace.mesh import Mesh, ball
from vivace.mesh.mesh import as_rotation
from vivace.rigid.geometry import mass_properties, upright

TURN = (0.3, -0.5, 0.2)


def cuboid(half) -> np.ndarray:
    return np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * np.array(half, float)


def single(geometry: Collider) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    found = mass_properties([geometry])
    return float(found.volumes[0]), found.inertias[0], found.positions[0], found.rotations[0]


def sampled(geometry: Collider, count: int = 400_000) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, centre and inertia of random points that its distance calls inside, in the world."""
    low, high = geometry.surface().bounds
    points = np.random.default_rng(1).uniform(low, high, (count, 3))
    inside = points[geometry.distance(points) < 0]
    volume = float(np.prod(high - low) * len(inside) / count)
    away = inside - inside.mean(axis=0)
    moments = volume * away.T @ away / len(inside)
    return volume, inside.mean(axis=0), np.trace(moments) * np.eye(3) - moments


# --- closed forms -------------------------------------------------------------------------------------------------


def test_a_sphere_weighs_what_a_ball_weighs():
    volume, inertia, position, rotation = single(Sphere((1, 2, 3), 0.5))
    assert volume == pytest.approx(np.pi / 6, rel=1e-14)
    np.testing.assert_allclose(inertia, 0.4 * volume * 0.25 * np.eye(3), rtol=1e-14)
    np.testing.assert_array_equal(position, [1, 2, 3])
    np.testing.assert_array_equal(rotation, np.eye(3))


def test_a_box_weighs_what_a_box_weighs():
    volume, inertia, position, rotation = single(Box((1, 2, 3), (0.5, 0.2, 0.3), TURN))
    assert volume == pytest.approx(8 * 0.03, rel=1e-14)
    np.testing.assert_allclose(np.diag(inertia), volume / 3 * np.array([0.13, 0.34, 0.29]), rtol=1e-14)
    np.testing.assert_array_equal(position, [1, 2, 3])
    np.testing.assert_allclose(rotation, as_rotation(TURN))


def test_a_capsule_is_a_cylinder_and_two_half_balls():
    start, end, r = np.array([0.1, 0.2, 0.3]), np.array([0.4, 0.8, -0.1]), 0.15
    length = np.linalg.norm(end - start)
    volume, inertia, position, rotation = single(Capsule(start, end, r))
    cylinder, whole = np.pi * r**2 * length, 4 / 3 * np.pi * r**3
    along = 0.5 * cylinder * r**2 + 0.4 * whole * r**2
    # Each half ball has its own centre of mass 3 r / 8 beyond the end of the line.
    middle = 0.4 * whole * r**2 - whole * (3 * r / 8) ** 2
    across = cylinder * (length**2 / 12 + r**2 / 4) + middle + whole * (length / 2 + 3 * r / 8) ** 2
    assert volume == pytest.approx(cylinder + whole, rel=1e-14)
    np.testing.assert_allclose(inertia, np.diag([across, along, across]), rtol=1e-13, atol=1e-18)
    np.testing.assert_allclose(position, 0.5 * (start + end))
    np.testing.assert_allclose(rotation[:, 1], (end - start) / length)


def test_a_box_rounded_to_a_ball_is_a_sphere():
    ours, its = single(Box((0, 0, 0), (0.4, 0.4, 0.4), rounding=0.4)), single(Sphere((0, 0, 0), 0.4))
    assert ours[0] == pytest.approx(its[0], rel=1e-14)
    np.testing.assert_allclose(ours[1], its[1], rtol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize(
    "geometry",
    [
        Box((0.1, 0, 0), (0.5, 0.2, 0.3), TURN, 0.15),
        Box((0.1, 0, 0), (0.5, 0.2, 0.3), TURN, 0.2),
        Box((0, 0, 0), (0.5, 0.5, 0.3), TURN, 0.05),
        Capsule((0, 0, 0), (0.3, 0.4, 0), 0.3),
    ],
)
def test_rounded_bodies_weigh_what_random_points_in_them_weigh(geometry):
    volume, inertia, position, rotation = single(geometry)
    found, middle, moments = sampled(geometry)
    assert volume == pytest.approx(found, rel=5e-3)
    np.testing.assert_allclose(position, middle, atol=3e-3)
    np.testing.assert_allclose(rotation @ inertia @ rotation.T, moments, atol=5e-3 * np.abs(moments).max())


@pytest.mark.slow
def test_the_surface_of_a_rounded_box_encloses_what_it_weighs():
    """A polyhedron inside the body weighs less, by the square of the steps its round parts have."""
    geometry = Box((0.1, 0.2, 0.3), (0.5, 0.2, 0.3), TURN, 0.15)
    hull = ConvexMesh(geometry.surface())
    volume, inertia, position, rotation = single(geometry)
    assert 0.996 * volume < hull.volume < volume
    np.testing.assert_allclose(hull.centre, position, atol=1e-12)
    world = rotation @ inertia @ rotation.T
    np.testing.assert_allclose(hull.inertia, world, atol=0.008 * np.abs(world).max())


# --- hulls --------------------------------------------------------------------------------------------------------


def test_the_hull_of_a_box_is_the_box():
    half = (0.5, 0.2, 0.3)
    inner = np.random.default_rng(0).uniform(-0.99, 0.99, (100, 3)) * half
    flat = np.array([[0.5, 0.1, 0.0], [0.5, 0.2, 0.1], [0.0, 0.2, 0.3]])  # in a face, and on edges
    hull = ConvexMesh(np.concatenate([inner, cuboid(half), flat]), TURN, (1, 2, 3))
    box = Box((1, 2, 3), half, TURN)
    assert len(hull.corners) == 8
    assert sorted(map(len, hull.faces)) == [4] * 6
    for ours, its in zip(single(hull), single(box), strict=True):
        np.testing.assert_allclose(ours, its, atol=1e-14)


@pytest.mark.slow
def test_faces_are_flat_and_face_out_and_fit_together():
    rng = np.random.default_rng(2)
    angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    prism = np.array([[np.cos(t), y, np.sin(t)] for t in angle for y in (-1, 1)])
    for points in (rng.normal(size=(40, 3)), prism, ball(6).vertices, cuboid((1, 1, 1))):
        hull = ConvexMesh(points)
        sides = set()
        for face in hull.faces:
            loop = hull.corners[face]
            normal = np.cross(loop - loop[0], np.roll(loop, -1, axis=0) - loop[0]).sum(axis=0)
            normal /= np.linalg.norm(normal)
            heights = hull.corners @ normal
            assert (loop @ normal).min() > heights.max() - 1e-5
            assert heights.max() > 0
            sides |= {(a, b) for a, b in zip(face.tolist(), np.roll(face, -1).tolist(), strict=True)}
        assert len(sides) == sum(map(len, hull.faces))
        assert {(b, a) for a, b in sides} == sides
        assert len(hull.corners) - len(sides) / 2 + len(hull.faces) == 2
    assert sorted(map(len, ConvexMesh(prism).faces)) == [4] * 12 + [12, 12]


def test_a_tetrahedron_far_away_weighs_what_it_weighs():
    """Of a corner of a cube with sides 1: volume 1/6, centre 1/4, and ∫ x² about it 1/160, ∫ xy -1/480."""
    far = np.array([3e4, -2e4, 1e4])
    hull = ConvexMesh(np.concatenate([np.zeros((1, 3)), np.eye(3)]) + far)
    moments = np.full((3, 3), -1 / 480) + np.eye(3) * (1 / 160 + 1 / 480)
    assert hull.volume == pytest.approx(1 / 6, rel=1e-10)
    np.testing.assert_allclose(hull.centre, far + 0.25, rtol=1e-14)
    np.testing.assert_allclose(hull.inertia, np.trace(moments) * np.eye(3) - moments, atol=1e-11)


@pytest.mark.slow
def test_soft_bodies_meet_the_samples_of_a_hull(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    hull, box = ConvexMesh(cuboid((0.5, 0.2, 0.3)), TURN, (1, 2, 3)), Box((1, 2, 3), (0.5, 0.2, 0.3), TURN)
    points = np.random.default_rng(0).uniform(*hull.surface().bounds, (200, 3))
    spacing = np.ptp(hull.vertices, axis=0).max() / 64
    np.testing.assert_allclose(hull.distance(points), box.distance(points), atol=np.sqrt(0.75) * spacing)


# --- half spaces, and what is refused -----------------------------------------------------------------------------


def test_a_half_space_stands_along_its_normal():
    for normal in np.random.default_rng(0).normal(size=(50, 3)):
        rotation = upright(normal / np.linalg.norm(normal))
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-14)
        np.testing.assert_allclose(rotation[:, 1], normal / np.linalg.norm(normal), atol=1e-14)
        assert np.linalg.det(rotation) == pytest.approx(1)
    volume, inertia, position, rotation = single(Plane((0, 1, 0), (0, -2, 0)))
    assert volume == np.inf
    assert (np.diag(inertia) == np.inf).all()
    np.testing.assert_array_equal(position, [0, 1, 0])
    np.testing.assert_allclose(rotation[:, 1], [0, -1, 0])


def test_what_has_no_volume_is_refused():
    with pytest.raises(InputError, match="four points at least, not 3"):
        ConvexMesh(np.eye(3))
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]])
    for points in (square, np.zeros((5, 3)), square + np.array([0, 0, 1e-9]) * np.eye(4)[:, :1]):
        with pytest.raises(InputError, match="lie in a plane"):
            ConvexMesh(points)
    with pytest.raises(InputError, match="must be finite; point 1 is not"):
        ConvexMesh([[0, 0, 0], [np.nan, 0, 0], [0, 1, 0], [0, 0, 1]])
    with pytest.raises(InputError, match="within 1e\\+06 m"):
        ConvexMesh(1e7 * np.concatenate([np.zeros((1, 3)), np.eye(3)]))


def test_what_is_no_convex_body_is_refused():
    surface = Mesh.from_triangles(ball(4).vertices, ball(4).triangles, repair=True)
    with pytest.raises(InputError, match=r"body 1 must be a Sphere, .* not Sampled; the hull of any mesh is ConvexM"):
        mass_properties([Sphere((0, 0, 0), 1), Sampled.of(surface, 0.2, cache=False)])
    with pytest.raises(InputError, match="several, in a list, not Sphere"):
        mass_properties(Sphere((0, 0, 0), 1))


def test_many_bodies_at_once_are_as_each_alone():
    bodies = [Sphere((0, 1, 0), 0.3), Plane(), Box((1, 0, 0), (1, 2, 3), TURN, 0.5), ConvexMesh(np.eye(4)[:, 1:])]
    together = mass_properties(bodies)
    for k, body in enumerate(bodies):
        for ours, its in zip(single(body), vars(together).values(), strict=True):
            np.testing.assert_array_equal(ours, its[k])
    assert mass_properties([]).positions.shape == (0, 3)
