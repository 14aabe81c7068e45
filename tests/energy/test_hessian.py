"""The Hessian of ε: the derivative of the gradient where that is positive, and never negative anywhere."""

import numpy as np
import pytest
import scipy.sparse as sp

from energy.test_equations import MODELS
from vivace import Cloth, Model, Prepared, Role, Solid, System, constraint, mesh
from vivace.constraints import CONSTRAINTS
from vivace.energy.hessian import Hessian
from vivace.terms import curvature
from vivace.terms import term as terms
from vivace.terms.curvature import clamped, projected_curvature, spring_curvature
from vivace.terms.kernels.curvature import add_curvature

H = 1 / 50


class HalfSpace:
    """Keeps both ends of an edge above a floor: a user's own constraint that is not invariant under translation."""

    @staticmethod
    def prepare(rest, floor=0.0):
        return Prepared(operator=np.eye(2), parameters=np.full((len(rest), 1), floor))

    @staticmethod
    def project(z, parameters, p):
        for r in range(2):
            p[r, 0], p[r, 1], p[r, 2] = z[r, 0], max(z[r, 1], parameters[0]), z[r, 2]


@pytest.fixture(autouse=True)
def half_space(monkeypatch):
    """Registered while a test of this file runs."""
    monkeypatch.setattr(CONSTRAINTS, "_things", dict(CONSTRAINTS))
    constraint("half-space", vertices=2, rows=2, parameters=("floor",))(HalfSpace)


def users_own():
    return Model.of(mesh.cloth(3, 3), Cloth(stretch=5.0)).constrain("half-space", [[0, 1], [4, 5]], 30.0, floor=0.2)


def swollen(name):
    """A system, and a state in which every constraint is stretched: a bit more than at rest, and a little uneven."""
    model = users_own() if name == "users_own" else MODELS[name]()
    rest = model.mesh.vertices
    q = 1.15 * rest + 0.002 * np.random.default_rng(0).normal(size=rest.shape)
    return System(model, H), q


def frame_of(system, q):
    zero = np.zeros_like(q)
    return system.frame(system.model.mesh.vertices, zero, zero, system.model.targets)


def differences(system, q, t=1e-5):
    """∂∇ε/∂q, column by column: an error of t² of the third derivative and of rounding/t."""
    frame = frame_of(system, q)
    columns = []
    for k in range(q.size):
        step = np.zeros(q.size)
        step[k] = t
        step = step.reshape(q.shape)
        columns.append((system.gradient(q + step, frame) - system.gradient(q - step, frame)).ravel() / (2 * t))
    return np.array(columns).T


def constant_part(system):
    """Inertia, pins, viscosity and quadratic constraints, dense."""
    k = np.diag(system.inertia + system.pin_weight)
    for group in (*system.springs, *system.projected, *system.quadratic):
        factor = system.viscous + (group.kind.role is Role.QUADRATIC)
        blocks = np.einsum("m,mrk,mrl->mkl", factor * group.weights, group.operator, group.operator)
        np.add.at(k, (group.vertices[:, :, None], group.vertices[:, None, :]), blocks)
    return np.kron(k, np.eye(3))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MODELS, "users_own"])
def test_hessian_is_the_derivative_of_the_gradient(name):
    """Where nothing is compressed, to the accuracy of two differences, 1e-7 of its largest entry.

    Volumes are left out: matrices of determinant 1 form a saddle, with negative curvature on either side.
    """
    system, q = swollen(name)
    if any(group.kind.name == "tet-volume" for group in system.projected):
        kept = [group for group in system.model.groups if group.kind.name != "tet-volume"]
        model = system.model
        model = Model(model.mesh, model.masses.copy(), tuple(kept), model.gravity.copy(), model.air, model.viscosity)
        system = System(model, H)
    got, expected = Hessian(system)(q).toarray(), differences(system, q)
    assert np.abs(got - expected).max() <= 1e-7 * np.abs(expected).max()


def unclamped(monkeypatch):
    monkeypatch.setattr(curvature, "clamped", lambda c: 0.5 * (c + np.swapaxes(c, 1, 2)))


def test_volumes_without_clamping_are_the_derivative_too(monkeypatch):
    unclamped(monkeypatch)
    model = Model.of(mesh.cube(2), Solid(youngs_modulus=300.0, poisson_ratio=0.3))
    rest = model.mesh.vertices
    q = rest * [1.2, 0.9, 1.1] + 0.02 * np.random.default_rng(0).normal(size=rest.shape)
    system = System(model, H)
    got, expected = Hessian(system)(q).toarray(), differences(system, q)
    assert np.abs(got - expected).max() <= 1e-7 * np.abs(expected).max()


STATES = {
    "deformed": lambda x: x + 0.1 * np.random.default_rng(1).normal(size=x.shape),
    "compressed": lambda x: 0.5 * x,
    "flat": lambda x: x * [1.0, 0.0, 1.0],
    "inverted": lambda x: x * [-1.0, 1.0, 1.0],
    "at a point": lambda x: np.zeros_like(x),
    "far away": lambda x: x + 1e4,
}


@pytest.mark.parametrize("state", list(STATES))
@pytest.mark.parametrize("name", [*MODELS, "users_own"])
def test_projected_hessian_lies_between_inertia_and_y(name, state):
    """Symmetric, and constant part <= H <= Y: 0 <= C <= I for every constraint, to rounding and differences."""
    system, _ = swollen(name)
    got = Hessian(system)(STATES[state](system.model.mesh.vertices)).toarray()
    assert np.isfinite(got).all()
    scale = np.abs(system.diagonal).max()
    assert np.abs(got - got.T).max() <= 1e-13 * scale
    assert np.linalg.eigvalsh(got - constant_part(system))[0] >= -1e-12 * scale
    assert np.linalg.eigvalsh(got)[0] >= 0.99 * system.inertia.min()
    if state not in ("flat", "inverted", "at a point"):  # where projections jump, differences see anything at all
        assert np.linalg.eigvalsh(np.kron(system.matrix.toarray(), np.eye(3)) - got)[0] >= -1e-7 * scale


def test_springs_in_closed_form_are_those_by_differences():
    """1 along, 1 - l/|z| across, 0 where negative; nothing at all for a spring of no length."""
    spring = CONSTRAINTS["spring"]
    rng = np.random.default_rng(0)
    z, length = rng.normal(size=(50, 1, 3)), rng.uniform(0.0, 3.0, 50)
    closed = spring_curvature(z, length)
    np.testing.assert_allclose(closed, projected_curvature(spring.project, z, length[:, None]), rtol=0, atol=1e-8)
    values = np.linalg.eigvalsh(closed.reshape(50, 3, 3))
    across = np.maximum(1 - length / np.linalg.norm(z[:, 0], axis=1), 0)
    np.testing.assert_allclose(values, np.column_stack([across, across, np.ones(50)]), rtol=0, atol=1e-14)
    assert not spring_curvature(np.zeros((1, 1, 3)), np.ones(1)).any()


def test_clamping():
    """Negative eigenvalues become zero, vectors stay; where a derivative is not finite, C = I."""
    rng = np.random.default_rng(2)
    turn, _ = np.linalg.qr(rng.normal(size=(40, 6, 6)))
    values = rng.normal(size=(40, 6))
    c = (turn * values[:, None, :]) @ np.swapaxes(turn, 1, 2)
    c[7, 2, 3] = np.nan
    got = clamped(c)
    expected = (turn * np.maximum(values, 0)[:, None, :]) @ np.swapaxes(turn, 1, 2)
    expected[7] = np.eye(6)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13)


def test_blocks_do_not_change_a_bit(monkeypatch):
    system, q = swollen("everything")
    whole = Hessian(system)(q)
    monkeypatch.setattr(terms, "BLOCK", 7)
    np.testing.assert_array_equal(Hessian(system)(q).data, whole.data)


def test_adding_matches_its_slow_twin():
    """Block (i, j) += w Σ_rs A_ri A_sj C_rs"""
    rng = np.random.default_rng(3)
    n, m, r, k = 9, 20, 2, 3
    vertices = np.array([rng.permutation(n)[:k] for _ in range(m)], np.int32)
    operator, weights, c = rng.normal(size=(m, r, k)), rng.uniform(size=m), rng.normal(size=(m, r, 3, r, 3))
    pattern = sp.csr_matrix(np.ones((n, n)))
    blocks = np.zeros((n * n, 3, 3))
    add_curvature(pattern.indptr, pattern.indices, blocks, vertices, operator, weights, c)
    dense = np.zeros((n, n, 3, 3))
    for e in range(m):
        for a in range(k):
            for b in range(k):
                part = np.einsum("r,s,rcsd->cd", operator[e, :, a], operator[e, :, b], c[e])
                dense[vertices[e, a], vertices[e, b]] += weights[e] * part
    np.testing.assert_allclose(blocks.reshape(dense.shape), dense, rtol=0, atol=1e-13)
