"""Triangles of a membrane: projections against an SVD, energies against linear elasticity, F from Newton's poses."""

import numpy as np
import pytest

from vivace.constraints import CONSTRAINTS, make_group
from vivace.newton import membrane


def projected(name, f):
    """F (3, 2) as the constraint projects it."""
    p = np.zeros((2, 3))
    CONSTRAINTS[name].project(np.ascontiguousarray(f.T), np.zeros(0), p)
    return p.T


def gradients(count=200, seed=1):
    rng = np.random.default_rng(seed)
    return np.eye(3, 2) + rng.normal(size=(count, 3, 2)) * rng.choice([0.01, 0.3, 2.0], size=(count, 1, 1))


@pytest.mark.slow
def test_the_nearest_unstrained_triangle_is_that_of_the_singular_vectors():
    for f in gradients():
        u, _, vt = np.linalg.svd(f, full_matrices=False)
        np.testing.assert_allclose(projected("membrane-strain", f), u @ vt, atol=1e-9)


@pytest.mark.slow
def test_the_nearest_triangle_of_equal_area():
    """σ₁σ₂ = 1, and no other point of the hyperbola is nearer."""
    x = np.geomspace(1e-3, 1e3, 200_001)
    for f in gradients():
        found = projected("membrane-area", f)
        assert np.prod(np.linalg.svd(found, compute_uv=False)) == pytest.approx(1.0, abs=1e-6)
        a, b = np.linalg.svd(f, compute_uv=False)
        best = np.sqrt(((x - a) ** 2 + (1 / x - b) ** 2).min())
        assert np.linalg.norm(found - f) <= best * (1 + 1e-7) + 1e-9


@pytest.mark.parametrize("f", [np.zeros((3, 2)), np.outer([1.0, 2, 2], [1, 0]), np.outer([0.0, 0, 3], [3, 4])])
def test_flattened_triangles_have_a_nearest_point(f):
    strain, area = projected("membrane-strain", f), projected("membrane-area", f)
    np.testing.assert_allclose(strain.T @ strain, np.eye(2), atol=1e-9)
    assert np.isfinite(area).all()
    assert np.prod(np.linalg.svd(area, compute_uv=False)) == pytest.approx(1.0, abs=1e-6)


def test_small_strains_are_linear_elastic():
    """Stiffnesses of μ and 2 λ store A (μ ‖ε‖² + λ/2 tr(ε)²), up to the third order of the strain."""
    rng, mu, lam, size = np.random.default_rng(2), 3.0, 5.0, 1e-4
    rest = rng.normal(size=(3, 3))
    corners = np.array([[0, 1, 2]])
    groups = [make_group("membrane-strain", rest, corners, mu), make_group("membrane-area", rest, corners, 2 * lam)]
    a, b = rest[1] - rest[0], rest[2] - rest[0]
    area = 0.5 * np.linalg.norm(np.cross(a, b))
    axes = np.linalg.qr(np.column_stack([a, b]))[0]
    strain = size * rng.normal(size=(2, 2))
    strain = 0.5 * (strain + strain.T)
    bent = rest + (rest - rest[0]) @ (axes @ strain @ axes.T)
    energy = 0.0
    for group in groups:
        z = group.operator[0] @ bent
        p = projected(group.kind.name, z.T).T
        energy += 0.5 * group.weights[0] * np.sum((z - p) ** 2)
    expected = area * (mu * np.sum(strain**2) + 0.5 * lam * np.trace(strain) ** 2)
    assert energy == pytest.approx(expected, rel=20 * size)


def test_poses_of_another_orientation_are_the_same_triangle():
    """D⁻¹ may be in any axes of the plane: F'F is turned, and what is stored stays."""
    rest = np.array([[0.0, 0, 0], [2, 0, 0], [0.5, 1, 0]])
    turn = np.array([[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]])
    inverse = membrane.flat_inverse(rest[None]) @ turn.T
    plain = make_group("membrane-strain", rest, [[0, 1, 2]], 1.0)
    turned = make_group("membrane-strain", rest, [[0, 1, 2]], 1.0, inverse=inverse)
    assert turned.weights[0] == pytest.approx(plain.weights[0])
    np.testing.assert_allclose(turned.operator[0].T @ turned.operator[0], plain.operator[0].T @ plain.operator[0])
