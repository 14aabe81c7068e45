"""Invertible model conversion [fratarcangeli2018, Eqs. 44-47]."""

import numpy as np
import pytest

from hyperelastic.differences import by_matrix
from vivace import InputError
from vivace.hyperelastic import HYPERELASTIC, Conversion
from vivace.hyperelastic.inversion import interpolants

NEO = HYPERELASTIC["neo-hookean"]
CONSTANTS = (0.5, 1.0)


def along(stretches, others=(1.0, 1.0)):
    """diag(a, b, σ) for each σ."""
    return np.stack([np.diag([*others, s]) for s in stretches])


@pytest.mark.slow
def test_nothing_changes_above_the_upper_stretch():
    f = along(np.linspace(0.151, 2.0, 40))
    for plain, converted in zip(NEO.evaluate(f, CONSTANTS), NEO.evaluate(f, CONSTANTS, Conversion()), strict=True):
        np.testing.assert_array_equal(plain, converted)


@pytest.mark.slow
def test_below_the_lower_stretch_it_is_projective_dynamics():
    """The stress along an axis whose stretch is below λ⁻ is 2 k (σ - 1)."""
    sigma = np.array([0.049, 0.0, -0.3, -0.9])
    _, stress = NEO.evaluate(along(sigma), CONSTANTS, Conversion(stiffness=0.7))
    np.testing.assert_allclose(stress[:, 2, 2], 2 * 0.7 * (sigma - 1), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stvk", "neo-hookean", "mooney-rivlin", "fung"])
def test_a_flattened_element_is_pushed_back(name):
    """Along a compressed axis energy falls all the way from inverted to rest.

    Further than to -1 a stretch cannot be inverted: σ₃ is the one of the smallest size.
    """
    density = HYPERELASTIC[name]
    constants = density.of_moduli(1.0, 0.3)
    sigma = np.linspace(-0.99, 0.99, 400)
    energy, stress = density.evaluate(along(sigma), constants, Conversion())
    assert np.isfinite(energy).all()
    assert (stress[:, 2, 2] < 0).all()
    assert (np.diff(energy) < 0).all()


@pytest.mark.slow
def test_twice_differentiable_at_both_ends():
    """Energy, stress and curvature do not jump at λ⁺ and λ⁻."""
    for end in (0.15, 0.05):
        f = along([end - 1e-9, end + 1e-9], (1.1, 0.9))
        energy, stress = NEO.evaluate(f, CONSTANTS, Conversion())
        hessian = NEO.hessian(f, CONSTANTS, Conversion())
        for what in (energy, stress, hessian):
            assert np.abs(what[1] - what[0]).max() < 1e-5 * np.abs(what[0]).max()


@pytest.mark.slow
def test_forces_of_the_paper_are_no_gradient():
    """(1 - l) P + l P_proj with l = l(F) of Eq. 45 has a rotation: ∂/∂F is not symmetric. So it has no energy."""
    f = along([0.09], (1.3, 0.7))
    projective = HYPERELASTIC["corotated"]

    def stress(x):
        sigma = np.linalg.svd(x, compute_uv=False)
        share = interpolants(sigma, None, 0.05, 0.15, 0.05)[:, None, None]
        other = projective.evaluate(x, (0.5, 0.0))[1]
        return (1 - share) * NEO.evaluate(x, CONSTANTS)[1] + share * other

    slopes = by_matrix(stress, f, 1e-5).reshape(9, 9)
    assert np.abs(slopes - slopes.T).max() > 0.05 * np.abs(slopes).max()


@pytest.mark.slow
def test_with_the_derivative_of_the_interpolant_elements_would_stay_flat():
    """(1 - l) W + l k W_proj as a function of F has a minimum between inverted and λ⁺, which ours has not."""
    sigma = np.linspace(-0.5, 0.15, 200)
    f = along(sigma)
    constants = NEO.of_moduli(1.0, 0.3)
    mu, lam = NEO.moduli(constants)
    share = interpolants(np.sort(np.column_stack([np.ones((200, 2)), sigma]))[:, ::-1], None, 0.05, 0.15, 0.05)
    plain = np.where(share < 1, NEO.evaluate(f, constants)[0], 0.0)
    mixed = (1 - share) * plain + share * (mu + lam / 2) * (sigma - 1) ** 2
    assert 0 < np.argmin(mixed) < 199
    assert np.argmin(NEO.evaluate(f, constants, Conversion())[0]) == 199


def test_interpolants_of_the_paper():
    """Eq. 45: the line between λ⁻ and λ⁺, and a fall of at most L."""
    sigma = np.array([[1.0, 1.0, 0.2], [1.0, 1.0, 0.1], [1.0, 0.5, 0.05], [1.0, 0.5, -1.0]])
    np.testing.assert_allclose(interpolants(sigma, None, 0.05, 0.15, 0.05), [0.0, 0.5, 1.0, 1.0])
    before = np.array([0.8, 0.8, 0.3, 1.0])
    np.testing.assert_allclose(interpolants(sigma, before, 0.05, 0.15, 0.05), [0.75, 0.75, 1.0, 1.0])


def test_bad_conversions_are_refused():
    for wrong, said in (
        ({"low": 0.0}, "low"), ({"low": 0.3, "high": 0.2}, "high"), ({"memory": 0.0}, "memory"),
        ({"stiffness": -1.0}, "stiffness"), ({"low": float("nan")}, "low"), ({"way": "lagged"}, "conversion"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            Conversion(**wrong)
    with pytest.raises(InputError, match="low"):
        NEO.evaluate(np.eye(3)[None], CONSTANTS, Conversion(low=0.2))
    with pytest.raises(InputError, match="smooth"):
        NEO.evaluate(np.eye(3)[None], CONSTANTS, Conversion(way="held"))
