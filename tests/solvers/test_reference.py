"""Positions of a step's converged minimum: closed forms, Newton's method, and where there is nothing to tell."""

import numpy as np
import pytest

from solvers.rounding import U, moving_frame
from vivace import Budget, Model, Simulation, Wire, mesh
from vivace.collisions import Plane
from vivace.mesh import Mesh
from vivace.scenes import make_scene
from vivace.solvers import make_solver, minimise
from vivace.solvers.base import Deadline
from vivace.solvers.reference import polish, position_error, rms

WITHIN = 1e-6  # what `polish` promises by default (m)


def hanging(k=50.0, held=2e3) -> Model:
    """Two vertices, one below the other on a spring; the upper one is pinned."""
    wire = Mesh.from_edges([[0.0, 0.0, 0.0], [0.0, -0.5, 0.0]], [[0, 1]])
    return Model.of(wire, Wire(density=0.4, stretch=k)).pin([0], stiffness=held)


def test_one_spring_and_a_mass():
    """Along its own line a spring is linear: (M/h² + K) y = M s/h² + k l (1, -1) + W target."""
    h, model = 0.05, hanging()
    sim = Simulation(model, solver="jacobi", budget=Budget(iterations=1), time_step=h)
    report = sim.step()
    (spring,) = sim.system.springs
    k, length = spring.weights[0], spring.parameters[0, 0]
    pull = k * np.array([[1.0, -1.0], [-1.0, 1.0]])
    matrix = np.diag(model.masses / h**2 + sim.system.pin_weight) + pull
    frame = report.frame
    b = model.masses / h**2 * frame.s[:, 1] + k * length * np.array([1.0, -1.0])
    b[0] += sim.system.pin_weight[0] * frame.targets[0, 1]
    exact = np.column_stack([np.zeros(2), np.linalg.solve(matrix, b), np.zeros(2)])
    found = polish(sim.system, frame)
    assert found.converged
    np.testing.assert_allclose(found.q, exact, atol=1e-12)
    away = np.sqrt(np.mean((report.positions[:, 1].astype(float) - exact[:, 1]) ** 2))
    assert away > 100 * WITHIN
    assert report.position_error == pytest.approx(away, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tablecloth", "bar"])
def test_newton_ends_at_the_same_positions(name):
    """50 iterations of Newton's method from another start; both are within `polish`'s promise of the minimum."""
    scene = make_scene(name, resolution=10 if name == "tablecloth" else 3)
    system, frame = moving_frame(scene)
    newton = make_solver("newton")
    newton.prepare(system, threads=1, seed=0)
    out = np.zeros((system.n, 4))
    start, constant = (np.column_stack([x, np.zeros(len(x))]) for x in (frame.previous, system.constant(frame)))
    newton.solve(start, constant, out, Deadline.of(Budget(iterations=50)))
    found = polish(system, frame)
    assert found.converged
    assert rms(found.q - out[:, :3]) <= 2 * WITHIN


@pytest.mark.slow
def test_a_settled_energy_is_not_a_settled_position():
    """What `minimise` leaves by energy is far more than what is left when positions have settled."""
    sim = make_scene("tablecloth", resolution=16).simulate(solver="vivace", budget=Budget(iterations=10), threads=1)
    sim.substeps = 1  # the longer the step, the flatter its minimum
    for _ in range(4):
        report = sim.step()
    system, frame = report.system, report.frame
    coarse = minimise(system, frame, accuracy=1e-5)
    fine = polish(system, frame, coarse.q)
    assert coarse.converged
    assert fine.energy <= coarse.energy
    assert rms(coarse.q - fine.q) > 10 * WITHIN


def test_few_iterations_are_said():
    system, frame = moving_frame(make_scene("tablecloth", resolution=10))
    found = polish(system, frame, most=2)
    assert (found.converged, found.iterations) == (False, 2)
    assert np.isnan(position_error(system, frame, frame.start, found))


@pytest.mark.slow
def test_errors_share_one_minimisation(monkeypatch):
    from vivace.simulation import report as module

    calls, plain = [], module.minimise_from
    monkeypatch.setattr(module, "minimise_from", lambda *a: calls.append(a) or plain(*a))
    sim = make_scene("tablecloth", resolution=8).simulate(solver="vivace", budget=Budget(iterations=5))
    sim.step()
    report = sim.step()
    assert 0 < report.relative_error < 1
    assert 0 < report.position_error < 0.05
    assert report.position_error == report.position_error
    assert len(calls) == 1


@pytest.mark.slow
def test_the_position_error_falls_to_rounding():
    """Newton's own step ends within what is promised and float32's rounding of the result."""
    scene = make_scene("tablecloth", resolution=8)
    sim = scene.simulate(solver="newton", budget=Budget(iterations=60))
    for _ in range(3):
        report = sim.step()
    size = np.abs(report.positions).max()
    assert report.position_error <= 2 * WITHIN + 4 * U * size


@pytest.mark.slow
def test_where_there_is_nothing_to_tell():
    still = Simulation(Model.of(mesh.cloth(4, 4), gravity=(0, 0, 0)), budget=Budget(iterations=2)).step()
    assert np.isnan(still.relative_error)
    assert np.isnan(still.position_error)
    touching = Simulation(Model.of(mesh.cloth(4, 4)).collide([Plane()]), budget=Budget(iterations=2)).step()
    assert touching.contacts
    assert np.isnan(touching.position_error)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
def test_what_is_lost_is_infinitely_far_away():
    system, frame = moving_frame(make_scene("tablecloth", resolution=6))
    q = frame.start.copy()
    q[3, 1] = np.nan
    assert position_error(system, frame, q) == np.inf
