"""What hardly moves in contact stays."""

from __future__ import annotations

import numpy as np
import pytest

from vivace.collisions.kernels.sleep import fall_asleep


@pytest.mark.parametrize("seed", range(3))
def test_fall_asleep(seed):
    """x = q where |x - q| < its limit, the vertex is in a contact and nobody holds it."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(200, 4)).astype(np.float32)
    x = q + 0.01 * rng.normal(size=(200, 4)).astype(np.float32)
    walls, pairs = rng.integers(0, 200, 60).astype(np.int32), rng.integers(0, 200, (20, 4)).astype(np.int32)
    held, limit = rng.random(200) < 0.2, rng.uniform(0.01, 0.02, 200)
    touching = np.isin(np.arange(200), np.concatenate([walls, pairs.ravel()]))
    still = touching & ~held & (np.linalg.norm((x - q)[:, :3].astype(np.float64), axis=1) < limit)
    expected = np.where(still[:, None], q, x)
    fall_asleep(q, x, walls, pairs, held, limit)
    np.testing.assert_array_equal(x, expected)
    assert 10 < still.sum() < 100
