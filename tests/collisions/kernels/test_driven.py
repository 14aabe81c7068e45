"""Passes over contacts with animated meshes, against the same in NumPy: whole arrays at a time, in float64."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_twins import to_rows
from vivace.collisions.contacts import BITS, OF_EDGES, feature_ids, patch_ids
from vivace.collisions.kernels.driven import (
    ASKEW,
    EDGE,
    FACING,
    in_front,
    left_over,
    look_outwards,
    met_first,
    patch_rows,
    wall_rows,
)

SOFT, DRIVEN, MESHES, FIRST_ID = 60, 40, 2, 7
THICK, REACH, NEAR = 0.05, 0.08, 0.025
SEEDS = pytest.mark.parametrize("seed", range(4))


def unit(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-30)


class Found:
    """Contacts of soft with animated vertices at random: a vertex and a triangle, either way round, then two edges."""

    def __init__(self, seed, count=400):
        rng = np.random.default_rng(seed)
        self.rng, n = rng, SOFT + DRIVEN
        self.q = to_rows(rng.uniform(-0.3, 0.3, (n, 3)))
        self.s = to_rows(self.q[:, :3] + 0.1 * rng.normal(size=(n, 3)))
        self.owner = np.repeat(np.arange(MESHES), DRIVEN // MESHES)
        soft = np.array([rng.choice(SOFT, 3, replace=False) for _ in range(count)])
        body = rng.integers(0, MESHES, (count, 1)) * (DRIVEN // MESHES)
        its = SOFT + body + np.array([rng.choice(DRIVEN // MESHES, 3, replace=False) for _ in range(count)])
        self.vertices = np.empty((count, 4), np.int32)
        self.vertex_triangle = first = count // 2
        ahead = self.ahead = rng.random(count) < 0.5
        edges = np.arange(count) >= first
        for rows, mine in ((ahead, True), (~ahead, False)):
            one, two = (soft, its) if mine else (its, soft)
            flat, crossed = rows & ~edges, rows & edges
            self.vertices[flat] = np.concatenate([one[flat, :1], two[flat]], axis=1)
            self.vertices[crossed] = np.concatenate([one[crossed, :2], two[crossed, :2]], axis=1)
        shares = rng.dirichlet(np.ones(3), count) * (rng.random((count, 3)) < 0.8)  # some have no weight
        t, r = rng.random((2, count)) * (rng.random((2, count)) < 0.9)
        a = np.concatenate([np.ones((count, 1)), -shares], axis=1)
        a[edges] = np.stack([1 - t, t, r - 1, -r], axis=1)[edges]
        self.coefficients = a.astype(np.float32)
        z = np.einsum("ck,ckx->cx", a, self.q[self.vertices, :3])
        normals = unit(z + rng.choice([0.0, 0.02, 0.3], (count, 1)) * rng.normal(size=(count, 3)))
        self.planes = np.concatenate([normals, rng.uniform(0, 0.05, (count, 1))], axis=1).astype(np.float32)
        numbers = rng.integers(0, 500, (2, count))
        self.ids = feature_ids(*numbers) | np.where(edges, OF_EDGES, 0)
        self.some = np.flatnonzero(rng.random(count) < 0.8)
        self.thick, self.reach = (size * self.rng.uniform(0.5, 1.5, len(self.some)) for size in (THICK, REACH))
        self.normals, self.least = unit(rng.normal(size=(DRIVEN, 3))), rng.uniform(-1, 0.3, DRIVEN)

    def given(self):
        """Vertices, coefficients and planes, of those that are asked for, in float64."""
        return self.vertices[self.some], *(a[self.some].astype(np.float64) for a in (self.coefficients, self.planes))


@SEEDS
def test_look_outwards(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(DRIVEN, 3)).astype(np.float32)
    faces = np.array([rng.choice(DRIVEN, 3, replace=False) for _ in range(70)])
    border = rng.random(DRIVEN) < 0.2
    a, b, c = (x.astype(np.float64)[faces[:, k]] for k in range(3))
    across, expected = np.cross(b - a, c - a), np.zeros((DRIVEN, 3))
    for face, area in zip(faces, across, strict=True):
        expected[face] += area
    expected = unit(expected)
    cosines, least = np.einsum("tkx,tx->tk", expected[faces], unit(across)), np.ones(DRIVEN)
    for v in range(DRIVEN):
        least[v] = -1.0 if border[v] else min([1.0, *cosines[faces == v]])
    normals, lowest = look_outwards(to_rows(np.concatenate([np.zeros((SOFT, 3)), x])), SOFT, faces, border)
    np.testing.assert_allclose(normals, expected, atol=1e-14)
    np.testing.assert_allclose(lowest, least, atol=1e-14)


def outwards(found):
    vertices, a, planes = found.given()
    other = vertices >= SOFT
    weights, rows = np.where(other, np.abs(a), 0.0), np.where(other, vertices - SOFT, 0)
    own = unit(np.einsum("ck,ckx->cx", weights, found.normals[rows]))
    least = np.where(weights > EDGE, found.least[rows], 1.0).min(axis=1)
    return np.abs(np.einsum("cx,cx->c", own, planes[:, :3])) >= least - ASKEW


def first_of(found):
    """Which count: facing, outwards, and of what is met on the way that which is met first. And why others do not."""
    vertices, a, planes = found.given()
    began, ends = (np.einsum("ck,ckx->cx", a, x[vertices, :3].astype(np.float64)) for x in (found.q, found.s))
    before, after = (np.einsum("cx,cx->c", planes[:, :3], z) for z in (began, ends))
    apart = np.linalg.norm(began, axis=1)
    met = (apart > found.reach) | (before < 0.99 * apart)
    corners, edges = found.q[vertices, :3].astype(np.float64), found.some >= found.vertex_triangle
    one = np.where(edges[:, None], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 1])
    two = np.where(edges[:, None], corners[:, 3] - corners[:, 2], corners[:, 3] - corners[:, 1])
    face = np.cross(one, two)
    facing = np.abs(np.einsum("cx,cx->c", planes[:, :3], face)) > FACING * np.linalg.norm(face, axis=1)
    use = (~met | facing) & outwards(found)
    time = np.where(before > found.thick, before / np.maximum(before - after, np.maximum(before, 1e-30)), 0.0)
    until = time + found.thick / np.maximum(np.linalg.norm(ends - began, axis=1), found.thick)
    mine = vertices < SOFT
    which = found.owner[vertices.max(axis=1) - SOFT]
    counted = mine & (np.abs(a) > EDGE) & use[:, None]
    alone, late = ~edges & mine[:, 0], np.zeros(len(met), bool)
    for c in range(len(met)):
        for v in vertices[c, counted[c]]:
            same = (counted & (vertices == v)).any(axis=1) & (which == which[c])
            late[c] |= time[c] > until[same & alone if alone[c] else same].min()
    return use & ~(met & late), use, met & late


@SEEDS
def test_met_first(seed):
    found = Found(seed)
    expected, use, late = first_of(found)
    got = met_first(
        *(found.some, found.vertices, found.coefficients, found.planes, found.vertex_triangle, found.q, found.s),
        *(SOFT, found.owner, MESHES, found.normals, found.least, found.thick, found.reach),
    )
    np.testing.assert_array_equal(got, expected)
    assert expected.any()
    assert not use.all()
    assert (use & late).any()


def planes_of(found, normals, gaps, shares, other):
    began, ends = (np.einsum("ck,ckx->cx", shares, a[other, :3].astype(np.float64)) for a in (found.q, found.s))
    offsets = gaps + np.einsum("cx,cx->c", normals, ends)
    return np.concatenate([normals, offsets[:, None]], axis=1), ends - began


@SEEDS
def test_wall_rows(seed):
    found = Found(seed)
    found.some = found.some[(found.some < found.vertex_triangle) & found.ahead[found.some]]
    vertices, a, given = found.given()
    planes, motion = planes_of(found, given[:, :3], given[:, 3], -a[:, 1:], vertices[:, 1:])
    which = found.owner[vertices[:, 1] - SOFT]
    counts = np.bincount(vertices[:, 0], minlength=SOFT)[vertices[:, 0]]
    feature = np.where(counts == 1, 0, 1 + (found.ids[found.some] & ((1 << BITS) - 1)))
    own, got, moved, owners, ids = wall_rows(
        *(found.some, found.vertices, found.coefficients, found.planes, found.ids, found.q, found.s),
        *(SOFT, found.owner, MESHES, FIRST_ID),
    )
    assert (counts == 1).any()
    assert (counts > 1).any()
    np.testing.assert_array_equal(own, vertices[:, :1])
    np.testing.assert_array_equal(owners, which)
    np.testing.assert_array_equal(ids, feature_ids(vertices[:, 0], FIRST_ID + which + MESHES * feature))
    np.testing.assert_allclose(got, planes, rtol=0, atol=1e-7)
    np.testing.assert_allclose(moved, motion, rtol=0, atol=1e-7)


@SEEDS
def test_patch_rows(seed):
    """Row by row: whose features they are, and with which weights."""
    found = Found(seed)
    found.some = found.some[(found.some >= found.vertex_triangle) | ~found.ahead[found.some]]
    across, triangles = found.rng.integers(0, SOFT, 500), 123
    near = (NEAR * found.rng.uniform(0.5, 1.5, len(found.some))).astype(np.float32)
    own, weights, planes, motion, owners, ids = patch_rows(
        *(found.some, found.vertices, found.coefficients, found.planes, found.ids, found.vertex_triangle),
        *(found.q, found.s, SOFT, across, triangles, found.owner, MESHES, FIRST_ID, near),
    )
    for row, c in enumerate(found.some):
        vertices, a = found.vertices[c], found.coefficients[c].astype(np.float64)
        one, two = (found.ids[c] & ~OF_EDGES) >> BITS, found.ids[c] & ((1 << BITS) - 1)
        ahead = vertices[0] < SOFT
        if c < found.vertex_triangle:
            mine, w, other, shares, feature, its = vertices[1:], -a[1:], vertices[:1], np.ones(1), two, one
        else:
            mine, other = (vertices[:2], vertices[2:]) if ahead else (vertices[2:], vertices[:2])
            w, shares = (np.abs(a[:2]), np.abs(a[2:])) if ahead else (np.abs(a[2:]), np.abs(a[:2]))
            feature, its = (one, two) if ahead else (two, one)
            mine, w, feature = np.append(mine, across[feature]), np.append(w, 0.0), triangles + feature
        normal = (1 if ahead else -1) * found.planes[c, :3].astype(np.float64)
        gap = min(float(found.planes[c, 3]), float(near[row]))
        plane, way = planes_of(found, normal[None], gap, shares[None], other[None])
        which = found.owner[other[0] - SOFT]
        np.testing.assert_array_equal(own[row], np.append(mine, mine[0]))
        np.testing.assert_allclose(weights[row], np.append(w, 0.0), rtol=0, atol=1e-7)
        np.testing.assert_allclose(planes[row], plane[0], rtol=0, atol=1e-7)
        np.testing.assert_allclose(motion[row], way[0], rtol=0, atol=1e-7)
        assert owners[row] == which
        assert ids[row] == patch_ids(feature, 0, FIRST_ID + which + MESHES * (1 + its), 1)
    assert 0 < (found.planes[found.some, 3] > near).sum() < len(found.some)


@SEEDS
def test_in_front(seed):
    """Round by round each vertex is moved by its deepest wall alone; the first time also down to it."""
    rng = np.random.default_rng(seed)
    s = to_rows(rng.normal(size=(SOFT, 3)))
    vertices = np.sort(rng.integers(0, SOFT, 90)).astype(np.int32)[:, None]
    planes = np.concatenate([unit(rng.normal(size=(90, 3))), rng.normal(size=(90, 1))], axis=1).astype(np.float32)
    for rounds in (0, 1, 4):
        x, held = s[:, :3].astype(np.float64), np.zeros(SOFT, bool)
        held[vertices] = True
        for k in range(rounds):
            for v in np.unique(vertices):
                own = planes[vertices[:, 0] == v].astype(np.float64)
                depths = own[:, 3] - own[:, :3] @ x[v]
                deepest = np.argmax(depths)
                if k == 0 or depths[deepest] > 0:
                    x[v] += depths[deepest] * own[deepest, :3]
        got, which = in_front(vertices, planes, s, SOFT, rounds)
        np.testing.assert_allclose(got, x, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(which, held)


@SEEDS
def test_left_over(seed):
    rng = np.random.default_rng(seed)
    x, q = rng.normal(size=(SOFT, 3)), to_rows(rng.normal(size=(SOFT, 3)))
    vertices = rng.integers(0, SOFT, (300, 4)).astype(np.int32)
    a = (rng.dirichlet(np.ones(4), 300) * (rng.random((300, 4)) < 0.6)).astype(np.float32)
    planes = np.concatenate([unit(rng.normal(size=(300, 3))), rng.normal(size=(300, 1))], axis=1).astype(np.float32)
    motion, held = rng.normal(size=(300, 3)).astype(np.float32), rng.random(SOFT) < 0.6
    normals, gaps, spare = planes[:, :3].astype(np.float64), planes[:, 3], rng.uniform(0.1, 0.3, 300)
    over = np.einsum("ck,ckx,cx->c", a.astype(np.float64), x[vertices], normals) - gaps
    began = np.einsum("ck,ckx->cx", a.astype(np.float64), q[vertices, :3]) + motion
    loose = (~held[vertices] & (a > EDGE)).any(axis=1)
    before = np.einsum("cx,cx->c", began, normals) - gaps
    expected = np.where(loose, np.minimum(over, before), over) < spare
    np.testing.assert_array_equal(left_over(vertices, a, planes, motion, x, held, q, spare), expected)
    assert (expected & (over >= spare)).sum() > 0
    assert (~loose).sum() > 0
