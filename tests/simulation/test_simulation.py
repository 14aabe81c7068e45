"""What a user of the step reads and writes."""

import numpy as np
import pytest

from solvers.rounding import U, small_scene
from vivace import (
    Budget,
    Cloth,
    InputError,
    Model,
    Simulation,
    System,
    VivaceError,
    Wire,
    mesh,
)
from vivace.mesh import Mesh
from vivace.solvers import make_solver, minimise


@pytest.fixture(params=["auto", "vivace"])
def sim(request) -> Simulation:
    return small_scene("tablecloth").simulate(solver=request.param, budget=Budget(iterations=3), threads=1)


@pytest.mark.slow
def test_what_is_read_is_a_copy(sim):
    for name in ("positions", "velocities", "targets"):
        first = getattr(sim, name)
        first += 1.0
        assert not np.array_equal(getattr(sim, name), first)
    report = sim.step()
    before = report.positions.copy()
    sim.step()
    np.testing.assert_array_equal(report.positions, before)
    sim.positions = sim.positions + 1.0
    np.testing.assert_array_equal(report.positions, before)


def test_what_is_written_is_read_back(sim):
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=(2, sim.model.n, 3)).astype(np.float32)
    sim.positions, sim.velocities = q, v
    np.testing.assert_array_equal(sim.positions, q)
    np.testing.assert_array_equal(sim.velocities, v)
    sim.targets = [[1, 2, 3], [4, 5, 6]]
    np.testing.assert_array_equal(sim.targets, [[1, 2, 3], [4, 5, 6]])
    q[0] = 99
    assert sim.positions[0, 0] != 99


@pytest.mark.parametrize("name", ["positions", "velocities", "targets"])
def test_setters_refuse_and_change_nothing(sim, name):
    before = getattr(sim, name)
    shape = before.shape
    with pytest.raises(InputError) as caught:
        setattr(sim, name, np.zeros((shape[0] + 1, 3)))
    assert str(caught.value) == f"{name} must have shape {shape}, not {(shape[0] + 1, 3)}"
    with pytest.raises(InputError, match=rf"{name} must have shape"):
        setattr(sim, name, 0.0)
    for bad in (np.nan, np.inf, -np.inf):
        value = before.copy()
        value[1, 2] = bad
        with pytest.raises(InputError, match=rf"{name} must be finite; vertex 1 is not"):
            setattr(sim, name, value)
    np.testing.assert_array_equal(getattr(sim, name), before)


@pytest.mark.parametrize("name", ["positions", "velocities", "targets"])
def test_setters_refuse_what_float32_cannot_hold(sim, name):
    """1e39 is finite, but not in float32: it would become infinite on the way in."""
    value = getattr(sim, name).astype(np.float64)
    value[0, 0] = 1e39
    with pytest.raises(InputError, match=name):
        setattr(sim, name, value)


@pytest.mark.parametrize("name", ["positions", "velocities", "targets"])
def test_setters_refuse_words(sim, name):
    with pytest.raises(InputError, match=name):
        setattr(sim, name, np.full(getattr(sim, name).shape, "here"))


def test_forces_are_checked(sim):
    with pytest.raises(InputError, match=r"forces must have shape \(144, 3\), not \(3,\)"):
        sim.apply_forces([0, 1, 0])
    bad = np.zeros((144, 3))
    bad[7, 0] = np.nan
    with pytest.raises(InputError, match="forces must be finite; vertex 7 is not"):
        sim.apply_forces(bad)


def test_forces_accelerate_by_their_mass():
    """v = h (g + f/m) after one step of a free pair, with gravity on top, until other forces are applied."""
    wire = Mesh.from_edges([[0.0, 0, 0], [1.0, 0, 0]], [[0, 1]])
    model = Model.of(wire, Wire(density=2.0, stretch=5.0), gravity=(0, -10, 0))
    sim = Simulation(model, solver="gauss-seidel", budget=Budget(iterations=20), time_step=0.1)
    sim.apply_forces([[0, 0, 3.0], [0, 0, 3.0]])
    sim.step()
    np.testing.assert_allclose(sim.velocities, [[0, -1, 0.3]] * 2, rtol=0, atol=16 * U)
    sim.step()
    np.testing.assert_allclose(sim.velocities, [[0, -2, 0.6]] * 2, rtol=0, atol=64 * U)
    sim.apply_forces(np.zeros((2, 3)))
    sim.step()
    np.testing.assert_allclose(sim.velocities, [[0, -3, 0.6]] * 2, rtol=0, atol=128 * U)


def test_velocity_is_the_difference_over_the_step(sim):
    """v = (q' - q)/h, in float32."""
    before = sim.positions
    sim.step()
    expected = (sim.positions - before) * np.float32(1 / sim.system.h)
    np.testing.assert_allclose(sim.velocities, expected, rtol=2 * U, atol=0)


def test_report(sim):
    report = sim.step()
    assert (report.number, report.sweeps, report.stopped) == (1, 3, "iterations")
    assert list(report.stages) == ["predict", "collide", "colour", "solve", "guard", "update"]
    assert all(value > 0 for value in report.stages.values())
    assert report.ms == pytest.approx(sum(report.stages.values()))
    assert report.ms_per_sweep == pytest.approx(report.stages["solve"] / 3)
    assert report.finite
    assert report.residual > 0
    assert report.colours == sim.colouring.count
    np.testing.assert_array_equal(report.positions, sim.positions)
    with pytest.raises(TypeError):
        report.stages["solve"] = 0.0
    assert sim.step().number == 2
    assert sim.frames == 2
    assert sim.time == pytest.approx(2 * sim.system.h)


@pytest.mark.slow
def test_energy_of_a_report_is_that_of_its_problem(sim):
    """ε at the result, whenever it is asked for."""
    reports = [sim.step() for _ in range(3)]
    for report in reports:
        expected = sim.system.energy(report.positions.astype(np.float64), report.frame)
        assert report.energy == expected
        assert "energy" in vars(report)
    reference = minimise(sim.system, reports[1].frame)
    start = sim.system.energy(reports[1].frame.start, reports[1].frame)
    error = (reports[1].energy - reference.energy) / (start - reference.energy)
    assert reports[1].relative_error == pytest.approx(error, abs=1e-4)  # minimise's accuracy, a few times


def test_frame_is_the_problem_of_that_step(sim):
    sim.step()
    q, v = sim.positions.astype(np.float64), sim.velocities.astype(np.float64)
    targets = sim.targets + 0.25
    sim.targets = targets
    frame = sim.step().frame
    np.testing.assert_array_equal(frame.previous, q)
    np.testing.assert_array_equal(frame.targets, targets)
    begin = targets.astype(np.float32) if sim.solver.snaps_pins else frame.s[sim.model.pinned]
    np.testing.assert_array_equal(frame.start[sim.model.pinned], begin)
    free = np.setdiff1d(np.arange(sim.model.n), sim.model.pinned)
    h = sim.system.h
    air_factor = 1 / (1 + sim.model.air * h)
    np.testing.assert_allclose(
        frame.s[free], (q + air_factor * (h * v + h**2 * sim.model.gravity))[free], rtol=0, atol=8 * U
    )


def test_residual_is_the_norm_of_what_the_last_sweep_met(sim):
    """Jacobi meets all residuals at once: ‖Y s - b(s)‖ at the prediction, to float32."""
    sim = small_scene("tablecloth").simulate(solver="jacobi", budget=Budget(iterations=1), threads=1)
    report = sim.step()
    exact = np.linalg.norm(sim.system.gradient(report.frame.start, report.frame))
    size = np.linalg.norm(sim.system.diagonal[:, None] * report.frame.start)
    assert report.residual == pytest.approx(exact, abs=32 * U * size)


def test_solvers_that_do_not_colour_say_so():
    for solver in ("jacobi", "gauss-seidel"):
        sim = small_scene("tablecloth").simulate(solver=solver, budget=Budget(iterations=1))
        assert sim.step().colours is None
        assert sim.colouring is None


@pytest.mark.parametrize("solver", ["auto", "vivace", "multigrid:background=True"])
def test_prepare_ahead_changes_nothing(solver):
    budget = Budget(iterations=2)
    first, second = (small_scene("cube").simulate(solver=solver, budget=budget, threads=1) for _ in range(2))
    assert first.prepare(wait=True)
    assert not first.prepare()
    assert first.colouring is not None
    second.prepare(wait=True)
    first.step()
    second.step()
    np.testing.assert_array_equal(first.positions, second.positions)


def test_budget_of_one_step(sim):
    assert sim.step(Budget(iterations=9)).sweeps == 9
    assert sim.step().sweeps == 3


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "two", 1000])
def test_bad_threads(threads):
    with pytest.raises(InputError, match=r"threads must be a whole number from 1 to 256, not"):
        Simulation(Model.of(mesh.cloth(3, 3)), threads=threads)


@pytest.mark.parametrize("seed", [-1, 0.5, "x"])
def test_bad_seed_is_refused_at_once(seed):
    with pytest.raises(InputError, match=r"seed must be a whole number"):
        Simulation(Model.of(mesh.cloth(3, 3)), seed=seed)


def test_several_groups_of_pins_have_their_targets_in_order():
    model = Model.of(mesh.cloth(4, 4)).pin([5]).pin([2], target=[[9.0, 9.0, 9.0]])
    assert model.pinned.tolist() == [5, 2]
    sim = Simulation(model, solver="vivace", budget=Budget(iterations=1))
    np.testing.assert_array_equal(sim.targets, [model.mesh.vertices[5], [9, 9, 9]])
    frame = sim.step().frame
    np.testing.assert_array_equal(frame.start[[5, 2]], sim.targets.astype(np.float32))


def test_a_model_can_be_exchanged_while_running():
    """New constraints make a new graph: it is coloured anew, positions and velocities stay, and the new pin holds."""
    model = Model.of(mesh.cloth(10, 10), Cloth(stretch=100.0)).pin("top-corners")
    sim = Simulation(model, solver="vivace", budget=Budget(iterations=20))
    for _ in range(10):
        sim.step()
    q, v, before = sim.positions, sim.velocities, sim.colouring
    corner = 99
    sim.model = model.pin([corner], target=q[corner]).constrain("spring", [[0, 99]], stiffness=10.0)
    np.testing.assert_array_equal(sim.positions, q)
    np.testing.assert_array_equal(sim.velocities, v)
    report = sim.step()
    assert report.stages["colour"] > 0
    assert sim.colouring is not before
    assert sim.colouring.colours[0] != sim.colouring.colours[99]  # the new spring joins them
    for _ in range(30):
        sim.step()
    assert np.linalg.norm(sim.positions[corner] - q[corner]) < 1e-2
    with pytest.raises(InputError, match="takes a Model with its own 100 vertices"):
        sim.model = Model.of(mesh.cloth(4, 4))


# --- changes while it runs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["velocity", "verlet"])
def test_the_time_step_can_be_changed_while_running(form):
    """Positions, velocities, grabs, gravity, targets and forces stay; free flight goes on at v + h g per step."""
    model = Model.of(mesh.cloth(4, 4), Cloth(stretch=100.0), gravity=(0, 0, 0))
    sim = Simulation(model, solver="vivace", budget=Budget(iterations=3), time_step=0.02, form=form, threads=1)
    sim.velocities = np.tile([1.0, 2.0, 3.0], (16, 1))
    sim.step()
    q, v = sim.positions, sim.velocities
    sim.gravity = (0, -2, 0)
    sim.apply_forces(np.tile(model.masses[:, None], (1, 3)))
    sim.time_step = 0.05
    assert sim.time_step == sim.system.h == 0.05
    assert sim.time == pytest.approx(0.02)
    np.testing.assert_allclose(sim.positions, q)
    np.testing.assert_allclose(sim.velocities, v, rtol=4 * U)
    np.testing.assert_array_equal(sim.gravity, [0, -2, 0])
    sim.step()
    sim.step()
    assert sim.time == pytest.approx(0.12)
    np.testing.assert_allclose(sim.velocities, v + 0.1 * np.array([1, -1, 1]), atol=1e-4)
    np.testing.assert_allclose(sim.positions, q + 0.1 * v + 0.05**2 * 3 * np.array([1, -1, 1]), atol=1e-5)


@pytest.mark.slow
def test_a_changed_time_step_is_that_of_a_new_simulation():
    """The same bits as a simulation that is made with it at that state, viscosity and air included."""
    model = Model.of(mesh.cloth(8, 8), Cloth(stretch=100.0), air=0.3, viscosity=0.01).pin("top-corners")
    for solver in ("vivace", "pbd-coloured", "lbfgs(multigrid)"):
        sim = Simulation(model, solver=solver, budget=Budget(iterations=4), time_step=0.03, threads=1)
        for _ in range(3):
            sim.step()
        sim.grab(60, (0, 0.2, 0))
        sim.step()
        other = Simulation(model, solver=solver, budget=Budget(iterations=4), time_step=0.01, threads=1)
        other.positions, other.velocities = sim.positions, sim.velocities
        other.grab(60, (0, 0.2, 0))
        sim.time_step = 0.01
        for _ in range(3):
            sim.step()
            other.step()
        np.testing.assert_array_equal(sim.positions, other.positions)
        assert sim.grabbed == (60,)
        assert sim.time == pytest.approx(4 * 0.03 + 3 * 0.01)


def test_the_matrix_is_assembled_once_whatever_the_time_step(sim):
    """K has no h in it."""
    sim.step()
    stiffness = sim.system.stiffness_off
    sim.time_step = 0.01
    assert sim.system.stiffness_off is stiffness
    assert sim.prepare()
    np.testing.assert_array_equal(sim.system.diagonal, System(sim.model, 0.01).diagonal)


@pytest.mark.parametrize("value", [0, -0.1, np.nan, np.inf, "0.1", None, 1e-12, 1e9, True])
def test_bad_time_steps_are_refused(sim, value):
    system = sim.system
    with pytest.raises(InputError, match="the time step must"):
        sim.time_step = value
    assert sim.system is system


def test_the_solver_can_be_changed_while_running(sim):
    """Names, pairs and solvers; the state stays, and the next step is the new solver's."""
    sim.step()
    q, v = sim.positions, sim.velocities
    mine = make_solver("gauss-seidel")
    for solver in ("jacobi", ("vivace", {"omega": 1.5}), "pbd-coloured", mine):
        sim.solver = solver
        np.testing.assert_array_equal(sim.positions, q)
        np.testing.assert_array_equal(sim.velocities, v)
        other = Simulation(sim.model, solver=solver, budget=sim.budget, time_step=sim.time_step, threads=1)
        other.positions, other.velocities = q, v
        sim.step()
        other.step()
        np.testing.assert_array_equal(sim.positions, other.positions)
        q, v = sim.positions, sim.velocities
    assert sim.solver is mine


@pytest.mark.parametrize("solver", ["vivice", ("vivace", {"omga": 1}), "vivace:omega=3", 3, None])
def test_bad_solvers_are_refused_and_the_old_one_stays(sim, solver):
    before = sim.solver
    with pytest.raises(VivaceError):
        sim.solver = solver
    assert sim.solver is before
    sim.step()


def held_back(sim: Simulation, before: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The adaptive first guess, vertex by vertex."""
    h, a = sim.time_step, sim.gravity
    share = np.clip((sim.velocities - before) / h @ a / (a @ a), 0, 1)
    shares[:] = 0.5 * (shares + share)
    start = sim.positions + h * sim.velocities + h**2 * shares[:, None] * a
    pinned = sim.model.pinned
    start[pinned] = sim.targets
    return start


def test_the_adaptive_guess_is_its_definition():
    """start = q + h v + h² α g with α the mean of late shares of gravity that came through [chen2024, section 3.7]."""
    model = Model.of(mesh.cloth(6, 6)).pin("top-corners")
    sim = Simulation(model, budget=Budget(iterations=3), solver="vivace", guess="adaptive", threads=1)
    before, shares = np.zeros((model.n, 3)), np.ones(model.n)
    sim.step()
    for _ in range(6):
        expected, before = held_back(sim, before, shares), sim.velocities
        report = sim.step()
        np.testing.assert_allclose(report.frame.start, expected, atol=1e-6)


@pytest.mark.slow
def test_the_adaptive_guess_changes_the_way_and_not_the_goal():
    """The minimum of a step is the same; a free body falls as it does from the prediction."""
    model = Model.of(mesh.cloth(6, 6)).pin("top-corners")
    ends = []
    for guess in ("inertia", "adaptive"):
        sim = Simulation(model, solver="newton", budget=Budget(iterations=60), guess=guess, threads=1)
        for _ in range(5):
            sim.step()
        ends.append(sim.positions)
    np.testing.assert_allclose(*ends, atol=1e-4)
    free = Simulation(Model.of(mesh.cloth(6, 6)), solver="vivace", budget=Budget(iterations=2), guess="adaptive")
    for _ in range(10):
        free.step()
    np.testing.assert_allclose(free.velocities[:, 1], -9.81 * free.time, rtol=1e-4)


@pytest.mark.parametrize("solver", ["pbd", "chebyshev(pbd-jacobi)"])
def test_position_based_solvers_start_at_the_prediction(solver):
    model = Model.of(mesh.cloth(6, 6)).pin("top-corners")
    sims = [Simulation(model, solver=solver, budget=Budget(iterations=3), guess=g) for g in ("inertia", "adaptive")]
    for _ in range(5):
        for sim in sims:
            sim.step()
    np.testing.assert_array_equal(sims[0].positions, sims[1].positions)
