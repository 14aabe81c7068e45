"""Materials of one's own: a Python function becomes a density, and one that is wrong is refused."""

import numpy as np
import pytest

import vivace as vv
from hyperelastic.test_densities import moderate
from vivace.hyperelastic import HYPERELASTIC, Hyperelastic
from vivace.hyperelastic.own import own_density


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch):
    """What a test registers is forgotten after it."""
    for registry in (vv.MATERIALS, HYPERELASTIC):
        monkeypatch.setattr(registry, "_things", dict(registry._things))


def neo(I1, I2, J, s0=0.5, s1=1.0):
    return s0 * (I1 * J ** (-2 / 3) - 3) + s1 * (J - 1) ** 2


def neo_gradient(I1, I2, J, s0=0.5, s1=1.0):
    a = J ** (-2 / 3)
    return s0 * a, 0.0, -2 / 3 * s0 * a * I1 / J + 2 * s1 * (J - 1)


def neo_hessian(I1, I2, J, s0=0.5, s1=1.0):
    a = J ** (-2 / 3)
    return 0.0, 0.0, 10 / 9 * s0 * a * I1 / J**2 + 2 * s1, 0.0, -2 / 3 * s0 * a / J, 0.0


def mooney(I1, I2, J, s0, s1, s2):
    a = J ** (-2 / 3)
    return s0 * (I1 * a - 3) + s1 * (J - 1) ** 2 + s2 * (I2 * a**2 - 3)


def hencky(x, y, z, mu=0.7, lam=0.4):
    a, b, c = np.log(x), np.log(y), np.log(z)
    return mu * (a**2 + b**2 + c**2) + lam / 2 * (a + b + c) ** 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("derivatives", "first", "second"),
    [
        ({}, 1e-11, 1e-8),
        ({"gradient": neo_gradient}, 1e-13, 1e-10),
        ({"gradient": neo_gradient, "hessian": neo_hessian}, 1e-13, 1e-12),
    ],
    ids=["none", "gradient", "both"],
)
def test_the_same_as_ours(derivatives, first, second):
    """The package's own neo-Hookean density, written by a user, with and without derivatives."""
    mine, defaults = own_density("mine", neo, **derivatives)
    ours, f = HYPERELASTIC["neo-hookean"], moderate(100)
    assert (mine.parameters, defaults) == (("s0", "s1"), {"s0": 0.5, "s1": 1.0})
    for a, b in zip(mine.evaluate(f, (0.5, 1.0)), ours.evaluate(f, (0.5, 1.0)), strict=True):
        np.testing.assert_allclose(a, b, atol=first * np.abs(b).max())
    a, b = mine.hessian(f, (0.5, 1.0)), ours.hessian(f, (0.5, 1.0))
    np.testing.assert_allclose(a, b, atol=second * np.abs(b).max())


@pytest.mark.slow
def test_differences_of_all_three_invariants():
    """The mixed derivatives too: Mooney-Rivlin's has all of them."""
    mine, _ = own_density("mine", mooney)
    ours, f, constants = HYPERELASTIC["mooney-rivlin"], moderate(100), (0.3, 1.0, 0.2)
    np.testing.assert_allclose(mine.evaluate(f, constants)[1], ours.evaluate(f, constants)[1], atol=1e-10)
    a, b = mine.hessian(f, constants), ours.hessian(f, constants)
    np.testing.assert_allclose(a, b, atol=1e-8 * np.abs(b).max())


@pytest.mark.slow
def test_of_stretches():
    """Hencky's density of logarithms: along an axis P = (2 μ + λ) ln σ/σ, and the linear moduli μ and λ."""
    material = vv.hyperelastic_material("hencky", form="stretches")(hencky)
    density = HYPERELASTIC["hencky"]
    np.testing.assert_allclose(density.moduli((0.7, 0.4)), (0.7, 0.4), rtol=1e-9)
    sigma = np.array([0.5, 1.0, 2.0])
    f = np.stack([np.diag([s, 1.0, 1.0]) for s in sigma])
    _, stress = density.evaluate(f, material().constants)
    np.testing.assert_allclose(stress[:, 0, 0], 1.8 * np.log(sigma) / sigma, atol=1e-11)


@pytest.mark.slow
def test_a_material_like_all_others():
    """A class with the constants as fields, known to scene files by name, with terms that models take."""
    made = vv.hyperelastic_material("mine")(neo)
    assert vv.MATERIALS["mine"] is made
    bar = vv.mesh.bar(3, 2, 2)
    model = vv.Model.of(bar, made(s0=2e4, s1=1e5, density=900.0))
    assert model.masses.sum() == pytest.approx(900 * bar.tet_volumes().sum())
    assert isinstance(model.terms[0], Hyperelastic)
    assert repr(made(s0=2.0)) == "neo(s0=2.0, s1=1.0, density=1000.0, conversion=True)"
    q = bar.vertices * [1.2, 0.9, 1.0]
    ours = Hyperelastic(bar, "neo-hookean", (2e4, 1e5))
    assert model.terms[0].energy(q) == pytest.approx(ours.energy(q), rel=1e-12)
    with pytest.raises(vv.InputError, match="density must be positive"):
        made(density=0.0)
    with pytest.raises(vv.InputError, match="s0 must be a finite number"):
        made(s0="soft")
    with pytest.raises(vv.InputError, match="does not resist"):
        made(s0=-1.0)
    with pytest.raises(vv.InputError, match="registered already"):
        vv.hyperelastic_material("mine")(neo)


@pytest.mark.slow
def test_wrong_derivatives_are_refused_by_name():
    def gradient(I1, I2, J, s0, s1):
        a = J ** (-2 / 3)
        return s0 * a, 0.0, -2 / 3 * s0 * a * I1 / J + 1.9 * s1 * (J - 1)

    def hessian(I1, I2, J, s0, s1):
        a = J ** (-2 / 3)
        return 0.0, 0.0, 10 / 9 * s0 * a * I1 / J**2 + 2 * s1, 0.0, 2 / 3 * s0 * a / J, 0.0

    with pytest.raises(vv.InputError, match=r"its gradient is not the derivative.*∂W/∂J at stretches .*off by"):
        vv.hyperelastic_material("wrong", gradient=gradient)(neo)
    with pytest.raises(vv.InputError, match=r"its hessian is not the derivative.*∂²W/∂I1∂J at stretches"):
        vv.hyperelastic_material("wrong", gradient=neo_gradient, hessian=hessian)(neo)
    with pytest.raises(vv.InputError, match="must return 3 numbers"):
        vv.hyperelastic_material("wrong", gradient=neo_hessian)(neo)
    assert "wrong" not in vv.MATERIALS
    assert "wrong" not in HYPERELASTIC


@pytest.mark.slow
def test_what_is_no_density_is_refused():
    with pytest.raises(vv.InputError, match="three arguments and one constant"):
        vv.hyperelastic_material("wrong")(lambda I1, I2, J: I1)
    with pytest.raises(vv.InputError, match="made of a function"):
        vv.hyperelastic_material("wrong")(3)
    with pytest.raises(vv.InputError, match="cannot be called 'density'"):
        vv.hyperelastic_material("wrong")(lambda I1, I2, J, density: density * (I1 - 3 - 2 * np.log(J)))
    with pytest.raises(vv.InputError, match="form"):
        vv.hyperelastic_material("wrong", form="strains")(neo)
    with pytest.raises(vv.InputError, match="do not compile"):
        vv.hyperelastic_material("wrong")(lambda I1, I2, J, c: c * no_such_name)  # noqa: F821
    pressed = vv.hyperelastic_material("pressed")(lambda I1, I2, J, c=1.0: c * (I1 - 3))
    with pytest.raises(vv.InputError, match="stress of 2 Pa at rest"):
        pressed()
