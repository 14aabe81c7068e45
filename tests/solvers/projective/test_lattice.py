"""Steps of the lattice: they descend, converge, stay finite; several bodies, pins that come and go, contacts."""

from __future__ import annotations

import numpy as np
import pytest

from solvers.projective.lattice_bodies import BODIES, bodies, spaces_of
from solvers.rounding import moving_frame, rows, small_scene
from vivace import Budget, Cloth, Frame, InputError, Model, Simulation, Solid, System, mesh
from vivace.collisions import Plane
from vivace.scenes import make_scene
from vivace.solvers import Deadline, Outcome, make_solver
from vivace.solvers.base import LEAST_ROUNDS
from vivace.solvers.projective import lattice as lattice_module
from vivace.solvers.projective.lbfgs import LBFGS
from vivace.solvers.reference import polish


@pytest.fixture(params=BODIES)
def body(request) -> tuple[Model, list[int]]:
    return bodies()[request.param]


# --- its steps -------------------------------------------------------------------------------------------------------


def energies(system: System, frame: Frame, start: np.ndarray, counts: list[int], **options) -> list[float]:
    """ε (float64) at `start` as float32 holds it, and after so many rounds from there."""
    solver = make_solver(("lattice", options))
    solver.prepare(system, threads=1, seed=0)
    found = [system.energy(start.astype(np.float32).astype(np.float64), frame)]
    for count in counts:
        out = np.zeros((system.n, 4), np.float32)
        constant = rows(system.constant(frame))
        solver.solve(rows(start), constant, out, Deadline.of(Budget(iterations=count)))
        assert np.isfinite(out).all()
        found.append(system.energy(out[:, :3].astype(np.float64), frame))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("rough", [0.0, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("name", ["tablecloth", "hanging-cloth", "bar", "cube", "armadillo"])
def test_energy_falls_from_rough_states(name, rough):
    """After 1, 2, 4, 8 and 16 rounds it is below where they began, for springs and for tetrahedra."""
    system, frame = moving_frame(small_scene(name))
    x = system.model.mesh.vertices
    edge = np.ptp(x, axis=0).max() / 11
    start = frame.s + rough * edge * np.random.default_rng(0).standard_normal(x.shape)
    first, *later = energies(system, frame, start, [1, 2, 4, 8, 16])
    for energy in later:
        assert energy <= first * (1 + 1e-6)
    assert later[-1] <= min(later[:3]) * (1 + 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tablecloth", "hanging-cloth", "bar", "cube"])
def test_it_converges_to_newtons_minimum(name):
    """Positions, not only the energy: within a hundredth of what the step moves from its prediction (RMS).

    What is rough and soft, folds of one edge, takes thousands of rounds, as with L-BFGS; Newton's minimum is unique
    here: `polish` finds it from the prediction and from where 2, 5 and 4000 rounds lead.
    """
    system, frame = moving_frame(small_scene(name))
    minimum = polish(system, frame).q
    solver = make_solver("lattice")
    solver.prepare(system, threads=1, seed=0)
    out = np.zeros((system.n, 4), np.float32)
    solver.solve(rows(frame.s), rows(system.constant(frame)), out, Deadline.of(Budget(iterations=4000)))
    away = np.sqrt(np.mean((out[:, :3] - minimum) ** 2))
    assert away <= 1e-2 * np.sqrt(np.mean((frame.s - minimum) ** 2)) + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tablecloth", "bar"])
def test_the_same_bits_on_one_and_two_threads(name):
    found = []
    for threads in (1, 2):
        scene = make_scene(name, resolution=20 if name == "tablecloth" else 4)
        sim = scene.simulate(solver="lattice", budget=Budget(iterations=8), substeps=4, threads=threads)
        for _ in range(20):
            sim.step()
        found.append(sim.positions.tobytes() + sim.velocities.tobytes())
    assert found[0] == found[1]


@pytest.mark.slow
def test_one_round_turns_a_cloth_where_projective_dynamics_hovers():
    """Let go from the horizontal and held at two corners: two rounds a step follow Newton's motion, L-BFGS does not."""
    scene = make_scene("tablecloth", resolution=12)
    sims = {
        solver: scene.simulate(solver=solver, budget=Budget(iterations=count), substeps=4, threads=1)
        for solver, count in (("newton", 20), ("lattice", 8), ("lbfgs(multigrid)", 8))
    }
    for _ in range(15):
        for sim in sims.values():
            sim.step()
    away = {
        name: np.sqrt(((sim.positions - sims["newton"].positions) ** 2).sum(axis=1).mean())
        for name, sim in sims.items()
    }
    assert away["lattice"] < 0.02
    assert away["lbfgs(multigrid)"] > 0.1


# --- several bodies, pins that come and go, harsh settings ------------------------------------------------------------


@pytest.mark.slow
def test_a_free_body_far_away_does_not_change_anothers_motion():
    """Each has a lattice of its own; products over all of it and other coarse levels change what few rounds leave."""
    sheet = mesh.cloth(12, 12, plane="horizontal")
    two = mesh.join([sheet, sheet.transformed(translate=(40, 10, 0))])
    given = {"solver": "lattice", "budget": Budget(iterations=32), "substeps": 4, "time_step": 0.033, "threads": 1}
    alone = Simulation(Model.of(sheet, Cloth()).pin("top-corners"), **given)
    corners = np.flatnonzero(np.isin(np.arange(two.n_vertices), alone.model.pinned))
    both = Simulation(Model.of(two, Cloth()).pin(corners), **given)
    n = len(sheet.vertices)
    both.velocities = np.r_[np.zeros((n, 3)), np.tile([0.0, 3.0, 1.0], (n, 1))]
    for _ in range(10):
        alone.step()
        both.step()
    assert sum(len(space.parts) for space in both.solver._spaces) == 2
    moved_by = np.abs(alone.positions - sheet.vertices).max()
    assert np.abs(both.positions[:n] - alone.positions).max() < 0.01 * moved_by
    # the free one flies as it must: v = v₀ + N k g, all of it alike
    np.testing.assert_allclose(both.velocities[n:, 1], 3.0 - 9.81 * both.time, atol=2e-3)


@pytest.mark.slow
def test_every_body_moves_and_stays_whole(body):
    """Ten frames of each: finite, and energy below the start's in the last part of every frame."""
    model, _ = body
    sim = Simulation(model, solver="lattice", budget=Budget(iterations=8), substeps=2, time_step=0.033, threads=2)
    for _ in range(10):
        report = sim.step()
        assert report.finite
        start = sim.system.energy(report.frame.start, report.frame)
        assert report.energy <= start + 1e-6 * abs(start) + 1e-9


@pytest.mark.slow
def test_two_sheets_at_the_same_place():
    """Each vertex twice, welded in pairs: one lattice for both, and they move as one sheet of twice the stiffness."""
    sheet = mesh.cloth(12, 12, plane="horizontal")
    n = len(sheet.vertices)
    pairs = np.c_[np.arange(n), np.arange(n) + n]
    double = Model.of(mesh.join([sheet, sheet]), Cloth()).constrain("weld", pairs, 1e5).pin([0, 11])
    _, spaces = spaces_of(double)
    assert [len(space.parts) for space in spaces] == [1]
    single = Model.of(sheet, Cloth()).pin([0, 11])
    given = {"solver": "lattice", "budget": Budget(iterations=64), "substeps": 4, "time_step": 0.033, "threads": 1}
    sims = [Simulation(model, **given) for model in (double, single)]
    for _ in range(10):
        assert all(sim.step().finite for sim in sims)
    both, one = (sim.positions for sim in sims)
    assert np.abs(both[:n] - both[n:]).max() < 1e-3
    assert np.abs(both[:n] - one).max() < 0.05 * np.abs(one - sheet.vertices).max()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tablecloth", "bar"])
def test_pins_that_come_and_go(name):
    """Grabbed and let go, one and many, moved between: held within what the pin gives way, and free again after."""
    scene = small_scene(name)
    sim = scene.simulate(solver="lattice", budget=Budget(iterations=16), substeps=4, threads=1)
    free = np.setdiff1d(np.arange(scene.model.n), scene.model.pinned)
    rng = np.random.default_rng(0)
    for frame in range(24):
        if frame % 6 == 0:
            held = [int(v) for v in rng.permutation(free)[: 1 + frame // 6]]
            places = sim.positions[held].astype(np.float64)
            sim.grab(held, places)
        if frame % 6 < 4:
            sim.grab(held, places + 0.005 * (frame % 6) * np.array([0.0, 1.0, 0.0]))
        if frame % 6 == 4:
            sim.release()
        assert sim.step().finite
        if frame % 6 == 3:
            target = places + 0.005 * 3 * np.array([0.0, 1.0, 0.0])
            assert np.abs(sim.positions[held] - target).max() < 0.02
    assert sim.grabbed == ()


def kinetic(sim: Simulation) -> float:
    return 0.5 * float(sim.model.masses @ (sim.velocities.astype(np.float64) ** 2).sum(axis=1))


@pytest.mark.slow
@pytest.mark.parametrize("iterations", [1, 3])
@pytest.mark.parametrize("h", [1 / 60, 1.0])
@pytest.mark.parametrize("stiffness", [1e2, 1e4, 1e6])
def test_harsh_settings_stay_finite(stiffness, h, iterations):
    """Steps of a second, one iteration, soft and stiff: finite, and never more kinetic energy than in free fall.

    Σ m v²/2 <= Σ m (g t)²/2: pins only take, and gravity has not done more work than on what falls freely.
    """
    model = Model.of(mesh.cloth(12, 12, plane="horizontal"), Cloth(stretch=stiffness)).pin("top-corners")
    sim = Simulation(model, solver="lattice", budget=Budget(iterations=iterations), time_step=h, substeps=1, threads=1)
    for _ in range(30):
        assert sim.step().finite
    assert kinetic(sim) <= 0.5 * sim.model.masses.sum() * (9.81 * sim.time) ** 2
    body = Model.of(mesh.bar(9, 3, 3), Solid(youngs_modulus=10 * stiffness)).pin("left")
    sim = Simulation(body, solver="lattice", budget=Budget(iterations=iterations), time_step=h, substeps=1, threads=1)
    for _ in range(30):
        assert sim.step().finite
    assert kinetic(sim) <= 0.5 * sim.model.masses.sum() * (9.81 * sim.time) ** 2


@pytest.mark.parametrize("cells", [0, 65, 1.5, "many", True])
def test_bad_cells_are_refused(cells):
    with pytest.raises(InputError, match="cells must be a whole number from 1 to 64"):
        make_solver(("lattice", {"cells": cells}))


def test_what_it_cut_back_is_said():
    """More rounds than float32 can use: the last ones find nothing to gain, and the note counts them."""
    scene = small_scene("hanging-cloth")
    sim = scene.simulate(solver="lattice", budget=Budget(iterations=2), substeps=1, threads=1)
    assert sim.step().note == ""
    note = sim.step(Budget(iterations=100)).note
    assert "lattice steps cut back" in note
    assert 0 < int(note.split()[0]) <= 100


@pytest.mark.slow
def test_a_model_of_constraints_across_the_lattice_is_dense():
    """A spring from end to end couples far slabs: fewer nodes, one matrix, and the step still lowers the energy."""
    model = Model.of(mesh.cloth(40, 8, 4.0, 0.7), Cloth(bend=0.0)).pin([0])
    ends = [[0, model.n - 1], [3, model.n - 5]]
    tied = model.constrain("weld", ends, 1e5)
    _, spaces = spaces_of(tied)
    assert any(part.dense for space in spaces for part in space.parts)
    sim = Simulation(tied, solver="lattice", budget=Budget(iterations=10), time_step=0.01, threads=1)
    for _ in range(5):
        report = sim.step()
        start = sim.system.energy(report.frame.start, report.frame)
        assert report.energy <= start * (1 + 1e-6)


class FakeSteps:
    """In the place of the solver below `lattice`: rounds that take a millisecond each of a clock of our own."""

    def __init__(self, monkeypatch, spare_ms):
        self.asked, self.spare_ms = [], spare_ms
        monkeypatch.setattr(LBFGS, "solve", lambda _, *arrays: self.solve(arrays[-1]))
        monkeypatch.setattr(lattice_module.time, "perf_counter_ns", lambda: 0)

    def solve(self, deadline):
        self.asked.append(deadline.budget.iterations)
        rounds = min(deadline.budget.most_iterations, 9 if self.asked == [None] else 12)
        return Outcome(
            rounds, 0.0, "time" if self.asked == [None] else "iterations", int(deadline.at_ns - self.spare_ms * 1e6)
        )


def touching():
    sheet = mesh.cloth(6, 6).transformed(translate=(0, 0.003, 0))
    model = Model.of(sheet, Cloth(stretch=1e3)).collide([Plane()], itself=False, thickness=0.004)
    solver = make_solver("lattice(multigrid)")
    sim = Simulation(model, solver=solver, budget=Budget(iterations=4), threads=1)
    sim.step()
    assert solver.layout.contacts.touched
    return solver


@pytest.mark.parametrize(("spare_ms", "then"), [(0.5, [9] * 40), (4.0, [9] * 29 + [10] * 11)])
def test_what_touches_has_as_many_rounds_as_before(monkeypatch, spare_ms, then):
    """The first step by the clock; then the same number, and one more when there was time for two for 30 steps."""
    solver, fake = touching(), FakeSteps(monkeypatch, spare_ms)
    for _ in range(41):
        outcome = solver.solve(None, None, None, Deadline(Budget(ms=20.0), 20_000_000))
        assert outcome.stopped == "time"
    assert fake.asked == [None, *then]


def test_a_step_that_walls_do_not_hold_is_not_over(monkeypatch):
    """While a vertex is behind its wall, rounds go on by fours, renewing the forces; not beyond a budget of rounds."""
    solver = touching()
    left = [True, False]
    monkeypatch.setattr(type(solver.layout.contacts), "is_deep", lambda _: left.pop(0))
    rows = [np.zeros((36, 4), np.float32) for _ in range(3)]
    assert solver.solve(*rows, Deadline(Budget(ms=1e-6), 0)).sweeps == LEAST_ROUNDS + 4
    assert left == []
    left = [True] * 20
    assert solver.solve(*rows, Deadline(Budget(ms=1e-6), 0)).sweeps == lattice_module.MOST_PRESSED
    assert solver.solve(*rows, Deadline(Budget(iterations=3), None)).sweeps == 3
