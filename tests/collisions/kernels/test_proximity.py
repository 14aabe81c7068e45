"""Closest points against the best of all features, and the approach of moving pairs against looking very often."""

from __future__ import annotations

import numpy as np
import pytest

from vivace.collisions.kernels.proximity import (
    ALONG,
    AT_START,
    BORDER,
    CORNER,
    FLAT,
    GRAZE,
    INSIDE,
    LOST,
    NONE,
    ON_THE_WAY,
    SIDE,
    approach,
    between_segments,
    fastest,
    least_apart,
    measure,
    normal_of,
    on_triangle,
)

KINDS = pytest.mark.parametrize("is_edges", [False, True], ids=["vertex-triangle", "edge-edge"])


def segment_distance(p: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    u = b - a
    t = np.clip((p - a) @ u / (u @ u), 0, 1) if u @ u > 0 else 0.0
    return float(np.linalg.norm(p - a - t * u))


def triangle_distance(p: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    """The least of the sides and, if p projects into it, the plane; by least squares, not by regions."""
    best = min(segment_distance(p, a, b), segment_distance(p, b, c), segment_distance(p, c, a))
    sides = np.stack([b - a, c - a], axis=1)
    (v, w), _, rank, _ = np.linalg.lstsq(sides, p - a, rcond=1e-12)
    if rank == 2 and v >= 0 and w >= 0 and v + w <= 1:
        best = min(best, float(np.linalg.norm(a + sides @ [v, w] - p)))
    return best


def segments_distance(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> float:
    best = min(*(segment_distance(p, c, d) for p in (a, b)), *(segment_distance(p, a, b) for p in (c, d)))
    lines = np.stack([b - a, c - d], axis=1)
    (t, r), _, rank, _ = np.linalg.lstsq(lines, c - a, rcond=1e-12)
    if rank == 2 and 0 <= t <= 1 and 0 <= r <= 1:
        best = min(best, float(np.linalg.norm(a + t * (b - a) - c - r * (d - c))))
    return best


def quadruples(seed: int, count: int):
    """Four points: well spread, nearly flat, nearly on a line, far apart, and on a lattice where features coincide."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        x = rng.standard_normal((4, 3))
        kind = k % 6
        if kind == 1:
            x[:, 2] *= 1e-6
        elif kind == 2:
            x[:, 1:] *= 1e-5
        elif kind == 3:
            x = np.round(x)
        elif kind == 4:
            x[0] *= 100
        elif kind == 5:
            x[3] = x[2] + (x[1] - x[0]) * rng.choice([1.0, -0.5, 3.0])  # parallel edges
        yield x


def relative(x: np.ndarray) -> tuple[float, ...]:
    return tuple((x[1:] - x[0]).reshape(-1).tolist())


@pytest.mark.slow
@KINDS
@pytest.mark.parametrize("seed", range(3))
def test_closest_points(is_edges, seed):
    """|z| is the distance, z = Σ c_k x_k, and the coefficients are convex weights of each feature.

    Features whose sin² is below FLAT are taken for lines, which moves their points by √FLAT of their length at most.
    """
    for x in quadruples(seed, 600):
        c, z, _ = measure(is_edges, relative(x))
        expected = segments_distance(*x) if is_edges else triangle_distance(*x)
        size = np.abs(x - x[0]).max()
        np.testing.assert_allclose(np.array(c) @ x, z, atol=1e-13 * size)
        assert np.linalg.norm(z) == pytest.approx(expected, rel=1e-6, abs=2 * FLAT**0.5 * size)
        first = c[:2] if is_edges else c[:1]
        second = -np.array(c[len(first) :])
        for weights in (np.array(first), second):
            assert weights.sum() == pytest.approx(1.0, abs=1e-12)
            assert (weights >= -1e-12).all()


@pytest.mark.slow
def test_regions_of_a_triangle():
    a, b, c = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    for p, region in (
        ((0.2, 0.2, 3.0), INSIDE),
        ((-1.0, -1.0, 0.5), CORNER),
        ((3.0, 0.0, 0.5), CORNER + 1),
        ((0.0, 3.0, 0.5), CORNER + 2),
        ((0.5, -1.0, 0.5), SIDE),
        ((1.0, 1.0, 0.5), SIDE + 1),
        ((-1.0, 0.5, 0.5), SIDE + 2),
    ):
        assert on_triangle(*(float(x - y) for corner in (a, b, c) for x, y in zip(corner, p, strict=True)))[3] == region


@pytest.mark.slow
def test_degenerate_edges():
    """Points instead of edges, and parallel edges: some closest points, and never INSIDE."""
    point = between_segments(0.0, 0.0, 0.0, 1.0, -1.0, 0.0, 1.0, 1.0, 0.0)
    assert point[1:] == (0.5, BORDER)
    assert between_segments(0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0)[2] == BORDER
    t, r, region = between_segments(1.0, 0.0, 0.0, 0.5, 1.0, 0.0, 2.0, 1.0, 0.0)
    assert region == BORDER
    assert t == pytest.approx(0.5 + 1.5 * r)
    # Nearly parallel: inside, but said so.
    assert between_segments(1.0, 0.0, 0.0, 0.1, -1e-3, 1.0, 0.9, 1e-3, 1.0)[2] == ALONG
    assert between_segments(1.0, 0.0, 0.0, 0.1, -0.1, 1.0, 0.9, 0.1, 1.0)[2] == INSIDE


@pytest.mark.slow
def test_slivers_far_away():
    """A triangle that is a line to float64 has the distance of its longest side."""
    for width in (0.0, 1e-9, 1e-7):
        c, z, _ = measure(False, (-1.0, 2.0, 0.0, 1.0, 2.0, 0.0, 0.0, 2.0 + width, 0.0))
        assert np.linalg.norm(z) == pytest.approx(2.0, abs=1e-12)
        assert min(-np.array(c[1:])) >= 0


# --- moving pairs -----------------------------------------------------------------------------------------------------

LOOKS = 600


def least_distance(is_edges: bool, x: tuple, d: tuple, looks: int = LOOKS) -> float:
    return min(
        float(np.linalg.norm(measure(is_edges, tuple(np.add(x, np.multiply(t, d)).tolist()))[1]))
        for t in np.linspace(0, 1, looks)
    )


@KINDS
def test_a_plane_between_features_bounds_their_distance(is_edges):
    """Whatever its normal, how far apart it has them is no more than their distance, at any time; and often as much."""
    rng, near = np.random.default_rng(8 + is_edges), []
    for k in range(200):
        x = rng.standard_normal(9) + np.tile(4 * rng.standard_normal(3), 3)
        d = rng.choice([0.1, 1.0]) * rng.standard_normal(9)
        if is_edges:
            x[:3] -= x[3:6]
        z = measure(is_edges, tuple(x.tolist()))[1] if k % 2 else tuple(rng.standard_normal(3).tolist())
        bound = least_apart(is_edges, tuple(x.tolist()), tuple(d.tolist()), z)
        least = least_distance(is_edges, tuple(x.tolist()), tuple(d.tolist()), 40)
        assert bound <= least + 1e-12, k
        near.append(bound > 0.9 * least)
    assert sum(near) > 20


@pytest.mark.slow
@KINDS
def test_nothing_is_missed(is_edges):
    """NONE: the least distance on the way is at least the reach. Otherwise: it is at most (1 + GRAZE) reach.

    Between two looks the distance changes by at most L / looks.
    """
    rng = np.random.default_rng(5 + is_edges)
    thickness, reach = 0.05, 0.075
    seen = set()
    for k in range(150):
        x = tuple((rng.standard_normal(9) * rng.choice([0.1, 0.5])).tolist())
        d = tuple((rng.standard_normal(9) * rng.choice([0.01, 0.3, 2.0])).tolist())
        found, time, c, z, _ = approach(is_edges, x, d, thickness, reach)
        least, between = least_distance(is_edges, x, d), fastest(is_edges, d) / LOOKS
        seen.add(found)
        if found == NONE:
            assert least >= reach - 1e-12, k
            continue
        assert least - between <= reach * (1 + GRAZE), k
        at = np.concatenate([np.zeros(3), np.add(x, np.multiply(time, d))]).reshape(4, 3)
        np.testing.assert_allclose(np.array(c) @ at, z, atol=1e-12)
        assert found == LOST or (found == AT_START) == (time == 0), k
        if found == ON_THE_WAY:
            assert np.linalg.norm(z) < reach * (1 + GRAZE)
    assert seen - {LOST} == {NONE, AT_START, ON_THE_WAY}


@pytest.mark.slow
@pytest.mark.parametrize("end", [0.001, 0.004, 0.009])
def test_edges_that_cross_near_an_end_are_not_taken_for_apart(end):
    """No vertex comes near the other edge's triangles there, so nobody else would tell that they have crossed."""
    x = (1.0, 0.0, 0.0, end, -0.5, 0.5, end, -0.5, -0.5)  # an edge along x; the other across its end, half below it
    d = (0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0)  # moves up through it
    assert approach(True, x, d, 0.002, 0.002)[0] in (LOST, ON_THE_WAY)


@pytest.mark.slow
def test_what_touches_and_moves_fast_is_not_taken_for_apart():
    """A vertex on a triangle that turns under it: the normal at the start says nothing about the end."""
    x = (-1.0, -1e-5, -1.0, 1.0, -1e-5, -1.0, 0.0, -1e-5, 2.0)
    assert approach(False, x, (0.0, 0.5, 0.0, 0.0, -0.5, 0.0, 0.0, 0.3, 0.0), 0.01, 0.015)[0] == LOST
    assert approach(False, x, (1e-5,) * 9, 0.01, 0.015)[0] == AT_START


def test_distance_is_lipschitz():
    """|d(t1) - d(t0)| <= L |t1 - t0|, which conservative advancement rests on."""
    rng = np.random.default_rng(6)
    for _ in range(300):
        x, d = rng.standard_normal(9), rng.standard_normal(9)
        t0, t1 = rng.uniform(0, 1, 2)
        for is_edges in (False, True):
            a, b = (np.linalg.norm(measure(is_edges, tuple((x + t * d).tolist()))[1]) for t in (t0, t1))
            assert abs(a - b) <= fastest(is_edges, tuple(d.tolist())) * abs(t1 - t0) + 1e-12


@pytest.mark.slow
def test_a_vertex_shot_through_a_triangle():
    """From 10 above to 10 below in one step: found where it crosses the plane, with the normal towards its start."""
    x = (-1.0, -10.0, -1.0, 1.0, -10.0, -1.0, 0.0, -10.0, 2.0)  # the triangle lies 10 below the vertex
    d = (0.0, 20.0, 0.0) * 3
    found, time, c, z, region = approach(False, x, d, 0.01, 0.015)
    assert (found, region) == (ON_THE_WAY, INSIDE)
    assert time == pytest.approx(0.5, abs=1e-3)
    np.testing.assert_allclose(c, (1, -1 / 3, -1 / 3, -1 / 3), atol=1e-12)
    np.testing.assert_allclose(normal_of(False, x, d, time, c, z, 1e-5), (0, 1, 0), atol=1e-12)


@pytest.mark.slow
def test_normals_when_touching():
    """With z = 0 the normal is the triangle's, to where the vertex comes from; without motion there is none."""
    x = (-1.0, 0.0, -1.0, 1.0, 0.0, -1.0, 0.0, 0.0, 2.0)
    c = (1.0, -1 / 3, -1 / 3, -1 / 3)
    zero = (0.0, 0.0, 0.0)
    rising = (0.0, 1.0, 0.0) * 3  # the triangle rises relative to the vertex, which was above it
    np.testing.assert_allclose(normal_of(False, x, rising, 0.0, c, zero, 1e-5), (0, 1, 0), atol=1e-12)
    assert normal_of(False, x, zero * 3, 0.0, c, zero, 1e-5) == zero
    np.testing.assert_allclose(normal_of(False, x, zero * 3, 0.0, c, (0.0, -1e-7, 0.0), 1e-5), (0, -1, 0), atol=1e-12)
    edges = (1.0, 0.0, 0.0, 0.5, 0.0, -1.0, 0.5, 0.0, 1.0)
    sinking = (0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, -1.0, 0.0)  # the second edge sinks: the first comes from below it
    normal = normal_of(True, edges, sinking, 0.0, (0.5, 0.5, -0.5, -0.5), zero, 1e-5)
    np.testing.assert_allclose(normal, (0, -1, 0), atol=1e-12)
