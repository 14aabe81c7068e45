"""The problem of a step: Y, ε and ∇ε against their definitions, and the float32 path against them."""

from dataclasses import replace

import numpy as np
import pytest

from solvers.rounding import ENERGY_SCENES, U, measure, moving_frame, norms, small_scene
from vivace import (
    Budget,
    Cloth,
    InputError,
    Model,
    Role,
    Simulation,
    System,
    Wire,
    mesh,
)
from vivace.energy.system import project
from vivace.mesh import Mesh


def damped(model: Model) -> Model:
    return Model(model.mesh, model.masses.copy(), model.groups, model.gravity.copy(), air=0.7, viscosity=0.02)


@pytest.fixture(scope="module", params=ENERGY_SCENES)
def problem(request):
    scene = small_scene(request.param)
    system = System(damped(scene.model), scene.time_step)
    rng = np.random.default_rng(0)
    x = scene.model.mesh.vertices
    q, v = x + 0.02 * rng.normal(size=x.shape), rng.normal(size=x.shape)
    gravity = np.broadcast_to(scene.model.gravity, x.shape)
    frame = system.frame(q, v, gravity, scene.model.targets + 0.01)
    return system, frame, q + 0.03 * rng.normal(size=x.shape)


def slow_energy(system, frame, q):
    """ε of the module's docstring, constraint by constraint."""
    model, h = system.model, system.h
    moved = q - frame.previous
    total = (1 + model.air * h) / (2 * h**2) * model.masses @ norms(q - frame.s) ** 2
    start = 0
    for group in model.groups:
        if group.kind.role is Role.TARGET:
            held = frame.targets[start : start + len(group)]
            total += 0.5 * group.weights @ norms(q[group.vertices[:, 0]] - held) ** 2
            start += len(group)
            continue
        z = measure(group, q)
        p = np.zeros_like(z) if group.kind.role is Role.QUADRATIC else project(group, z)
        total += 0.5 * group.weights @ ((z - p) ** 2).sum(axis=(1, 2))
        total += 0.5 * model.viscosity / h * group.weights @ (measure(group, moved) ** 2).sum(axis=(1, 2))
    return total


def test_energy_is_its_definition(problem):
    system, frame, q = problem
    assert system.energy(q, frame) == pytest.approx(slow_energy(system, frame, q), rel=1e-12)


def test_gradient_is_the_derivative_of_the_energy(problem):
    """(ε(q + t d) - ε(q - t d))/(2 t) = ∇ε·d + O(t²): the error falls by four when t halves, or is rounding.

    Near the rest shape, where every projection has converged.
    """
    system, frame, _ = problem
    rng = np.random.default_rng(1)
    edge = float(np.linalg.norm(np.diff(system.model.mesh.vertices[system.model.mesh.edges], axis=1), axis=2).min())
    q = system.model.mesh.vertices + 0.05 * edge * rng.normal(size=(system.n, 3))
    d = edge * rng.normal(size=q.shape)
    slope = float(np.sum(system.gradient(q, frame) * d))
    size = system.energy(q, frame)
    errors = []
    for t in (2e-3, 1e-3):
        central = (system.energy(q + t * d, frame) - system.energy(q - t * d, frame)) / (2 * t)
        errors.append(abs(central - slope))
        rounding = 1e-13 * size / t
        assert errors[-1] <= 1e-3 * np.linalg.norm(system.gradient(q, frame)) * np.linalg.norm(d) + rounding
    assert errors[1] <= 0.5 * errors[0] + rounding  # second order gives 1/4; kinks of projections may cost some


def test_gradient_is_residual(problem):
    """∇ε = Y q - b(q), to the rounding of Y q."""
    system, frame, q = problem
    scale = (abs(system.matrix) @ np.abs(q)).max()
    residual = system.matrix @ q - system.right_hand_side(q, frame)
    np.testing.assert_allclose(system.gradient(q, frame), residual, rtol=0, atol=1e-12 * scale)


def test_matrix_is_its_definition(problem):
    """Y = (1/h² + air/h) M + (1 + viscosity/h) Σ w AᵀA + W_pins: symmetric, positive definite, K 1 = 0."""
    system, _, _ = problem
    model, h, n = system.model, system.h, system.n
    dense = np.diag((1 / h**2 + model.air / h) * model.masses)
    for group in model.groups:
        pin = group.kind.role is Role.TARGET
        blocks = np.einsum("m,mrk,mrl->mkl", group.weights, group.operator, group.operator)
        blocks *= 1 if pin else 1 + model.viscosity / h
        np.add.at(dense, (group.vertices[:, :, None], group.vertices[:, None, :]), blocks)
    matrix = system.matrix.toarray()
    np.testing.assert_allclose(matrix, dense, rtol=0, atol=1e-12 * np.abs(dense).max())
    assert (matrix == matrix.T).all()
    np.linalg.cholesky(matrix)  # raises where it is not positive definite
    stiffness = system.stiffness_off @ np.ones(n) + system.stiffness_diagonal
    np.testing.assert_allclose(stiffness, 0, atol=1e-12 * system.stiffness_diagonal.max())
    indptr, indices = system.graph
    assert np.diff(indptr).sum() == len(indices)
    assert not (indices == np.repeat(np.arange(n), np.diff(indptr))).any()


def test_graph_keeps_entries_that_cancel():
    """Two constraints may cancel in Y and still must not be updated together: the edge stays in the graph."""
    points = [[0.0, 0, 0], [1.0, 0, 0], [0, 1.0, 0], [1.0, 1.0, 0]]
    square = Mesh.from_triangles(points, [[0, 1, 2], [2, 1, 3]])
    system = System(Model.of(square, Cloth(stretch=1.0, bend=1.0)), 0.1)
    assert len(system.graph[1]) == 4 * 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ENERGY_SCENES)
def test_kernels_agree_with_the_float64_problem(name):
    """The prediction s and the constant part of b of a step are those of `System`, to float32: with both dampings.

    s is a sum of three terms, b of up to three and one for each neighbour.
    """
    scene = small_scene(name)
    sim = Simulation(damped(scene.model), budget=Budget(iterations=3), time_step=scene.time_step, threads=1)
    sim.velocities = np.random.default_rng(0).normal(size=(sim.model.n, 3))
    if len(sim.targets):
        sim.targets = sim.targets + 0.05
    sim.step()
    q, v = sim.positions.astype(np.float64), sim.velocities.astype(np.float64)
    frame = sim.system.frame(q, v, np.broadcast_to(sim.model.gravity, q.shape), sim.targets)
    report = sim.step()
    h, g = sim.system.h, np.linalg.norm(sim.model.gravity)
    assert (norms(report.frame.s - frame.s) <= 4 * U * (norms(q) + h * norms(v) + h**2 * g + norms(frame.s))).all()
    np.testing.assert_array_equal(report.frame.previous, q)
    system = sim.system
    size = (system.inertia + system.pin_weight) * norms(frame.s)
    size += system.viscous * (abs(system.stiffness_off) @ norms(q) + system.stiffness_diagonal * norms(q))
    terms = np.diff(system.off.indptr) + 8
    error = norms(sim._motion.constant[:, :3] - system.constant(report.frame))
    assert (error <= terms * U * size).all()


@pytest.mark.parametrize("h", [0, -0.01, float("nan"), float("inf"), "fast", None, True])
def test_bad_time_step(h):
    model = Model.of(mesh.cloth(3, 3))
    with pytest.raises(InputError) as caught:
        System(model, h)
    assert str(caught.value) == f"the time step must be a positive number of seconds, not {h!r}"
    with pytest.raises(InputError, match="the time step must be a positive number of seconds"):
        Simulation(model, time_step=h)


def test_model_without_constraints():
    """Nothing but inertia: Y is diagonal and the minimum is the prediction."""
    wire = Mesh.from_edges([[0.0, 0, 0], [1.0, 0, 0]], [[0, 1]])
    model = Model.of(wire, Wire())
    bare = Model(wire, model.masses.copy(), (), model.gravity.copy())
    sim = Simulation(bare, budget=Budget(iterations=2), time_step=0.1)
    report = sim.step()
    np.testing.assert_allclose(sim.positions[:, 1], -9.81 * 0.01, rtol=8 * U)
    assert sim.system.potential(report.positions.astype(np.float64)) == 0.0


def test_frames_of_moving_scenes_hold_their_problem():
    system, frame = moving_frame(small_scene("cube"))
    assert frame.s.dtype == np.float64
    assert np.isfinite(system.energy(frame.s, frame))


# --- systems that share their arrays ---------------------------------------------------------------------------------


def shares(first: System, second: System) -> bool:
    """All assembled arrays are the same objects, or none is."""
    names = ("off", "stiffness_off", "stiffness_diagonal", "stiffness_tie")
    same = [getattr(first, name) is getattr(second, name) for name in names]
    assert len(set(same)) == 1
    return same[0]


@pytest.fixture
def draped() -> System:
    model = Model.of(mesh.cloth(5, 5), Cloth(stretch=100.0, bend=1e-3), air=0.3, viscosity=0.01).pin("top-corners")
    return System(model, 0.02)


@pytest.mark.parametrize(
    "change",
    [
        lambda model: model,
        lambda model: model.pin([12]),
        lambda model: model.pin([12, 7], stiffness=3.0).pin([3]),
        lambda model: replace(model, groups=model.groups[:-1]),
        lambda model: replace(model, gravity=np.zeros(3)),
        lambda model: replace(model, masses=model.masses.copy()),
    ],
    ids=["nothing", "a pin", "pins", "no pins", "gravity", "a copy of the masses"],
)
def test_other_pins_share_what_is_assembled(draped, change):
    """And give the matrix, energy and gradient that a system of its own would give."""
    model = change(draped.model)
    system, alone = System(model, 0.02, like=draped), System(model, 0.02)
    assert shares(system, draped)
    assert system.shares_structure(draped)
    assert not shares(system, alone)
    assert (system.matrix != alone.matrix).nnz == 0
    for name in ("tie", "diagonal", "pin_weight", "inertia"):
        np.testing.assert_array_equal(getattr(system, name), getattr(alone, name))
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=(2, 25, 3))
    frame = system.frame(q, v, np.zeros((25, 3)), model.targets)
    assert system.energy(q, frame) == alone.energy(q, frame)
    np.testing.assert_array_equal(system.gradient(q + 0.1, frame), alone.gradient(q + 0.1, frame))


@pytest.mark.parametrize(
    ("change", "h"),
    [
        (lambda model: model, 0.03),
        (lambda model: replace(model, air=0.4), 0.02),
        (lambda model: replace(model, viscosity=0.0), 0.02),
        (lambda model: replace(model, viscosity=0.02), 0.02),
        (lambda model: replace(model, masses=1.5 * model.masses), 0.02),
    ],
    ids=["step", "air", "no viscosity", "viscosity", "masses"],
)
def test_the_same_constraints_share_the_stiffness_and_nothing_else(draped, change, h):
    """K has neither h, damping nor masses in it; Y has. Both matrices stay right when they are asked for in turn."""
    model = change(draped.model)
    before = draped.off.copy()
    system, alone = System(model, h, like=draped), System(model, h)
    assert system.stiffness_off is draped.stiffness_off
    assert not system.shares_structure(draped)
    assert (system.matrix != alone.matrix).nnz == 0
    assert (system.off != alone.off).nnz == 0
    assert (draped.off != before).nnz == 0


@pytest.mark.parametrize(
    ("change", "h"),
    [
        (lambda model: model.constrain("spring", [[0, 24]], 5.0), 0.02),
        (lambda model: replace(model, groups=model.groups[1:]), 0.02),
        (lambda model: replace(model, groups=model.groups[::-1]), 0.02),
        (lambda model: Model.of(model.mesh, Cloth(stretch=100.0, bend=1e-3), air=0.3, viscosity=0.01), 0.02),
        (lambda model: Model.of(mesh.cloth(6, 6)), 0.02),
    ],
    ids=["a spring more", "no springs", "another order", "made again", "size"],
)
def test_nothing_is_shared_where_constraints_differ(draped, change, h):
    """A stale matrix would be used without a word."""
    model = change(draped.model)
    system, alone = System(model, h, like=draped), System(model, h)
    assert not shares(system, draped)
    assert not system.shares_structure(draped)
    assert (system.matrix != alone.matrix).nnz == 0


def test_a_running_simulation_shares_while_it_can(draped):
    sim = Simulation(draped.model, budget=Budget(iterations=2), time_step=0.02)
    first = sim.system
    sim.model = draped.model.pin([12])
    assert shares(sim.system, first)
    sim.model = draped.model.constrain("spring", [[0, 24]], 5.0)
    assert not shares(sim.system, first)
    assert sim.step().finite
