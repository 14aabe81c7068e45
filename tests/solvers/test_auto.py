"""`auto`: the lattice in as many substeps as the budget pays for; what changes while it runs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from solvers.rounding import small_scene
from vivace import Budget, Cloth, InputError, Model, Simulation, mesh
from vivace.collisions import Plane
from vivace.scenes import Scene, make_scene
from vivace.solvers import auto as auto_module
from vivace.solvers import make_solver, minimise
from vivace.solvers.auto import ROUNDS, SHORTEST, SPENT, Auto, round_ms
from vivace.solvers.reference import polish

USED = "lattice(multigrid)"


@pytest.fixture
def sim() -> Simulation:
    return make_scene("tablecloth", resolution=12).simulate(budget=Budget(iterations=4), threads=1)


@pytest.fixture(scope="module")
def model() -> Model:
    return make_scene("tablecloth", resolution=12).model


# --- how many substeps -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("h", [0.001, 0.004, 1 / 60, 0.033, 0.5])
def test_substeps_are_two_rounds_each_and_none_shorter_than_pays(model, h):
    """min(round(h / 4 ms), iterations // 2), and one at least."""
    for iterations in (1, 2, 3, 4, 7, 16, 1000):
        expected = max(1, min(round(h / SHORTEST), iterations // ROUNDS))
        assert Auto().substeps_for(model, h, Budget(iterations=iterations)) == expected


def test_a_larger_budget_never_buys_fewer_substeps(model):
    """Monotone in milliseconds and in iterations, from one up to what h allows."""
    most = round(0.033 / SHORTEST)
    by_time = [Auto().substeps_for(model, 0.033, Budget(ms=ms)) for ms in np.geomspace(0.01, 100.0, 60)]
    by_count = [Auto().substeps_for(model, 0.033, Budget(iterations=k)) for k in range(1, 40)]
    both = [Auto().substeps_for(model, 0.033, Budget(ms=100.0, iterations=k)) for k in range(1, 40)]
    for counts in (by_time, by_count):
        assert counts == sorted(counts)
        assert (counts[0], counts[-1]) == (1, most)
    assert both == by_count  # the tighter limit decides


def test_a_budget_of_time_is_divided_by_what_a_round_is_expected_to_take(model):
    """SPENT ms / (ROUNDS round_ms), rounded down; a larger model has dearer rounds, and fewer substeps."""
    for ms in (0.2, 0.5, 1.0):
        expected = max(1, min(round(0.033 / SHORTEST), int(SPENT * ms / (ROUNDS * round_ms(model)))))
        assert Auto().substeps_for(model, 0.033, Budget(ms=ms)) == expected
    sizes = [make_scene("tablecloth", resolution=r).model for r in (12, 30, 60)]
    prices = [round_ms(size) for size in sizes]
    assert prices == sorted(prices)
    counts = [Auto().substeps_for(size, 0.033, Budget(ms=1.5)) for size in sizes]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]


def test_substeps_with_collisions_and_with_a_tolerance_alone(model):
    """Steps of what touches are 1/60 s at most, of four rounds; a step that is to be converged is to be that step."""
    touching = model.collide([Plane()])
    for h, expected in ((0.033, 2), (1 / 60, 1), (1 / 30, 2), (0.05, 3)):
        assert Auto().substeps_for(touching, h, Budget(ms=8.0)) == expected
    assert Auto().substeps_for(touching, 0.033, Budget(iterations=40)) == 2
    assert Auto().substeps_for(touching, 0.033, Budget(iterations=7)) == 1
    for either in (model, touching):
        assert Auto().substeps_for(either, 0.033, Budget(tolerance=1e-4)) == 1
    assert Auto().substeps_for(model, 0.033, Budget(iterations=40, tolerance=1e-4)) > 1


def test_a_simulation_takes_them_unless_it_is_told_otherwise(model):
    sim = Simulation(model, budget=Budget(iterations=16), time_step=0.033)
    assert (sim.substeps, sim.asked_substeps, sim.time_step) == (8, "auto", 0.033)
    assert sim.system.h == 0.033 / 8
    assert sim.step().substeps == 8
    sim.substeps = 1
    assert sim.system.h == sim.time_step == 0.033
    assert Simulation(model, solver=USED, budget=Budget(iterations=16)).substeps == 1  # a name is a name


# --- in use ----------------------------------------------------------------------------------------------------------


def test_it_says_which_solver_it_used(sim):
    assert sim.solver.name == "auto"
    assert sim.solver.used == "auto"  # nothing yet
    sim.step()
    assert sim.solver.used == USED
    assert sim.colouring is not None
    assert make_solver("lbfgs(direct)").used == "lbfgs(direct)"


@pytest.mark.slow
@pytest.mark.parametrize(("collides", "cells"), [(False, auto_module.FREE_CELLS), (True, auto_module.TOUCHING_CELLS)])
def test_its_steps_are_those_of_the_solver_it_names(model, collides, cells):
    """The same bits, in the same substeps; finer cells for what lies over an edge."""
    if collides:
        model = model.collide([Plane((0, -0.3, 0), (0, 1, 0))])
    given = {"budget": Budget(iterations=4), "time_step": 0.033, "threads": 1}
    sim = Simulation(model, **given)
    other = Simulation(model, solver=("lattice", {"cells": cells}), substeps=sim.substeps, **given)
    for _ in range(12):
        sim.step()
        other.step()
    np.testing.assert_array_equal(sim.positions, other.positions)


@pytest.mark.slow
def test_a_hierarchy_is_built_in_the_background_for_big_meshes_under_a_clock(monkeypatch):
    """With a budget of iterations it is waited for: the result must not depend on when it is there."""
    scene = make_scene("tablecloth", resolution=20)
    plain = scene.simulate(budget=Budget(iterations=4), threads=1)
    for _ in range(3):
        plain.step()
    monkeypatch.setattr(auto_module, "BIG", 100)
    sims = [scene.simulate(budget=Budget(iterations=4), threads=1) for _ in range(2)]
    for sim in sims:
        for _ in range(3):
            assert "being built" not in sim.step().note
        assert sim.solver._solver.corrector.background
        np.testing.assert_array_equal(sim.positions, plain.positions)
    timed = scene.simulate(budget=Budget(ms=4.0), threads=1)
    for _ in range(3):
        assert timed.step().finite
    timed.prepare(wait=True)
    assert "being built" not in timed.step().note


# --- pins that change ------------------------------------------------------------------------------------------------


def test_other_pins_take_the_fast_path(sim):
    """Nothing is prepared anew, and the assembled arrays are the same objects."""
    sim.step()
    before, inner = sim.system, sim.solver._solver
    layout, hierarchy, spaces = inner.layout, inner.corrector.hierarchy, inner._spaces
    for vertex in (70, 75):
        sim.model = sim.model.pin([vertex])
        assert sim.system is not before
        assert sim.system.off is before.off
        assert sim.system.stiffness_diagonal is before.stiffness_diagonal
        assert not sim.prepare()  # adapted: there was nothing to set up
        assert sim.solver.system is sim.system
        assert sim.step().finite
        assert sim.solver._solver is inner
        assert inner.layout is layout
        assert inner.corrector.hierarchy is hierarchy
        assert inner._spaces is spaces


def test_other_constraints_do_not(sim):
    sim.step()
    sim.model = sim.model.constrain("spring", [[0, 70]], 10.0)
    assert sim.prepare()
    assert sim.step().finite


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tablecloth", "cube"])
def test_changed_pins_give_what_a_fresh_simulation_gives(name):
    """The same minimum of the same step, up to rounding; within a budget of few iterations nearly the same state."""
    scene = small_scene(name)
    old = scene.simulate(budget=Budget(iterations=4), substeps=1, threads=1)
    for _ in range(3):
        old.step()
    vertex = int(np.setdiff1d(np.arange(scene.model.n), scene.model.pinned)[scene.model.n // 2])
    model = scene.model.pin([vertex], target=old.positions[vertex])
    old.model = model
    fresh = Simulation(model, budget=Budget(iterations=4), time_step=scene.time_step, substeps=1, threads=1)
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


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 5, 15, 40])
@pytest.mark.parametrize("name", ["tablecloth", "bar"])
def test_pins_may_change_every_frame(name, count):
    """Held where they are for a frame, let go, others held: finite, and no step ends above its start."""
    scene = small_scene(name)
    sim = scene.simulate(budget=Budget(iterations=6), threads=1)
    sim.step()
    rng = np.random.default_rng(count)
    free = np.setdiff1d(np.arange(scene.model.n), scene.model.pinned)
    for frame in range(25):
        where = np.sort(rng.permutation(free)[:count])
        sim.model = scene.model.pin(where, target=sim.positions[where])
        report = sim.step()
        assert report.finite
        assert report.energy <= sim.system.energy(report.frame.start, report.frame) * (1 + 1e-6), frame


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
    assert np.abs(sim.positions - other.positions).max() < 1e-3


# --- again -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_iteration_budgets_are_reproducible():
    """Pins that change, any number of threads: the same bits."""
    scene = make_scene("tablecloth", resolution=16)
    found = []
    for threads in (1, 2, 1):
        sim = scene.simulate(budget=Budget(iterations=8), threads=threads)
        assert sim.substeps == 4
        for frame in range(20):
            if frame in (2, 3, 5):
                sim.model = scene.model.pin([100 + frame])
            sim.step()
        found.append(sim.positions.tobytes() + sim.velocities.tobytes())
    assert found[0] == found[1] == found[2]


@pytest.mark.slow
def test_it_converges_to_the_minimum_of_the_step():
    """Many rounds in one step: RMS distance from the minimum below a thousandth of what the step moved.

    Very many: what is rough and soft, folds of one edge, comes as slowly as in L-BFGS.
    """
    scene = make_scene("tablecloth", resolution=12)
    sim = scene.simulate(budget=Budget(iterations=20), substeps=1, threads=1)
    for _ in range(3):
        sim.step()
    report = sim.step(Budget(iterations=3000))
    frame = report.frame
    minimum = polish(sim.system, frame).q
    away = np.sqrt(np.mean((report.positions - minimum) ** 2))
    assert away <= 1e-3 * np.sqrt(np.mean((minimum - frame.previous) ** 2))


def test_it_is_the_default():
    model = Model.of(mesh.cloth(4, 4), Cloth())
    assert Simulation(model).solver.name == "auto"
    assert Scene("default", model, 1 / 30).simulate().solver.name == "auto"


def test_before_it_is_prepared_nothing_is_planned():
    solver = Auto()
    assert solver.plan_key is None
    assert not solver.adapt(SimpleNamespace())
    solver.wait()
