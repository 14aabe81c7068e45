"""First guesses: each is its definition, none changes the goal, and states go on with the same bits."""

import numpy as np
import pytest

import vivace as vv
from vivace import Budget, Model, Simulation, System, UnknownNameError, mesh
from vivace.energy.hessian import Hessian
from vivace.simulation.guesses import ETA, GUESSES, best_share

PAPERS = ("position", "velocity", "acceleration", "optimised")


def hanging(guess, *, solver="descent", iterations=3, **more):
    model = Model.of(mesh.cube(3, 0.3), vv.neo_hookean(young=2e4, poisson=0.4)).pin("top")
    return Simulation(model, solver=solver, budget=Budget(iterations=iterations), guess=guess, threads=1, **more)


@pytest.mark.parametrize("form", ["velocity", "verlet"])
@pytest.mark.parametrize("guess", PAPERS)
def test_each_is_its_definition(guess, form):
    """q, q + h v, q + h v + η h (v - v_before), q + d v [fratarcangeli2018, section 3.2.4], with d of the exact H."""
    sim = hanging(guess, form=form)
    h, before = sim.time_step, sim.velocities
    sim.step()
    for _ in range(3):
        q, v = sim.positions.astype(np.float64), sim.velocities.astype(np.float64)
        report = sim.step()
        way = h * v
        if guess == "position":
            way *= 0.0
        elif guess == "acceleration":
            way += ETA * h * (v - before)
        elif guess == "optimised":
            gradient = sim.system.gradient(q, report.frame).ravel()
            flat = way.ravel()
            blocks = sim.model.terms[0].hessians(q, positive=False)
            corners = way[sim.model.terms[0].vertices].reshape(-1, 12)
            curvature = np.einsum("ti,tij,tj->", corners, blocks, corners)
            curvature += ((sim.system.inertia + sim.system.pin_weight) * (way**2).sum(axis=1)).sum()
            way *= -(gradient @ flat) / curvature
        before = v
        assert np.abs(way).max() > 1e-5 or guess == "position"
        np.testing.assert_allclose(report.frame.start, q + way, atol=1e-6)


def test_the_best_step_of_what_is_quadratic_is_exact():
    """Along a translation, where inertia and pins alone count, the slope of ε is zero at q + d w; H says the same."""
    model = Model.of(mesh.bar(3, 2, 2), vv.corotated(young=1e3, poisson=0.0)).pin([0, 1], stiffness=50.0)
    system = System(model, 0.1)
    rest = model.mesh.vertices
    way = np.tile([0.01, 0.02, -0.01], (model.n, 1))
    frame = system.frame(rest, way / 0.1, np.tile(model.gravity, (model.n, 1)), model.targets)
    share = best_share(system, frame, rest, way)
    slope = np.sum(way * system.gradient(rest + share * way, frame))
    assert abs(slope) < 1e-9 * abs(np.sum(way * system.gradient(rest, frame)))
    matrix = Hessian(system)(rest, frame)
    assert share == pytest.approx(-np.sum(way * system.gradient(rest, frame)) / (way.ravel() @ (matrix @ way.ravel())))


@pytest.mark.slow
@pytest.mark.parametrize("guess", GUESSES)
def test_the_goal_is_the_same(guess):
    """Converged steps end where those from the prediction do."""
    ends = []
    for one in ("inertia", guess):
        sim = hanging(one, solver="newton-multigrid", iterations=40)
        for _ in range(4):
            sim.step()
        ends.append(sim.positions)
    np.testing.assert_allclose(*ends, atol=2e-5)


@pytest.mark.parametrize("guess", PAPERS)
def test_states_go_on_with_the_same_bits(guess):
    """What a guess needs of the step before is part of the state, also in a file's worth of arrays."""
    sim = hanging(guess)
    for _ in range(3):
        sim.step()
    state = sim.state.copy()
    for _ in range(2):
        sim.step()
    other = hanging(guess)
    other.state = state
    for _ in range(2):
        other.step()
    np.testing.assert_array_equal(sim.positions, other.positions)


def test_another_time_step_keeps_verlets_last_displacements_in_proportion():
    """q + d + η (d - d_before) with both displacements in the new time step's units."""
    sim = hanging("acceleration", form="verlet")
    for _ in range(3):
        before = sim.velocities
        sim.step()
    last = sim.velocities
    sim.time_step = 0.5 * sim.time_step
    q = sim.positions
    expected = q + sim.time_step * (last + ETA * (last - before))
    np.testing.assert_allclose(sim.step().frame.start, expected, atol=1e-6)


def test_velocities_that_are_set_have_no_step_before_them():
    sim = hanging("acceleration")
    for _ in range(2):
        sim.step()
    sim.velocities = np.ones((sim.model.n, 3))
    q = sim.positions
    np.testing.assert_allclose(sim.step().frame.start, q + sim.time_step, atol=1e-6)


def test_an_unknown_guess_is_refused():
    with pytest.raises(UnknownNameError, match="acceleration"):
        hanging("accelerated")
