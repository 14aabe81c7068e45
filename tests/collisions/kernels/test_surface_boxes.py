"""Boxes and drifts of the features of surfaces, against float64."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_twins import EPS32, to_rows
from vivace.backends.cpu.executor import Plan
from vivace.collisions.kernels.hash_grid import Grid
from vivace.collisions.kernels.surface_boxes import (
    INFLATE,
    REACH,
    ROUNDED,
    SETTINGS,
    THICKNESS,
    TYPICAL_SIZE,
    arrange_edges,
    arrange_triangles,
    arrange_vertices,
    bound,
    follow,
    survey,
)

WIDTHS = pytest.mark.parametrize("width", [1, 2, 3], ids=["vertices", "edges", "triangles"])


class Features:
    """Features of `width` random corners each, on their way from q to s, bounded."""

    def __init__(self, width, q, s, count=60, seed=0, wider=None):
        rng = np.random.default_rng(seed)
        n = len(q)
        self.q, self.shifted, self.settings = to_rows(q), np.zeros((n, 4), np.float32), np.zeros(SETTINGS)
        self.corners = np.array([rng.choice(n, width, replace=False) for _ in range(count)], np.int32)
        self.settings[REACH], self.settings[THICKNESS] = 0.15, 0.1
        edges, s = self.corners[:, [0, -1]], to_rows(s)
        self.passive = passive = np.zeros(n, np.int32)
        assert survey(self.q, s, np.arange(n, dtype=np.int32), edges, passive, self.settings)
        moving = {"q": self.q, "shifted": self.shifted, "settings": self.settings}
        Plan([follow.over(0, n, s=s, motion=np.zeros(n, np.float32), **moving)], 1).run()
        self.drift, self.grid = np.full((count, 4), np.nan, np.float32), Grid.of(count)
        boxes = {"low": self.grid.low, "high": self.grid.high, "level": self.grid.level}
        sizes = {"corners": self.corners, "width": np.array([width]), "drift": self.drift, "passive": passive}
        self.wider = np.zeros(0, np.float32) if wider is None else wider
        sizes["wider"] = self.wider
        Plan([bound.over(0, count, **boxes, **sizes, **moving)], 2).run()
        self.moved = (self.shifted.astype(np.float64) - self.q)[self.corners, :3]  # (count, width, 3)


def random_way(seed, n=40):
    """Corners that go somewhere each, at speeds over four orders of magnitude, all a good deal to one side."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(n, 3))
    return q, q + 10 ** rng.uniform(-3, 1, (n, 1)) * rng.normal(size=(n, 3)) + [2, 0, -1]


@WIDTHS
def test_rows_of_drifts(width):
    """(Σ d_k / width, max |d_k - mean|) of the displacements d_k, and what rounding may take: 1e-5 of the mean."""
    features = Features(width, *random_way(width))
    mean = features.moved.mean(axis=1)
    spread = np.linalg.norm(features.moved - mean[:, None], axis=2).max(axis=1)
    size = np.linalg.norm(features.moved, axis=2).max(axis=1)
    assert (np.abs(features.drift[:, :3] - mean).max(axis=1) <= 4 * EPS32 * size).all()
    room = float(ROUNDED) * np.linalg.norm(mean, axis=1)
    assert (np.abs(features.drift[:, 3] - spread - room) <= 8 * EPS32 * size).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("other", [1, 2, 3])
@WIDTHS
def test_drifts_bound_relative_displacements(width, other, seed):
    """|d_a - d_b| <= |m_a - m_b| + spread_a + spread_b for any corners, and so for any points of two features."""
    first, second = (Features(k, *random_way(seed), seed=seed + k) for k in (width, other))
    apart = np.linalg.norm(first.moved[:, None, :, None] - second.moved[None, :, None, :], axis=-1).max(axis=(2, 3))
    a, b = first.drift.astype(np.float64), second.drift.astype(np.float64)
    limit = np.linalg.norm(a[:, None, :3] - b[None, :, :3], axis=-1) + a[:, None, 3] + b[None, :, 3]
    size = max(np.abs(first.moved).max(), np.abs(second.moved).max())
    assert (apart <= limit + 2 * EPS32 * size).all()
    assert (limit <= 4 * apart + 1e-4 * size).all()  # |m_a - m_b| <= apart; a spread is 4/3 of it at most


@WIDTHS
def test_what_moves_alike_has_no_spread(width):
    """Two crowds that fly apart, each with one displacement: spreads are float32's, 1e-5 of it, and so is the sum."""
    q = np.random.default_rng(5).normal(size=(40, 3))
    away = np.where(np.arange(40)[:, None] < 20, 1.0, -1.0) * [3, -4, 12]
    features = Features(width, q, q + away, count=200)
    same = (features.corners < 20).all(axis=1) | (features.corners >= 20).all(axis=1)
    rounding = 8 * EPS32 * 15
    assert (features.drift[same, 3] <= 13 * float(ROUNDED) + rounding).all()
    assert (np.abs(np.linalg.norm(features.drift[same, :3], axis=1) - 13) < 0.7).all()  # the mean of all is taken away
    if width > 1:
        assert (features.drift[~same, 3] > 12).all()


@WIDTHS
def test_boxes_hold_the_way(width):
    """From the lowest to the highest of q and s - mean, inflated by half the reach."""
    features = Features(width, *random_way(width + 10))
    ways = np.concatenate([features.q[features.corners, :3], features.shifted[features.corners, :3]], axis=1)
    inflate = features.settings[INFLATE]
    slack = 2 * EPS32 * np.abs(ways).max()
    np.testing.assert_allclose(features.grid.low[:, :3], ways.min(axis=1) - inflate, rtol=0, atol=slack)
    np.testing.assert_allclose(features.grid.high[:, :3], ways.max(axis=1) + inflate, rtol=0, atol=slack)
    assert features.settings[TYPICAL_SIZE] > 2 * inflate


@WIDTHS
def test_thick_features_have_wider_boxes(width):
    """By as much as their thickest corner reaches farther."""
    wider = np.random.default_rng(width).uniform(0, 0.1, 40).astype(np.float32)
    way = random_way(width + 10)
    usual, features = Features(width, *way), Features(width, *way, wider=wider)
    more = wider[features.corners].max(axis=1)[:, None]
    slack = 2 * EPS32 * np.abs(features.grid.high[:, :3]).max()
    np.testing.assert_allclose(features.grid.low[:, :3], usual.grid.low[:, :3] - more, rtol=0, atol=slack)
    np.testing.assert_allclose(features.grid.high[:, :3], usual.grid.high[:, :3] + more, rtol=0, atol=slack)


@WIDTHS
def test_drifts_in_the_order_of_the_grid(width):
    """Row i is that of feature order[i]; a triangle's spread has room for its planes: 1e-4 of its longest side."""
    features = Features(width, *random_way(width + 20))
    count = len(features.corners)
    order = features.grid.order
    order[:] = np.random.default_rng(0).permutation(count)
    corners, drifts = np.zeros((count, width), np.int32), np.full((count, 4), np.nan, np.float32)
    given = {"order": order, "drift": features.drift, "drifts": drifts}
    given |= {"passive": features.passive, "settings": features.settings, "wider": features.wider}
    start, vector = np.zeros((2, count, 4), np.float32)
    alike = np.arange(len(features.q), dtype=np.int32) // 2 if width > 1 else np.arange(len(features.q))
    phase = {
        1: lambda: arrange_vertices.over(0, count, used=features.corners, vertices=corners, **given),
        2: lambda: arrange_edges.over(
            *(0, count),
            edges=features.corners,
            q=features.q,
            ends=corners,
            start=start,
            vector=vector,
            alike=alike,
            **given,
        ),
        3: lambda: arrange_triangles.over(
            *(0, count),
            **given,
            triangles=features.corners,
            q=features.q,
            alike=alike,
            corners=corners,
            planes=np.zeros((5 * count, 4), np.float32),
        ),
    }[width]()
    Plan([phase], 1).run()
    np.testing.assert_array_equal(corners, alike[features.corners[order]])
    np.testing.assert_array_equal(drifts[:, :3], features.drift[order, :3])
    room = drifts[:, 3].astype(np.float64) - features.drift[order, 3]
    if width < 3:
        np.testing.assert_array_equal(room, 0)
        return
    x = features.q[features.corners[order], :3].astype(np.float64)
    longest = np.linalg.norm(x - np.roll(x, 1, axis=1), axis=2).max(axis=1)
    assert (room >= 1e-4 * longest).all()
    assert (room <= 2e-4 * longest).all()
