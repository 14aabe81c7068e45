"""What all position based solvers share: threads, stability, budgets, notes, options."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solvers.position_based.bodies import BODIES, SOLVERS, H, rope, step, with_options
from solvers.rounding import U
from vivace import Budget, Cloth, InputError, Model, Simulation, mesh
from vivace.solvers import Deadline, make_solver

# --- the same whatever the threads ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("solver", [*SOLVERS, "pbd-jacobi:alpha=0.1", "chebyshev(pbd-jacobi)"])
def test_threads_do_not_change_a_bit(solver):
    """Positions, velocities, and where a tolerance stops: colours of some 500 constraints have chunks."""
    sheet = mesh.cloth(34, 34)
    model = Model.of(sheet, Cloth(stretch=1e3, bend=1e-4)).pin("top-corners")
    outcomes, residuals = [], []
    for threads in (1, 2, 3):
        sim = Simulation(model, solver=solver, budget=Budget(iterations=3), time_step=H, threads=threads)
        for _ in range(6):
            report = sim.step()
        stop = sim.step(Budget(tolerance=0.5, iterations=40))
        outcomes.append((sim.positions.tobytes() + sim.velocities.tobytes(), stop.sweeps))
        residuals.append((report.residual, stop.residual))
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert residuals[0] == residuals[1] == residuals[2]


# --- stability --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [*SOLVERS, "pbd-jacobi:alpha=0.045", "chebyshev(pbd-jacobi)"])
@pytest.mark.parametrize("body", list(BODIES))
@pytest.mark.parametrize("iterations", [1, 2, 5])
def test_a_hundred_frames_stay_finite(body, solver, iterations):
    """However few the iterations: finite, and within a few lengths of the body of where it hangs.

    One Jacobi iteration takes back little of a fall, so such a body sags on and on; but never farther than free fall.
    """
    model = BODIES[body]()
    sim = Simulation(model, solver=solver, budget=Budget(iterations=iterations), time_step=H, threads=1)
    for _ in range(100):
        report = sim.step()
    assert report.finite
    fallen = 0.5 * 9.81 * (101 * H) ** 2
    assert np.abs(sim.positions).max() < (fallen if "jacobi" in solver else 10.0)


def test_the_plain_sum_of_corrections_diverges_in_a_solid():
    """The paper's own form: a vertex that moves by the sum of corrections that agree overshoots by more than 2."""
    model = BODIES["jelly"]()
    sim = Simulation(model, solver="pbd-vivace:plain=True,omega=1.0", budget=Budget(iterations=10), threads=1)
    largest = 0.0
    for _ in range(30):
        sim.step()
        with np.errstate(invalid="ignore"):
            largest = max(largest, float(np.abs(sim.positions).max())) if np.isfinite(sim.positions).all() else np.inf
    assert largest > 100


# --- budgets, notes, options ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [*SOLVERS, "chebyshev(pbd-jacobi)"])
def test_a_tolerance_stops_when_the_violation_has_fallen(solver):
    """Stops at the first iteration that meets tolerance x the violation of the first: fewer iterations for a larger."""
    sheet = mesh.cloth(8, 8)
    model = replace(Model.of(sheet, Cloth(bend=0.0)), gravity=np.zeros(3))
    q = sheet.vertices + 0.02 * np.random.default_rng(0).normal(size=sheet.vertices.shape)
    name = solver if "chebyshev" in solver else with_options(solver, stiffness=1.0)
    first = step(model, name, 1, positions=q)[1].residual
    sweeps = []
    for tolerance in (0.5, 0.1):
        sim = Simulation(model, solver=name, budget=Budget(tolerance=tolerance, iterations=500), time_step=H, threads=1)
        sim.positions = q
        report = sim.step()
        assert report.stopped == "tolerance"
        assert report.residual <= tolerance * first * (1 + 1e-12)
        assert step(model, name, report.sweeps - 1, positions=q)[1].residual > tolerance * first
        sweeps.append(report.sweeps)
    assert 1 < sweeps[0] < sweeps[1] < 500


def test_a_budget_of_iterations_or_time_stops_too():
    model = BODIES["cloth"]()
    sim = Simulation(model, solver="pbd-coloured", budget=Budget(iterations=7), threads=1)
    report = sim.step()
    assert (report.sweeps, report.stopped) == (7, "iterations")
    report = sim.step(Budget(ms=2.0))
    assert report.stopped == "time"
    assert report.sweeps >= 1
    report = sim.step(Budget(tolerance=1e-6, iterations=3))  # with compliance, C does not vanish
    assert (report.sweeps, report.stopped) == (3, "iterations")


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_residual_is_the_violation_that_the_last_iteration_met(solver):
    """√Σ C² at the first guess, for one iteration; Gauss-Seidel meets constraints that others have moved: a factor."""
    sheet = mesh.cloth(6, 6)
    model = replace(Model.of(sheet, Cloth(bend=0.0)), gravity=np.zeros(3))
    q = (sheet.vertices + 0.01 * np.random.default_rng(0).normal(size=sheet.vertices.shape)).astype(np.float32)
    group = model.groups[0]
    ends = q[group.vertices].astype(float)
    c = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1) - group.parameters[:, 0].astype(np.float32)
    residual = step(model, with_options(solver, stiffness=1.0), 1, positions=q)[1].residual
    if "jacobi" in solver:
        assert residual == pytest.approx(np.linalg.norm(c), rel=1e-5)
    assert 0.4 * np.linalg.norm(c) < residual < 2.5 * np.linalg.norm(c)


def test_viscosity_is_left_out_and_said_so():
    model = Model.of(mesh.cloth(4, 4), viscosity=0.01)
    for solver in [*SOLVERS, "chebyshev(pbd-jacobi)"]:
        assert "viscosity is not part of position based dynamics" in step(model, solver, 2)[1].note
    assert step(replace(model, viscosity=0.0), "pbd", 2)[1].note == ""


def test_air_slows_as_in_projective_dynamics():
    """Free flight: v_(n+1) = (v_n + h g)/(1 + air h), to rounding."""
    model = rope(4, air=2.0)
    sim = Simulation(model, solver="pbd-coloured", budget=Budget(iterations=5), time_step=H, threads=1)
    v = 0.0
    for _ in range(10):
        sim.step()
        v = (v - 9.81 * H) / (1 + 2.0 * H)
        np.testing.assert_allclose(sim.velocities[:, 1], v, atol=20 * U * 2 / H)


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        ("pbd:stiffness=1.5", "stiffness must lie in 0 to 1, or be None.*1.5"),
        ("pbd:stiffness=-0.1", "stiffness must lie in 0 to 1"),
        ("pbd:stiffness=hard", "stiffness must lie in 0 to 1.*'hard'"),
        ("pbd:stiffness=0.5,bend=2", "bend must lie in 0 to 1.*2"),
        ("pbd:bend=0.5", "bend needs stiffness"),
        ("pbd:omega=1", "solver 'pbd' has no option 'omega'; its options: bend, stiffness"),
        ("pbd-coloured:smallest=-1", "smallest must be a whole number of constraints, zero or more, not -1"),
        ("pbd-coloured:largest=1.5", "largest must be a whole number of constraints"),
        ("pbd-coloured:colouring_algorithm=greddy", "unknown colouring 'greddy'; did you mean 'greedy'"),
        ("pbd-jacobi:omega=2", "omega must lie between 0 and 2, not 2"),
        ("pbd-jacobi:omega=0", "omega must lie between 0 and 2, not 0"),
        ("pbd-jacobi:alpha=0", "alpha must lie in .0, 1., or be None to average, not 0"),
        ("pbd-jacobi:alpha=1.1", "alpha must lie in"),
        ("pbd-vivace:omega=2", "omega must lie between 0 and 2, not 2"),
        ("pbd-vivace:colouring_algorithm=x", "unknown colouring 'x'"),
        ("pbd-colored", "unknown solver 'pbd-colored'; did you mean 'pbd-coloured'"),
        ("chebyshev(pbd-jacobi):rho=1.0", "rho must be 'auto' or lie in"),
    ],
)
def test_options_are_checked(solver, message):
    with pytest.raises(InputError, match=message):
        make_solver(solver)


def test_what_float32_cannot_hold_is_refused():
    sheet = mesh.cloth(3, 3)
    with pytest.raises(InputError, match="stiffness of 'spring' is too small for float32"):
        step(Model.of(sheet, Cloth(stretch=1e-40)), "pbd", 1)
    with pytest.raises(InputError, match=r"a mass of 1e-40 kg \(9 such vertices\); .* so that float32 holds it"):
        replace(Model.of(sheet), masses=np.full(9, 1e-40))


def test_an_unprepared_solver_says_so():
    rows = np.zeros((3, 4), np.float32)
    for name in SOLVERS:
        with pytest.raises(InputError, match="has not been prepared"):
            make_solver(name).solve(rows, rows, rows.copy(), Deadline.of(Budget(iterations=1)))


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_model_without_constraints_flies(solver):
    """s = q + h v + h² g, to the bit."""
    model = replace(Model.of(mesh.cloth(3, 3)), groups=())
    sim, report = step(model, solver, 3)
    np.testing.assert_array_equal(sim.positions, report.frame.s.astype(np.float32))
    assert report.residual == 0
