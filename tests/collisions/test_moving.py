"""Colliders that move through a step: what a vertex meets is what it meets seen from the collider."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from vivace.collisions import Box, Capsule, Sphere
from vivace.collisions.collider_contacts import ColliderSearch
from vivace.collisions.moving import MovingSearch, Poses

SHAPES = [Box((0.3, 0.1, 0.0), (0.2, 0.1, 0.15), rotate=(0.2, 0.4, 0.1)), Sphere((-0.3, 0, 0), 0.2),
          Capsule((0, 0.4, 0), (0.1, 0.6, 0.1), 0.1)]  # fmt: skip
THICKNESS = 0.01


def rows(points):
    out = np.zeros((len(points), 4), np.float32)
    out[:, :3] = points
    return out


def pose(count, seed):
    """Where colliders are: x_made = R x + t, and the same backwards."""
    rng = np.random.default_rng(seed)
    turns = Rotation.from_rotvec(rng.normal(size=(count, 3))).as_matrix()
    return Poses(turns, rng.normal(size=(count, 3)))


def search(masses=np.inf, count=3000):
    return MovingSearch(SHAPES, np.tile([0.4, 0.3], (3, 1)), THICKNESS, 5, np.full(3, masses), np.full(count, 1e-3))


@pytest.mark.parametrize("which", range(3))
def test_contacts_are_those_seen_from_the_collider(which):
    """Vertices carried along with a collider from one pose to another meet it as they would if it stood still."""
    rng = np.random.default_rng(which)
    seen_q = rng.uniform(-0.7, 0.7, (3000, 3))
    seen_s = seen_q + rng.normal(scale=0.05, size=seen_q.shape)
    first, last = pose(3, 1), pose(3, 2)
    back = [(seen - p.shifts[which]) @ p.turns[which] for seen, p in ((seen_q, first), (seen_s, last))]
    moving = search()
    moving.place(first, last)
    found = moving.find(rows(back[0]), rows(back[1]), 2)
    found = found.ordered(np.flatnonzero(found.second == which + 5))
    still = ColliderSearch([SHAPES[which]], THICKNESS).find(rows(seen_q), rows(seen_s), 1)
    assert len(found) > 30
    both, here, there = np.intersect1d(found.vertices[:, 0], still.vertices[:, 0], return_indices=True)
    assert len(both) > 0.98 * max(len(found), len(still))  # float32 positions differ where something is just reached
    normals = still.planes[there, :3] @ last.turns[which]  # from where it was made to the world
    agree = np.linalg.norm(normals - found.planes[here, :3], axis=1) < 1e-3
    assert agree.mean() > 0.98
    gaps = still.planes[there, 3] - still.planes[there, :3] @ last.shifts[which]
    assert found.planes[here, 3][agree] == pytest.approx(gaps[agree], abs=1e-4)
    # what sticks to the collider ends where the collider carries it
    carried = (seen_q[both] - last.shifts[which]) @ last.turns[which]
    assert back[0][both] + found.motion[here] == pytest.approx(carried, abs=1e-5)


def test_contacts_follow_another_end_of_the_step():
    rng = np.random.default_rng(5)
    q = rows(rng.uniform(-0.7, 0.7, (3000, 3)))
    start = Poses(np.tile(np.eye(3), (3, 1, 1)), np.zeros((3, 3)))
    moving = search()
    moving.place(start, start)
    found = moving.find(q, q, 1)
    up = Poses(start.turns, np.tile([0.0, -0.25, 0.0], (3, 1)))  # all a quarter of a metre higher
    moved = moving.follow(found, up)
    assert moved.planes[:, :3] == pytest.approx(found.planes[:, :3])
    assert moved.planes[:, 3] == pytest.approx(found.planes[:, 3] + 0.25 * found.planes[:, 1], abs=1e-6)
    assert moved.motion == pytest.approx(np.tile([0.0, 0.25, 0.0], (len(found), 1)), abs=1e-6)


def test_contacts_with_bodies_that_give_way_are_as_stiff_as_their_mass():
    """All contacts of a body together: κ M/h² with κ = 3, in units of what contacts with walls have, 300 m/h²."""
    rng = np.random.default_rng(6)
    q = rows(rng.uniform(-0.7, 0.7, (3000, 3)))
    start = Poses(np.tile(np.eye(3), (3, 1, 1)), np.zeros((3, 3)))
    for mass in (0.01, 0.5):
        moving = search(mass)
        moving.place(start)
        found = moving.find(q, q, 1)
        for k in range(3):
            total = 300.0 * 1e-3 * found.share[found.second == k + 5].sum()
            assert total == pytest.approx(3.0 * mass, rel=1e-4)
    walls = search()
    walls.place(start)
    assert (walls.find(q, q, 1).share == 1.0).all()


def test_nothing_is_left_inside():
    rng = np.random.default_rng(7)
    start = Poses(np.tile(np.eye(3), (3, 1, 1)), np.zeros((3, 3)))
    outside = rng.uniform(-1.0, 1.0, (4000, 3))
    outside = outside[np.min([shape.distance(outside) for shape in SHAPES], axis=0) > THICKNESS]
    x = rows(outside + rng.normal(scale=0.2, size=outside.shape))
    moving = search(count=len(x))
    moving.place(start)
    pushes = moving.keep_out(rows(outside), x, np.zeros(len(x), bool), 0.001, 1)
    assert len(pushes.vertices) > 40
    deepest = np.min([shape.distance(x[:, :3].astype(float)) for shape in SHAPES], axis=0)
    assert (deepest > 0).mean() > 0.999
