"""The equations of a step: the matrix, the energy and its gradient, and the solid's linear elasticity."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import vivace as vv

EPS = float(np.finfo(float).eps)
H = 1 / 50


def cloth():
    return vv.Model.of(vv.mesh.cloth(4, 4), vv.Cloth(stretch=50.0, bend=0.01)).pin("top-corners", stiffness=200.0)


def rolled():
    flat = vv.mesh.cloth(4, 4)
    x, _, z = flat.vertices.T
    mesh = vv.mesh.Mesh.from_triangles(np.column_stack([np.sin(x), 1 - np.cos(x), z]), flat.triangles)
    return vv.Model.of(mesh, vv.Cloth(stretch=50.0, bend=0.05))


def solid():
    return vv.Model.of(vv.mesh.cube(3), vv.Solid(youngs_modulus=300.0, poisson_ratio=0.3))


def everything():
    """Springs along the edges of a solid too, two groups of pins, and both kinds of damping."""
    mesh = vv.mesh.cube(3)
    model = vv.Model.of(mesh, vv.Solid(youngs_modulus=300.0, poisson_ratio=0.3), air=0.8, viscosity=0.03)
    model = model.constrain("spring", mesh.edges, 20.0, scale=0.9)
    return model.pin([0, 1], stiffness=50.0).pin([5], stiffness=70.0, target=[0.0, 1.0, 0.0])


def damped_cloth():
    mesh = vv.mesh.cloth(4, 4)
    return vv.Model.of(mesh, vv.Cloth(stretch=50.0, bend=0.01), air=1.5, viscosity=0.02).pin("corners", stiffness=200.0)


MODELS = {f.__name__: f for f in (cloth, rolled, solid, everything, damped_cloth)}


def selection(corners, n):
    """S (k, n): picks the corners out of all vertices."""
    return np.eye(n)[corners]


@pytest.mark.parametrize("name", MODELS)
def test_matrix_is_the_dense_sum(name):
    """Y = (1/h² + air/h) M + (1 + viscosity/h) Σ w SᵀAᵀAS + Σ_pins w SᵀS, symmetric positive definite."""
    model = MODELS[name]()
    system = vv.System(model, H)
    expected = np.diag(model.masses) * (1 / H**2 + model.air / H)
    for group in model.groups:
        factor = 1.0 if group.kind.role is vv.Role.TARGET else 1.0 + model.viscosity / H
        for corners, a, w in zip(group.vertices, group.operator, group.weights, strict=True):
            s = selection(corners, model.n)
            expected += factor * w * s.T @ a.T @ a @ s
    y = system.matrix.toarray()
    # each entry is a sum over the constraints that share it: some forty at most
    assert np.abs(y - expected).max() <= 40 * EPS * np.abs(expected).max()
    assert np.array_equal(y, y.T)
    smallest = (model.masses * (1 / H**2 + model.air / H)).min()
    assert np.linalg.eigvalsh(y)[0] >= smallest - 100 * EPS * np.abs(y).sum(axis=1).max()
    indptr, indices = system.graph
    for i in range(model.n):
        near = set(indices[indptr[i] : indptr[i + 1]].tolist())
        assert i not in near
        shared = (g.vertices[(g.vertices == i).any(axis=1)] for g in model.groups)
        assert near == {int(v) for rows in shared for v in rows.ravel()} - {i}


def frame_of(model, system, seed=1):
    rng = np.random.default_rng(seed)
    q = model.mesh.vertices + 0.05 * rng.standard_normal((model.n, 3))
    v = 0.5 * rng.standard_normal((model.n, 3))
    targets = model.targets + 0.1
    frame = system.frame(q, v, np.tile(model.gravity, (model.n, 1)), targets)
    return frame, q + 0.05 * rng.standard_normal((model.n, 3))


@pytest.mark.parametrize("name", MODELS)
def test_gradient_is_the_derivative_of_the_energy(name):
    """∇ε · d = (ε(q + t d) - ε(q - t d)) / 2t + O(t²), in random directions and along single coordinates.

    The error is c t² from the third derivative and ε·eps/t from rounding; at t = 1e-5 they are some 1e-10 and 1e-11 of
    the scales Y |d|³ / l² and ε. The volume projection stops at 1e-7, and its error enters the gradient linearly.
    """
    model = MODELS[name]()
    system = vv.System(model, H)
    frame, q = frame_of(model, system)
    gradient = system.gradient(q, frame)
    rng = np.random.default_rng(2)
    t = 1e-5
    directions = [rng.standard_normal(q.shape) for _ in range(6)]
    for i in rng.integers(0, model.n, 6):
        one = np.zeros_like(q)
        one[i, rng.integers(3)] = 1.0
        directions.append(one)
    stiffest = max(float(group.weights.max() * (group.operator**2).sum(axis=1).max()) for group in model.groups)
    shortest = np.linalg.norm(np.diff(model.mesh.vertices[model.mesh.edges], axis=1), axis=2).min()
    for d in directions:
        slope = (system.energy(q + t * d, frame) - system.energy(q - t * d, frame)) / (2 * t)
        size = np.linalg.norm(d)
        tolerance = 100 * t**2 * stiffest * size**3 / shortest + 10 * EPS * system.energy(q, frame) / t
        if any(group.kind.name == "tet-volume" for group in model.groups):
            tolerance += 1e-7 * stiffest * size
        assert abs(np.sum(gradient * d) - slope) <= tolerance


@pytest.mark.parametrize("name", MODELS)
def test_gradient_is_the_residual_of_the_linear_system(name):
    """∇ε(q) = Y q - b(q), to the rounding of the terms of Y q."""
    model = MODELS[name]()
    system = vv.System(model, H)
    frame, q = frame_of(model, system)
    expected = system.matrix @ q - system.right_hand_side(q, frame)
    tolerance = 100 * EPS * np.abs(system.matrix).sum(axis=1).max() * max(np.abs(q).max(), np.abs(frame.s).max())
    assert np.abs(system.gradient(q, frame) - expected).max() <= tolerance


def test_energy_is_the_printed_sum():
    """ε = (1 + air h)/(2h²) ‖q - s‖²_M + viscosity/(2h) ‖q - q_n‖²_K + pins + potential."""
    model = everything()
    system = vv.System(model, H)
    frame, q = frame_of(model, system)
    moved = q - frame.previous
    k = np.zeros((model.n, model.n))
    pins, start = 0.0, 0
    for group in model.groups:
        for corners, a, w in zip(group.vertices, group.operator, group.weights, strict=True):
            if group.kind.role is vv.Role.TARGET:
                pins += 0.5 * w * np.sum((q[corners[0]] - frame.targets[start]) ** 2)
                start += 1
            else:
                s = selection(corners, model.n)
                k += w * s.T @ a.T @ a @ s
    expected = (1 + model.air * H) / (2 * H**2) * np.sum(model.masses[:, None] * (q - frame.s) ** 2)
    expected += model.viscosity / (2 * H) * np.sum(moved * (k @ moved))
    expected += pins + system.potential(q)
    assert system.energy(q, frame) == pytest.approx(expected, rel=model.n * 10 * EPS)
    assert np.abs(frame.start[model.pinned] - frame.targets).max() == 0


def test_air_may_be_written_apart_from_the_prediction():
    """(1 + air h)/(2h²) ‖q - s‖² and 1/(2h²) ‖q - s₀‖² + air/(2h) ‖q - q_n‖², s₀ the flight without air, differ by a
    constant: the same gradient, hence the same minimum, for vertices that are not pinned."""
    model = vv.Model.of(vv.mesh.cloth(4, 4), vv.Cloth(stretch=50.0), air=3.0)
    system = vv.System(model, H)
    rng = np.random.default_rng(6)
    q_n = model.mesh.vertices + 0.1 * rng.standard_normal((model.n, 3))
    v, a, q = rng.standard_normal((3, model.n, 3))
    frame = system.frame(q_n, v, a, np.zeros((0, 3)))
    m = model.masses[:, None]
    apart = m / H**2 * (q - (q_n + H * v + H**2 * a)) + model.air * m / H * (q - q_n)
    merged = system.inertia[:, None] * (q - frame.s)
    size = (m / H**2).max() * (np.abs(q).max() + np.abs(q_n).max() + 1)
    assert np.abs(apart - merged).max() <= 20 * EPS * size


@pytest.mark.parametrize("name", ["cloth", "rolled", "solid"])
def test_nothing_is_stored_at_rest(name):
    """V(x) = 0 and ∇V(x) = 0 at rest, and for the rest shape turned: the force is the inertia's alone."""
    model = MODELS[name]()
    system = vv.System(model, H)
    turn = Rotation.from_rotvec([0.3, 0.2, -0.5]).as_matrix()
    rest = model.mesh.vertices @ turn.T
    stiffness = np.abs(system.matrix).sum(axis=1).max()
    stop = 1e-7 if name == "solid" else 0.0
    assert system.potential(rest) <= stiffness * (100 * EPS + stop) ** 2 * model.n
    frame = vv.Frame(rest.copy(), rest.copy(), rest.copy(), rest[model.pinned])
    assert np.abs(system.gradient(rest, frame)).max() <= 100 * stiffness * (EPS + stop)


@pytest.mark.parametrize("nu", [0.0, 0.2, 0.4])
@pytest.mark.parametrize("kind", ["uniaxial stress", "uniaxial strain", "shear", "random"])
def test_solid_is_linear_elastic_for_small_strain(nu, kind):
    """Energy density → μ ‖ε‖² + λ/2 tr(ε)² with the error O(ε) relative.

    Under uniaxial stress (sides free: ε = s diag(1, -ν, -ν)) that is E s²/2, so Young's modulus is read off directly.
    """
    e = 1e4
    mesh = vv.mesh.bar(5, 3, 3)
    system = vv.System(vv.Model.of(mesh, vv.Solid(youngs_modulus=e, poisson_ratio=nu)), H)
    mu, lam = e / (2 * (1 + nu)), e * nu / ((1 + nu) * (1 - 2 * nu))
    volume = 1.0 * 0.2 * 0.2
    random = np.random.default_rng(5).uniform(-1, 1, (3, 3))
    unit = {
        "uniaxial stress": np.diag([1.0, -nu, -nu]),
        "uniaxial strain": np.diag([1.0, 0.0, 0.0]),
        "shear": np.array([[0.0, 0.5, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 0.0]]),
        "random": 0.5 * (random + random.T),
    }[kind]
    for size in (1e-2, 1e-3, -1e-3):
        strain = size * unit
        expected = mu * np.sum(strain**2) + lam / 2 * np.trace(strain) ** 2
        if kind == "uniaxial stress":
            assert expected == pytest.approx(0.5 * e * size**2, rel=10 * EPS)
        density = system.potential(mesh.vertices @ (np.eye(3) + strain).T) / volume
        # third-order terms: at most ‖ε‖ times (μ ‖ε‖² and the volume's 3λ/2 ‖ε‖²); 1e-7 is where the volume steps stop
        third = 2 * np.linalg.norm(strain) * (mu + 1.5 * lam) * np.sum(strain**2)
        stop = 3 * lam * 1e-7 * np.linalg.norm(strain)
        assert abs(density - expected) <= third + stop + 1e3 * EPS * e


def test_time_step_must_be_positive():
    for wrong in (0, -1.0, float("nan"), float("inf"), True, "0.1", None):
        with pytest.raises(vv.InputError, match="the time step must be a positive number of seconds, not") as error:
            vv.System(cloth(), wrong)
        assert repr(wrong) in str(error.value)
