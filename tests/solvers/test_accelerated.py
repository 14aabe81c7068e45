"""L-BFGS and conjugate gradients over every correction, and the factorisation: minima, descent, budgets, stability."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse.linalg as spl

from solvers.operators import operator_of, prepared, spectrum
from solvers.rounding import ENERGY_SCENES, moving_frame, run, small_scene
from solvers.test_robustness import check_bounded
from vivace import Budget, Cloth, InputError, Model, Simulation, Solid, System, mesh
from vivace.scenes import Scene, make_scene
from vivace.solvers import make_solver, minimise
from vivace.solvers.projective.kernels.quasi_newton import FAR, LEAP

CORRECTORS = ["jacobi", "weighted-jacobi", "gauss-seidel", "vivace", "direct", "multigrid"]
EVERY = [f"{wrapper}({inner})" for wrapper in ("lbfgs", "pcg", "chebyshev") for inner in CORRECTORS]


def small_cloth() -> Scene:
    sheet = mesh.cloth(10, 10)
    return Scene("cloth", Model.of(sheet, Cloth(stretch=50.0, bend=1e-3)).pin("top-corners"), 1 / 30)


def small_body() -> Scene:
    body = mesh.bar(6, 4, 4)
    return Scene("body", Model.of(body, Solid(youngs_modulus=5e4, poisson_ratio=0.3)).pin("left"), 1 / 30)


PROBLEMS = {"cloth": small_cloth, "body": small_body}


@pytest.fixture(scope="module", params=list(PROBLEMS))
def problem(request):
    """A step in mid-motion, with its minimum; more vertices than the coarsest level of a hierarchy."""
    system, frame = moving_frame(PROBLEMS[request.param](), sweeps=200)
    return system, frame, minimise(system, frame, accuracy=1e-14)


def rounding(system, frame) -> float:
    """What float32 positions leave of the energy, ten times over (J): Y_ii/2 (2 u |q|)² a vertex."""
    return 10 * float(system.diagonal @ (2.0**-23 * np.linalg.norm(frame.start, axis=1)) ** 2)


# --- every correction, every accelerator -----------------------------------------------------------------------------


@pytest.mark.parametrize("inner", CORRECTORS)
def test_corrections_are_symmetric_and_positive(problem, inner):
    """λ(HY) lies above 0 and, where `overshoot` says so, not above it: what L-BFGS and conjugate gradients need."""
    system, _, _ = problem
    solver = prepared(f"pcg({inner})", system)
    h = operator_of(solver)
    assert np.abs(h - h.T).max() <= 1e-5 * np.abs(h).max()
    values = spectrum(h, system)
    assert values[0] > 0
    assert values[-1] <= 1.05 * solver.corrector.overshoot(solver.layout) + 1e-4  # found by power iteration, from below
    assert values[-1] >= 0.95 * solver.corrector.overshoot(solver.layout)


@pytest.mark.parametrize(("wrapper", "iterations"), [("lbfgs", 250), ("pcg", 1500)])
@pytest.mark.parametrize("inner", CORRECTORS)
def test_the_minimum_is_reached_over_every_correction(problem, inner, wrapper, iterations):
    """ε(q) - ε(q*) within rounding: the correction decides how fast, not where to."""
    system, frame, reference = problem
    q = run(prepared(f"{wrapper}({inner})", system), system, frame, iterations)
    assert system.energy(q, frame) - reference.energy <= rounding(system, frame)
    assert system.energy(frame.start, frame) - reference.energy > 1e3 * rounding(system, frame)


@pytest.mark.parametrize("inner", CORRECTORS)
def test_acceleration_gets_farther_than_the_corrections_alone(problem, inner):
    """After twenty corrections; ρ = 0 adds them up as they are."""
    system, frame, reference = problem
    alone, fast = (
        system.energy(run(prepared(name, system), system, frame, 20), frame) - reference.energy
        for name in (f"chebyshev({inner}):rho=0", f"lbfgs({inner})")
    )
    assert fast < 0.5 * alone


@pytest.mark.slow
@pytest.mark.parametrize("inner", ["jacobi", "vivace", "direct", "multigrid"])
@pytest.mark.parametrize("name", ENERGY_SCENES)
def test_conjugate_gradients_never_raise_the_energy(name, inner):
    """ε(q^(k+1)) <= ε(q^k): α is the minimum of a quadratic above ε."""
    system, frame = moving_frame(small_scene(name))
    solver = prepared(f"pcg({inner})", system)
    energies = [system.energy(frame.start, frame)]
    energies += [system.energy(run(solver, system, frame, k), frame) for k in range(1, 13)]
    assert (np.diff(energies) <= rounding(system, frame)).all()
    assert energies[-1] < energies[0]


@pytest.mark.slow
@pytest.mark.parametrize("inner", CORRECTORS)
@pytest.mark.parametrize("name", ENERGY_SCENES)
def test_quasi_newton_steps_never_end_above_their_start(name, inner):
    """The true energy of whole steps, live, for few iterations: the last of them has not been judged yet."""
    scene = small_scene(name)
    for iterations in (1, 2, 3, 5, 9):
        sim = scene.simulate(solver=f"lbfgs({inner})", budget=Budget(iterations=iterations), threads=1)
        for _ in range(5):
            report = sim.step()
            start = sim.system.energy(report.frame.start, report.frame)
            assert report.energy <= start + rounding(sim.system, report.frame), iterations


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lbfgs(multigrid)", "lattice"])
def test_a_last_step_that_went_wild_is_taken_back(name):
    """One that went well stays; of one thirty times as long nothing is left. Looked at if pairs asked for much."""
    system, frame = moving_frame(small_scene("armadillo"))
    solver = prepared(name, system)
    run(solver, system, frame, 3)
    q, was = solver.layout.q, solver._last[0].arrays["q_old"].copy()
    good = q.copy()
    solver._last_plan.run(first=3)
    np.testing.assert_array_equal(q, good)
    q[:] = was + 30 * (good - was)
    solver._last_plan.run(first=3)
    np.testing.assert_array_equal(q, was)
    assert "1 steps taken back" in solver.note()
    for leap, looks in ((1.0, False), (FAR, False), (2 * FAR, True)):
        solver._state[LEAP] = leap
        assert solver.wants_last_steps() == looks


@pytest.mark.slow
@pytest.mark.parametrize("solver", [*EVERY, "multigrid", "direct"])
@pytest.mark.parametrize("name", ["tablecloth", "bar"])
def test_any_number_of_iterations_is_stable(name, solver):
    """Nothing outruns free fall and what was stored: one iteration a frame is enough to show what overshoots."""
    scene = small_scene(name)
    chosen = make_solver(f"{solver}:horizon=10" if solver.startswith("chebyshev") else solver)
    for iterations in (1, 2, 6):
        check_bounded(scene.simulate(solver=chosen, budget=Budget(iterations=iterations), threads=1), 40)


@pytest.mark.slow
@pytest.mark.parametrize("memory", [1, 2, 20])
@pytest.mark.parametrize("keep", [True, False])
def test_memory_and_keeping_change_the_way_not_the_end(memory, keep):
    scene = small_cloth()
    sim = scene.simulate(solver=f"lbfgs(direct):memory={memory},keep={keep}", budget=Budget(iterations=200), threads=1)
    for _ in range(3):
        report = sim.step()
    reference = minimise(sim.system, report.frame, accuracy=1e-14)
    assert report.energy - reference.energy <= rounding(sim.system, report.frame)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("lbfgs(direct):memory=0", r"memory must be a whole number from 1 to 20, not 0"),
        ("lbfgs(direct):memory=21", r"memory must be a whole number from 1 to 20, not 21"),
        ("lbfgs(direct):memory=2.5", r"memory must be a whole number from 1 to 20, not 2.5"),
        ("pcg(direct):memory=3", r"solver 'pcg' has no option 'memory'; its options: inner"),
        ("direct:low_rank=-1", r"low_rank must be a whole number from 0 to 1000, not -1"),
        ("direct:low_rank=some", r"low_rank must be a whole number from 0 to 1000, not 'some'"),
    ],
)
def test_bad_options_say_what_is_wrong(what, message):
    with pytest.raises(InputError, match=message):
        make_solver(what)


# --- budgets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inner", ["jacobi", "direct", "multigrid"])
@pytest.mark.parametrize("wrapper", ["lbfgs", "pcg", "chebyshev"])
def test_budgets_of_every_kind(wrapper, inner):
    scene = small_cloth()
    name = f"chebyshev({inner}):rho=0.6,delay=2" if wrapper == "chebyshev" else f"{wrapper}({inner})"
    sim = scene.simulate(solver=name, threads=1)
    report = sim.step(Budget(iterations=7))
    assert (report.sweeps, report.stopped) == (7, "iterations")
    report = sim.step(Budget(ms=1e-6))
    assert (report.sweeps, report.stopped) == (1, "time")
    report = sim.step(Budget(ms=3.0, iterations=10**6))
    assert report.stopped == "time"
    assert report.finite
    first = scene.simulate(solver=name, threads=1).step(Budget(iterations=1)).residual
    report = scene.simulate(solver=name, threads=1).step(Budget(tolerance=0.05))
    assert report.stopped == "tolerance"
    assert 0 < report.residual <= 0.05 * first * (1 + 1e-6)
    before = scene.simulate(solver=name, threads=1).step(Budget(iterations=report.sweeps - 1))
    assert before.residual > 0.05 * first * (1 - 1e-6)


@pytest.mark.parametrize("solver", ["lbfgs(direct)", "lbfgs(multigrid)", "pcg(jacobi)", "auto"])
def test_a_tolerance_ends_a_step_before_its_time(solver):
    """What is left of the milliseconds is not spent once the tolerance is met."""
    scene = small_body()
    sim = scene.simulate(solver=solver, threads=1)
    alone = scene.simulate(solver=solver, threads=1).step(Budget(tolerance=0.3))
    report = sim.step(Budget(tolerance=0.3, ms=2000.0))
    assert (report.stopped, report.sweeps) == ("tolerance", alone.sweeps)
    np.testing.assert_array_equal(report.positions, alone.positions)


@pytest.mark.parametrize("name", ["bar", "tablecloth"])
def test_iterations_over_the_last_projections_lower_the_energy(name):
    """The leftover of a budget: the quadratic that they lower lies above ε and touches it where it was made."""
    system, frame = moving_frame(small_scene(name))
    for k in (1, 2, 4):
        solver = prepared("lbfgs(direct)", system)
        fresh = system.energy(run(solver, system, frame, k), frame)
        short = solver._short_plan.run(3, first=k)  # what solve does with the time that is left
        rows = np.zeros((system.n, 4), np.float32)
        solver.layout.store(rows)
        assert short == 3
        before = system.energy(run(solver, system, frame, k - 1), frame) if k > 1 else system.energy(frame.start, frame)
        after = system.energy(rows[:, :3].astype(np.float64), frame)
        assert after <= before + rounding(system, frame)
        assert after != fresh


@pytest.mark.parametrize("solver", ["lbfgs(direct)", "lbfgs(multigrid)", "pcg(jacobi)", "direct"])
def test_a_tolerance_that_float32_cannot_reach_stops_where_it_can(solver):
    report = small_cloth().simulate(solver=solver, threads=1).step(Budget(tolerance=1e-12))
    assert report.stopped == "tolerance"
    assert report.sweeps < 5000


@pytest.mark.parametrize("solver", ["lbfgs(direct)", "lbfgs(multigrid)", "pcg(vivace)", "direct", "multigrid"])
def test_far_from_the_origin_a_step_is_the_same(solver):
    """1024 m away, from the same state (on the grid of float32 there): to a few dozen of its ulps of 1.2e-4 m."""
    near = mesh.cloth(12, 12)
    shift, found = np.array([1024.0, -1024.0, 1024.0]), []
    for body in (near, near.transformed(translate=shift)):
        model = Model.of(body, Cloth(stretch=100.0, bend=1e-3)).pin("top-corners")
        sim = Simulation(model, solver=solver, budget=Budget(iterations=10), threads=1)
        if not found:
            for _ in range(5):
                sim.step()
            moved, velocities = np.round((sim.positions - body.vertices) * 2**13) / 2**13, sim.velocities
        sim.positions, sim.velocities = body.vertices + moved, velocities
        sim.step()
        found.append(sim.positions - body.vertices - moved)
    assert np.abs(found[0]).max() > 0.02
    assert np.abs(found[0] - found[1]).max() < 3e-3


# --- the factorisation -----------------------------------------------------------------------------------------------


def check_exact(solver, system, frame):
    """The first iterate is Y⁻¹ b(q⁰): to the rounding of positions, and 1e-4 of the correction (float32 factors)."""
    exact = spl.spsolve(system.matrix.tocsc(), system.right_hand_side(frame.start, frame))
    step = np.abs(exact - frame.start).max()
    assert step > 1e-3
    found = run(solver, system, frame, 1)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-4 * step + 4 * 2.0**-24 * np.abs(exact).max())


@pytest.mark.parametrize("name", ENERGY_SCENES)
def test_the_first_iterate_is_the_global_step_solved_exactly(name):
    system, frame = moving_frame(small_scene(name), sweeps=3)
    check_exact(prepared("direct", system), system, frame)


def test_every_iterate_is_the_global_step_solved_exactly(problem):
    """q^(k+1) = Y⁻¹ b(q^k), as local and global steps alternate [bouaziz2014]."""
    system, frame, _ = problem
    solver, solve = prepared("direct", system), spl.factorized(system.matrix.tocsc())
    q = frame.start
    for k in range(1, 6):
        b = system.right_hand_side(q, frame)
        q = np.stack([solve(np.ascontiguousarray(b[:, c])) for c in range(3)], axis=1)
        np.testing.assert_allclose(run(solver, system, frame, k), q, rtol=0, atol=1e-4 * np.abs(q - frame.start).max())


def repinned(scene: Scene, where) -> tuple[System, System]:
    """The scene's system, and one with more pins that shares its arrays."""
    system = System(scene.model, scene.time_step)
    return system, System(scene.model.pin(where), scene.time_step, like=system)


@pytest.mark.parametrize("count", [1, 3, 5, 12])
def test_a_few_changed_pins_are_solved_exactly(count):
    """Woodbury's formula: added, and taken away again. More than four take more than one back-substitution."""
    scene = make_scene("tablecloth", resolution=12)
    where = np.setdiff1d(np.random.default_rng(count).permutation(144), scene.model.pinned)[:count]
    system, pinned = repinned(scene, where)
    solver = prepared("direct", system)
    assert solver.adapt(pinned)
    _, frame = moving_frame(Scene("pinned", pinned.model, scene.time_step))
    check_exact(solver, pinned, frame)
    assert solver.note() == ""
    assert solver.adapt(system)
    _, frame = moving_frame(scene)
    check_exact(solver, system, frame)
    fewer = prepared("direct", pinned)  # factorised with the pins, used without
    assert fewer.adapt(system)
    check_exact(fewer, system, frame)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["direct", "direct:low_rank=0", "pcg(direct)"])
def test_with_more_changed_pins_the_old_factors_precondition(solver):
    """Still the minimum, and the report says what is going on."""
    scene = small_cloth()
    system, pinned = repinned(scene, np.arange(2, 90, 6))
    made = prepared(solver, system)
    assert made.adapt(pinned)
    _, frame = moving_frame(Scene("pinned", pinned.model, scene.time_step))
    reference = minimise(pinned, frame, accuracy=1e-14)
    q = run(made, pinned, frame, 1500)
    gained = pinned.energy(frame.start, frame) - reference.energy
    assert pinned.energy(q, frame) - reference.energy <= 1e-5 * gained + rounding(pinned, frame)
    assert made.note().endswith("15 pins changed: the old factors precondition")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("solver", "where"),
    [
        ("direct", np.arange(2, 90, 2)),
        ("lbfgs(direct)", np.arange(2, 90, 6)),
        ("chebyshev(direct)", np.arange(2, 90, 6)),
    ],
)
def test_where_old_factors_are_of_no_use_it_is_factorised_anew(solver, where):
    """A fifth of the vertices pinned; or fewer, where nobody weighs how far an old correction overshoots."""
    scene = small_cloth()
    system, pinned = repinned(scene, where)
    assert not prepared(solver, system).adapt(pinned)
    sim = scene.simulate(solver=solver, budget=Budget(iterations=3), threads=1)
    sim.step()
    sim.model = pinned.model
    for _ in range(10):
        report = sim.step()
        assert report.note == ""
        assert report.finite
        assert report.energy < sim.system.energy(report.frame.start, report.frame)


def test_what_was_under_a_very_stiff_pin_is_factorised_anew():
    """1e11 N/m over 1e4: without the pin, float32 factors would leave a third of the correction wrong."""
    scene = make_scene("tablecloth", resolution=12)
    system = System(scene.model, scene.time_step)
    stiff, pinned = (System(scene.model.pin([40], stiffness=k), scene.time_step, like=system) for k in (1e11, 1e6))
    assert not prepared("direct", stiff).adapt(system)
    assert prepared("direct", pinned).adapt(system)
    solver = prepared("direct", system)  # to add one is no problem
    assert solver.adapt(stiff)
    _, frame = moving_frame(Scene("pinned", stiff.model, scene.time_step))
    check_exact(solver, stiff, frame)


@pytest.mark.slow
def test_another_model_is_not_adapted_to():
    """Another stiffness, mass or step: the factors, the colours and the hierarchy are of no use."""
    scene = small_cloth()
    system = System(scene.model, scene.time_step)
    others = [System(scene.model, 1 / 60), System(scene.model.constrain("spring", [[0, 50]], 3.0), 1 / 30)]
    for name in ("direct", "multigrid", "vivace", "jacobi", "lbfgs(multigrid)", "pcg", "auto"):
        solver = prepared(name, system)
        for other in others:
            assert not solver.adapt(other)
        assert solver.system is system
        assert not make_solver(name).adapt(system)  # never prepared at all
