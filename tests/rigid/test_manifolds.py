"""What touches where: how many contacts things have that rest on each other, and that contacts do not jump."""

from __future__ import annotations

import numpy as np
import pytest

from rigid import reference
from rigid.test_detection import TWO, found, random_pairs
from vivace.collisions import Box, Capsule, ConvexMesh, Plane, Sphere
from vivace.mesh.mesh import as_rotation
from vivace.rigid.detection import BodyDetector

UP = np.array([0.0, 1.0, 0.0])
DIAGONAL = np.array([1, 0, -1]) / np.sqrt(2) * np.arccos(1 / np.sqrt(3))  # stands a cube on a corner
FLOORS = {"plane": Plane(), "box": Box((0, -0.5, 0), (3, 0.5, 3)), "round": Box((0, -0.5, 0), (3, 0.5, 3), None, 0.2)}
FLOORS["hull"] = ConvexMesh(Box((0, -0.5, 0), (3, 0.5, 3), (0, 0.1, 0)).surface())
CYLINDER = np.array([[0.5 * np.cos(t), y, 0.5 * np.sin(t)] for t in np.arange(16) * np.pi / 8 for y in (-0.3, 0.3)])

RESTING = {  # bodies on a floor at height 0, and where they touch it (x and z)
    "sphere": (Sphere((0.1, 0.5, 0.2), 0.5), [(0.1, 0.2)]),
    "capsule": (Capsule((-0.4, 0.2, 0), (0.5, 0.2, 0), 0.2), [(-0.4, 0), (0.5, 0)]),
    "standing capsule": (Capsule((0.1, 0.2, 0), (0.1, 0.9, 0), 0.2), [(0.1, 0)]),
    "box": (Box((0, 0.3, 0), (0.4, 0.3, 0.2)), [(x, z) for x in (-0.4, 0.4) for z in (-0.2, 0.2)]),
    "rounded box": (
        Box((0, 0.3, 0), (0.4, 0.3, 0.2), None, 0.1),
        [(x, z) for x in (-0.3, 0.3) for z in (-0.1, 0.1)],
    ),
    "box on an edge": (Box((0, np.sqrt(0.5), 0), (0.5, 0.5, 0.5), (0, 0, np.pi / 4)), [(0, -0.5), (0, 0.5)]),
    "box on a corner": (Box((0, np.sqrt(0.75), 0), (0.5, 0.5, 0.5), DIAGONAL), [(0, 0)]),
    "round slab on its rim": (Box((0, 0.5, 0), (0.1, 0.5, 0.4), None, 0.1), [(0, -0.3), (0, 0.3)]),
    "cylinder": (ConvexMesh(CYLINDER, None, (0, 0.3, 0)), [(0.5, 0), (0, 0.5), (-0.5, 0), (0, -0.5)]),
}


def gently(rng: np.random.Generator, size: float) -> np.ndarray:
    return as_rotation(rng.normal(size=3) * size)


@pytest.mark.parametrize("floor", FLOORS)
@pytest.mark.parametrize("name", RESTING)
def test_what_rests_on_a_floor_has_the_contacts_that_hold_it(floor, name):
    body, places = RESTING[name]
    contacts = found([FLOORS[floor], body])
    np.testing.assert_allclose(contacts.normals, np.tile([0, 1.0, 0], (len(places), 1)), atol=1e-9)
    np.testing.assert_allclose(contacts.gaps, 0, atol=1e-9)
    np.testing.assert_allclose(contacts.points[:, 1], 0, atol=1e-9)
    ours, its = (np.round(np.array(p) + 0.0, 6) for p in (contacts.points[:, [0, 2]], places))
    assert sorted(map(tuple, ours.tolist())) == sorted(map(tuple, its.tolist()))


@pytest.mark.parametrize("floor", FLOORS)
@pytest.mark.parametrize("name", RESTING)
@pytest.mark.parametrize("height", [-1e-4, -1e-9, 1e-9, 1e-5, 1e-3])
def test_rounding_and_small_gaps_do_not_change_what_touches(floor, name, height):
    """A body that is lifted, pushed in or tilted by little has the contacts it had, with the names they had."""
    rng = np.random.default_rng(0)
    body, _ = RESTING[name]
    bodies = [FLOORS[floor], body]
    positions, rotations = reference.first_poses(bodies)
    before = found(bodies, (positions, rotations))
    for _ in range(10):
        poses = positions + np.array([[0], [height]]) * UP, np.array([rotations[0], gently(rng, 1e-10) @ rotations[1]])
        after = found(bodies, poses)
        np.testing.assert_array_equal(after.features, before.features)
        np.testing.assert_allclose(after.gaps, height, atol=1e-8)
        np.testing.assert_allclose(after.normals, before.normals, atol=1e-6)
        np.testing.assert_allclose(after.points, before.points + 0.5 * height * UP, atol=1e-5)


@pytest.mark.parametrize("floor", FLOORS)
def test_a_tilted_box_meets_the_floor_with_all_corners_within_reach(floor):
    """Each with its own height, so that what falls flat does not fall through."""
    body = Box((0, 0.3, 0), (0.4, 0.3, 0.2), (0, 0, 0.02))
    contacts = found([FLOORS[floor], body], reach=0.03)
    corners = reference.placed(body, np.array([0, 0.3, 0]), as_rotation((0, 0, 0.02)))
    assert sorted(contacts.gaps) == pytest.approx(sorted(corners[:, 1])[:4], abs=1e-4)


@pytest.mark.parametrize("floor", FLOORS)
def test_a_large_reach_does_not_lose_the_corners_that_rest(floor):
    contacts = found([FLOORS[floor], Box((0, 0.3, 0), (0.4, 0.3, 0.2))], reach=5.0)
    assert len(contacts) == 4
    np.testing.assert_allclose(contacts.gaps, 0, atol=1e-9)


def test_crossed_boxes_have_the_corners_of_their_overlap():
    contacts = found([Box((0, 0, 0), (1, 0.5, 0.2)), Box((0.3, 0.95, 0), (0.2, 0.5, 1))])
    expected = [(x, z) for x in (0.1, 0.5) for z in (-0.2, 0.2)]
    assert sorted(map(tuple, np.round(contacts.points[:, [0, 2]], 9).tolist())) == expected
    np.testing.assert_allclose(contacts.gaps, -0.05, atol=1e-12)
    np.testing.assert_allclose(contacts.points[:, 1], 0.475, atol=1e-12)


def test_of_eight_corners_four_are_kept_that_span_most():
    """Two squares, one turned by 45°: any two opposite pairs of the octagon."""
    contacts = found([Box((0, 0, 0), (1, 0.5, 1)), Box((0, 1, 0), (1, 0.5, 1), (0, np.pi / 4, 0))])
    assert len(contacts) == 4
    x, _, z = contacts.points[np.argsort(np.arctan2(contacts.points[:, 0], contacts.points[:, 2]))].T
    area = 0.5 * abs((x * np.roll(z, -1) - z * np.roll(x, -1)).sum())
    octagon = 8 * (np.sqrt(2) - 1)
    assert area > 0.7 * octagon


def test_edges_that_cross_touch_in_one_point():
    lower, upper = Box((0, 0, 0), (0.5, 0.5, 2), (0, 0, np.pi / 4)), Box((0, 1, 0), (2, 0.5, 0.5), (np.pi / 4, 0, 0))
    for height in (-1e-2, -1e-6, 1e-9, 1e-3):
        positions, rotations = reference.first_poses([lower, upper])
        positions[1] = 0.3, np.sqrt(2) + height, 0.2
        contacts = found([lower, upper], (positions, rotations))
        assert len(contacts) == 1
        np.testing.assert_allclose(contacts.normals, [[0, 1, 0]], atol=1e-9)
        np.testing.assert_allclose(contacts.points, [[0, np.sqrt(0.5) + 0.5 * height, 0.2]], atol=1e-9)
        np.testing.assert_allclose(contacts.gaps, height, atol=1e-9)


def test_logs_side_by_side_touch_at_both_ends_and_crossed_ones_in_the_middle():
    log = Capsule((-1, 0, 0), (1, 0, 0), 0.2)
    for angle, count in ((0.0, 2), (1e-3, 2), (0.3, 1), (np.pi / 2, 1)):
        positions, rotations = np.array([[0, 0, 0], [0.5 if count == 2 else 0, 0.4, 0]]), np.tile(np.eye(3), (2, 1, 1))
        rotations[:] = reference.first_poses([log])[1]
        rotations[1] = as_rotation((0, angle, 0)) @ rotations[1]
        contacts = found([log, log], (positions, rotations))
        assert len(contacts) == count
        np.testing.assert_allclose(contacts.normals, np.tile([0, 1.0, 0], (count, 1)), atol=2e-3)
        np.testing.assert_allclose(np.sort(contacts.points[:, 0]), [-0.5, 1.0] if count == 2 else [0.0], atol=1e-3)


def test_bodies_far_larger_than_others_change_nothing():
    ground = Box((0, -500, 0), (1e4, 500, 1e4))
    for name, (body, places) in RESTING.items():
        contacts = found([ground, body])
        assert len(contacts) == len(places), name
        np.testing.assert_allclose(contacts.gaps, 0, atol=1e-9)


# --- moving -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_names_stay_while_a_box_slides_and_turns_on_another():
    lower, upper = Box((0, 0, 0), (2, 0.5, 2)), Box((0, 1, 0), (0.4, 0.5, 0.3))
    rng = np.random.default_rng(0)
    positions, rotations = reference.first_poses([lower, upper])
    before = found([lower, upper])
    for step in range(100):
        positions[1] = 0.005 * step, 1 + rng.uniform(-1e-5, 1e-5), 0.003 * step
        rotations[1] = as_rotation((0, 0.01 * step, 0)) @ gently(rng, 1e-6)
        after = found([lower, upper], (positions, rotations))
        np.testing.assert_array_equal(after.places_in(before), np.arange(4))
        np.testing.assert_allclose(after.points - before.points, 0, atol=0.012)
        before = after


@pytest.mark.slow
def test_a_stack_of_equal_boxes_keeps_its_names_under_rounding():
    """Edge over edge, where the smallest push decides which corner lies over which face."""
    bodies = [Box((0, k, 0), (0.5, 0.5, 0.5)) for k in range(4)]
    positions, _ = reference.first_poses(bodies)
    before = found(bodies)
    assert len(before) == 12
    rng = np.random.default_rng(0)
    for _ in range(100):
        turned = np.array([gently(rng, 1e-6) for _ in bodies])
        after = found(bodies, (positions + rng.uniform(-1e-5, 1e-5, (4, 3)), turned))
        np.testing.assert_array_equal(after.features, before.features)
        np.testing.assert_allclose(after.points, before.points, atol=1e-4)


@pytest.mark.slow
def test_what_is_pushed_over_an_edge_keeps_contacts_along_it():
    """Of a box that moves off a table, the corners beyond it give way to where its sides cross the table's edge."""
    table, body = Box((0, -0.5, 0), (1, 0.5, 1)), Box((0, 0.1, 0), (0.3, 0.1, 0.2))
    for x in np.linspace(0.5, 1.29, 80):
        contacts = found([table, body], (np.array([[0, -0.5, 0], [x, 0.1, 0]]), np.tile(np.eye(3), (2, 1, 1))))
        assert len(contacts) == 4
        low, high = contacts.points[:, 0].min(), contacts.points[:, 0].max()
        assert low == pytest.approx(x - 0.3, abs=1e-9)
        assert high == pytest.approx(min(x + 0.3, 1), abs=1e-3)
        np.testing.assert_allclose(contacts.normals, np.tile([0, 1.0, 0], (4, 1)), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), TWO)
def test_the_smallest_gap_changes_no_faster_than_bodies_move(first, second):
    """But for the switch of axes: within a hair, and where one that overlaps a little more is kept."""
    for bodies, (positions, rotations), rng in random_pairs(first, second, 2, seed=6):
        detector = BodyDetector(bodies, [True, True])
        contacts = detector.find(positions, rotations, 3.0)
        start = positions[1] - (contacts.gaps.min() - 0.01) * contacts.normals[0]
        velocity, spin = 0.1 * rng.normal(size=3) - 0.1 * contacts.normals[0], rng.normal(size=3)
        farthest = max(np.linalg.norm(reference.corners_of(bodies[1]), axis=1)) + reference.radius_of(bodies[1])
        step = 5e-4
        most = step * (np.linalg.norm(velocity) + np.linalg.norm(spin) * farthest)
        gaps = []
        for t in np.arange(120) * step:
            moved, turned = np.array([positions[0], start + t * velocity]), as_rotation(spin * t) @ rotations[1]
            gaps.append(detector.find(moved, np.array([rotations[0], turned]), 3.0).gaps.min())
        deepest = max(-min(gaps) - sum(map(reference.radius_of, bodies)), 0.0)
        assert np.abs(np.diff(gaps)).max() <= most + 5e-5 + 2e-3 * deepest


# --- cards --------------------------------------------------------------------------------------------------------

CARD = (0.05, 0.08, 0.0005)  # half sides: wide along x, long along y, thin along z


def leaning(angle: float) -> list[Box]:
    """Two cards that lean on each other with their upper edges, on a floor."""
    half = np.array(CARD)
    cards = []
    for side in (-1, 1):
        turn = as_rotation((side * angle, 0, 0))  # away from upright: the upper edge goes towards the other card
        corners = reference.corners_of(Box((0, 0, 0), half)) @ turn.T
        inner = np.max(-side * corners[:, 2]) * -side
        cards.append(Box((0, -corners[:, 1].min(), -inner), half, turn))
    return [Plane(), *cards]


@pytest.mark.parametrize("angle", [-0.2, -0.4, -0.6])
def test_cards_that_lean_touch_along_their_edges(angle):
    cards = leaning(angle)
    contacts = found(cards, reach=1e-4)
    assert contacts.bodies.tolist() == [[0, 1]] * 2 + [[0, 2]] * 2 + [[1, 2]] * 2
    np.testing.assert_allclose(contacts.gaps, 0, atol=1e-9)
    np.testing.assert_allclose(np.sort(contacts.points[:, 0].reshape(3, 2)), np.tile([-0.05, 0.05], (3, 1)), atol=1e-9)
    top = contacts.points[4:]
    np.testing.assert_allclose(top[:, 2], 0, atol=1e-9)
    assert (contacts.normals[4:, 2] > 0.7).all()  # from the one card to the other


@pytest.mark.slow
@pytest.mark.parametrize("angle", [-0.2, -0.4, -0.6])
@pytest.mark.parametrize("gap", [-1e-6, 0.0, 1e-6])
def test_contacts_of_leaning_cards_do_not_jump(angle, gap):
    """Moved by a ten thousandth of a card's width in any way, they keep normals, names and places."""
    cards = leaning(angle)
    positions, rotations = reference.first_poses(cards)
    positions[2, 2] += gap
    before = found(cards, (positions, rotations), reach=1e-4)
    rng = np.random.default_rng(0)
    for _ in range(40):
        moved = positions + rng.uniform(-1e-7, 1e-7, (3, 3)) * [[0], [1], [1]]
        turned = np.array([rotations[0], *(gently(rng, 1e-7) @ turn for turn in rotations[1:])])
        after = found(cards, (moved, turned), reach=1e-4)
        np.testing.assert_array_equal(after.features, before.features)
        np.testing.assert_allclose(after.normals, before.normals, atol=1e-5)
        np.testing.assert_allclose(after.points, before.points, atol=1e-6)


@pytest.mark.parametrize("side", [-1, 1])
def test_a_card_lies_on_the_edges_of_two_others(side):
    """A roof on two houses: edge on face, two contacts each."""
    left, right = leaning(-0.4)[1:], leaning(-0.4)[1:]
    top = max(np.max(body.surface().vertices[:, 1]) for body in left)
    roof = Box((0, top + CARD[2], 0), CARD, (np.pi / 2, 0, 0))
    bodies = [Plane(), roof, *left, *right]
    positions, rotations = reference.first_poses(bodies)
    positions[2:4, 2] += 0.05 * side
    positions[4:, 2] -= 0.05 * side
    contacts = found(bodies, (positions, rotations), reach=1e-5)
    upon = contacts.bodies[:, 0] == 1
    assert upon.sum() == 8
    np.testing.assert_allclose(contacts.normals[upon], np.tile([0, -1.0, 0], (8, 1)), atol=1e-9)
    np.testing.assert_allclose(contacts.gaps[upon], 0, atol=1e-9)
