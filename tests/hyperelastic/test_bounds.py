"""Upper bounds of what a body stores."""

import numpy as np
import pytest

from vivace import mesh
from vivace.hyperelastic import HYPERELASTIC, Conversion, Hyperelastic, polar_rotation
from vivace.hyperelastic.bounds import NEAR
from vivace.hyperelastic.kernels.bounds import near_rest

NAMES = ["stvk", "neo-hookean", "mooney-rivlin", "fung", "corotated", "stable-neo-hookean"]


def turned(body, noise, seed):
    """Positions of a body that is turned and shaken."""
    rng = np.random.default_rng(seed)
    return body.vertices @ polar_rotation(rng.normal(size=(3, 3))).T + noise * rng.normal(size=body.vertices.shape)


def test_near_rest_and_its_twin():
    """Σ w ‖FᵀF - I‖² of the elements near rest that are not mirrored, and a list of the others."""
    body = mesh.cube(4)
    term = Hyperelastic(body, "corotated", HYPERELASTIC["corotated"].of_moduli(1.0, 0.3))
    q = turned(body, 0.05, 0)
    q[0] = 2 * q.mean(axis=0) - q[0]
    x = q[body.tets]
    f = (x[:, 1:] - x[:, :1]).transpose(0, 2, 1) @ term.elements.inverse.reshape(-1, 3, 3)
    size = np.square(f.transpose(0, 2, 1) @ f - np.eye(3)).sum(axis=(1, 2))
    near = (size <= NEAR**2) & (np.linalg.det(f) > 0)
    weights, beyond = np.random.default_rng(1).uniform(size=len(f)), np.empty(len(f), np.int32)
    total, count = near_rest(q, term.elements.vertices, term.elements.inverse, weights, NEAR**2, beyond)
    assert total == pytest.approx(float(weights[near] @ size[near]), rel=1e-12)
    np.testing.assert_array_equal(beyond[:count], np.flatnonzero(~near))
    assert 0 < count < len(f)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("conversion", [True, Conversion(low=0.3, high=0.8)])
def test_at_most_is_no_less_than_the_energy(name, conversion):
    """For strains of all sizes, elements that are far from rest among them; and not many times as much."""
    body = mesh.cube(5)
    for poisson in (0.0, 0.3, 0.49):
        constants = HYPERELASTIC[name].of_moduli(1e5, poisson)
        term = Hyperelastic(body, name, constants, conversion=conversion)
        for seed, noise in enumerate((1e-6, 1e-3, 0.01, 0.02, 0.03, 0.05, 0.1)):
            q = turned(body, noise, seed)
            assert term.energy(q) <= term.at_most(q) <= 20 * term.energy(q)


def test_bodies_of_very_many_materials_are_evaluated():
    body = mesh.cube(4)
    moduli = np.linspace(1.0, 2.0, len(body.tets))
    term = Hyperelastic(body, "corotated", np.stack([moduli, moduli], axis=1))
    assert term.at_most(turned(body, 0.01, 0)) == term.energy(turned(body, 0.01, 0))
