"""Budgets: when a solver stops, and what it says about it. Options: how solvers are named."""

import time

import numpy as np
import pytest

from solvers.rounding import small_scene
from vivace import (
    SOLVERS,
    Budget,
    InputError,
    Model,
    Outcome,
    Simulation,
    UnknownNameError,
    Wire,
)
from vivace.mesh import Mesh
from vivace.scenes import make_scene
from vivace.solvers import Deadline, make_solver, options_of
from vivace.solvers.budget import MOST_ITERATIONS


def simulate(**options):
    return small_scene("tablecloth").simulate(threads=1, **options)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({}, "a budget needs ms, iterations or tolerance"),
        ({"ms": 0}, "a budget's ms must be positive, not 0"),
        ({"ms": -1.0}, "a budget's ms must be positive, not -1.0"),
        ({"ms": float("nan")}, "a budget's ms must be positive, not nan"),
        ({"ms": float("inf")}, "a budget's ms must be positive, not inf"),
        ({"iterations": 0}, "a budget's iterations must be a whole number of at least 1, not 0"),
        ({"iterations": 2.5}, "a budget's iterations must be a whole number of at least 1, not 2.5"),
        ({"iterations": True}, "a budget's iterations must be a whole number of at least 1, not True"),
        ({"tolerance": 0.0}, "a budget's tolerance must lie between 0 and 1, not 0.0"),
        ({"tolerance": 1.0}, "a budget's tolerance must lie between 0 and 1, not 1.0"),
        ({"tolerance": float("nan")}, "a budget's tolerance must lie between 0 and 1, not nan"),
    ],
)
def test_budget_says_what_is_wrong(limits, message):
    with pytest.raises(InputError) as caught:
        Budget(**limits)
    assert str(caught.value) == message


@pytest.mark.parametrize("limits", [{"ms": "8"}, {"tolerance": "small"}])
def test_budget_of_words_is_an_input_error(limits):
    """A scene file may hold anything: still an InputError that names the value, not a TypeError of NumPy."""
    with pytest.raises(InputError, match=repr(next(iter(limits.values())))):
        Budget(**limits)


def test_a_number_is_milliseconds():
    assert simulate(budget=3).budget == Budget(ms=3)
    with pytest.raises(InputError, match="ms must be positive"):
        simulate().step(-2.0)


@pytest.mark.parametrize("solver", list(SOLVERS))
@pytest.mark.parametrize("iterations", [1, 2, 17])
def test_iterations_are_exact(solver, iterations):
    report = simulate(solver=solver, budget=Budget(iterations=iterations)).step()
    assert (report.sweeps, report.stopped) == (iterations, "iterations")
    assert simulate(solver=solver, budget=Budget(iterations=np.int64(iterations))).step().sweeps == iterations


@pytest.mark.parametrize("tolerance", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("solver", list(SOLVERS))
def test_tolerance_stops_at_its_residual(solver, tolerance):
    """The last sweep met ‖r‖ <= tolerance ‖r of the first sweep‖; the one over fresh projections before it did not."""
    if solver == "descent":  # its weights depend on the number of iterations, unless they are given
        solver = "descent:rho=0.9"
    scene = make_scene("hanging-cloth", resolution=8, stretch=100.0)
    first = scene.simulate(solver=solver, budget=Budget(iterations=1), substeps=1, threads=1).step()
    report = scene.simulate(solver=solver, budget=Budget(tolerance=tolerance), substeps=1, threads=1).step()
    assert report.stopped == "tolerance"
    assert report.residual <= tolerance * first.residual * (1 + 1e-6)  # two sums of the same float32 squares
    if report.sweeps > 1:
        back = max(1, getattr(make_solver(solver), "refresh", 1))
        before = scene.simulate(
            solver=solver, budget=Budget(iterations=report.sweeps - back), substeps=1, threads=1
        ).step()
        assert before.residual > tolerance * first.residual * (1 - 1e-6)
        same = scene.simulate(solver=solver, budget=Budget(iterations=report.sweeps), substeps=1, threads=1).step()
        np.testing.assert_array_equal(same.positions, report.positions)


@pytest.mark.slow
def test_first_limit_met_wins():
    assert simulate(budget=Budget(iterations=3, tolerance=1e-7)).step().stopped == "iterations"
    assert simulate(budget=Budget(iterations=10**6, ms=2.0)).step().stopped == "time"
    assert Budget(tolerance=0.5).most_iterations == MOST_ITERATIONS


def test_nothing_left_to_do_stops_at_once():
    """At rest without gravity or rounding the residual of the first sweep is 0, and 0 <= tolerance 0."""
    wire = Mesh.from_edges([[0.0, 0, 0], [0.5, 0, 0]], [[0, 1]])
    sim = Simulation(Model.of(wire, Wire(), gravity=(0, 0, 0)), budget=Budget(tolerance=0.1))
    report = sim.step()
    assert (report.sweeps, report.stopped, report.residual) == (1, "tolerance", 0.0)


@pytest.mark.parametrize("solver", list(SOLVERS))
@pytest.mark.parametrize("ms", [1e-6, 0.5, 3.0])
def test_time_budget_always_sweeps_and_stays_finite(solver, ms):
    """At least one sweep, even where there is no time for any."""
    sim = simulate(solver=solver, budget=Budget(ms=ms))
    for _ in range(10):
        report = sim.step()
        assert report.sweeps >= 1
        assert report.stopped == "time"
        assert report.finite
        assert np.isfinite(sim.velocities).all()


def test_deadline_counts_from_its_start_and_keeps_a_reserve():
    """at = start + ms - reserve, on the clock of time.perf_counter_ns."""
    deadline = Deadline.of(Budget(ms=2.5), reserve_ns=100_000, start_ns=1_000)
    assert deadline.at_ns == 1_000 + 2_500_000 - 100_000
    assert Deadline.of(Budget(iterations=1)).at_ns is None
    before = time.perf_counter_ns()
    assert Deadline.of(Budget(ms=1.0)).at_ns >= before + 1_000_000


# --- names and options ----------------------------------------------------------------------------------------------


def test_unknown_solver_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match=r"unknown solver 'vivave'; did you mean 'vivace' or 'pbd-vivace'\?"):
        make_solver("vivave")
    with pytest.raises(UnknownNameError, match=r"unknown solver 'gaussseidel'; did you mean 'gauss-seidel'\?"):
        simulate(solver="gaussseidel")
    with pytest.raises(UnknownNameError, match=r"unknown solver 'zzz'; known: auto, .*gauss-seidel, .*vivace, .*\."):
        make_solver("zzz")


def test_unknown_option_lists_the_known():
    with pytest.raises(InputError, match=r"solver 'jacobi' has no option 'omga'; its options: omega"):
        make_solver(("jacobi", {"omga": 1}))
    with pytest.raises(InputError, match=r"no option 'foo'; its options: .*omega, .*relaxation"):
        make_solver("vivace:foo=1")
    with pytest.raises(InputError, match=r"a solver's option is written name=value, not 'omega'"):
        make_solver("vivace:omega")


def test_options_as_text():
    solver = make_solver("vivace:relaxation=none, omega=1.5,balance=true,colouring_algorithm=greedy")
    assert (solver.relaxation, solver.omega, solver.balance) == ("none", 1.5, True)
    assert solver.colouring_algorithm == "greedy"
    assert make_solver("vivace:balance=False").balance is False
    assert make_solver("jacobi:omega=1").omega == 1
    assert make_solver(("vivace", {"omega": 1.2})).omega == 1.2
    assert make_solver(solver) is solver
    assert make_solver("gauss-seidel").omega == 1.0
    assert options_of(SOLVERS["vivace"]) == {
        "relaxation": "sor",
        "omega": 1.95,
        "ramp": 2.0,
        "refresh": 4,
        "colouring_algorithm": "greedy-smallest-last",
        "balance": False,
    }


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("vivace:omega=2", r"sor converges for omega below 2 only"),
        ("vivace:omega=0", r"omega must lie in \(0, 2\], not 0"),
        ("vivace:omega=-1", r"omega must lie in \(0, 2\], not -1"),
        ("vivace:omega=nan", r"omega must lie in \(0, 2\], not nan"),
        ("vivace:omega=fast", r"omega must lie in \(0, 2\], not 'fast'"),
        ("vivace:omega=true", r"omega must lie in \(0, 2\], not True"),
        ("vivace:relaxation=printed,omega=2.1", r"omega must lie in \(0, 2\], not 2.1"),
        ("jacobi:omega=1.1", r"omega must lie in \(0, 1\], not 1.1"),
        ("gauss-seidel:omega=2", r"omega must lie in \(0, 2\], not 2"),
        ("vivace:ramp=-1", r"ramp must be a number of sweeps, zero or more, not -1"),
        ("vivace:ramp=nan", r"ramp must be a number of sweeps, zero or more, not nan"),
        ("vivace:ramp=slow", r"ramp must be a number of sweeps, zero or more, not 'slow'"),
        ("vivace:relaxation=sr", r"unknown relaxation 'sr'; did you mean 'sor'\?"),
        ("vivace:colouring_algorithm=brooks-vising", r"unknown colouring 'brooks-vising'; did you mean 'brooks-v"),
    ],
)
def test_bad_options_say_what_is_wrong(what, message):
    with pytest.raises(InputError, match=message):
        make_solver(what)


def wrapped(levels):
    """Solvers in each other as tuples."""
    text = ("lbfgs", {"inner": "multigrid"})
    for _ in range(levels):
        text = ("lbfgs", {"inner": text})
    return text


CYCLE: dict = {}
CYCLE["inner"] = ("lbfgs", CYCLE)


@pytest.mark.parametrize(
    "what",
    [
        "lbfgs(" * 200 + "multigrid" + ")" * 200,
        "lbfgs(" * 100_000 + "multigrid" + ")" * 100_000,
        "lbfgs:inner=" * 300 + "multigrid",
        wrapped(500),
        ("lbfgs", CYCLE),
        ("lbfgs", {"inner": "lbfgs(" * 200 + "multigrid" + ")" * 200}),
    ],
)
def test_solvers_inside_solvers_inside_solvers(what):
    with pytest.raises(InputError, match=r"solvers are nested more than 8 deep in .*; one or two wrappers are enough"):
        make_solver(what)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (10**5000, "option 'omega' of solver 'vivace' is a whole number beyond 64 bits"),
        (2**63, "option 'omega' of solver 'vivace' is a whole number beyond 64 bits"),
        ({}, "option 'omega' of solver 'vivace' is a number, a truth value or text, not {}"),
        (np.zeros(3), "option 'omega' of solver 'vivace' is a number, a truth value or text, not array"),
        (1j, "option 'omega' of solver 'vivace' is a number, a truth value or text, not 1j"),
    ],
    ids=["10^5000", "2^63", "{}", "array", "1j"],
)
def test_options_that_are_no_options(value, message):
    with pytest.raises(InputError, match=message):
        make_solver(("vivace", {"omega": value}))


def test_printed_may_use_two():
    assert make_solver("vivace:relaxation=printed,omega=2").omega == 2


def test_solver_must_be_prepared():
    solver = make_solver("vivace")
    empty = np.zeros((1, 4), np.float32)
    with pytest.raises(InputError, match="solver 'vivace' has not been prepared for a system"):
        solver.solve(empty, empty, empty, Deadline.of(Budget(iterations=1)))


def test_one_solver_object_in_two_simulations():
    """A solver holds the layout of one system: two simulations must not walk each other's arrays."""
    scene = small_scene("tablecloth")
    alone = scene.simulate(solver="vivace", budget=Budget(iterations=3), threads=1)
    shared = make_solver("vivace")
    first = scene.simulate(solver=shared, budget=Budget(iterations=3), threads=1)
    first.step()
    try:  # either it refuses, or it works
        second = make_scene("tablecloth", resolution=12, stretch=10.0)
        second.simulate(solver=shared, budget=Budget(iterations=3), threads=1).step()
    except InputError:
        pass
    alone.step()
    alone.step()
    first.step()
    np.testing.assert_array_equal(first.positions, alone.positions)


def test_a_deadline_tells_which_limit_is_reached():
    """Iterations first, then the clock; a sweep that would end too late is not begun; no limit of time, no "time"."""
    past, far, room = 0, time.perf_counter_ns() + 10**15, 10**16
    both = Budget(ms=1.0, iterations=3)
    assert [Deadline(both, far).reached(k) for k in range(5)] == ["", "", "", "iterations", "iterations"]
    assert [Deadline(both, past).reached(k) for k in (1, 3)] == ["time", "iterations"]
    assert Deadline(both, far).reached(1, room) == "time"
    assert Deadline(Budget(tolerance=0.5), None).reached(MOST_ITERATIONS - 1, room) == ""
    assert Deadline(Budget(tolerance=0.5), None).reached(MOST_ITERATIONS) == "iterations"


def test_an_outcome_without_a_time_has_ended_now():
    before = time.perf_counter_ns()
    ended = Outcome(1, 0.0, "iterations").swept_ns
    assert before <= ended <= time.perf_counter_ns()
