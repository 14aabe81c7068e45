"""Contacts between surfaces against every pair, one by one."""

from __future__ import annotations

import numpy as np
import pytest

from vivace.collisions.kernels.proximity import AT_START, INSIDE, measure
from vivace.collisions.surfaces import Surfaces
from vivace.errors import InputError

from .surface_twins import THICKNESS, compare, pile, rows, sheet, soup


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("speed", [0.0, 0.01, 0.3, 3.0])
def test_every_pair_of_a_soup(seed, speed):
    x, triangles = soup(seed, 16, 0.2)
    rng = np.random.default_rng(seed + 50)
    q = rows(x)
    s = rows(x + speed * rng.standard_normal(x.shape) + [0, -7.0 * speed, 0])
    assert len(compare(Surfaces(x, triangles, THICKNESS), q, s)) > 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("speed", [0.0, 0.02, 0.2])
def test_every_pair_of_a_pile_whose_layers_are_not_as_thick(seed, speed):
    """Each pair counts from as far off as its own thickness says, and keeps that of the points that are nearest."""
    x, triangles = pile(3, 4, 0.8 * THICKNESS, 0.1, seed, noise=0.004 * (seed > 0))
    rng = np.random.default_rng(seed + 70)
    each = np.repeat([0.2, 1.0, 0.5], 16) * THICKNESS * (rng.uniform(0.9, 1.1, 48) if seed else 1.0)
    q, s = rows(x), rows(x + speed * rng.standard_normal(x.shape))
    surfaces = Surfaces(x, triangles, each, bodies=np.arange(48))
    assert len(compare(surfaces, q, s)) > 10
    found = surfaces.find(q, s, 1)
    weights = np.abs(found.coefficients.astype(float))
    expected = 0.5 * np.einsum("ck,ck->c", weights, each[found.vertices])  # each side's weights add up to one
    np.testing.assert_allclose(found.planes[:, 3], expected, rtol=1e-5)
    again = surfaces.find(q, s, 2)
    for name in ("vertices", "planes", "ids"):
        np.testing.assert_array_equal(getattr(found, name), getattr(again, name))


def test_one_thickness_for_each_vertex_is_as_one_for_all():
    """(t + t)/2 is t: the same contacts, but for what the corners' differences round."""
    x, triangles = pile(2, 5, 0.8 * THICKNESS, 0.1, 3, noise=0.004)
    one, each = (Surfaces(x, triangles, t).find(rows(x), rows(x), 1) for t in (THICKNESS, np.full(50, THICKNESS)))
    assert len(one) > 10
    for name in ("vertices", "planes", "ids"):
        np.testing.assert_array_equal(getattr(one, name), getattr(each, name))


def test_passive_surfaces_keep_the_thickness_of_what_touches_them():
    x, triangles = pile(2, 4, 1.1 * THICKNESS, 0.1, 1)
    each, passive = np.repeat([0.8, 0.1], 16) * THICKNESS, np.arange(32) >= 16
    each[:4] = THICKNESS
    surfaces = Surfaces(x, triangles, each, passive=passive)
    found = surfaces.find(rows(x), rows(x), 1)
    across = passive[found.vertices[:, 0]] != passive[found.vertices[:, 3]]
    soft = np.where(passive[found.vertices], 0.0, np.abs(found.coefficients.astype(float)))
    assert across.sum() > 5
    expected = np.einsum("ck,ck->c", soft, each[found.vertices])
    np.testing.assert_allclose(found.planes[across, 3], expected[across], rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("speed", [0.0, 0.02, 0.2])
def test_every_pair_of_a_pile(seed, speed):
    """Connected surfaces: contacts on sides and corners are reported once, and only where nothing is nearer."""
    x, triangles = pile(3, 5, 1.2 * THICKNESS, 0.1, seed, noise=0.004 * (seed > 0))
    rng = np.random.default_rng(seed + 60)
    compare(Surfaces(x, triangles, THICKNESS), rows(x), rows(x + speed * rng.standard_normal(x.shape)))


@pytest.mark.slow
def test_large_coordinates():
    """Far from the origin float32 rounds positions to 1/128: contacts are those of the rounded positions."""
    x, triangles = soup(3, 14, 0.3)
    q = rows(x * 60 + 1e5)
    s = rows(q[:, :3] + np.random.default_rng(4).standard_normal(x.shape) * 3)
    assert len(compare(Surfaces(x, triangles, 4.0), q, s)) > 10


@pytest.mark.slow
def test_tiny_and_huge_triangles_mixed():
    x, triangles = soup(5, 14, 0.02)
    x[:6] *= 100.0
    x[6:9] = x[6:9].mean(axis=0) + 1e-3 * (x[6:9] - x[6:9].mean(axis=0))
    s = x + np.random.default_rng(6).standard_normal(x.shape) * 0.05
    compare(Surfaces(x, triangles, 0.1), rows(x), rows(s))


def cubic_crossings(x: np.ndarray, d: np.ndarray) -> list[float]:
    """Times at which four moving points are in a plane: roots of the cubic det(x_k + t d_k) [bridson2002, 7.4]."""
    times = np.linspace(0, 1, 4)
    values = [np.linalg.det((x + t * d)[1:] - (x + t * d)[0]) for t in times]
    roots = np.roots(np.polyfit(times, values, 3))
    return [float(r.real) for r in roots if abs(r.imag) < 1e-9 and 1e-6 < r.real < 1 - 1e-6]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_every_pair_that_passes_through_is_found(seed):
    """Vertices that go through triangles and edges through edges, by the roots of the cubic, on the rounded positions.

    Edges that meet within a few TOUCH of an end are left to the contact of that vertex.
    """
    x, triangles = soup(seed + 20, 14, 0.3)
    q, s = rows(x), rows(x + 1.5 * np.random.default_rng(seed).standard_normal(x.shape))
    surfaces = Surfaces(x, triangles, 0.01)
    found = surfaces.find(q, s, 2)
    have = {(v[0], frozenset(v[1:])) for v in found.vertices[: found.vertex_triangle].tolist()}
    edges_have = {
        frozenset((frozenset(v[:2]), frozenset(v[2:]))) for v in found.vertices[found.vertex_triangle :].tolist()
    }
    x, d = q[:, :3].astype(float), s[:, :3].astype(float) - q[:, :3].astype(float)
    through = [0, 0]
    for v in range(len(x)):
        for corners in triangles.tolist():
            if v in corners:
                continue
            for t in cubic_crossings(x[[v, *corners]], d[[v, *corners]]):
                p = (x + t * d)[[v, *corners]]
                c, z, _ = measure(False, tuple((p[1:] - p[0]).reshape(-1).tolist()))
                if np.linalg.norm(z) < 1e-6:
                    through[0] += 1
                    assert (v, frozenset(corners)) in have
    edges = surfaces.edges.tolist()
    for i, e in enumerate(edges):
        for f in edges[i + 1 :]:
            if set(e) & set(f):
                continue
            for t in cubic_crossings(x[[*e, *f]], d[[*e, *f]]):
                p = (x + t * d)[[*e, *f]]
                c, z, region = measure(True, tuple((p[1:] - p[0]).reshape(-1).tolist()))
                if np.linalg.norm(z) < 1e-6 and region == INSIDE and min(np.abs(c)) > 0.05:
                    through[1] += 1
                    assert frozenset((frozenset(e), frozenset(f))) in edges_have
    assert min(through) > 10


def test_planes_of_a_pile():
    """Flat cloths, 1.2 thicknesses apart: every normal is vertical, every gap the thickness, and n · z the distance."""
    x, triangles = pile(3, 12, 1.2 * THICKNESS, 0.1)
    q = rows(x)
    s = rows(x - np.array([0.0, 0.3, 0.0]))
    found = Surfaces(x, triangles, THICKNESS).find(q, s, 2)
    assert 0 < found.vertex_triangle < len(found)
    np.testing.assert_allclose(found.planes[:, 3], THICKNESS, rtol=1e-6)
    z = np.einsum("ck,ckx->cx", found.coefficients, q[found.vertices, :3])
    along = np.einsum("cx,cx->c", found.planes[:, :3], z)
    np.testing.assert_allclose(along, np.linalg.norm(z, axis=1), rtol=1e-4)
    inner = np.isclose(along, 1.2 * THICKNESS, rtol=1e-3)
    np.testing.assert_allclose(np.abs(found.planes[inner, 1]), 1.0, atol=1e-3)
    assert inner.mean() > 0.95  # the others are at the borders of the cloths
    assert (along > 1.19 * THICKNESS).all()
    np.testing.assert_allclose(found.coefficients.sum(axis=1), 0.0, atol=1e-6)


def test_nothing_is_repelled_at_rest():
    """Thicker than an edge is long: n · z >= gap holds at rest for every contact."""
    x, triangles = sheet(8, 0.03)
    x[:, 1] = 0.02 * np.sin(40 * x[:, 0])
    q = rows(x)
    found = Surfaces(x, triangles, THICKNESS).find(q, q, 1)
    assert len(found) > 0
    z = np.einsum("ck,ckx->cx", found.coefficients, q[found.vertices, :3])
    assert (np.einsum("cx,cx->c", found.planes[:, :3], z) >= found.planes[:, 3]).all()
    assert (found.planes[:, 3] < THICKNESS).any()
    apart = Surfaces(x, triangles, THICKNESS, bodies=np.arange(len(x))).find(q, q, 1)
    np.testing.assert_allclose(apart.planes[:, 3], THICKNESS, rtol=1e-6)


@pytest.mark.parametrize("lift", [0.0, 3.0])
def test_passive_surfaces_meet_others_and_not_each_other(lift):
    """Three layers, the two upper ones passive: of all contacts those that have a vertex of the lowest."""
    x, triangles = pile(3, 10, 1.2 * THICKNESS, 0.1)
    own = np.arange(len(x)) < len(x) // 3
    x[~own, 1] += lift
    every = Surfaces(x, triangles, THICKNESS).find(rows(x), rows(x), 2)
    found = Surfaces(x, triangles, THICKNESS, passive=~own).find(rows(x), rows(x), 2)
    wanted = every.ordered(np.flatnonzero(own[every.vertices].any(axis=1)))
    assert len(every) > len(wanted)
    assert (len(wanted) > 0) == (lift == 0)
    np.testing.assert_array_equal(np.sort(found.ids), np.sort(wanted.ids))
    assert found.pairs < 0.7 * every.pairs


def features(found, some):
    """What touches, whichever edge comes first."""
    return sorted(map(tuple, np.sort(found.vertices[some], axis=1).tolist()))


@pytest.mark.parametrize("motion", [0.0, 0.5, 5.0])
def test_passive_surfaces_may_reach_farther(motion):
    """Three layers, the uppermost passive: with it contacts of the larger margin, between the others of the usual."""
    x, triangles = pile(3, 10, 1.2 * THICKNESS, 0.1)
    q, s = rows(x), rows(x + motion * THICKNESS * np.random.default_rng(0).normal(size=x.shape))
    passive = np.arange(len(x)) >= 2 * len(x) // 3
    surfaces = Surfaces(x, triangles, THICKNESS, passive=passive)
    usual = surfaces.find(q, s, 1)
    surfaces.widen(1.5 * THICKNESS)
    found = surfaces.find(q, s, 2)
    wide = Surfaces(x, triangles, THICKNESS, margin=1.5 * THICKNESS).find(q, s, 2)
    of_passive = [passive[some.vertices].any(axis=1) for some in (usual, found, wide)]
    mixed = of_passive[2] & ~passive[wide.vertices].all(axis=1)
    assert features(found, of_passive[1]) == features(wide, mixed)
    assert features(found, ~of_passive[1]) == features(usual, ~of_passive[0])
    assert mixed.sum() > of_passive[0].sum() > 0
    assert (~of_passive[2]).sum() > (~of_passive[1]).sum() > 0


def test_common_motion_costs_nothing():
    x, triangles = pile(3, 10, 1.2 * THICKNESS, 0.1)
    surfaces = Surfaces(x, triangles, THICKNESS)
    still, falling = surfaces.find(rows(x), rows(x), 1), surfaces.find(rows(x), rows(x - [0, 50.0, 0]), 1)
    assert falling.pairs <= 1.1 * still.pairs
    # Not all are the same: s is rounded to 4e-6 m there, and pairs at the limit of the reach come and go.
    sets = [{tuple(row) for row in found.vertices.tolist()} for found in (still, falling)]
    assert len(sets[0] & sets[1]) > 0.98 * len(sets[0] | sets[1])


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.003])
def test_common_local_motion_costs_little(noise):
    """Two piles that fly apart, by up to ten edges' length in a field that is smooth over a hundred.

    Boxes of everything within ten edges overlap, but what is near moves alike, and the quick tests can tell.
    """
    edge, away = 0.1, 5.0
    x, triangles = pile(2, 5, 1.2 * THICKNESS, edge, noise=noise)
    n = len(x)
    x, triangles = np.concatenate([x, x + np.array([away, 0, 0])]), np.concatenate([triangles, triangles + n])
    field = np.cos(np.pi * (x[:, :1] - x[:n, 0].mean()) / away) * [1.0, 1.0, 1.0] / np.sqrt(3)
    q, s = rows(x), rows(x + 10 * edge * field + noise * np.random.default_rng(2).standard_normal(x.shape))
    surfaces = Surfaces(x, triangles, THICKNESS)
    kinds = [kind for kind, *_ in compare(surfaces, q, s).values()]
    assert kinds.count(AT_START) > 200
    assert len(kinds) > kinds.count(AT_START)
    still, fast = surfaces.find(q, q, 1), surfaces.find(q, s, 1)
    assert fast.pairs > 4 * still.pairs
    assert fast.tested < 0.1 * fast.pairs
    assert fast.tested < 3 * still.tested


# Two triangles before and after, whose first sides cross on the way.
TURNING = [[-0.5, 0, 0], [0.5, 0, 0], [0, -1, 0]], [[0, 0, -0.5], [0, 0, 0.5], [0, -1, 0]]
WAITING = [[0.15, -0.3, 0.15], [0.15, 0.3, 0.15], [1.0, 0, 1.0]]
SHORT = np.array([[0, -0.1, 0], [0, 0.1, 0], [0, 0, -0.3]]), np.array([[0, 0, -0.1], [0, 0, 0.1], [0.3, 0, 0]])
LONGER = [[0, 0, 0], [0.2, 0, 0], [0, -0.3, 0]], [[0, 0, 0], [3.2, 0, 0], [0, -0.3, 0]]
CROSSING = {
    "turning": (*TURNING, WAITING, WAITING),
    "turning, carried": (TURNING[0], TURNING[1] + np.array([3, 0, 0]), WAITING, WAITING + np.array([3, 0, 0])),
    "stretching": (*LONGER, SHORT[0] + [1.2, 0, -0.09], SHORT[0] + [2.7, 0, 0.01]),
    "flying": (SHORT[0] - [2, 0, 0], SHORT[0] + [2, 0, 0], SHORT[1] + [2, 0, 0], SHORT[1] - [2, 0, 0]),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", CROSSING)
def test_edges_cross_whatever_bounds_them(kind):
    """Mean displacements the same, and all of the way spread; or no spread, and all of it between the means.

    In many places, both first, and in opposite directions, so that there is no common motion to take away.
    """
    rng = np.random.default_rng(8)
    q, s = [], []
    for place in range(16):
        frame = np.linalg.qr(rng.standard_normal((3, 3)))[0] * (1 - place // 2 % 2 * 2)
        ways = np.reshape(CROSSING[kind], (2, 2, 3, 3))
        for start, end in ways if place % 2 else ways[::-1]:
            q.append(start @ frame + [0, 0, 12 * place])
            s.append(end @ frame + [0, 0, 12 * place])
    x, triangles = np.concatenate(q), np.arange(96, dtype=np.int32).reshape(-1, 3)
    found = compare(Surfaces(x, triangles, 0.01), rows(x), rows(np.concatenate(s)))
    assert all((True, k, k + 1, k + 3, k + 4) in found for k in range(0, 96, 6))


@pytest.mark.slow
def test_threads_change_nothing():
    x, triangles = pile(4, 20, 1.2 * THICKNESS, 0.1, noise=0.004)
    s = rows(x + 0.05 * np.random.default_rng(1).standard_normal(x.shape))
    surfaces = Surfaces(x, triangles, THICKNESS)
    first = surfaces.find(rows(x), s, 1)
    fresh = Surfaces(x, triangles, THICKNESS)
    for other in (surfaces.find(rows(x), s, 2), surfaces.find(rows(x), s, 3), fresh.find(rows(x), s, 2)):
        np.testing.assert_array_equal(first.vertices, other.vertices)
        np.testing.assert_array_equal(first.coefficients, other.coefficients)
        np.testing.assert_array_equal(first.planes, other.planes)
        assert first.pairs == other.pairs
        assert set(other.stages_ms) == {"grid", "pairs", "contacts"}


def test_vertices_that_no_triangle_uses_are_left_alone():
    x, triangles = sheet(3)
    x = np.concatenate([x, [[0.5, 0.001, 0.5]]])
    q = rows(x)
    q[-1] = np.nan
    assert len(Surfaces(x, triangles, THICKNESS).find(q, q)) == 0


def test_bad_input():
    x, triangles = sheet(3)
    for thickness in (-1.0, 0.0, np.nan, "thick"):
        with pytest.raises(InputError, match="thickness"):
            Surfaces(x, triangles, thickness)
    with pytest.raises(InputError, match="margin"):
        Surfaces(x, triangles, 0.1, margin=-0.1)
    with pytest.raises(InputError, match="numbered 0 to 8"):
        Surfaces(x, triangles + 5, 0.1)
    with pytest.raises(InputError, match="twice"):
        Surfaces(x, [[0, 1, 1]], 0.1)
    with pytest.raises(InputError, match="not finite"):
        Surfaces(np.where(x == 1, np.nan, x), triangles, 0.1)
    with pytest.raises(InputError, match="bodies"):
        Surfaces(x, triangles, 0.1, bodies=[0, 1])
    surfaces = Surfaces(x, triangles, 0.1)
    q = rows(x)
    with pytest.raises(InputError, match=r"\(9, 4\)"):
        surfaces.find(q[:, :3], q)
    bad = q.copy()
    bad[4, 1] = np.inf
    with pytest.raises(InputError, match="vertex 4 of s"):
        surfaces.find(q, bad)
    with pytest.raises(InputError, match="threads"):
        surfaces.find(q, q, 0)
