"""F = U diag(σ) Vᵀ with rotations U and V, σ₁ ≥ σ₂ ≥ |σ₃|: to a few units of rounding, whatever F."""

import numpy as np
import pytest

from hyperelastic.matrices import adversarial, rotations
from vivace import InputError
from vivace.hyperelastic import polar_rotation, svd


def faults(f, u, sigma, v):
    """Largest errors relative to |F|: reconstruction, orthogonality, determinants, singular values."""
    f, u, sigma, v = (x.astype(np.float64) for x in (f, u, sigma, v))
    size = np.maximum(np.abs(f).max(axis=(1, 2)), 1e-300)
    rebuilt = np.einsum("mij,mj,mkj->mik", u, sigma / size[:, None], v) - f / size[:, None, None]
    values = np.linalg.svd(f / size[:, None, None], compute_uv=False)
    return {
        "reconstruction": np.abs(rebuilt).max(),
        "orthogonality": max(np.abs(np.swapaxes(x, 1, 2) @ x - np.eye(3)).max() for x in (u, v)),
        "determinant": max(np.abs(np.linalg.det(x) - 1).max() for x in (u, v)),
        "values": np.abs(np.abs(sigma) / size[:, None] - values).max(),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "reach", "limit"), [(np.float64, 140, 6e-15), (np.float32, 15, 3e-6)], ids=["float64", "float32"]
)
def test_decomposition_of_random_and_adversarial_matrices(dtype, reach, limit):
    f = adversarial(200_000, 3, reach).astype(dtype)
    u, sigma, v = svd(f)
    assert u.dtype == sigma.dtype == v.dtype == dtype
    for what, fault in faults(f, u, sigma, v).items():
        assert fault < limit, what
    assert (sigma[:, 0] >= sigma[:, 1]).all()
    assert (sigma[:, 1] >= np.abs(sigma[:, 2])).all()
    assert (sigma[:, 1] >= 0).all()


@pytest.mark.slow
def test_small_singular_values_keep_their_digits():
    """Columns of very different size: each σ is right relative to itself, which FᵀF cannot be."""
    rng = np.random.default_rng(1)
    grades = 10.0 ** -np.sort(rng.uniform(0, 60, (1000, 3)), axis=1)
    u, sigma, _ = svd(rotations(1000) * grades[:, None, :])
    assert np.abs(np.abs(sigma) / grades - 1).max() < 1e-13
    assert np.abs(np.swapaxes(u, 1, 2) @ u - np.eye(3)).max() < 1e-14


@pytest.mark.slow
def test_sign_of_the_last_value_is_that_of_the_determinant():
    f = np.random.default_rng(2).standard_normal((1000, 3, 3))
    _, sigma, _ = svd(f)
    assert (np.sign(sigma[:, 2]) == np.sign(np.linalg.det(f))).all()
    np.testing.assert_allclose(sigma.prod(axis=1), np.linalg.det(f), rtol=1e-10)


@pytest.mark.slow
def test_polar_rotation_is_the_nearest():
    """R Rᵀ = I, det R = 1, and RᵀF is symmetric; of a rotation times a stretch it is that rotation."""
    r = rotations(500)
    stretch = np.random.default_rng(3).standard_normal((500, 3, 3)) * 0.2
    stretch = np.eye(3) + 0.5 * (stretch + np.swapaxes(stretch, 1, 2))
    positive = np.linalg.eigvalsh(stretch)[:, 0] > 0.05
    found = polar_rotation(r @ stretch)
    np.testing.assert_allclose(found[positive], r[positive], atol=1e-13)
    f = np.random.default_rng(4).standard_normal((500, 3, 3))
    found = polar_rotation(f)
    s = np.swapaxes(found, 1, 2) @ f
    np.testing.assert_allclose(s, np.swapaxes(s, 1, 2), atol=1e-13)
    np.testing.assert_allclose(np.linalg.det(found), 1, atol=1e-13)


@pytest.mark.slow
def test_zero_turns_nothing():
    u, sigma, v = svd(np.zeros((3, 3)))
    np.testing.assert_array_equal(sigma, 0)
    np.testing.assert_allclose(u @ v.T, np.eye(3), atol=1e-15)
    for scale in (5e-324, 1e-310, 1e300):
        u, sigma, v = svd(scale * np.diag([1.0, 1.0, 1.0]))
        np.testing.assert_allclose(sigma, scale, rtol=1e-12)


def test_what_is_no_matrix_is_refused():
    with pytest.raises(InputError, match=r"\(m, 3, 3\)"):
        svd(np.zeros((4, 3)))
    bad = np.zeros((5, 3, 3))
    bad[3, 1, 1] = np.nan
    with pytest.raises(InputError, match="matrix 3 is not finite"):
        svd(bad)
