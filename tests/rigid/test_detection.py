"""Contacts of rigid bodies: gaps and normals against brute force, pairs against all pairs, and what must not matter."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest

from rigid import reference
from vivace import InputError
from vivace.collisions import Box, Capsule, Collider, ConvexMesh, Plane, Sphere
from vivace.rigid import detection
from vivace.rigid.contacts import ContactPoints
from vivace.rigid.detection import BodyDetector

ZERO = (0.0, 0.0, 0.0)
KINDS = ("sphere", "capsule", "box", "rounded", "flat", "card", "hull", "prism")
TWO = list(combinations_with_replacement(KINDS, 2))
SHARP = list(combinations_with_replacement(("box", "card", "hull", "prism"), 2))


def made(kind: str, rng: np.random.Generator, centre=ZERO) -> Collider:
    """A random body; "flat": rounded so much that its core is a rectangle."""
    h = rng.uniform(0.1, 0.5, 3)
    if kind == "sphere":
        return Sphere(centre, h[0])
    if kind == "capsule":
        way = h[0] * reference.turned(rng)[0]
        return Capsule(np.add(centre, way), np.subtract(centre, way), h[1])
    if kind == "hull":
        return ConvexMesh(rng.normal(size=(20, 3)) * h, centre=centre)
    if kind == "prism":
        angles = np.linspace(0, 2 * np.pi, 10, endpoint=False)
        return ConvexMesh(
            [[h[0] * np.cos(t), s * h[1], h[0] * np.sin(t)] for t in angles for s in (-1, 1)], None, centre
        )
    rounding = {"box": 0.0, "rounded": 0.4 * h.min(), "flat": h.min(), "card": 0.0}[kind]
    return Box(centre, (h[0], h[1], 0.01) if kind == "card" else h, None, rounding)


def found(bodies, poses=None, reach=0.01, movable=None, threads=1) -> ContactPoints:
    movable = [not isinstance(body, Plane) for body in bodies] if movable is None else movable
    poses = reference.first_poses(bodies) if poses is None else poses
    return detector_of(bodies, movable).find(*poses, reach, threads)


_LAST: dict = {}


def detector_of(bodies, movable) -> BodyDetector:
    """The last one again where bodies are the same objects: it remembers nothing of what it found."""
    key = [*map(id, bodies)], [*map(bool, movable)]
    if _LAST.get("key") != key:
        _LAST.update(key=key, bodies=list(bodies), detector=BodyDetector(bodies, np.array(movable, bool)))
    return _LAST["detector"]


def random_pairs(first: str, second: str, count: int, seed: int = 0):
    """Two bodies somewhere, near each other or in each other."""
    rng = np.random.default_rng([seed, KINDS.index(first), KINDS.index(second)])
    for _ in range(count):
        bodies = [made(first, rng), made(second, rng)]
        at = rng.normal(size=3)
        way = reference.turned(rng)[0]
        positions = np.array([at, at + way * rng.uniform(0.05, 1.5)])
        yield bodies, (positions, np.array([reference.turned(rng), reference.turned(rng)])), rng


def scattered(count: int, seed: int, side: float, kinds=KINDS):
    rng = np.random.default_rng(seed)
    bodies = [made(kinds[k % len(kinds)], rng) for k in range(count)]
    return bodies, (rng.uniform(0, side, (count, 3)), np.array([reference.turned(rng) for _ in bodies]))


def assert_same(ours: ContactPoints, its: ContactPoints, **tolerance) -> None:
    np.testing.assert_array_equal(ours.bodies, its.bodies)
    np.testing.assert_array_equal(ours.features, its.features)
    for name in ("points", "normals", "gaps"):
        if tolerance:
            np.testing.assert_allclose(getattr(ours, name), getattr(its, name), **tolerance)
        else:
            np.testing.assert_array_equal(getattr(ours, name), getattr(its, name))


# --- one pair against brute force ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), TWO)
def test_the_smallest_gap_is_the_distance_and_along_the_normal_bodies_touch(first, second):
    """Apart: to rounding. In each other: an axis that is tried first stays if another is better by 0.1 %."""
    for bodies, poses, _ in random_pairs(first, second, 8):
        contacts = found(bodies, poses, reach=0.3)
        flat = {first, second} <= {"sphere", "capsule"} or (first, second) == ("sphere", "flat")
        if flat and reference.boxes_apart(*bodies, poses) < 1e-9:
            continue  # the differences of the cores have no volume, and brute force knows no depth
        gap = reference.gap(*bodies, poses)
        if len(contacts) == 0:
            assert gap > 0.3
            continue
        cores = gap + sum(map(reference.radius_of, bodies))
        least = contacts.gaps.min()
        assert least == pytest.approx(gap, abs=1e-9 if cores > 1e-3 else 2e-3 * abs(cores) + 1e-4)
        if cores > 1e-3 or abs(least - gap) < 1e-9:
            moved = poses[0] - [[0, 0, 0], least * contacts.normals[0]]
            assert reference.gap(*bodies, (moved, poses[1])) == pytest.approx(0, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), TWO)
def test_normals_are_unit_vectors_from_the_first_and_gaps_are_within_reach(first, second):
    for bodies, poses, _ in random_pairs(first, second, 8, seed=1):
        contacts = found(bodies, poses, reach=0.1)
        if len(contacts):
            np.testing.assert_allclose(np.linalg.norm(contacts.normals, axis=1), 1, rtol=1e-14)
            assert (contacts.normals == contacts.normals[0]).all()
            assert contacts.gaps.max() <= 0.1
            assert len(contacts) <= (1 if "sphere" in (first, second) else 2 if "capsule" in (first, second) else 4)
            corners = [reference.placed(body, *pose) for body, *pose in zip(bodies, *poses, strict=True)]
            n = contacts.normals[0]
            apart = (corners[1] @ n).min() - (corners[0] @ n).max() - sum(map(reference.radius_of, bodies))
            assert contacts.gaps.min() >= apart - 1e-9  # no contact is deeper than the bodies are along the normal


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), SHARP)
def test_contacts_are_midway_between_both_surfaces(first, second):
    """Of bodies without a radius, the ends of every gap lie on a surface, but for the tolerance of corners."""
    for bodies, poses, _ in random_pairs(first, second, 8, seed=2):
        contacts = found(bodies, poses, reach=0.1)
        for side, way in ((0, -0.5), (1, 0.5)):
            ends = contacts.points + way * contacts.gaps[:, None] * contacts.normals
            hull = ConvexMesh(reference.corners_of(bodies[side]), centre=None)
            local = (ends - poses[0][side]) @ poses[1][side]
            for end in local:
                heights = [_height(hull, face, end) for face in hull.faces]
                assert max(heights) == pytest.approx(0, abs=1.5e-3)


def _height(hull: ConvexMesh, face: np.ndarray, point: np.ndarray) -> float:
    corners = hull.vertices[face]
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    return float((point - corners[0]) @ normal / np.linalg.norm(normal))


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), TWO)
def test_swapped_bodies_have_the_opposite_normal(first, second):
    for bodies, (positions, rotations), _ in random_pairs(first, second, 8, seed=3):
        ours = found(bodies, (positions, rotations), reach=0.1)
        its = found(bodies[::-1], (positions[::-1], rotations[::-1]), reach=0.1)
        assert (len(ours) > 0) == (len(its) > 0)
        if len(ours) and abs(ours.normals[0] + its.normals[0]).max() > 1e-9:  # two axes are nearly as good
            assert ours.gaps.min() == pytest.approx(its.gaps.min(), rel=5e-3)
        elif len(ours):
            assert ours.gaps.min() == pytest.approx(its.gaps.min(), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), TWO)
def test_turning_and_moving_everything_turns_and_moves_the_contacts(first, second):
    for bodies, (positions, rotations), rng in random_pairs(first, second, 8, seed=4):
        turn, far = reference.turned(rng), np.array([3000.0, -2000.0, 1000.0])
        ours = found(bodies, (positions, rotations), reach=0.1)
        its = found(bodies, (positions @ turn.T + far, turn @ rotations), reach=0.1)
        assert len(ours) == len(its)
        np.testing.assert_allclose(its.normals, ours.normals @ turn.T, atol=1e-9)
        np.testing.assert_allclose(its.gaps, ours.gaps, atol=1e-9)
        np.testing.assert_allclose(its.points, ours.points @ turn.T + far, atol=1e-8)
        np.testing.assert_array_equal(its.features, ours.features)


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), TWO)
def test_bodies_that_nearly_touch_have_small_gaps(first, second):
    """Pushed together until they touch, a little less and a little more. Within a hair, 1e-4 of the smaller body's
    size (0.7 m at most), normals are axes of the cores, along which corners may seem closer than they are."""
    for bodies, (positions, rotations), _ in random_pairs(first, second, 4, seed=5):
        contacts = found(bodies, (positions, rotations), reach=2.0)
        radii = sum(map(reference.radius_of, bodies))
        if contacts.gaps.min() + radii < 1e-3:
            continue
        for gap in (1e-2, 1e-3, 1e-5, 1e-7, 0.0, -1e-7, -1e-5, -1e-3):
            moved = positions - [[0, 0, 0], (contacts.gaps.min() - gap) * contacts.normals[0]]
            now = found(bodies, (moved, rotations), reach=0.02)
            exact = gap if gap + radii > 1e-3 else reference.gap(*bodies, (moved, rotations))
            hair = 0.0 if gap + radii > 1e-3 else 5e-5
            assert now.gaps.min() == pytest.approx(exact, abs=hair + 2e-3 * abs(gap) * (hair > 0) + 1e-10)


# --- half spaces --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", [True, False])
def test_over_a_half_space_the_gap_is_that_of_the_lowest_point(kind, first):
    rng = np.random.default_rng(KINDS.index(kind))
    for _ in range(20):
        normal, point = reference.turned(rng)[0], rng.normal(size=3)
        body, plane = made(kind, rng), Plane(point, normal)
        position, rotation = point + normal * rng.uniform(-0.5, 0.8), reference.turned(rng)
        bodies = [plane, body] if first else [body, plane]
        positions, rotations = reference.first_poses(bodies)
        positions[int(first)], rotations[int(first)] = position, rotation
        contacts = found(bodies, (positions, rotations), reach=0.05)
        heights = (reference.placed(body, position, rotation) - point) @ normal - reference.radius_of(body)
        assert (len(contacts) > 0) == (heights.min() <= 0.05)
        if len(contacts):
            assert contacts.gaps.min() == pytest.approx(heights.min(), abs=1e-12)
            np.testing.assert_allclose(contacts.normals, np.tile(normal if first else -normal, (len(contacts), 1)))
            between = (contacts.points - point) @ normal
            np.testing.assert_allclose(between, 0.5 * contacts.gaps, atol=1e-12)


# --- many bodies --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_spheres_are_found_as_all_pairs_say():
    bodies, poses = scattered(400, 0, 4.0, kinds=("sphere",))
    contacts = found(bodies, poses, reach=0.05)
    radii = np.array([body.radius for body in bodies])
    pairs = [(i, j) for i, j in combinations(range(400), 2)]
    ways = np.array([poses[0][j] - poses[0][i] for i, j in pairs])
    gaps = np.linalg.norm(ways, axis=1) - [radii[i] + radii[j] for i, j in pairs]
    near = gaps <= 0.05
    np.testing.assert_array_equal(contacts.bodies, np.array(pairs)[near])
    np.testing.assert_allclose(contacts.gaps, gaps[near], atol=1e-14)
    normals = ways[near] / np.linalg.norm(ways[near], axis=1)[:, None]
    np.testing.assert_allclose(contacts.normals, normals, atol=1e-14)
    middles = [poses[0][i] + (radii[i] + 0.5 * g) * n for (i, _), g, n in zip(contacts.bodies, gaps[near], normals)]  # noqa: B905
    np.testing.assert_allclose(contacts.points, middles, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("few", [0, 1000])
def test_many_bodies_have_the_contacts_of_all_pairs_but_of_those_that_cannot_move(few, monkeypatch):
    """Few boxes are each held against each; more than that are paired by a grid."""
    monkeypatch.setattr(detection, "FEW", few)
    count = 40
    bodies, poses = scattered(count, 1, 1.6)
    bodies[7], bodies[30] = Plane((0, 0.3, 0)), Plane((0, 0, 0.2), (0, 0, 1))
    poses[0][[7, 30]], poses[1][[7, 30]] = (part[[7, 30]] for part in reference.first_poses(bodies))
    movable = np.arange(count) % 3 > 0
    movable[[7, 30]] = False
    reach = np.random.default_rng(2).uniform(0, 0.05, count)
    contacts = found(bodies, poses, reach, movable)
    singles = []
    for i, j in combinations(range(count), 2):
        if movable[i] or movable[j]:
            one = found([bodies[i], bodies[j]], (poses[0][[i, j]], poses[1][[i, j]]), reach[[i, j]], movable[[i, j]])
            one.bodies[:] = i, j
            singles.append(one)
    joined = ContactPoints(*(np.concatenate([vars(one)[name] for one in singles]) for name in vars(contacts)))
    assert len(contacts) > 200
    assert_same(contacts, joined)
    order = np.lexsort([contacts.features, contacts.bodies[:, 1], contacts.bodies[:, 0]])
    np.testing.assert_array_equal(order, np.arange(len(contacts)))
    assert len(np.unique(np.column_stack([contacts.pairs, contacts.features]), axis=0)) == len(contacts)


@pytest.mark.slow
def test_the_number_of_threads_changes_nothing():
    bodies, poses = scattered(300, 3, 3.0)
    assert_same(found(bodies, poses, threads=1), found(bodies, poses, threads=2))


@pytest.mark.slow
def test_a_number_reaches_as_far_as_two_halves():
    bodies, poses = scattered(50, 4, 2.0)
    assert_same(found(bodies, poses, 0.1), found(bodies, poses, np.full(50, 0.05)))


@pytest.mark.slow
def test_hundreds_of_bodies_in_one_point_stay_finite():
    bodies, _ = scattered(400, 5, 0.0, kinds=("sphere",) * 12 + KINDS)
    for turns in (np.tile(np.eye(3), (400, 1, 1)), scattered(400, 6, 0.0, ("sphere",))[1][1]):
        contacts = found(bodies, (np.ones((400, 3)), turns), reach=0.0)
        assert len(contacts) >= 79_800
        for part in (contacts.points, contacts.normals, contacts.gaps):
            assert np.isfinite(part).all()
        np.testing.assert_allclose(np.linalg.norm(contacts.normals, axis=1), 1, rtol=1e-12)
        assert contacts.gaps.max() <= 0


def test_the_same_body_in_the_same_place_is_deep_in_itself():
    for kind in KINDS:
        body = made(kind, np.random.default_rng(0))
        contacts = found([body, body], reach=0.0)
        assert contacts.gaps.min() < -0.01
        assert np.isfinite(contacts.points).all()


# --- from step to step --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_places_in_an_earlier_list():
    bodies, poses = scattered(60, 7, 2.0)
    before = found(bodies, poses, 0.02)
    after = found(bodies, (poses[0] * [1, 1.05, 1], poses[1]), 0.02)
    at = {key: k for k, key in enumerate(zip(before.pairs.tolist(), before.features.tolist(), strict=True))}
    expected = [at.get(key, -1) for key in zip(after.pairs.tolist(), after.features.tolist(), strict=True)]
    assert -1 in expected
    assert len(set(expected)) > 50
    np.testing.assert_array_equal(after.places_in(before), expected)
    np.testing.assert_array_equal(before.places_in(before), np.arange(len(before)))
    assert (after.places_in(ContactPoints.none()) == -1).all()
    assert len(ContactPoints.none().places_in(before)) == 0


# --- what is refused ----------------------------------------------------------------------------------------------


def test_bad_poses_are_refused_by_name():
    bodies = [Plane(), Sphere((0, 1, 0), 0.5)]
    detector = BodyDetector(bodies, [False, True])
    positions, rotations = reference.first_poses(bodies)
    for bad in (np.nan, np.inf):
        for k, what in ((0, "positions"), (1, "rotations")):
            poses = [positions.copy(), rotations.copy()]
            poses[k][1] = bad
            with pytest.raises(InputError, match=f"{what} must be finite; that of body 1 is not"):
                detector.find(*poses, 0.01)
    with pytest.raises(InputError, match=r"positions must be numbers of shape \(2, 3\)"):
        detector.find(positions[:1], rotations, 0.01)
    with pytest.raises(InputError, match=r"rotations must be numbers of shape \(2, 3, 3\)"):
        detector.find(positions, np.zeros((2, 4)), 0.01)
    with pytest.raises(InputError, match="within 1e\\+06 m"):
        detector.find(positions + 1e7, rotations, 0.01)
    for reach in (-1.0, np.nan, [0.1, -0.1]):
        with pytest.raises(InputError, match="reach must be a distance in metres, 0 or more, not"):
            detector.find(positions, rotations, reach)
    with pytest.raises(InputError, match="reach must be a number, or 2, one for each body"):
        detector.find(positions, rotations, [0.1, 0.1, 0.1])


def test_bad_bodies_are_refused_by_name():
    with pytest.raises(InputError, match="body 0 is a Plane, which cannot move"):
        BodyDetector([Plane()], [True])
    with pytest.raises(InputError, match="movable must be 1 truth values"):
        BodyDetector([Sphere(ZERO, 1)], [1.0])
    with pytest.raises(InputError, match="body 0 must be a Sphere, Box"):
        BodyDetector([1], [True])


def test_nothing_has_no_contacts():
    for bodies in ([], [Plane()], [Sphere(ZERO, 1)], [Plane(), Plane((0, 1, 0))]):
        assert len(found(bodies)) == 0
