"""Contacts of projective dynamics against float64, one by one: what they pull, take over, remember and press."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_twins import EPS32
from solvers.contact_twins import SLACK, Pairs, Walls, check_coulomb, pull, run, unit, wide
from vivace.solvers.projective.kernels.contact import (
    keep_out,
    press_walls,
    pull_contacts,
    pull_walls,
    remember_walls,
    surrounded,
    take_walls,
)


def test_pull_of_walls():
    """Slot of a contact: w (x + what leads back). What is beyond the number of contacts is not touched."""
    walls = Walls(1)
    weights = walls.rng.uniform(10, 1000, walls.m).astype(np.float32)
    slots, out = walls.rng.permutation(walls.m).astype(np.int32), np.full((walls.m, 4), np.nan, np.float32)
    used = walls.m - 5
    arrays = {"friction": walls.friction, "weights": weights, "slots": slots, "out": out, "used": np.array([used])}
    run(pull_walls, {**walls.table, **arrays}, 0, walls.m)
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
    arrays = {"friction": pairs.friction, "weights": weights, "slots": slots, "out": out, "used": np.array([used])}
    run(pull_contacts, {**pairs.table, **arrays}, 0, pairs.m)
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
    arrays = {
        "vertices": np.zeros(1, np.int32),
        "planes": np.array([[0, 1, 0, 0]], np.float32),
        "before": np.zeros((1, 4), np.float32),
        "friction": np.array([0.3, 0.3], np.float32),
        "weights": np.ones(1, np.float32),
        "slots": np.zeros(1, np.int32),
    }
    run(pull_walls, {**arrays, "q": q, "out": out, "used": np.ones(1, np.int64)}, 0, 1)
    np.testing.assert_allclose(out[0, :3], [moved, 0, 0], atol=4 * EPS32)


@pytest.mark.parametrize("rough", [False, True])
def test_nothing_ends_behind_a_wall(rough):
    """x + depth n where depth > 0, and back across it as friction does; else the same bits, beyond `used` too."""
    walls = Walls(6)
    planes, used = walls.planes, walls.m - 4
    friction = walls.friction if rough else np.zeros_like(walls.friction)
    q = walls.q.copy()
    run(keep_out, (walls.vertices, planes, walls.before, friction.ravel(), walls.q, np.array([used])), 0, walls.m)
    x = wide(q)
    for c in range(used):
        v = walls.vertices[c]
        x[v, :3] += pull(x[v], planes[c], walls.before[c], *wide(friction[c]))
    np.testing.assert_allclose(walls.q, x, rtol=0, atol=2 * SLACK)
    still = np.setdiff1d(np.arange(walls.n), walls.vertices[:used])
    np.testing.assert_array_equal(walls.q[still], q[still])
    once = np.isin(walls.vertices[:used], np.flatnonzero(np.bincount(walls.vertices[:used]) == 1))
    gap = np.einsum("mc,mc->m", wide(planes[:used, :3]), wide(walls.q[walls.vertices[:used], :3])) - planes[:used, 3]
    assert (gap[once] >= -8 * EPS32).all()


@pytest.mark.slow
def test_who_touches_with_all_neighbours():
    """On a path 0 - 1 - ... - 6 that touches from 0 to 4: all but 4, whose neighbour 5 does not; in any order."""
    indptr, indices = np.array([0, 1, 3, 5, 7, 9, 11, 12]), np.array([1, 0, 2, 1, 3, 2, 4, 3, 5, 4, 6, 5])
    order = np.array([6, 4, 2, 0, 1, 3, 5], np.int32)  # vertex visited i-th
    visited = np.array([3, 4, 2, 5, 1, 1], np.int32)  # vertices 0, 1, 2, 3, 4 and 4 again
    added = np.array([1.0, 2.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    found = surrounded(visited, order, indptr, indices, added)
    np.testing.assert_array_equal(found, [True, True, True, True, False, False])


def taken(
    vertices, planes, friction, keys, held, rank, q, s, diagonal, stiffness, recovery, room, motions=None, shares=None
):
    """`take_walls`: how many, (vertices, planes, before, friction, weights, keys, places), `lowered`, `added`."""
    to, to_planes, before, places = np.zeros(room, np.int32), *np.zeros((3, room, 4), np.float32)
    to_friction, weights, to_keys = np.zeros(2 * room, np.float32), np.zeros(room, np.float32), np.zeros(room, np.int64)
    lowered, added = np.zeros((len(vertices), 4), np.float32), np.zeros(len(diagonal))
    motions = np.zeros((len(vertices), 3), np.float32) if motions is None else motions
    shares = np.ones(len(vertices), np.float32) if shares is None else shares
    count = take_walls(
        *(
            vertices,
            planes,
            friction,
            motions,
            shares,
            keys,
            *held,
            rank,
            q,
            s,
            diagonal,
            stiffness,
            np.broadcast_to(recovery, len(vertices)).astype(np.float32),
        ),
        *(to, to_planes, before, to_friction, weights, to_keys, places, lowered, added),
    )
    return count, (to, to_planes, before, to_friction, weights, to_keys, places), lowered, added


@pytest.mark.parametrize("remembered", [False, True])
@pytest.mark.parametrize("stiffness", [-1.0, 50.0])
@pytest.mark.parametrize("room", [100, 5])
def test_take_walls(room, stiffness, remembered):
    """Those with n·s < gap + N/w, in order; gaps are min(gap, n·q + recovery) + N/w, before is q + (T - n n·T)/w.

    q is where the wall carries the vertex, and w its share of the stiffness. T and N are those of the same key, nothing
    for what did not touch before; weights add up at their vertices. Places are (q, gap) without T and N.
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
    recovery = rng.uniform(0.05, 0.2, m).astype(np.float32)
    motions, shares = rng.normal(size=(m, 3)).astype(np.float32), rng.uniform(0.1, 1, m).astype(np.float32)
    count, found, lowered, added = taken(
        *(vertices, planes, friction, keys, held, rank, q, s, diagonal, stiffness, recovery, room, motions, shares),
    )
    to, to_planes, before, to_friction, weights, to_keys, places = found
    w = shares * (diagonal[vertices] if stiffness < 0 else np.full(m, stiffness))
    normals, points = wide(planes[:, :3]), wide(q[vertices, :3] + motions)
    gaps = np.minimum(planes[:, 3], (normals * points).sum(axis=1) + recovery)
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
    np.testing.assert_array_equal(places[:k], np.column_stack([points[some].astype(np.float32), lowered[some, 3]]))
    np.testing.assert_array_equal(to_friction[: 2 * k], friction[some].ravel())
    np.testing.assert_allclose(weights[:k], w[some], rtol=2 * EPS32)
    np.testing.assert_allclose(added, np.bincount(vertices[some], w[some], minlength=n))
    if not remembered:
        np.testing.assert_array_equal(to_planes[:k], lowered[some])
        np.testing.assert_array_equal(before[:k, :3], points[some].astype(np.float32))


def remember(vertices, planes, before, friction, weights, q, used):
    """`remember_walls`: rows (T, N); those that are not used stay NaN."""
    forces = np.full((len(planes), 4), np.nan, np.float32)
    arrays = {"vertices": vertices, "planes": planes, "before": before, "friction": friction, "weights": weights}
    run(remember_walls, {**arrays, "q": q, "used": np.array([used]), "forces": forces}, 0, len(planes))
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
    pressing = np.array([4, 7])
    old_planes, old_before = planes.copy(), before.copy()
    table = {"vertices": vertices, "planes": planes, "before": before, "friction": friction, "weights": weights, "q": q}
    table |= {"used": np.array([used]), "places": places, "pressing": pressing, "r": r}
    run(press_walls, {**table, "deep": np.array([deep], np.float32)}, 0, m, first=iteration)
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
