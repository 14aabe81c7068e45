"""`auto`: what it picks and why, what a change of pins costs, and that its results can be had again."""

from __future__ import annotations

import numpy as np
import pytest

from vivace import Budget, Cloth, InputError, Model, Simulation, System, mesh
from vivace.scenes import Scene, make_scene
from vivace.solvers import auto as auto_module
from vivace.solvers import make_solver, minimise
from vivace.solvers.auto import DIRECT, GOOD_AS, MULTIGRID, SETTLED, Auto, Costs

from .rounding import small_scene


@pytest.fixture
def sim() -> Simulation:
    return make_scene("tablecloth", resolution=12).simulate(budget=Budget(iterations=4), threads=1)


def priced(multigrid: float, direct: float) -> Auto:
    """`auto` with the costs of an iteration given."""
    solver = Auto()
    solver._costs = Costs(multigrid, direct)
    return solver


# --- the choice ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("multigrid", "direct", "budget_ms", "choice"),
    [
        (1.0, 0.5, None, DIRECT),  # exact and cheaper
        (1.0, 0.99 * GOOD_AS, None, DIRECT),  # dearer, but worth it
        (1.0, 1.01 * GOOD_AS, None, MULTIGRID),
        (1.0, 0.5, 8.0, DIRECT),
        (1.0, 1.2, 1.1, MULTIGRID),  # not one exact correction fits, but one cycle does
        (1.0, 1.2, 0.9, DIRECT),  # neither does: at least one iteration is made anyway
        (1.0, 1.2, 1.3, DIRECT),
        (1.0, 50.0, 8.0, MULTIGRID),
    ],
)
def test_the_choice_by_cost_and_budget(multigrid, direct, budget_ms, choice):
    assert priced(multigrid, direct).choice(budget_ms) == choice


def test_while_the_matrix_changes_it_is_multigrid():
    """And for SETTLED steps afterwards: then a factorisation is worth having again."""
    solver = priced(1.0, 0.5)
    assert solver.choice(None) == DIRECT
    for calm, choice in ((0, MULTIGRID), (SETTLED - 1, MULTIGRID), (SETTLED, DIRECT)):
        solver._calm = calm
        assert solver.choice(None) == choice


def test_costs_grow_faster_for_the_factorisation_and_in_volumes():
    """Cycles are linear in the size; factors fill in, those of volumes more than those of surfaces."""

    def growth(scene, sizes):
        costs = [Costs.of(System(make_scene(scene, resolution=r).model, 1 / 30)) for r in sizes]
        n = [make_scene(scene, resolution=r).model.n for r in sizes]
        return [
            np.log(getattr(costs[1], k) / getattr(costs[0], k)) / np.log(n[1] / n[0]) for k in ("multigrid", "direct")
        ]

    cloth, cube = growth("tablecloth", (20, 60)), growth("cube", (6, 14))
    assert cloth[0] < cloth[1]
    assert cube[0] < cube[1]
    assert cloth[0] < 1.1
    assert cube[0] < 1.1


def test_small_meshes_are_factorised_and_large_bodies_are_not():
    """By size and dimension: 100 and 17,000 vertices, of a surface and of a volume. No simulation is made."""
    chosen = {}
    for name, resolution in (("tablecloth", 10), ("cube", 5), ("cube", 26)):
        solver = Auto()
        solver._costs = Costs.of(System(make_scene(name, resolution=resolution).model, 1 / 30))
        chosen[name, resolution] = solver.choice(None)
    assert chosen == {("tablecloth", 10): DIRECT, ("cube", 5): DIRECT, ("cube", 26): MULTIGRID}


# --- in use ----------------------------------------------------------------------------------------------------------


def test_it_says_which_solver_it_used(sim):
    assert sim.solver.name == "auto"
    assert sim.solver.used == "auto"  # nothing yet
    sim.step()
    assert sim.solver.used == DIRECT
    sim.model = sim.model.pin([70])
    sim.step()
    assert sim.solver.used == MULTIGRID
    assert sim.colouring is not None
    assert make_solver("lbfgs(direct)").used == "lbfgs(direct)"


def test_its_steps_are_those_of_the_solver_it_names(sim):
    other = make_scene("tablecloth", resolution=12).simulate(solver=DIRECT, budget=Budget(iterations=4), threads=1)
    for _ in range(5):
        sim.step()
        other.step()
    np.testing.assert_array_equal(sim.positions, other.positions)


def test_a_hierarchy_is_built_in_the_background_for_big_meshes_under_a_clock(monkeypatch):
    """With a budget of iterations it is waited for: the result must not depend on when it is there."""
    monkeypatch.setattr(auto_module, "BIG", 100)
    monkeypatch.setattr(auto_module, "GOOD_AS", 0.0)  # never a factorisation
    scene = make_scene("tablecloth", resolution=20)
    sims = [scene.simulate(budget=Budget(iterations=3), threads=1) for _ in range(2)]
    for sim in sims:
        for _ in range(3):
            assert sim.step().note == ""
        assert sim.solver._solvers[MULTIGRID].corrector.background
        assert sim.solver.used == MULTIGRID
    np.testing.assert_array_equal(sims[0].positions, sims[1].positions)
    plain = scene.simulate(solver=MULTIGRID, budget=Budget(iterations=3), threads=1)
    for _ in range(3):
        plain.step()
    np.testing.assert_array_equal(sims[0].positions, plain.positions)
    timed = scene.simulate(budget=Budget(ms=4.0), threads=1)
    for _ in range(3):
        assert timed.step().finite
    timed.prepare(wait=True)
    assert "being built" not in timed.step().note


# --- pins that change ------------------------------------------------------------------------------------------------


def test_other_pins_take_the_fast_path(sim):
    """Nothing is prepared anew, and the assembled arrays are the same objects."""
    sim.step()
    before, prepared = sim.system, dict(sim.solver._solvers)
    sim.model = sim.model.pin([70])
    assert sim.system is not before
    assert sim.system.off is before.off
    assert sim.system.stiffness_diagonal is before.stiffness_diagonal
    assert not sim.prepare()  # adapted: there was nothing to set up
    assert sim.solver.system is sim.system
    sim.step()
    assert sim.solver._solvers[DIRECT] is prepared[DIRECT]
    cycles = sim.solver._solvers[MULTIGRID]
    layout, hierarchy = cycles.layout, cycles.corrector.hierarchy
    sim.model = sim.model.pin([75])
    sim.step()
    assert sim.solver._solvers[MULTIGRID] is cycles
    assert cycles.layout is layout
    assert cycles.corrector.hierarchy is hierarchy


def test_other_constraints_do_not(sim):
    sim.step()
    sim.model = sim.model.constrain("spring", [[0, 70]], 10.0)
    assert sim.prepare()
    assert sim.step().finite
    assert sim.solver.used == DIRECT  # everything is new, and calm


@pytest.mark.parametrize("name", ["tablecloth", "cube"])
def test_changed_pins_give_what_a_fresh_simulation_gives(name):
    """The same minimum of the same step, up to rounding; within a budget of few iterations nearly the same state."""
    scene = small_scene(name)
    old = scene.simulate(budget=Budget(iterations=4), threads=1)
    for _ in range(3):
        old.step()
    vertex = int(np.setdiff1d(np.arange(scene.model.n), scene.model.pinned)[scene.model.n // 2])
    model = scene.model.pin([vertex], target=old.positions[vertex])
    old.model = model
    fresh = Simulation(model, solver=MULTIGRID, budget=Budget(iterations=4), time_step=scene.time_step, threads=1)
    fresh.positions, fresh.velocities = old.positions, old.velocities
    few = [sim.step().energy for sim in (old, fresh)]
    assert few[0] == pytest.approx(few[1], rel=0.05)
    fresh.positions, fresh.velocities = old.positions, old.velocities
    many = [sim.step(Budget(iterations=400)) for sim in (old, fresh)]
    best = minimise(old.system, many[0].frame, accuracy=1e-12).energy
    gained = old.system.energy(many[0].frame.start, many[0].frame) - best
    for report in many:
        assert report.energy - best <= 1e-3 * gained
    np.testing.assert_array_equal(many[0].frame.start, many[1].frame.start)


@pytest.mark.parametrize("count", [1, 5, 15, 40])
@pytest.mark.parametrize("name", ["tablecloth", "bar"])
def test_pins_may_change_every_frame(name, count):
    """Held where they are for a frame, let go, others held: finite, and no step ends above its start."""
    scene = small_scene(name)
    sim = scene.simulate(budget=Budget(iterations=5), threads=1)
    sim.step()
    rng = np.random.default_rng(count)
    free = np.setdiff1d(np.arange(scene.model.n), scene.model.pinned)
    for frame in range(25):
        where = np.sort(rng.permutation(free)[:count])
        sim.model = scene.model.pin(where, target=sim.positions[where])
        report = sim.step()
        assert report.finite
        assert sim.solver.used == MULTIGRID
        assert report.energy <= sim.system.energy(report.frame.start, report.frame) * (1 + 1e-6), frame


@pytest.mark.parametrize("count", [5, 15])
@pytest.mark.parametrize("name", ["tablecloth", "bar"])
def test_after_a_calm_while_it_factorises_again(name, count):
    """With the new pins in the factors, or as their low-rank update: every step ends below its start, as before."""
    scene = small_scene(name)
    sim = scene.simulate(budget=Budget(iterations=5), threads=1)
    sim.step()
    free = np.setdiff1d(np.arange(scene.model.n), scene.model.pinned)
    where = free[np.linspace(0, len(free) - 1, count).astype(int)]
    sim.model = scene.model.pin(where, target=sim.positions[where])
    used = []
    for _ in range(SETTLED + 10):
        report = sim.step()
        used.append(sim.solver.used)
        assert report.energy <= sim.system.energy(report.frame.start, report.frame) * (1 + 1e-6)
        assert report.note == ""
    assert used == [MULTIGRID] * SETTLED + [DIRECT] * 10
    held = np.linalg.norm(sim.positions[where] - sim.targets[-count:], axis=1)
    assert held.max() < 1e-2


@pytest.mark.parametrize("solver", ["auto", "vivace", "lbfgs(multigrid)", "direct", "jacobi"])
@pytest.mark.parametrize("change", ["a pin", "a spring"])
def test_what_float32_cannot_hold_is_refused_again_and_again(solver, change):
    """The step fails, and so does the next: nothing half prepared is used. With the old model it goes on."""
    scene = make_scene("tablecloth", resolution=12)
    sim, other = (scene.simulate(solver=solver, budget=Budget(iterations=4), threads=1) for _ in range(2))
    sim.step()
    other.step()
    stiff = scene.model.pin([70], stiffness=1e39)
    sim.model = stiff if change == "a pin" else scene.model.constrain("spring", [[0, 70]], 1e39)
    for _ in range(2):
        with pytest.raises(InputError, match="beyond what float32 holds"):
            sim.step()
    sim.model = scene.model
    sim.step()
    other.step()
    assert np.abs(sim.positions - other.positions).max() < 1e-3  # auto has become careful: another solver


# --- again -----------------------------------------------------------------------------------------------------------


def test_iteration_budgets_are_reproducible():
    """Pins that change, the choice between two solvers, any number of threads: the same bits."""
    scene = make_scene("tablecloth", resolution=16)
    found = []
    for threads in (1, 2, 1):
        sim = scene.simulate(budget=Budget(iterations=3), threads=threads)
        for frame in range(SETTLED + 8):
            if frame in (2, 3, 5):
                sim.model = scene.model.pin([100 + frame])
            sim.step()
        assert sim.solver.used == DIRECT
        found.append(sim.positions.tobytes() + sim.velocities.tobytes())
    assert found[0] == found[1] == found[2]


def test_it_is_the_default():
    model = Model.of(mesh.cloth(4, 4), Cloth())
    assert Simulation(model).solver.name == "auto"
    assert Scene("default", model, 1 / 30).simulate().solver.name == "auto"


def test_with_changing_pins_all_over_it_sweeps_are_chosen_where_they_get_farther():
    """Errors are rough there, and coarse levels have little to do: long steps of bodies, short ones of cloth."""
    for name, resolution, shortest, longest in (("armadillo", 16, 1.01, 100.0), ("tablecloth", 30, 0.01, 0.99)):
        scene = make_scene(name, resolution=resolution)
        every = np.setdiff1d(np.arange(scene.model.n), scene.model.pinned)[::10]
        solver = Auto()
        solver.prepare(System(scene.model, scene.time_step), threads=1, seed=0)
        assert solver.adapt(System(scene.model.pin(every), scene.time_step, like=solver.system))
        enough = auto_module.ENOUGH_BODY if name == "armadillo" else auto_module.ENOUGH_CLOTH
        limit = enough * solver._costs.multigrid
        assert solver.choice(shortest * limit) == solver.choice(longest * limit) == auto_module.SWEEPS
        assert solver.choice(limit * (0.99 if name == "armadillo" else 1.01)) != auto_module.SWEEPS
        assert solver.choice(None) != auto_module.SWEEPS
        solver._calm = SETTLED  # a clamp, not contacts
        assert solver.choice(longest * limit) != auto_module.SWEEPS
