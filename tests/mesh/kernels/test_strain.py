"""Strain of edges against NumPy."""

import numpy as np
import pytest

from vivace.mesh.kernels.strain import edge_strain


@pytest.mark.parametrize("seed", range(4))
def test_strain_is_its_definition(seed):
    """|l/l₀ - 1|: mean, largest, and the largest at each vertex."""
    rng = np.random.default_rng(seed)
    positions = rng.normal(size=(40, 3)).astype(np.float32)
    edges = np.array([rng.choice(40, 2, replace=False) for _ in range(90)], np.int32)
    lengths = rng.uniform(0.5, 2, 90).astype(np.float32)
    lengths[:3] = 0  # left out
    worst = np.zeros(40, np.float32)
    mean, largest = edge_strain(positions, edges, lengths, worst)
    ends = positions[edges[3:]].astype(np.float64)
    strain = np.abs(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1) / lengths[3:] - 1)
    expected = np.zeros(40)
    np.maximum.at(expected, edges[3:].ravel(), np.repeat(strain, 2))
    assert mean == pytest.approx(strain.mean(), rel=1e-5)
    assert largest == pytest.approx(strain.max(), rel=1e-5)
    np.testing.assert_allclose(worst, expected, rtol=1e-5, atol=1e-6)


def test_nothing_to_measure():
    assert edge_strain(*(np.zeros((0, 3), np.float32), np.zeros((0, 2), np.int32)), *np.zeros((2, 0), np.float32)) == (
        0,
        0,
    )
