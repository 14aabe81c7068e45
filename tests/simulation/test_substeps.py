"""A frame in equal parts: what each part is, what it gets of the budget, and that one plan does the same as many."""

from __future__ import annotations

import numpy as np
import pytest

from solvers.rounding import U, small_scene
from vivace import Budget, Cloth, InputError, Model, Simulation, Solid, Wire, mesh
from vivace.collisions import Plane
from vivace.mesh import Mesh
from vivace.scenes import make_scene
from vivace.simulation import report as report_module
from vivace.solvers.auto import SPENT, round_ms
from vivace.solvers.projective.correcting import CorrectingSolver

SOLVERS = ["lattice", "lbfgs(multigrid)", "multigrid", "vivace", "jacobi", "pbd-coloured", "newton"]


@pytest.fixture(scope="module")
def model() -> Model:
    return make_scene("tablecloth", resolution=12).model


def simulate(model: Model, substeps: int | str = 4, **given) -> Simulation:
    given = {"solver": "lattice", "budget": Budget(iterations=8), "time_step": 0.032, "threads": 1, **given}
    return Simulation(model, substeps=substeps, **given)


def state(sim: Simulation) -> bytes:
    return sim.positions.tobytes() + sim.velocities.tobytes()


# --- what a part is --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["velocity", "verlet"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_substeps_are_steps(model, solver, form):
    """n parts of a step of h are n steps of h/n, to the bit."""
    n = 4
    sim = simulate(model, n, solver=solver, form=form)
    other = simulate(model, 1, solver=solver, form=form, time_step=0.032 / n, budget=Budget(iterations=2))
    assert sim.system.h == other.system.h
    for _ in range(4):
        report = sim.step()
        for _ in range(n):
            last = other.step()
        assert (report.substeps, last.substeps) == (n, 1)
        assert report.sweeps == n * last.sweeps
    assert state(sim) == state(other)
    assert sim.time == pytest.approx(other.time, rel=1e-12)
    assert (sim.frames, other.frames) == (4, 16)


def test_the_report_is_of_the_last_part(model):
    """The last part's problem: its prediction, where it began, and where the pins were."""
    sim = simulate(model, 4)
    other = simulate(model, 1, time_step=0.008, budget=Budget(iterations=2))
    for _ in range(2):
        report = sim.step()
        for _ in range(4):
            last = other.step()
    for name in ("s", "start", "previous", "targets"):
        np.testing.assert_array_equal(getattr(report.frame, name), getattr(last.frame, name))
    assert report.energy == last.energy
    assert report.residual == last.residual


@pytest.mark.parametrize("plain", [True, False])
def test_targets_of_pins_move_evenly_over_a_frame(model, plain):
    """In part k they are at old + (k + 1)/n (new - old): a wire of one firm pin follows, in one plan and in many."""
    n, firm = 5, 1e7
    wire = Mesh.from_edges([[0.0, 0, 0], [0.1, 0, 0]], [[0, 1]])
    pinned = Model.of(wire, Wire(density=1.0, stretch=1e3), gravity=(0, 0, 0)).pin([0], stiffness=firm)
    sim = simulate(pinned, n, time_step=0.05, budget=Budget(iterations=20 * n))
    sim.trace = not plain
    sim.step()
    sim.targets = [[1.0, 0.5, 0.0]]
    sim.step()
    # The last part took the vertex by (new - old)/n in h/n: v = (new - old)/h, but for what the pin gives way, some
    # m v/(h/n)²/firm of that distance.
    give = pinned.masses.sum() / 0.01**2 / firm
    np.testing.assert_allclose(sim.velocities[0], np.array([1.0, 0.5, 0.0]) / 0.05, rtol=4 * give, atol=4 * give * 20)
    np.testing.assert_allclose(sim.positions[0], [1.0, 0.5, 0.0], atol=4 * give)
    np.testing.assert_array_equal(sim.step().frame.targets, [[1.0, 0.5, 0.0]])


@pytest.mark.parametrize("trace", [False, True])
def test_another_pin_does_not_come_from_where_the_last_one_was(model, trace):
    """A vertex let go and another grabbed between two frames: the new one is held where it is, in every part."""
    sim = simulate(model, 4)
    sim.trace = trace
    sim.grab(60)
    sim.step()
    sim.release(60)
    before = sim.positions[100]
    sim.grab(100)
    other = simulate(model, 4)
    other.trace = trace
    other.positions, other.velocities = sim.positions, sim.velocities
    other.grab(100)
    sim.step()
    other.step()
    assert np.linalg.norm(sim.positions[100] - before) < 2e-3
    np.testing.assert_allclose(sim.positions, other.positions, atol=2e-3)  # coarse levels are those of the first pins


@pytest.mark.slow
def test_pins_that_stay_move_on_while_others_come(model):
    """A dragged vertex goes evenly to its new target in the frame in which another one is grabbed."""
    sims = [simulate(model, 4), simulate(model, 1, time_step=0.008, budget=Budget(iterations=2))]
    places = [sim.positions[60].astype(np.float64) for sim in sims]
    for sim, place in zip(sims, places, strict=True):
        sim.grab(60, place)
        for _ in range(1 if sim.substeps == 4 else 4):
            sim.step()
    sims[0].grab(100)
    sims[0].grab(60, places[0] + [0.1, 0.0, 0.0])
    sims[0].step()
    sims[1].grab(100)
    for k in range(4):
        sims[1].grab(60, places[1] + [0.025 * (k + 1), 0.0, 0.0])
        sims[1].step()
    np.testing.assert_allclose(sims[0].positions, sims[1].positions, atol=1e-5)  # targets differ by a rounding


# --- the budget ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("iterations", "parts"), [(8, 4), (9, 4), (11, 4), (3, 4), (1, 7), (100, 3)])
def test_iterations_are_shared(iterations, parts):
    """As evenly as may be, the first parts one more; one at least each."""
    budget = Budget(iterations=iterations)
    shares = [budget.part(k, parts).iterations for k in range(parts)]
    assert max(shares) - min(shares) <= 1
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == max(iterations, parts)


@pytest.mark.parametrize(("iterations", "parts"), [(5, 4), (7, 4), (9, 8), (3, 2)])
def test_one_iteration_is_not_mixed_with_two(iterations, parts):
    """Fewer than two for each: then one for all, and the rest is not spent."""
    assert {Budget(iterations=iterations).part(k, parts).iterations for k in range(parts)} == {1}


def test_a_cloth_does_not_begin_to_vibrate():
    """Two rounds in one substep of four and one in the others stretched it by 6 % in the mean, within three seconds."""
    scene = make_scene("tablecloth", resolution=60)
    sim = scene.simulate(budget=Budget(iterations=5), substeps=4)
    for _ in range(90):
        sim.step()
    edges = scene.model.mesh.edges
    now, rest = (
        np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1) for x in (sim.positions, scene.model.mesh.vertices)
    )
    assert np.abs(now / rest - 1.0).mean() < 0.002


@pytest.mark.parametrize("trace", [False, True])
def test_every_substep_has_two_rounds_however_late(model, trace):
    """A budget that is spent before it begins; in one plan, and one substep after the other."""
    sim = Simulation(model, solver="lattice(multigrid)", budget=Budget(ms=1e-6), substeps=4, trace=trace)
    assert sim.step().sweeps == 2 * 4
    sim.substeps = 1
    assert sim.step().sweeps == 1


@pytest.mark.parametrize(("times", "slower"), [(1.0, False), (40.0, True)])
def test_a_slow_machine_makes_fewer_substeps(model, monkeypatch, times, slower):
    """Rounds are timed once, when the solver is prepared; with a budget of iterations nothing is timed."""
    expected = round_ms(model)
    monkeypatch.setattr(CorrectingSolver, "iteration_ms", lambda self: times * expected)
    budget = Budget(ms=4.5 * expected * 2 / SPENT)
    sim = Simulation(model, budget=budget, time_step=1 / 30)
    assert sim.substeps == 4
    sim.prepare()
    assert sim.substeps == (1 if slower else 4)
    assert sim.solver.system is sim.system
    sim.step()
    monkeypatch.setattr(CorrectingSolver, "iteration_ms", lambda self: 1 / 0)
    sim.budget = Budget(iterations=16)
    sim.step()
    assert sim.substeps == 8


def test_time_and_tolerance_are_shared():
    """Part k of n ends at (k + 1)/n of the milliseconds; the tolerance is every part's."""
    budget = Budget(ms=8.0, tolerance=1e-3)
    assert [budget.part(k, 4).ms for k in range(4)] == [2.0, 4.0, 6.0, 8.0]
    assert all(budget.part(k, 4).tolerance == 1e-3 for k in range(4))
    assert all(budget.part(k, 4).iterations is None for k in range(4))
    assert budget.part(0, 1) is budget


@pytest.mark.parametrize(("iterations", "sweeps"), [(8, 8), (11, 11), (2, 4)])
@pytest.mark.parametrize("solver", ["lattice", "vivace"])
def test_a_frame_makes_as_many_sweeps_as_it_may(model, solver, iterations, sweeps):
    sim = simulate(model, 4, solver=solver, budget=Budget(iterations=iterations))
    assert sim.step().sweeps == sweeps
    assert sim.step(Budget(iterations=16)).sweeps == 16


@pytest.mark.parametrize(("solver", "least"), [("lattice", 2), ("vivace", 1)])
def test_a_budget_that_buys_nothing_makes_the_least_of_every_part_and_is_late(model, solver, least):
    sim = simulate(model, 3, solver=solver)
    sim.step()
    report = sim.step(Budget(ms=1e-6))
    assert (report.sweeps, report.stopped) == (3 * least, "time")
    assert report.late_ms == report.ms - 1e-6 > 0
    assert sim.step(Budget(iterations=3)).late_ms == 0.0
    assert sim.step(Budget(ms=1e6, iterations=3)).late_ms == 0.0


def test_lateness_by_a_clock_that_is_told(model, monkeypatch):
    """A clock whose stages take 2 ms whenever they end: late by their sum, over all parts, minus the budget."""

    def end(self, name):
        self._stages[name] = self._stages.get(name, 0.0) + 2.0
        return 2_000_000

    monkeypatch.setattr(report_module.StageClock, "end", end)
    sim = simulate(model, 2, solver="vivace")
    report = sim.step(Budget(ms=5.0, iterations=2))
    assert report.stages["solve"] == 2 * 2.0
    assert report.late_ms == pytest.approx(sum(report.stages.values()) - 5.0)
    assert report.late_ms >= 6 * 2 * 2.0 - 5.0  # six stages a part
    assert sim.step(Budget(ms=report.ms, iterations=2)).late_ms == 0.0


# --- one plan for all parts -------------------------------------------------------------------------------------------


def scenes() -> dict[str, Model]:
    wire = Mesh.from_edges(np.c_[np.linspace(0, 1, 20), np.zeros((20, 2))], np.c_[np.arange(19), np.arange(1, 20)])
    return {
        "cloth": make_scene("tablecloth", resolution=12).model,
        "cube": small_scene("cube").model,
        "free and viscous": Model.of(mesh.cloth(8, 8), Cloth(stretch=100.0), air=0.3, viscosity=0.01),
        "wire": Model.of(wire, Wire(density=1.0, stretch=1e3)).pin([0]),
    }


@pytest.mark.parametrize("solver", ["auto", "lattice", "lbfgs:memory=5", "multigrid", "jacobi", "pcg(jacobi)"])
@pytest.mark.parametrize("name", ["cloth", "cube", "free and viscous", "wire"])
def test_one_job_does_what_many_do(name, solver):
    """`trace` goes back to Python between the parts: the same bits, with pins that move, come and go."""
    body = scenes()[name]
    sims = [simulate(body, 4, solver=solver, trace=trace) for trace in (False, True)]
    for frame in range(8):
        for sim in sims:
            if frame == 3 and len(body.pinned):
                sim.targets = sim.targets + np.array([0.01, 0.02, -0.013])
            if frame == 4:
                sim.grab(7, sim.positions[7] + [0.02, 0.0, 0.01])
            if frame == 6:
                sim.release()
        reports = [sim.step() for sim in sims]
        assert (len(reports[0].residuals), len(reports[1].residuals) > 0) == (0, True)
        assert state(sims[0]) == state(sims[1])
        for name_ in ("s", "start", "previous", "targets"):
            np.testing.assert_array_equal(*(getattr(report.frame, name_) for report in reports))
        assert reports[0].sweeps == reports[1].sweeps == 8


@pytest.mark.parametrize("solver", ["auto", "lattice"])
def test_threads_do_not_matter(model, solver):
    found = []
    for threads in (1, 2):
        sim = simulate(model, 4, solver=solver, threads=threads)
        for _ in range(20):
            sim.step()
        found.append(state(sim))
    assert found[0] == found[1]


# --- changes while it runs -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("form", ["velocity", "verlet"])
def test_substeps_may_change_while_it_runs(model, form):
    """The state stays, and the next frames are those of a simulation that is made with the new number."""
    sim = simulate(model, 4, form=form)
    for count in (4, 1, 8, 3):
        sim.substeps = count
        assert (sim.substeps, sim.asked_substeps, sim.time_step) == (count, count, 0.032)
        assert sim.system.h == 0.032 / count
        other = simulate(model, count, form=form)
        other.positions, other.velocities = sim.positions, sim.velocities
        for _ in range(2):
            assert sim.step().substeps == count
            other.step()
        np.testing.assert_allclose(sim.positions, other.positions, atol=1e-5)  # Verlet's form rounds h v once more
    assert sim.time == pytest.approx(8 * 0.032)


def test_velocities_are_the_same_after_a_change(model):
    for form in ("velocity", "verlet"):
        sim = simulate(model, 4, form=form)
        for _ in range(3):
            sim.step()
        v = sim.velocities
        sim.substeps = 7
        np.testing.assert_allclose(sim.velocities, v, rtol=8 * U)


@pytest.mark.slow
def test_auto_goes_with_solver_budget_and_time_step(model):
    """As many as the solver says for what it has now; a number that was asked for stays."""
    sim = simulate(model, "auto", solver="auto", budget=Budget(iterations=16))
    assert sim.substeps == 8
    sim.budget = Budget(iterations=6)
    assert sim.substeps == 3
    assert sim.step().substeps == 3
    sim.time_step = 0.008
    assert (sim.substeps, sim.system.h) == (2, 0.004)
    sim.solver = "vivace"
    assert (sim.substeps, sim.system.h) == (1, 0.008)
    assert sim.step().substeps == 1
    sim.solver = "auto"
    assert sim.substeps == 2
    sim.model = model.collide([Plane((0, -2, 0))])
    assert sim.substeps == 1
    assert sim.step().finite
    sim.model = model
    assert sim.substeps == 2
    sim.substeps = 5
    for solver in ("vivace", "auto"):
        sim.solver, sim.budget = solver, Budget(iterations=100)
        assert sim.substeps == 5
    sim.substeps = "auto"
    assert sim.substeps == 2
    assert sim.step().finite


def test_a_budget_for_one_step_does_not_change_their_number(model):
    sim = simulate(model, "auto", solver="auto", budget=Budget(iterations=8))
    assert sim.substeps == 4
    assert sim.step(Budget(iterations=100)).substeps == 4


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "two", "", None, 1001, np.nan])
def test_bad_numbers_are_refused_and_the_old_one_stays(model, value):
    with pytest.raises(InputError, match=r'substeps must be "auto" or a whole number from 1 to 1000, not'):
        simulate(model, value)
    sim = simulate(model, 3)
    with pytest.raises(InputError, match="substeps must be"):
        sim.substeps = value
    assert (sim.substeps, sim.asked_substeps) == (3, 3)
    assert simulate(model, np.int64(3)).substeps == 3


# --- with the rest ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["lattice", "vivace", "pbd-coloured"])
def test_wind_and_contacts_go_part_by_part(solver):
    """n parts are n steps with colliders and wind, too."""
    sheet = mesh.cloth(8, 8, plane="horizontal").transformed(translate=(0, 0.05, 0))
    body = Model.of(sheet, Cloth(stretch=100.0)).collide([Plane()])
    sim = simulate(body, 3, solver=solver, time_step=0.03, budget=Budget(iterations=24))
    other = simulate(body, 1, solver=solver, time_step=0.03 / 3, budget=Budget(iterations=8))
    sim.wind = other.wind = (1.0, 0.0, 0.5)
    for _ in range(6):
        sim.step()
        for _ in range(3):
            last = other.step()
    assert last.contacts > 0
    assert state(sim) == state(other)


def test_a_body_of_tetrahedra_with_gravity_falls_as_it_must():
    """Free fall in n parts of k = h/n: after N parts v = -N k g, y = -N (N + 1)/2 k² g."""
    body = Model.of(mesh.cube(3), Solid())
    sim = simulate(body, 4, time_step=0.04)
    start = sim.positions
    for _ in range(5):
        sim.step()
    parts, k = 20, 0.01
    fallen = parts * (parts + 1) / 2 * k**2 * 9.81
    np.testing.assert_allclose(sim.velocities[:, 1], -parts * k * 9.81, rtol=1e-4)
    np.testing.assert_allclose(start[:, 1] - sim.positions[:, 1], fallen, rtol=1e-4)
