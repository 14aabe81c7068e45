"""Densities: stress and curvature are derivatives of energy; objectivity, isotropy, rest, small strains."""

import numpy as np
import pytest
import scipy.linalg

from hyperelastic.differences import by_matrix
from hyperelastic.matrices import rotations
from vivace import InputError
from vivace.hyperelastic import HYPERELASTIC, Conversion

NAMES = ("stvk", "neo-hookean", "mooney-rivlin", "fung", "stable-neo-hookean", "corotated")
FOR_ALL = ("stvk", "stable-neo-hookean", "corotated")  # defined for every F as they are
CONVERTED = ("stvk", "neo-hookean", "mooney-rivlin", "fung")
CASES = [(name, None) for name in NAMES] + [(name, Conversion()) for name in CONVERTED]


def case_id(value):
    return "" if value is None else "converted" if isinstance(value, Conversion) else value


def moderate(m, seed=0):
    """Deformation gradients of moderate strain, with positive determinant."""
    f = np.eye(3) + 0.25 * np.random.default_rng(seed).standard_normal((4 * m, 3, 3))
    return f[np.linalg.svd(f, compute_uv=False)[:, 2] * np.sign(np.linalg.det(f)) > 0.2][:m]


def matrices(name, conversion):
    """Where a density is differentiable: moderate ones, and, where it is made for them, inverted ones too."""
    f = moderate(120)
    if conversion is None and name not in FOR_ALL:
        return f
    wild = 0.6 * np.random.default_rng(1).standard_normal((200, 3, 3))
    sigma = np.linalg.svd(wild, compute_uv=False)
    apart = sigma[:, 1] - sigma[:, 2] > 0.05  # where σ₂ + σ₃ = 0 an inverted element has a crease
    return np.concatenate([f, wild[apart]])


def test_all_densities_of_the_paper_are_registered():
    assert set(NAMES) <= set(HYPERELASTIC)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "conversion"), CASES, ids=case_id)
def test_stress_and_curvature_are_derivatives(name, conversion):
    """P = ∂W/∂F, H = ∂P/∂F, and H is symmetric."""
    density = HYPERELASTIC[name]
    constants, f = density.of_moduli(1.0, 0.3), matrices(name, conversion)
    _, stress = density.evaluate(f, constants, conversion)
    hessian = density.hessian(f, constants, conversion)
    found = by_matrix(lambda x: density.evaluate(x, constants, conversion)[0], f)
    size = 1 + np.abs(stress).max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(stress / size, found / size, atol=2e-8)
    slopes = by_matrix(lambda x: density.evaluate(x, constants, conversion)[1], f).reshape(-1, 9, 9)
    size = 1 + np.abs(hessian).max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(hessian / size, slopes / size, atol=2e-5 if conversion else 2e-7)
    np.testing.assert_allclose(hessian / size, np.swapaxes(hessian, 1, 2) / size, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "conversion"), CASES, ids=case_id)
def test_positive_part_is_the_nearest(name, conversion):
    """Negative eigenvalues are zero, and the others as they were: held to a full eigendecomposition."""
    density = HYPERELASTIC[name]
    constants, f = density.of_moduli(1.0, 0.3), matrices(name, conversion)
    values, vectors = np.linalg.eigh(density.hessian(f, constants, conversion))
    expected = np.einsum("mij,mj,mkj->mik", vectors, np.maximum(values, 0), vectors)
    found = density.hessian(f, constants, conversion, positive=True)
    size = np.abs(values).max(axis=1)[:, None, None]
    np.testing.assert_allclose(found / size, expected / size, atol=1e-11)
    assert (values[:, 0] < -1e-3).any() or name == "neo-hookean"  # or nothing would have been left out


@pytest.mark.slow
@pytest.mark.parametrize(("name", "conversion"), CASES, ids=case_id)
def test_objective_and_isotropic(name, conversion):
    """W(R F Q) = W(F) and P(R F Q) = R P(F) Q for all rotations R and Q: no direction is special, in space or in it."""
    density = HYPERELASTIC[name]
    constants, f = density.of_moduli(2.0, 0.4), matrices(name, conversion)
    left, right = rotations(len(f), 5), rotations(len(f), 6)
    energy, stress = density.evaluate(f, constants, conversion)
    turned, turned_stress = density.evaluate(left @ f @ right, constants, conversion)
    np.testing.assert_allclose(turned, energy, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(turned_stress, left @ stress @ right, rtol=1e-9, atol=1e-9 * np.abs(stress).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("poisson", [0.0, 0.3, 0.49])
def test_rest_and_small_strains(name, poisson):
    """Nothing at rest; P = 2 μ ε + λ tr(ε) I to first order: linear elasticity of the same moduli."""
    density = HYPERELASTIC[name]
    constants = density.of_moduli(1.0, poisson)
    mu, lam = 1 / (2 * (1 + poisson)), poisson / ((1 + poisson) * (1 - 2 * poisson))
    np.testing.assert_allclose(density.moduli(constants), (mu, lam), atol=1e-12 * (mu + lam))
    energy, stress = density.evaluate(np.eye(3)[None], constants)
    assert abs(energy[0]) < 1e-14 * (mu + lam)
    assert np.abs(stress).max() < 1e-14 * (mu + lam)
    g = 1e-6 * np.random.default_rng(3).standard_normal((20, 3, 3))
    strain = 0.5 * (g + np.swapaxes(g, 1, 2))
    linear = 2 * mu * strain + lam * np.einsum("mii->m", strain)[:, None, None] * np.eye(3)
    _, stress = density.evaluate(np.eye(3) + g, constants)
    np.testing.assert_allclose(stress, linear, atol=1e-10 * (mu + lam))


@pytest.mark.slow
def test_equations_of_the_paper():
    """Eqs. 40-43 from I, II and III, with the two corrections that `kernels.densities` tells of, and Eq. 28."""
    f = moderate(50)
    c = np.swapaxes(f, 1, 2) @ f
    one, two, three = np.einsum("mii->m", c), np.einsum("mij,mji->m", c, c), np.linalg.det(c)
    x, volume = three ** (-1 / 3) * one - 3, (np.sqrt(three) - 1) ** 2
    s = (0.7, 1.3, 0.4, 0.9)
    expected = {
        "stvk": s[0] / 8 * (one - 3) ** 2 + s[1] / 4 * (two - 2 * one + 3),
        "neo-hookean": s[0] * x + s[1] * volume,
        "mooney-rivlin": s[0] * x + s[1] * volume + s[2] * (0.5 * three ** (-2 / 3) * (one**2 - two) - 3),
        "fung": s[0] * x + s[1] * volume + s[2] * (np.exp(s[3] * x) - 1),
        "corotated": s[0] * np.sum((np.linalg.svd(f, compute_uv=False) - 1) ** 2, axis=1),
    }
    for name, energies in expected.items():
        density = HYPERELASTIC[name]
        constants = (s[0], 0.0) if name == "corotated" else s[: len(density.parameters)]
        np.testing.assert_allclose(density.evaluate(f, constants)[0], energies, rtol=1e-11, atol=1e-13)


@pytest.mark.slow
def test_corotated_stress_by_polar_decomposition():
    """P = 2 s₀ (F - R) + s₁ tr(S - I) R, with R and S = RᵀF of SciPy's polar decomposition."""
    f = moderate(300)
    r = np.stack([scipy.linalg.polar(one)[0] for one in f])
    trace = np.einsum("mij,mij->m", r, f) - 3
    _, stress = HYPERELASTIC["corotated"].evaluate(f, (0.7, 1.3))
    np.testing.assert_allclose(stress, 1.4 * (f - r) + 1.3 * trace[:, None, None] * r, atol=1e-13)


@pytest.mark.slow
def test_energy_is_infinite_where_a_density_has_none():
    """det F ≤ 0 without conversion."""
    flat = np.stack([np.diag([1.0, 1.0, 0.0]), np.diag([1.0, 1.0, -0.5])])
    for name in ("neo-hookean", "mooney-rivlin", "fung"):
        density = HYPERELASTIC[name]
        energy, stress = density.evaluate(flat, density.of_moduli(1.0, 0.3))
        assert np.isinf(energy).all()
        assert (stress == 0).all()


def test_bad_constants_are_refused():
    density = HYPERELASTIC["neo-hookean"]
    for poisson in (0.5, 0.6, -0.1, np.nan, "soft"):
        with pytest.raises(InputError, match="poisson"):
            density.of_moduli(1e5, poisson)
    for young in (0.0, -1.0, np.inf):
        with pytest.raises(InputError, match="young"):
            density.of_moduli(young, 0.3)
    with pytest.raises(InputError, match="neo-hookean: s0 must be positive"):
        density.check((-1.0, 1.0))
    with pytest.raises(InputError, match="2 constants are needed"):
        density.check((1.0,))
    with pytest.raises(InputError, match=r"\(m, 3, 3\)"):
        density.evaluate(np.zeros((2, 3)), (1.0, 1.0))
