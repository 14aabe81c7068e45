"""The wind's kernels against NumPy in float64; tolerances count the float32 roundings."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_twins import EPS32, to_rows
from vivace.backends.cpu.executor import Plan
from vivace.simulation.kernels.wind import blow, press

N, M = 200, 350


def surface(seed=0):
    """Triangles of random vertices, positions, velocities and lags."""
    rng = np.random.default_rng(seed)
    triangles = np.stack([rng.permutation(N)[:3] for _ in range(M)]).astype(np.int32)
    return triangles, rng.normal(size=(N, 3)), 3 * rng.normal(size=(N, 3)), rng.uniform(0.1, 10, M)


def pressed(triangles, q, v, lag, wind, unit, quarter):
    """F = k (u·n) n / (1 + lag k), k = 2 quarter A |u·n|, and what its terms are as large as."""
    x = q[triangles]
    c = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    area = 0.5 * np.linalg.norm(c, axis=1)
    n = c / (2 * area)[:, None]
    u = wind - v[triangles].mean(axis=1) / unit
    through = np.einsum("tc,tc->t", u, n)
    k = 2 * quarter * area * np.abs(through)
    size = np.linalg.norm(u, axis=1) * quarter * 2 * area * (np.linalg.norm(u, axis=1) + 1)
    return (k * through / (1 + lag * k))[:, None] * n, size


@pytest.mark.parametrize("unit", [1.0, 0.02])
@pytest.mark.parametrize("threads", [1, 2])
def test_press(unit, threads):
    """The drag of every triangle; v may be held as h v."""
    triangles, q, v, lag = surface()
    wind, quarter = np.array([2.0, -1.0, 5.0]), 0.35
    force = np.full((M, 4), np.nan, np.float32)
    settings = np.array([*wind, unit, quarter], np.float32)
    arrays = {"triangles": triangles, "q": to_rows(q), "v": to_rows(unit * v), "lag": lag.astype(np.float32)}
    Plan([press.over(0, M, **arrays, settings=settings, force=force)], threads).run()
    expected, size = pressed(triangles, q, unit * v, lag, wind, unit, quarter)
    # u·n cancels: some thirty roundings of terms as large as u, and of sides as long as a triangle of little area
    x = q[triangles]
    sides = np.linalg.norm(x - np.roll(x, 1, axis=1), axis=2).max(axis=1)
    slim = sides**2 / np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1)
    assert (np.abs(force[:, :3] - expected).max(axis=1) <= 40 * EPS32 * slim * size).all()
    assert not force[:, 3].any()


def test_press_of_nothing_is_nothing():
    """Triangles without an area, wind along the surface, and no wind relative to it."""
    q = to_rows(np.array([[0.0, 0, 0], [1, 0, 0], [0, 0, 1], [2, 0, 0]]))
    v = to_rows(np.tile([1.0, 0, 2.0], (4, 1)))
    triangles = np.array([0, 1, 3, 0, 0, 1, 0, 1, 2], np.int32)
    force, lag = np.full((3, 4), np.nan, np.float32), np.ones(3, np.float32)
    for wind in ((7, 0, -3), (1, 0, 2)):
        settings = np.array([*wind, 1, 1], np.float32)
        Plan([press.over(0, 3, triangles=triangles, q=q, v=v, lag=lag, settings=settings, force=force)], 1).run()
        assert not force.any()


def test_press_of_a_gale_is_what_stops_it():
    """lag F -> u·n for a wind without bounds: even where k is infinite in float32."""
    q = to_rows(np.array([[0.0, 0, 0], [0, 0, 1], [1, 0, 0]]))
    force, v = np.zeros((1, 4), np.float32), np.zeros((3, 4), np.float32)
    lag, triangles = np.array([4.0], np.float32), np.array([0, 1, 2], np.int32)
    for speed in (1e6, 1e30, -1e38):
        settings = np.array([0, speed, 0, 1, 1e4], np.float32)
        Plan([press.over(0, 1, triangles=triangles, q=q, v=v, lag=lag, settings=settings, force=force)], 1).run()
        assert force[0, 1] == pytest.approx(speed / 4, rel=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
def test_blow(threads):
    """total_i = a_i + share_i Σ F over the triangles of i."""
    rng = np.random.default_rng(1)
    triangles, *_ = surface()
    force, acceleration = rng.normal(size=(2, max(N, M), 3))
    share = rng.uniform(0.1, 2, N)
    corners = [np.flatnonzero((triangles == i).any(axis=1)) for i in range(N)]
    starts = np.concatenate([[0], np.cumsum([len(c) for c in corners])]).astype(np.int32)
    total = np.full((N, 4), np.nan, np.float32)
    arrays = {"starts": starts, "incident": np.concatenate(corners).astype(np.int32), "force": to_rows(force[:M])}
    arrays |= {"share": share.astype(np.float32), "acceleration": to_rows(acceleration[:N]), "total": total}
    Plan([blow.over(0, N, **arrays)], threads).run()
    for i, listed in enumerate(corners):
        size = np.abs(acceleration[i]) + share[i] * np.abs(force[listed]).sum(axis=0)
        expected = acceleration[i] + share[i] * force[listed].sum(axis=0)
        assert (np.abs(total[i, :3] - expected) <= (len(listed) + 4) * EPS32 * size).all()
