"""The residual of every sweep: what `Simulation.trace` adds to reports, and that it changes nothing else."""

import numpy as np
import pytest

from solvers.rounding import small_scene
from vivace import SOLVERS, Budget, Cloth, Model, Simulation, mesh
from vivace.collisions import Plane
from vivace.solvers.convergence import ROOM

EXTRA = [
    "vivace:refresh=0",
    "vivace:refresh=3",
    "chebyshev(pbd-jacobi)",
    "lbfgs(direct)",
    "lbfgs(jacobi)",
    "pcg(multigrid)",
]
ALL = [*SOLVERS, *EXTRA]


def moving(solver, *, trace, threads=1) -> Simulation:
    """A cloth in mid-motion, in one step a frame: a trace is that of the last substep."""
    budget = Budget(iterations=5)
    sim = small_scene("tablecloth").simulate(solver=solver, budget=budget, substeps=1, threads=threads)
    sim.trace = trace
    for _ in range(3):
        sim.step()
    return sim


@pytest.mark.parametrize("solver", ALL)
def test_every_solver_tells(solver):
    """Numbers of sweeps from 0 on that rise and stay below report.sweeps; norms that are numbers."""
    sim = moving(solver, trace=True)
    for budget in (Budget(iterations=1), Budget(iterations=9), Budget(ms=3.0), Budget(tolerance=0.5, iterations=40)):
        report = sim.step(budget)
        numbers, norms = report.residuals.T
        assert report.residuals.dtype == np.float64
        assert len(numbers) >= 1
        assert numbers[0] == 0
        assert (np.diff(numbers) > 0).all()
        assert numbers[-1] < report.sweeps
        assert (np.isfinite(norms) & (norms >= 0)).all()


@pytest.mark.parametrize("solver", ALL)
def test_a_trace_changes_no_bit(solver):
    first, second = (moving(solver, trace=trace) for trace in (False, True))
    for _ in range(3):
        plain, traced = first.step(Budget(iterations=7)), second.step(Budget(iterations=7))
        assert plain.residuals.shape == (0, 2)
        assert len(traced.residuals) > 0
        assert (plain.sweeps, plain.residual, plain.stopped) == (traced.sweeps, traced.residual, traced.stopped)
        np.testing.assert_array_equal(first.positions, second.positions)
        np.testing.assert_array_equal(first.velocities, second.velocities)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ALL)
def test_a_trace_is_what_shorter_budgets_meet(solver):
    """The residual of sweep k is report.residual of a budget of k + 1, from the same state."""
    numbers, norms = moving(solver, trace=True).step(Budget(iterations=12)).residuals.T
    for k in sorted({0, len(numbers) // 2, len(numbers) - 1}):
        short = moving(solver, trace=False).step(Budget(iterations=int(numbers[k]) + 1))
        assert norms[k] == pytest.approx(short.residual, rel=1e-9), k


@pytest.mark.parametrize(("solver", "expected"), [("vivace", [0, 4, 8]), ("jacobi", range(10)), ("pbd", range(10))])
def test_sweeps_over_kept_projections_are_left_out(solver, expected):
    numbers = moving(solver, trace=True).step(Budget(iterations=10)).residuals[:, 0]
    np.testing.assert_array_equal(numbers, expected)


@pytest.mark.parametrize("solver", ["vivace", "pbd-coloured", "lbfgs(multigrid)"])
def test_threads_do_not_change_a_trace(solver):
    one, two = (moving(solver, trace=True, threads=threads).step() for threads in (1, 2))
    np.testing.assert_array_equal(one.residuals, two.residuals)


@pytest.mark.parametrize("solver", ["vivace", "pbd-coloured", "auto", "direct"])
def test_nothing_left_to_do_does_not_stop_a_traced_step(solver):
    """A body at rest has no residual: without a tolerance, that is no reason to stop."""
    model = Model.of(mesh.cloth(4, 4), Cloth(), gravity=(0, 0, 0))
    sim = Simulation(model, solver=solver, budget=Budget(iterations=6), threads=1, trace=True)
    report = sim.step()
    assert (report.sweeps, report.stopped) == (6, "iterations")


def test_a_trace_may_be_switched_at_any_time():
    sim = moving("vivace", trace=False)
    assert len(sim.step().residuals) == 0
    sim.trace = True
    first = sim.step().residuals
    sim.trace = False
    assert len(sim.step().residuals) == 0
    assert len(sim.step(Budget(tolerance=0.5)).residuals) == 0
    sim.trace = True
    second = sim.step().residuals
    assert len(first) == len(second) == 2
    assert not np.array_equal(first, second)  # the report's own, not the solver's


def test_beyond_its_room_nothing_is_recorded():
    sim = moving("jacobi", trace=True)
    report = sim.step(Budget(iterations=ROOM + 100))
    assert report.sweeps == ROOM + 100
    np.testing.assert_array_equal(report.residuals[:, 0], np.arange(ROOM))


@pytest.mark.parametrize("solver", ["auto", "vivace", "pbd-coloured", "pbd-vivace", "pbd-jacobi", "multigrid"])
def test_with_contacts(solver):
    cloth = mesh.cloth(8, 8).transformed(translate=(0, 0.01, 0))
    model = Model.of(cloth, Cloth()).collide([Plane()], itself=False)
    sims = [Simulation(model, solver=solver, budget=Budget(iterations=6), threads=1, trace=t) for t in (True, False)]
    for _ in range(6):
        reports = [sim.step() for sim in sims]
        np.testing.assert_array_equal(sims[0].positions, sims[1].positions)
        assert len(reports[0].residuals) > 0
    assert reports[0].contacts > 0
