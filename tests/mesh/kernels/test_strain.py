"""Strain of edges against NumPy."""

import numpy as np
import pytest

from vivace.mesh.kernels.strain import edge_strain


@pytest.mark.parametrize("seed", range(4))
def test_strain_is_its_definition(seed):
    """|l/l₀ - 1|: mean, root of the mean square, largest, and the largest at each vertex."""
    rng = np.random.default_rng(seed)
    positions = rng.normal(size=(40, 3)).astype(np.float32)
    edges = np.array([rng.choice(40, 2, replace=False) for _ in range(90)], np.int32)
    lengths = rng.uniform(0.5, 2, 90).astype(np.float32)
    lengths[:3] = 0  # left out
    worst = np.zeros(40, np.float32)
    mean, root, largest = edge_strain(positions, edges, lengths, worst)
    ends = positions[edges[3:]].astype(np.float64)
    strain = np.abs(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1) / lengths[3:] - 1)
    expected = np.zeros(40)
    np.maximum.at(expected, edges[3:].ravel(), np.repeat(strain, 2))
    assert mean == pytest.approx(strain.mean(), rel=1e-5)
    assert root == pytest.approx(np.sqrt(np.mean(strain**2)), rel=1e-5)
    assert largest == pytest.approx(strain.max(), rel=1e-5)
    np.testing.assert_allclose(worst, expected, rtol=1e-5, atol=1e-6)


def test_compression_does_not_hide_stretch():
    """One edge drawn out by a fifth and one pressed by as much: the mean is a fifth, and so is its root mean square."""
    positions = np.array([[0.0, 0, 0], [1.2, 0, 0], [2.0, 0, 0]])
    found = edge_strain(positions, np.array([[0, 1], [1, 2]]), np.ones(2), np.zeros(3))
    np.testing.assert_allclose(found, [0.2, 0.2, 0.2], rtol=1e-12)


@pytest.mark.parametrize("first", [0, 1])
def test_what_is_not_finite_is_told(first):
    """Wherever in the list it stands."""
    positions = np.array([[0.0, 0, 0], [1.2, 0, 0], [np.nan, 0, 0]])
    edges = np.array([[0, 1], [1, 2]])[[first, 1 - first]]
    assert np.isnan(edge_strain(positions, edges, np.ones(2), np.zeros(3))).all()


def test_nothing_to_measure():
    nothing = np.zeros((0, 3), np.float32), np.zeros((0, 2), np.int32), *np.zeros((2, 0), np.float32)
    assert edge_strain(*nothing) == (0, 0, 0)
