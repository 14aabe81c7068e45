"""Which boxes overlap: none is missed and none found twice."""

from __future__ import annotations

import numpy as np
import pytest

from vivace.collisions.kernels.box_pairs import broad_phase_pairs
from vivace.collisions.kernels.hash_grid import SCRATCH


def brute_pairs(lower: np.ndarray, upper: np.ndarray, other_lower: np.ndarray, other_upper: np.ndarray) -> np.ndarray:
    meet = np.ones((len(lower), len(other_lower)), bool)
    for axis in range(3):
        meet &= lower[:, None, axis] <= other_upper[None, :, axis]
        meet &= upper[:, None, axis] >= other_lower[None, :, axis]
    return np.argwhere(meet)


def random_boxes(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Boxes of triangles of one size, of sizes over six orders of magnitude, in a plane, or far from the origin."""
    rng = np.random.default_rng(seed)
    kind = seed % 5
    size = 10.0 ** rng.uniform(-6, 0, (n, 1, 1)) if kind in (1, 2) else np.full((n, 1, 1), 0.1)
    if kind == 2:
        size[:5] = 50.0
    corners = rng.uniform(-1, 1, (n, 1, 3)) + size * rng.uniform(-1, 1, (n, 3, 3))
    if kind == 3:
        corners[..., 1] = 0.25
    if kind == 4:
        corners += [3e4, -2e5, 1e3]
    corners = corners.astype(np.float32).astype(np.float64)
    return corners.min(axis=1), corners.max(axis=1)


def keys(pairs: np.ndarray) -> np.ndarray:
    return pairs[:, 0].astype(np.int64) * 2**32 + pairs[:, 1]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 50, 5))
def test_no_pair_of_boxes_missed_and_none_twice(first):
    for seed in range(first, first + 5):
        boxes, others = random_boxes(seed, 2000), random_boxes(seed + 100 * 5, 500)
        within = keys(np.sort(broad_phase_pairs(*boxes, threads=2), axis=1))
        assert len(np.unique(within)) == len(within)
        expected = brute_pairs(*boxes, *boxes)
        expected = keys(expected[expected[:, 0] < expected[:, 1]])
        assert np.isin(expected, within).all()
        between = keys(broad_phase_pairs(*boxes, others, threads=2))
        assert len(np.unique(between)) == len(between)
        expected_between = keys(brute_pairs(*boxes, *others))
        assert np.isin(expected_between, between).all()
        # Only boxes that float32 cannot part are reported beyond those.
        eps = 4e-7 * max(np.abs(b).max() for b in (*boxes, *others))
        wide = brute_pairs(boxes[0] - eps, boxes[1] + eps, others[0], others[1])
        assert np.isin(between, keys(wide)).all()


@pytest.mark.slow
def test_boxes_in_one_cell_and_in_a_line():
    """All boxes alike, more of them than a walk collects at a time; and boxes so far apart that the torus wraps."""
    n = SCRATCH + 300
    alike = np.zeros((n, 3)), np.ones((n, 3))
    assert len(np.unique(keys(np.sort(broad_phase_pairs(*alike), axis=1)))) == n * (n - 1) // 2
    lower = np.zeros((5000, 3))
    lower[:, 0] = np.arange(5000) * 37.0
    lower[:, 2] = np.arange(5000) * 1e5
    assert len(broad_phase_pairs(lower, lower + 1.0)) == 0
    lower[:, 2] = 0
    assert len(broad_phase_pairs(lower, lower + 40.0)) == 4999
    points = np.zeros((10, 3))
    assert len(broad_phase_pairs(points, points)) == 45
