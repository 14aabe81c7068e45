"""Contacts of position based solvers, one visit at a time; and Coulomb's friction of one vertex in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_twins import EPS32
from solvers.contact_twins import SLACK, Pairs, Walls, check_coulomb, push, run, wide
from vivace.solvers.kernels.contact import begin_contacts, begin_walls
from vivace.solvers.position_based.kernels.contact import push_contacts, push_contacts_apart, push_walls, visit_contacts


def test_walls_visit_by_visit():
    """Each vertex takes its walls in turn, from where the last has put it; five times, so that N and T shrink too."""
    walls = Walls()
    kinds = set()
    for _ in range(5):
        q, old = walls.q.copy(), walls.impulses.copy()
        walls.visit()
        for place in range(len(walls.starts) - 1):
            first, last = walls.starts[place], walls.starts[place + 1]
            v = walls.vertices[first]
            x = wide(q[v, :3])
            for c in range(first, last):
                if wide(walls.planes[c, :3]) @ x >= walls.planes[c, 3] and old[c, 3] <= 0:
                    kinds.add("apart")
                    np.testing.assert_array_equal(walls.impulses[c], old[c])
                    continue
                move, impulse = push(x, walls.planes[c], walls.before[c], old[c], *wide(walls.friction[c]))
                slips = np.linalg.norm(impulse[:3]) <= wide(walls.friction[c, 1]) * impulse[3] * (1 + SLACK)
                kinds.add("less" if impulse[3] < old[c, 3] else "slips" if slips else "sticks")
                np.testing.assert_allclose(walls.impulses[c], impulse, rtol=0, atol=SLACK)
                x = x + move
            np.testing.assert_allclose(walls.q[v, :3], x, rtol=0, atol=SLACK)
        np.testing.assert_array_equal(walls.q[:, 3], q[:, 3])
        check_coulomb(walls.impulses, walls.planes, walls.friction)
    assert kinds == {"apart", "less", "slips", "sticks"}


def test_walls_end_where_no_plane_is_violated():
    """Alternating projections onto a vertex's planes: one is exact at once, several converge."""
    walls = Walls(3)
    walls.friction[:] = 0
    for _ in range(500):
        walls.visit()
    gap = np.einsum("mc,mc->m", wide(walls.planes[:, :3]), wide(walls.q[walls.vertices, :3])) - walls.planes[:, 3]
    assert (gap >= -1e-4).all()
    single = np.isin(walls.vertices, np.flatnonzero(np.bincount(walls.vertices) == 1))
    assert (gap[single] >= -4 * EPS32).all()


def test_without_mass_or_contact_nothing_moves():
    walls = Walls()
    walls.q[:, 3] = 0
    q = walls.q.copy()
    walls.visit()
    np.testing.assert_array_equal(walls.q, q)
    np.testing.assert_array_equal(walls.impulses, 0)
    walls = Walls()
    walls.planes[:, 3] -= 10
    q = walls.q.copy()
    walls.visit()
    np.testing.assert_array_equal(walls.q, q)
    np.testing.assert_array_equal(walls.impulses, 0)


def test_walls_begin_where_the_step_began():
    """before = x at the start, carried along; a gap that is violated there already is lowered: it heals in steps."""
    walls = Walls()
    planes, motion = walls.planes.copy(), np.zeros((walls.m, 4), np.float32)
    motion[:, :3] = np.random.default_rng(1).normal(scale=0.1, size=(walls.m, 3))
    run(begin_walls, {**walls.table, "q": walls.previous, "motion": motion, "recovery": walls.recovery}, 0, walls.m)
    carried = walls.previous[walls.vertices, :3] + motion[:, :3]
    np.testing.assert_array_equal(walls.before[:, :3], carried)
    along = np.einsum("mc,mc->m", wide(planes[:, :3]), wide(carried))
    expected = np.minimum(planes[:, 3], along + walls.recovery)
    assert (expected < planes[:, 3]).any()
    np.testing.assert_allclose(walls.planes[:, 3], expected, rtol=0, atol=SLACK)
    np.testing.assert_array_equal(walls.planes[:, :3], planes[:, :3])
    np.testing.assert_array_equal(walls.before[:, 3], 0)


# --- one vertex: closed forms -----------------------------------------------------------------------------------------


def on_a_floor(q, normal, impulses, friction):
    """The arrays of one vertex with a wall through the origin, where the step began."""
    return {
        "vertices": np.zeros(1, np.int32),
        "planes": np.array([[*normal, 0]], np.float32),
        "before": np.zeros((1, 4), np.float32),
        "impulses": impulses,
        "friction": np.array(friction, np.float32),
        "q": q,
        "starts": np.array([0, 1], np.int32),
    }


def slide(ahead, depth, static, kinetic, visits=1, turn=0.0):
    """Where a vertex ends that was on the floor at the origin and is predicted `ahead` of it and `depth` below."""
    c, s = np.cos(turn), np.sin(turn)
    x = np.array([c * ahead + s * depth, s * ahead - c * depth, 0.0])
    q = np.array([[*x, 1.0]], np.float32)
    impulses = np.zeros((1, 4), np.float32)
    run(push_walls, on_a_floor(q, (-s, c, 0), impulses, (static, kinetic)), 0, 1, visits)
    return c * q[0, 0] + s * q[0, 1], -s * q[0, 0] + c * q[0, 1], impulses[0]


@pytest.mark.parametrize("visits", [1, 2, 10])
@pytest.mark.parametrize("turn", [0.0, 0.5, -2.0])
@pytest.mark.parametrize("mu", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("ahead", [0.01, -0.02, 0.05])
def test_friction_of_one_vertex(ahead, mu, turn, visits):
    """It ends at max(0, |ahead| - μ depth) in the direction it went, on the floor, whatever the number of visits."""
    depth = 0.04
    along, height, impulse = slide(ahead, depth, mu, mu, visits, turn)
    assert along == pytest.approx(np.sign(ahead) * max(0.0, abs(ahead) - mu * depth), abs=4 * EPS32)
    assert height == pytest.approx(0, abs=4 * EPS32)
    assert impulse[3] == pytest.approx(depth, abs=4 * EPS32)


def test_static_friction_holds_longer_than_kinetic_friction_brakes():
    """At rest up to μ_s depth; beyond it the step is shortened by μ_k depth: a jump at the threshold."""
    static, kinetic, depth = 0.8, 0.5, 0.1
    assert slide(0.079, depth, static, kinetic)[0] == pytest.approx(0, abs=EPS32)
    assert slide(0.081, depth, static, kinetic)[0] == pytest.approx(0.081 - 0.05, abs=4 * EPS32)


def test_what_rises_is_not_held():
    """Above the floor there is neither push nor friction."""
    along, height, impulse = slide(0.05, -0.02, 1.0, 1.0)
    assert (along, height) == (np.float32(0.05), np.float32(0.02))
    np.testing.assert_array_equal(impulse, 0)


def test_a_push_is_taken_back_when_it_is_no_longer_needed():
    """N = 0.04 from the first visit; something lifts the vertex by 0.03: N falls to 0.01, and T with it."""
    q, impulses = np.array([[0.1, -0.04, 0, 1]], np.float32), np.zeros((1, 4), np.float32)
    arrays = on_a_floor(q, (0, 1, 0), impulses, (0.5, 0.5))
    run(push_walls, arrays, 0, 1)
    np.testing.assert_allclose(q[0, :3], [0.1 - 0.02, 0, 0], atol=2 * EPS32)
    q[0, 1] += 0.03
    run(push_walls, arrays, 0, 1)
    np.testing.assert_allclose(impulses[0], [-0.005, 0, 0, 0.01], atol=4 * EPS32)
    np.testing.assert_allclose(q[0, :3], [0.1 - 0.005, 0, 0], atol=4 * EPS32)
    q[0, 1] += 0.05
    run(push_walls, arrays, 0, 1)
    np.testing.assert_array_equal(impulses[0], 0)
    np.testing.assert_allclose(q[0, :3], [0.1, 0.04, 0], atol=4 * EPS32)


# --- surfaces against surfaces


def test_pairs_begin_where_the_step_began():
    pairs = Pairs()
    planes = pairs.planes.copy()
    motion = np.zeros((pairs.m, 4), np.float32)
    motion[:, :3] = np.random.default_rng(3).normal(scale=0.02, size=(pairs.m, 3))  # of bodies that patches touch
    run(begin_contacts, {**pairs.table, "q": pairs.previous, "recovery": pairs.recovery, "motion": motion}, 0, pairs.m)
    z = pairs.z(pairs.previous) + wide(motion[:, :3])
    np.testing.assert_allclose(pairs.before[:, :3], z, rtol=0, atol=SLACK)
    expected = np.minimum(planes[:, 3], np.einsum("mc,mc->m", wide(planes[:, :3]), z) + pairs.recovery)
    assert (expected < planes[:, 3]).any()
    np.testing.assert_allclose(pairs.planes[:, 3], expected, rtol=0, atol=SLACK)


@pytest.mark.slow
def test_pairs_visit_by_visit():
    """Δx_k = a_k w_k/Σ a² w times the way z has to go; one contact after the other, thrice over."""
    pairs = Pairs()
    pushed = skipped = 0
    for c in [*range(pairs.m)] * 3:
        q, old = pairs.q.copy(), pairs.impulses[c].copy()
        run(push_contacts, pairs.pushing, c, c + 1)
        corners, weight = pairs.corners[c], pairs.weight(c, q)
        apart = wide(pairs.planes[c, :3]) @ pairs.z(q)[c] >= pairs.planes[c, 3] and old[3] <= 0
        if weight == 0 or apart:
            np.testing.assert_array_equal(pairs.q, q)
            np.testing.assert_array_equal(pairs.impulses[c], old)
            skipped += 1
            continue
        move, impulse = pairs.push(c, q, old)
        expected = wide(q[corners, :3]) + np.outer(wide(pairs.a[c]) * wide(q[corners, 3]) / weight, move)
        scale = 1 + np.abs(pairs.a[c] * q[corners, 3]).max() / weight
        np.testing.assert_allclose(pairs.q[corners, :3], expected, rtol=0, atol=SLACK * scale)
        np.testing.assert_allclose(pairs.impulses[c], impulse, rtol=0, atol=SLACK)
        others = np.setdiff1d(np.arange(pairs.n), corners)
        np.testing.assert_array_equal(pairs.q[others], q[others])
        check_coulomb(pairs.impulses[c : c + 1], pairs.planes[c : c + 1], pairs.friction[c : c + 1])
        pushed += 1
    assert min(pushed, skipped) > 20


def test_pairs_conserve_momentum_and_open_their_gap():
    """Σ_k Δx_k/w_k = 0 since Σ a_k = 0; and without friction n·z = gap after one visit."""
    pairs = Pairs(5)
    pairs.q[:, 3] = pairs.rng.uniform(0.5, 2, pairs.n)
    pairs.friction[:] = 0
    for c in range(pairs.m):
        q = pairs.q.copy()
        run(push_contacts, pairs.pushing, c, c + 1)
        moved = (wide(pairs.q) - wide(q))[:, :3]
        size = np.abs(moved).max() + EPS32 * np.abs(q).max()
        np.testing.assert_allclose((moved / wide(q[:, 3:])).sum(axis=0), 0, atol=16 * EPS32 * (np.abs(q).max() + size))
        if np.abs(moved).max() > 0:
            assert wide(pairs.planes[c, :3]) @ pairs.z(pairs.q)[c] == pytest.approx(pairs.planes[c, 3], abs=2 * SLACK)


def test_pairs_all_pinned_do_nothing():
    pairs = Pairs()
    pairs.q[:, 3] = 0
    q = pairs.q.copy()
    run(push_contacts, pairs.pushing, 0, pairs.m)
    np.testing.assert_array_equal(pairs.q, q)
    np.testing.assert_array_equal(pairs.impulses, 0)
    slots = np.ones((4 * pairs.m, 4), np.float32)
    targets = np.arange(4 * pairs.m, dtype=np.int32)
    apart = {**pairs.pushing, "targets": targets, "slots": slots, "shares": np.ones(pairs.n, np.float32)}
    run(push_contacts_apart, apart, 0, pairs.m)
    np.testing.assert_array_equal(slots, 0)
    np.testing.assert_array_equal(pairs.impulses, 0)


@pytest.mark.slow
def test_pairs_into_slots():
    """All from the same positions, each shortened by the smallest share of its corners: momentum is conserved."""
    pairs = Pairs(2)
    shares = pairs.rng.uniform(0.1, 1, pairs.n).astype(np.float32)
    targets = pairs.rng.permutation(4 * pairs.m).astype(np.int32)
    slots, q = np.zeros((4 * pairs.m, 4), np.float32), pairs.q.copy()
    apart = {**pairs.pushing, "targets": targets, "slots": slots, "shares": shares}
    for _ in range(3):
        old = pairs.impulses.copy()
        run(push_contacts_apart, apart, 0, pairs.m)
        np.testing.assert_array_equal(pairs.q, q)
        for c in range(pairs.m):
            corners, weight = pairs.corners[c], pairs.weight(c, q)
            share = float(shares[corners].min())
            move, impulse = pairs.push(c, q, old[c]) if weight > 0 else (np.zeros(3), wide(old[c]))
            factors = wide(pairs.a[c]) * wide(q[corners, 3]) * (share / weight if weight > 0 else 0)
            mine = slots[targets[4 * c : 4 * c + 4]]
            scale = 1 + np.abs(factors).max()
            np.testing.assert_allclose(mine[:, :3], np.outer(factors, move), rtol=0, atol=SLACK * scale)
            np.testing.assert_array_equal(mine[:, 3], 0)
            expected = wide(old[c]) + share * (impulse - wide(old[c]))
            np.testing.assert_allclose(pairs.impulses[c], expected, rtol=0, atol=SLACK)
        check_coulomb(pairs.impulses, pairs.planes, pairs.friction)


@pytest.mark.slow
def test_pairs_by_vertex():
    """Σ a_k/W move over the contacts of a vertex, with an impulse for each corner; ω of the iteration on λ's side."""
    pairs = Pairs(4)
    flat = np.argsort(pairs.corners.ravel(), kind="stable").astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(pairs.corners.ravel(), minlength=pairs.n))]).astype(np.int32)
    order = pairs.rng.permutation(pairs.n).astype(np.int32)
    shares, weights = pairs.rng.uniform(0.1, 0.6, pairs.n).astype(np.float32), np.array([1, 1.5], np.float32)
    impulses, moved = np.zeros((4 * pairs.m, 4), np.float32), np.zeros((pairs.n, 4), np.float32)
    table = {**pairs.pushing, "impulses": impulses, "order": order, "starts": starts, "incidences": flat}
    table |= {"moved": moved, "shares": shares, "weights": weights}
    q = pairs.q.copy()
    for iteration, omega in enumerate([1.0, 1.5, 1.5]):
        old, moved[:] = impulses.copy(), 0.25
        run(visit_contacts, table, 0, pairs.n, first=iteration)
        np.testing.assert_array_equal(pairs.q, q)
        for v in range(pairs.n):
            total, scale = np.full(3, 0.25), 1.0
            for e in range(starts[v], starts[v + 1]):
                c, corner = divmod(int(flat[e]), 4)
                weight = pairs.weight(c, q)
                if weight == 0:
                    np.testing.assert_array_equal(impulses[e], old[e])
                    continue
                move, impulse = pairs.push(c, q, old[e])
                total += float(pairs.a[c, corner]) / weight * move
                scale += abs(float(pairs.a[c, corner])) / weight
                expected = wide(old[e]) + omega * float(shares[v]) * (impulse - wide(old[e]))
                np.testing.assert_allclose(impulses[e], expected, rtol=0, atol=SLACK)
            np.testing.assert_allclose(moved[v, :3], total, rtol=0, atol=SLACK * scale)
