"""Densities held to another library: energies of FElupe, or written down again, differentiated by tensortrax.

Neither is needed for anything else: without `pip install felupe tensortrax` this is skipped.
"""

import numpy as np
import pytest

from hyperelastic.test_densities import moderate
from vivace.hyperelastic import HYPERELASTIC

pytestmark = pytest.mark.slow
tensortrax = pytest.importorskip("tensortrax")
models = pytest.importorskip("felupe.constitution.tensortrax.models.hyperelastic")
tm = pytest.importorskip("tensortrax.math")

S = (0.7, 1.3, 0.4, 0.9)


def square(f):
    return tm.dot(tm.transpose(f), f)


def volume(f):
    return tm.linalg.det(f)


def bulk(f):
    return S[1] * (volume(f) - 1) ** 2


def first(f):
    return volume(f) ** (-2 / 3) * tm.trace(square(f)) - 3


def stable(f):
    i1, alpha = tm.trace(square(f)), 1 + S[0] / S[1] - S[0] / (4 * S[1])
    return S[0] / 2 * (i1 - 3) + S[1] / 2 * (volume(f) - alpha) ** 2 - S[0] / 2 * tm.log(i1 + 1)


ENERGIES = {
    "stvk": lambda f: models.saint_venant_kirchhoff(square(f), mu=S[1], lmbda=S[0]),
    "neo-hookean": lambda f: models.neo_hooke(square(f), mu=2 * S[0]) + bulk(f),
    "mooney-rivlin": lambda f: models.mooney_rivlin(square(f), C10=S[0], C01=S[2]) + bulk(f),
    "fung": lambda f: S[0] * first(f) + bulk(f) + S[2] * (tm.exp(S[3] * first(f)) - 1),
    "stable-neo-hookean": stable,
}


@pytest.mark.parametrize("name", ENERGIES)
def test_stress_and_curvature_of_ten_thousand_states(name):
    """P and ∂P/∂F to 1e-8 of their size, and W but for a constant."""
    density = HYPERELASTIC[name]
    constants, f = S[: len(density.parameters)], moderate(10_000)
    assert len(f) == 10_000
    rolled = np.moveaxis(f, 0, -1)
    energy, stress = density.evaluate(f, constants)
    theirs = np.asarray(tensortrax.function(ENERGIES[name], ntrax=1)(rolled)).ravel()
    np.testing.assert_allclose(energy - energy[0], theirs - theirs[0], atol=1e-9 * np.abs(theirs).max())
    theirs = np.moveaxis(np.asarray(tensortrax.gradient(ENERGIES[name], ntrax=1)(rolled)), -1, 0)
    size = np.abs(theirs).max(axis=(1, 2), keepdims=True)
    assert np.abs((stress - theirs) / size).max() < 1e-8
    theirs = np.moveaxis(np.asarray(tensortrax.hessian(ENERGIES[name], ntrax=1)(rolled)), -1, 0).reshape(-1, 9, 9)
    size = np.abs(theirs).max(axis=(1, 2), keepdims=True)
    assert np.abs((density.hessian(f, constants) - theirs) / size).max() < 1e-8
