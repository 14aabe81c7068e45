"""Contacts, one visit at a time, against float64; and the closed forms of Coulomb's friction for one vertex.

Positions and gaps are of order 1 here, so that a separation is known to a few 2⁻²³ and so are N and T.
"""

from __future__ import annotations

import numpy as np
import pytest

from vivace.kernels.contact import (
    begin_contacts,
    begin_walls,
    fall_asleep,
    keep_out,
    press_walls,
    pull_contacts,
    pull_walls,
    push_contacts,
    push_contacts_apart,
    push_walls,
    remember_walls,
    take_walls,
    visit_contacts,
)
from vivace.kernels.team import Job, Phase

from .twins import EPS32

SLACK = 32 * EPS32


def run(kernel, arrays, begin, end, iterations=1, first=0):
    Job([Phase(kernel, arrays, begin, end, serial=True)], 1).run(iterations, first=first)


def wide(rows):
    return np.asarray(rows, np.float64)


# --- the twin ---------------------------------------------------------------------------------------------------------


def push(z, plane, before, impulse, static, kinetic):
    """N ← max(0, N - (n·z - gap)); T ← T - u_t, shortened to μ_k N if longer than μ_s N. The motion, T and N."""
    z, plane, before, impulse = wide(z)[:3], wide(plane), wide(before)[:3], wide(impulse)
    n, gap, t, pushed = plane[:3], plane[3], impulse[:3], impulse[3]
    total = max(0.0, pushed - (n @ z - gap))
    u = z - before + (total - pushed) * n
    new = t - (u - (n @ u) * n)
    size = np.linalg.norm(new)
    if size > static * total:
        new = new * (kinetic * total / size)
    return (total - pushed) * n + new - t, np.append(new, total)


def pull(z, plane, before, static, kinetic):
    """p - z of projective dynamics: depth n, and back across it by u_t, or μ_k depth where that exceeds μ_s depth."""
    z, plane, before = wide(z)[:3], wide(plane), wide(before)[:3]
    n = plane[:3]
    depth = plane[3] - n @ z
    if depth <= 0:
        return np.zeros(3)
    u = z - before + depth * n
    u = u - (n @ u) * n
    size = np.linalg.norm(u)
    return depth * n - u * (1.0 if size <= static * depth else kinetic * depth / size)


def unit(rng, count):
    n = rng.normal(size=(count, 3))
    return n / np.linalg.norm(n, axis=1, keepdims=True)


# --- vertices against walls -------------------------------------------------------------------------------------------


class Walls:
    """30 vertices with 0 to 3 walls each, near enough that about half are violated."""

    def __init__(self, seed=0):
        rng = self.rng = np.random.default_rng(seed)
        self.n = 30
        self.vertices = np.repeat(np.arange(self.n), np.arange(self.n) % 4).astype(np.int32)
        self.m = len(self.vertices)
        first = np.flatnonzero(np.diff(self.vertices, prepend=-1))
        self.starts = np.append(first, self.m).astype(np.int32)
        self.q = rng.normal(size=(self.n, 4)).astype(np.float32)
        self.q[:, 3] = rng.uniform(0.5, 2, self.n)
        self.previous = (self.q + 0.1 * rng.normal(size=(self.n, 4))).astype(np.float32)
        normals = unit(rng, self.m)
        offset = np.einsum("mc,mc->m", normals, self.q[self.vertices, :3]) + 0.1 * rng.normal(size=self.m)
        self.planes = np.column_stack([normals, offset]).astype(np.float32)
        self.before = self.previous[self.vertices].copy()
        self.before[:, 3] = 0
        self.friction = np.sort(rng.uniform(0, 1, (self.m, 2)), axis=1)[:, ::-1].astype(np.float32).copy()
        self.impulses = np.zeros((self.m, 4), np.float32)
        self.coefficients, self.recovery = np.zeros(1, np.float32), np.array([0.01], np.float32)

    @property
    def table(self):
        given = (self.vertices, self.coefficients, self.planes, self.before, self.impulses, self.friction, self.q)
        return (*given, self.recovery, self.starts)

    def visit(self):
        run(push_walls, self.table, 0, len(self.starts) - 1)


def check_coulomb(impulses, planes, friction):
    """N >= 0, T across n, |T| <= μ_s N."""
    t, total = wide(impulses[:, :3]), wide(impulses[:, 3])
    assert (total >= 0).all()
    assert (np.linalg.norm(t, axis=1) <= friction[:, 0] * total * (1 + SLACK) + SLACK).all()
    assert (np.abs(np.einsum("mc,mc->m", t, wide(planes[:, :3]))) <= SLACK).all()


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
    """before = x at the start; a gap that is violated there already is lowered to x + recovery: it heals in steps."""
    walls = Walls()
    planes = walls.planes.copy()
    arrays = (*walls.table[:6], walls.previous, walls.recovery)
    run(begin_walls, arrays, 0, walls.m)
    np.testing.assert_array_equal(walls.before[:, :3], walls.previous[walls.vertices, :3])
    along = np.einsum("mc,mc->m", wide(planes[:, :3]), wide(walls.previous[walls.vertices, :3]))
    expected = np.minimum(planes[:, 3], along + 0.01)
    assert (expected < planes[:, 3]).any()
    np.testing.assert_allclose(walls.planes[:, 3], expected, rtol=0, atol=SLACK)
    np.testing.assert_array_equal(walls.planes[:, :3], planes[:, :3])
    np.testing.assert_array_equal(walls.before[:, 3], 0)


# --- one vertex: closed forms -----------------------------------------------------------------------------------------


def slide(ahead, depth, static, kinetic, visits=1, turn=0.0):
    """Where a vertex ends that was on the floor at the origin and is predicted `ahead` of it and `depth` below."""
    c, s = np.cos(turn), np.sin(turn)
    x = np.array([c * ahead + s * depth, s * ahead - c * depth, 0.0])
    q = np.array([[*x, 1.0]], np.float32)
    planes = np.array([[-s, c, 0, 0]], np.float32)
    impulses = np.zeros((1, 4), np.float32)
    arrays = (
        *(np.zeros(1, np.int32), np.zeros(1, np.float32), planes, np.zeros((1, 4), np.float32), impulses),
        *(np.array([static, kinetic], np.float32), q, np.zeros(1, np.float32), np.array([0, 1], np.int32)),
    )
    run(push_walls, arrays, 0, 1, visits)
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
    arrays = (
        *(np.zeros(1, np.int32), np.zeros(1, np.float32), np.array([[0, 1, 0, 0]], np.float32)),
        *(np.zeros((1, 4), np.float32), impulses, np.array([0.5, 0.5], np.float32), q),
        *(np.zeros(1, np.float32), np.array([0, 1], np.int32)),
    )
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


# --- surfaces against surfaces ----------------------------------------------------------------------------------------


class Pairs:
    """Vertex-triangle and edge-edge contacts of random points, some vertices pinned."""

    def __init__(self, seed=0, m=40, n=24):
        rng = self.rng = np.random.default_rng(seed)
        self.m, self.n = m, n
        self.corners = np.stack([rng.permutation(n)[:4] for _ in range(m)]).astype(np.int32)
        shares, (t, r) = rng.dirichlet([1, 1, 1], m), rng.uniform(0, 1, (2, m))
        point = np.column_stack([np.ones(m), -shares])
        edges = np.column_stack([1 - t, t, -(1 - r), -r])
        self.a = np.where(np.arange(m)[:, None] % 2, edges, point).astype(np.float32)
        self.q = rng.normal(size=(n, 4)).astype(np.float32)
        self.q[:, 3] = rng.uniform(0.5, 2, n)
        self.q[::7, 3] = 0
        self.previous = (self.q + 0.1 * rng.normal(size=(n, 4))).astype(np.float32)
        normals = unit(rng, m)
        offset = np.einsum("mc,mc->m", normals, self.z(self.q)) + 0.1 * rng.normal(size=m)
        self.planes = np.column_stack([normals, offset]).astype(np.float32)
        self.friction = np.sort(rng.uniform(0, 1, (m, 2)), axis=1)[:, ::-1].astype(np.float32).copy()
        self.before = np.zeros((m, 4), np.float32)
        self.before[:, :3] = self.z(self.previous)
        self.impulses, self.recovery = np.zeros((m, 4), np.float32), np.array([0.01], np.float32)

    def z(self, q):
        """Σ a_k x_k, (m, 3)"""
        return np.einsum("mk,mkc->mc", wide(self.a), wide(q[self.corners, :3]))

    def weight(self, c, q):
        return float(wide(self.a[c]) ** 2 @ wide(q[self.corners[c], 3]))

    @property
    def table(self):
        given = (self.corners.ravel(), self.a.ravel(), self.planes, self.before, self.impulses)
        return (*given, self.friction.ravel(), self.q, self.recovery)

    def push(self, c, q, impulse):
        return push(self.z(q)[c], self.planes[c], self.before[c], impulse, *wide(self.friction[c]))


def test_pairs_begin_where_the_step_began():
    pairs = Pairs()
    planes = pairs.planes.copy()
    run(begin_contacts, (*pairs.table[:6], pairs.previous, pairs.recovery), 0, pairs.m)
    z = pairs.z(pairs.previous)
    np.testing.assert_allclose(pairs.before[:, :3], z, rtol=0, atol=SLACK)
    expected = np.minimum(planes[:, 3], np.einsum("mc,mc->m", wide(planes[:, :3]), z) + 0.01)
    assert (expected < planes[:, 3]).any()
    np.testing.assert_allclose(pairs.planes[:, 3], expected, rtol=0, atol=SLACK)


def test_pairs_visit_by_visit():
    """Δx_k = a_k w_k/Σ a² w times the way z has to go; one contact after the other, thrice over."""
    pairs = Pairs()
    pushed = skipped = 0
    for c in [*range(pairs.m)] * 3:
        q, old = pairs.q.copy(), pairs.impulses[c].copy()
        run(push_contacts, pairs.table, c, c + 1)
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
        run(push_contacts, pairs.table, c, c + 1)
        moved = (wide(pairs.q) - wide(q))[:, :3]
        size = np.abs(moved).max() + EPS32 * np.abs(q).max()
        np.testing.assert_allclose((moved / wide(q[:, 3:])).sum(axis=0), 0, atol=16 * EPS32 * (np.abs(q).max() + size))
        if np.abs(moved).max() > 0:
            assert wide(pairs.planes[c, :3]) @ pairs.z(pairs.q)[c] == pytest.approx(pairs.planes[c, 3], abs=2 * SLACK)


def test_pairs_all_pinned_do_nothing():
    pairs = Pairs()
    pairs.q[:, 3] = 0
    q = pairs.q.copy()
    run(push_contacts, pairs.table, 0, pairs.m)
    np.testing.assert_array_equal(pairs.q, q)
    np.testing.assert_array_equal(pairs.impulses, 0)
    slots = np.ones((4 * pairs.m, 4), np.float32)
    targets = np.arange(4 * pairs.m, dtype=np.int32)
    run(push_contacts_apart, (*pairs.table, targets, slots, np.ones(pairs.n, np.float32)), 0, pairs.m)
    np.testing.assert_array_equal(slots, 0)
    np.testing.assert_array_equal(pairs.impulses, 0)


def test_pairs_into_slots():
    """All from the same positions, each shortened by the smallest share of its corners: momentum is conserved."""
    pairs = Pairs(2)
    shares = pairs.rng.uniform(0.1, 1, pairs.n).astype(np.float32)
    targets = pairs.rng.permutation(4 * pairs.m).astype(np.int32)
    slots, q = np.zeros((4 * pairs.m, 4), np.float32), pairs.q.copy()
    for _ in range(3):
        old = pairs.impulses.copy()
        run(push_contacts_apart, (*pairs.table, targets, slots, shares), 0, pairs.m)
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


def test_pairs_by_vertex():
    """Σ a_k/W move over the contacts of a vertex, with an impulse for each corner; ω of the iteration on λ's side."""
    pairs = Pairs(4)
    flat = np.argsort(pairs.corners.ravel(), kind="stable").astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(pairs.corners.ravel(), minlength=pairs.n))]).astype(np.int32)
    order = pairs.rng.permutation(pairs.n).astype(np.int32)
    shares, weights = pairs.rng.uniform(0.1, 0.6, pairs.n).astype(np.float32), np.array([1, 1.5], np.float32)
    impulses, moved = np.zeros((4 * pairs.m, 4), np.float32), np.zeros((pairs.n, 4), np.float32)
    given = pairs.table
    table = (*given[:4], impulses, *given[5:], order, starts, flat, moved, shares, weights)
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


# --- projective dynamics ----------------------------------------------------------------------------------------------


def test_pull_of_walls():
    """Slot of a contact: w (x + what leads back). What is beyond the number of contacts is not touched."""
    walls = Walls(1)
    weights = walls.rng.uniform(10, 1000, walls.m).astype(np.float32)
    slots, out = walls.rng.permutation(walls.m).astype(np.int32), np.full((walls.m, 4), np.nan, np.float32)
    used = walls.m - 5
    arrays = (
        *(walls.vertices, walls.coefficients, walls.planes, walls.before, walls.friction.ravel(), weights, slots),
        *(walls.q, out, np.array([used], np.int64)),
    )
    run(pull_walls, arrays, 0, walls.m)
    touching = 0
    for c in range(used):
        x = wide(walls.q[walls.vertices[c], :3])
        force = pull(x, walls.planes[c], walls.before[c], *wide(walls.friction[c]))
        touching += bool(force.any())
        np.testing.assert_allclose(out[slots[c], :3] / weights[c], x + force, rtol=0, atol=SLACK)
    assert 5 < touching < used - 5
    assert np.isnan(out[slots[used:]]).all()


def test_pull_of_pairs():
    """Slot of corner k: w |a_k| Σ|a| x_k + w a_k force; apart it is the majorant's own part, which pulls nowhere."""
    pairs = Pairs(1)
    weights = pairs.rng.uniform(10, 1000, pairs.m).astype(np.float32)
    slots, out = pairs.rng.permutation(4 * pairs.m).astype(np.int32), np.full((4 * pairs.m, 4), np.nan, np.float32)
    used = pairs.m - 3
    arrays = (
        *(pairs.corners.ravel(), pairs.a.ravel(), pairs.planes, pairs.before, pairs.friction.ravel(), weights, slots),
        *(pairs.q, out, np.array([used], np.int64)),
    )
    run(pull_contacts, arrays, 0, pairs.m)
    for c in range(used):
        a, x = wide(pairs.a[c]), wide(pairs.q[pairs.corners[c], :3])
        force = pull(pairs.z(pairs.q)[c], pairs.planes[c], pairs.before[c], *wide(pairs.friction[c]))
        expected = (np.abs(a) * np.abs(a).sum())[:, None] * x + np.outer(a, force)
        mine = out[slots[4 * c : 4 * c + 4], :3] / weights[c]
        np.testing.assert_allclose(mine, expected, rtol=0, atol=2 * SLACK * np.abs(x).max())
    assert np.isnan(out[slots[4 * used :]]).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_diagonal_of_contacts_is_a_majorant(seed):
    """diag(|a_k| Σ_j |a_j|) - aaᵀ is positive semidefinite."""
    a = np.random.default_rng(seed).normal(size=4)
    gap = np.diag(np.abs(a) * np.abs(a).sum()) - np.outer(a, a)
    assert np.linalg.eigvalsh(gap)[0] >= -1e-14 * (a @ a)


@pytest.mark.parametrize(("ahead", "moved"), [(0.01, 0.0), (0.05, 0.05 - 0.3 * 0.04)])
def test_pull_of_one_vertex_is_coulombs(ahead, moved):
    """A vertex `ahead` of where it began and 0.04 below the floor is pulled up, and back by μ depth at most."""
    q = np.array([[ahead, -0.04, 0, 0]], np.float32)
    out = np.zeros((1, 4), np.float32)
    arrays = (
        *(np.zeros(1, np.int32), np.zeros(1, np.float32), np.array([[0, 1, 0, 0]], np.float32)),
        *(np.zeros((1, 4), np.float32), np.array([0.3, 0.3], np.float32), np.ones(1, np.float32)),
        *(np.zeros(1, np.int32), q, out, np.ones(1, np.int64)),
    )
    run(pull_walls, arrays, 0, 1)
    np.testing.assert_allclose(out[0, :3], [moved, 0, 0], atol=4 * EPS32)


def test_nothing_ends_behind_a_wall():
    """x + depth n where depth > 0, else the same bits; beyond the number of contacts nothing is done."""
    walls = Walls(6)
    planes, used = walls.planes, walls.m - 4
    q = walls.q.copy()
    run(keep_out, (walls.vertices, planes, walls.q, np.array([used], np.int64)), 0, walls.m)
    x = wide(q)
    for c in range(used):
        v = walls.vertices[c]
        x[v, :3] += max(0.0, planes[c, 3] - wide(planes[c, :3]) @ x[v, :3]) * wide(planes[c, :3])
    np.testing.assert_allclose(walls.q, x, rtol=0, atol=SLACK)
    still = np.setdiff1d(np.arange(walls.n), walls.vertices[:used])
    np.testing.assert_array_equal(walls.q[still], q[still])
    once = np.isin(walls.vertices[:used], np.flatnonzero(np.bincount(walls.vertices[:used]) == 1))
    gap = np.einsum("mc,mc->m", wide(planes[:used, :3]), wide(walls.q[walls.vertices[:used], :3])) - planes[:used, 3]
    assert (gap[once] >= -8 * EPS32).all()


@pytest.mark.parametrize("seed", range(3))
def test_fall_asleep(seed):
    """x = q where |x - q| < limit, the vertex is in a contact and nobody holds it."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(200, 4)).astype(np.float32)
    x = q + 0.01 * rng.normal(size=(200, 4)).astype(np.float32)
    walls, pairs = rng.integers(0, 200, 60).astype(np.int32), rng.integers(0, 200, (20, 4)).astype(np.int32)
    held = rng.random(200) < 0.2
    touching = np.isin(np.arange(200), np.concatenate([walls, pairs.ravel()]))
    still = touching & ~held & (np.linalg.norm((x - q)[:, :3].astype(np.float64), axis=1) < 0.015)
    expected = np.where(still[:, None], q, x)
    fall_asleep(q, x, walls, pairs, held, 0.015)
    np.testing.assert_array_equal(x, expected)
    assert 10 < still.sum() < 100


def taken(vertices, planes, friction, keys, held, rank, q, s, diagonal, stiffness, recovery, room):
    """`take_walls`: how many, (vertices, planes, before, friction, weights, keys, places), `lowered`, `added`."""
    to, to_planes, before, places = np.zeros(room, np.int32), *np.zeros((3, room, 4), np.float32)
    to_friction, weights, to_keys = np.zeros(2 * room, np.float32), np.zeros(room, np.float32), np.zeros(room, np.int64)
    lowered, added = np.zeros((len(vertices), 4), np.float32), np.zeros(len(diagonal))
    count = take_walls(
        *(vertices, planes, friction, keys, *held, rank, q, s, diagonal, stiffness, np.float32(recovery)),
        *(to, to_planes, before, to_friction, weights, to_keys, places, lowered, added),
    )
    return count, (to, to_planes, before, to_friction, weights, to_keys, places), lowered, added


@pytest.mark.parametrize("remembered", [False, True])
@pytest.mark.parametrize("stiffness", [-1.0, 50.0])
@pytest.mark.parametrize("room", [100, 5])
def test_take_walls(room, stiffness, remembered):
    """Those with n·s < gap + N/w, in order; gaps are min(gap, n·q + recovery) + N/w, before is q + (T - n n·T)/w.

    T and N are those of the same key, nothing for what did not touch before; weights add up at their vertices. Places
    are (q, gap) without T and N.
    """
    rng = np.random.default_rng(0)
    n, m = 40, 60
    q, s = rng.normal(size=(2, n, 4)).astype(np.float32)
    vertices, rank = np.sort(rng.integers(0, n, m)).astype(np.int32), rng.permutation(n).astype(np.int32)
    planes, friction = rng.normal(size=(m, 4)).astype(np.float32), rng.random((m, 2)).astype(np.float32)
    planes[:, :3] /= np.linalg.norm(planes[:, :3], axis=1, keepdims=True)
    diagonal = rng.uniform(1, 100, n)
    keys = (vertices.astype(np.int64) << 32) + 3 * np.arange(m)
    others = np.concatenate([keys[rng.random(m) < 0.3] + 1, [-5, keys[-1] + 7]])  # gone since, in between and around
    old_keys = np.sort(np.concatenate([keys[rng.random(m) < 0.6], others]))
    old_forces = (60 * rng.normal(size=(len(old_keys), 4))).astype(np.float32)
    old_forces[:, 3] = np.abs(old_forces[:, 3])
    if not remembered:
        old_keys, old_forces = old_keys[:0], old_forces[:0]
    held = old_keys, old_forces
    count, found, lowered, added = taken(
        *(vertices, planes, friction, keys, held, rank, q, s, diagonal, stiffness, 0.1, room),
    )
    to, to_planes, before, to_friction, weights, to_keys, places = found
    w = diagonal[vertices] if stiffness < 0 else np.full(m, stiffness)
    normals, points = wide(planes[:, :3]), wide(q[vertices, :3])
    gaps = np.minimum(planes[:, 3], (normals * points).sum(axis=1) + 0.1)
    np.testing.assert_allclose(lowered, np.column_stack([planes[:, :3], gaps]), rtol=0, atol=8 * EPS32)
    known = dict(zip(old_keys.tolist(), wide(old_forces) if len(old_forces) else [], strict=True))
    carried = np.array([known.get(key, np.zeros(4)) for key in keys.tolist()]) / w[:, None]
    across = carried[:, :3] - (carried[:, :3] * normals).sum(axis=1)[:, None] * normals
    height = (normals * s[vertices, :3]).sum(axis=1) - planes[:, 3]
    some = np.flatnonzero(height < carried[:, 3])
    assert count == len(some)
    assert np.count_nonzero(height < 0) < count - 5 or not remembered  # some are there for what they held alone
    some = some[:room]
    k = len(some)
    slack = 16 * EPS32 * (1 + np.abs(carried).max())
    np.testing.assert_array_equal(to[:k], rank[vertices[some]])
    np.testing.assert_array_equal(to_keys[:k], keys[some])
    np.testing.assert_array_equal(to_planes[:k, :3], planes[some, :3])
    np.testing.assert_allclose(to_planes[:k, 3], gaps[some] + carried[some, 3], rtol=0, atol=slack)
    np.testing.assert_allclose(before[:k, :3], points[some] + across[some], rtol=0, atol=slack)
    np.testing.assert_array_equal(before[:, 3], 0)
    np.testing.assert_array_equal(places[:k], np.column_stack([q[vertices[some], :3], lowered[some, 3]]))
    np.testing.assert_array_equal(to_friction[: 2 * k], friction[some].ravel())
    np.testing.assert_allclose(weights[:k], w[some], rtol=2 * EPS32)
    np.testing.assert_allclose(added, np.bincount(vertices[some], w[some], minlength=n))
    if not remembered:
        np.testing.assert_array_equal(to_planes[:k], lowered[some])
        np.testing.assert_array_equal(before[:k, :3], q[vertices[some], :3])


def remember(vertices, planes, before, friction, weights, q, used):
    """`remember_walls`: rows (T, N); those that are not used stay NaN."""
    forces, unused = np.full((len(planes), 4), np.nan, np.float32), np.zeros((1, 4), np.float32)
    arrays = (
        *(vertices, np.zeros(1, np.float32), planes, before, friction, weights, np.zeros(1, np.int32)),
        *(q, unused, np.array([used], np.int64), forces),
    )
    run(remember_walls, arrays, 0, len(planes))
    return forces


def test_remember_walls():
    """N = w n·(p - x) and T = w (p - x) less its part along n, p - x the way back; nothing where they are apart."""
    walls = Walls(1)
    walls.before[::2, :3] = walls.q[walls.vertices[::2], :3] + np.float32(0.001)
    weights, used = walls.rng.uniform(10, 1000, walls.m).astype(np.float32), walls.m - 5
    forces = remember(walls.vertices, walls.planes, walls.before, walls.friction.ravel(), weights, walls.q, used)
    kinds = []
    for c in range(used):
        n, x = wide(walls.planes[c, :3]), wide(walls.q[walls.vertices[c], :3])
        way = pull(x, walls.planes[c], walls.before[c], *wide(walls.friction[c]))
        expected = np.append(way - (n @ way) * n, n @ way)
        moved = x - wide(walls.before[c, :3])
        sticks = np.linalg.norm(moved - (n @ moved) * n) <= walls.friction[c, 0] * expected[3]
        kinds.append("apart" if not way.any() else "sticks" if sticks else "slips")
        np.testing.assert_allclose(forces[c] / weights[c], expected, rtol=0, atol=SLACK)
    assert min(kinds.count(kind) for kind in ("apart", "slips", "sticks")) > 5
    check_coulomb(forces[:used] / weights[:used, None], walls.planes[:used], walls.friction[:used])
    assert np.isnan(forces[used:]).all()


def test_what_rests_keeps_its_forces():
    """On its plane, where the step began: remembered T and N are those that a step ends with, to the next and on."""
    rng = np.random.default_rng(7)
    m = 20
    q, vertices, keys = np.zeros((m, 4), np.float32), np.arange(m, dtype=np.int32), np.arange(m) << 32
    q[:, :3] = rng.normal(size=(m, 3))
    planes = np.column_stack([unit(rng, m), np.zeros(m)]).astype(np.float32)
    planes[:, 3] = (wide(planes[:, :3]) * wide(q[:, :3])).sum(axis=1)
    across = np.cross(planes[:, :3], unit(rng, m))
    total = rng.uniform(1, 10, m)
    first = np.column_stack([0.8 * total[:, None] * across, total]).astype(np.float32)
    friction, weights = np.full((m, 2), 0.9, np.float32), rng.uniform(10, 100, m)
    forces = first
    for _ in range(3):
        given = (vertices, planes, friction, keys, (keys, forces), vertices, q, q, weights, -1.0, 0.01, m)
        count, (to, to_planes, before, to_friction, stiffness, to_keys, _), _, _ = taken(*given)
        assert count == m
        np.testing.assert_array_equal(to_keys, keys)
        forces = remember(to, to_planes, before, to_friction, stiffness, q, m)
        np.testing.assert_allclose(forces, first, rtol=0, atol=3 * SLACK * weights.max())


@pytest.mark.parametrize(
    ("iteration", "deep", "pressed"), [(4, 0.01, True), (4, 10.0, False), (2, 0.01, False), (0, 0.01, False)]
)
def test_press_walls(iteration, deep, pressed):
    """Planes are raised to gap + N/w and places moved to q + T/w, where (T, N) is what contacts hold with now; r gets
    what that changes. Only every fourth round, and if some vertex is further behind its wall than `deep`."""
    walls = Walls(11)
    m, used = walls.m, walls.m - 3
    rng = np.random.default_rng(3)
    vertices, planes, q = walls.vertices, walls.planes.copy(), walls.q
    before = rng.normal(size=(m, 4)).astype(np.float32) * np.float32([1, 1, 1, 0])
    friction, weights = np.tile(np.float32([0.5, 0.3]), m), rng.uniform(1, 2, m).astype(np.float32)
    places = rng.normal(size=(m, 4)).astype(np.float32)
    places[:, 3] = planes[:, 3] - rng.uniform(0, 0.05, m)
    r = np.zeros((walls.n, 4), np.float32)
    pressing, slots, out = np.array([4, 7]), np.zeros(m, np.int32), np.zeros((m, 4), np.float32)
    old_planes, old_before = planes.copy(), before.copy()
    table = (vertices, np.zeros(1, np.float32), planes, before, friction, weights, slots, q, out, np.array([used]))
    table += (places, pressing, np.array([deep], np.float32), r)
    Job([Phase(press_walls, table, 0, m, serial=True)], 1).run(1, None, iteration)
    assert pressing.tolist() == [4, int(pressed)]
    if not pressed:
        np.testing.assert_array_equal(planes, old_planes)
        np.testing.assert_array_equal(before, old_before)
        assert not r.any()
        return
    expected = np.zeros((walls.n, 3))

    def way_back(x, plane, place):
        n, depth = wide(plane[:3]), plane[3] - wide(plane[:3]) @ x
        if depth <= 0:
            return np.zeros(3)
        u = (x - place) + depth * n
        u -= (n @ u) * n
        size = np.linalg.norm(u)
        return depth * n - (1.0 if size <= 0.5 * depth else 0.3 * depth / size) * u

    for c in range(used):
        v, n = vertices[c], wide(old_planes[c, :3])
        x = wide(q[v, :3])
        way = way_back(x, old_planes[c], wide(old_before[c, :3]))
        plane = np.append(n, places[c, 3] + n @ way)
        place = wide(places[c, :3]) + way - (n @ way) * n
        np.testing.assert_allclose(planes[c], plane, rtol=0, atol=SLACK)
        np.testing.assert_allclose(before[c, :3], place, rtol=0, atol=SLACK)
        expected[v] += weights[c] * (way_back(x, plane, place) - way)
    np.testing.assert_allclose(r[:, :3], expected, rtol=0, atol=20 * SLACK)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_array_equal(planes[used:], old_planes[used:])
