"""Newton with multigrid: directions, energy that never rises, bodies of all kinds, motion."""

import numpy as np
import pytest

from solvers.operators import prepared
from solvers.projective.newton_problems import NAME, H, U, at, fine_matrix, solve, states
from solvers.rounding import ENERGY_SCENES, rows, small_scene
from vivace import Budget, Cloth, InputError, Model, Simulation, Solid, System, UnknownNameError, mesh
from vivace.collisions import Plane
from vivace.mesh import Mesh
from vivace.scenes import make_scene
from vivace.solvers import Deadline, make_solver

# --- directions -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tablecloth", "armadillo"])
def test_conjugate_gradients_find_newtons_direction(name):
    """|d - d*| in the norm of the solver's own H, d* = H⁻¹ r: below a tenth of a per cent after 40 iterations."""
    system = System(small_scene(name).model, H)
    solver = prepared(NAME, system)
    frame = next(states(system))
    errors = []
    at(solver, system, frame, frame.s)
    matrix = fine_matrix(solver)
    exact = np.linalg.solve(matrix, -system.gradient(frame.s, frame).ravel())
    for count in (1, 3, 40):
        at(solver, system, frame, frame.s)
        solver._cycle.run(count)
        d = np.zeros((system.n, 3))
        d[solver.layout.order] = solver._direction[:, :3]
        error = d.ravel() - exact
        errors.append(np.sqrt(error @ matrix @ error / (exact @ matrix @ exact)))
    assert errors[0] < 0.7
    assert errors[1] < 0.5 * errors[0]
    assert errors[2] < 2e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", ENERGY_SCENES)
def test_converges_to_newtons_minimum(name):
    """What is left of the energy that newton gains from the same start is rounding of float32 positions.

    u |q| is all that is known of a position, which is worth up to Y_ii (u |q|)²/2 each; on crumpled cloth the two may
    end in neighbouring minima.
    """
    scene = small_scene(name)
    sim = scene.simulate(budget=Budget(iterations=20), threads=1)
    for _ in range(4):
        report = sim.step()
    system, frame = sim.system, report.frame
    truth, _ = solve(prepared("newton", system), system, frame, {"iterations": 60, "tolerance": 1e-8})
    q, _ = solve(prepared(NAME, system), system, frame, {"iterations": 200})
    first, best = system.energy(frame.s, frame), system.energy(truth, frame)
    rounding = float(system.diagonal @ np.sum((8 * U * frame.s) ** 2, axis=1))
    assert system.energy(q, frame) <= best + 1e-4 * (first - best) + rounding


@pytest.mark.slow
def test_fewer_iterations_than_the_matrix_of_projective_dynamics_needs():
    """Six iterations come nearer to the minimum than sixty of L-BFGS over multigrid, where everything has to turn."""
    system = System(make_scene("tablecloth", resolution=30).model, H)
    q, v = system.model.mesh.vertices.astype(np.float64), np.zeros((system.n, 3))
    fall, held = np.tile(system.model.gravity, (system.n, 1)), system.model.mesh.vertices[system.model.pinned]
    truth = prepared("newton", system)
    for _ in range(5):
        frame = system.frame(q, v, fall, held)
        new, _ = solve(truth, system, frame, {"iterations": 30, "tolerance": 1e-7})
        q, v = new, (new - q) / H
    ours, _ = solve(prepared(NAME, system), system, frame, {"iterations": 6})
    theirs, _ = solve(prepared("lbfgs(multigrid)", system), system, frame, {"iterations": 60}, start=frame.start)
    distance = [np.sqrt(np.mean(np.sum((x - new) ** 2, axis=1))) for x in (ours, theirs)]
    assert distance[0] < 0.5 * distance[1]


# --- energy -----------------------------------------------------------------------------------------------------------


def energy_noise(system, frame, q):
    """What rounding may add to ε at q (J): gradients against half an ulp of positions, and its square."""
    shift = 4 * U * np.abs(q).max()
    pull = np.abs(system.gradient(q, frame)).sum(axis=1)
    return float(np.sum(pull * shift + system.diagonal * shift**2))


@pytest.mark.slow
@pytest.mark.parametrize("h", [1 / 120, 0.033, 1.0])
@pytest.mark.parametrize("name", ENERGY_SCENES)
def test_energy_never_rises(name, h):
    """From rough, scattered and collapsed states, for one iteration and more, however long the step."""
    system = System(small_scene(name).model, h)
    solver = prepared(NAME, system)
    for frame in states(system):
        q = rows(frame.s)[:, :3].astype(np.float64)
        for iterations in (1, 1, 2, 3, 8):
            before = system.energy(q, frame)
            noise = energy_noise(system, frame, q)
            q, outcome = solve(solver, system, frame, {"iterations": iterations}, start=q)
            assert outcome.sweeps == iterations
            assert system.energy(q, frame) <= before + noise


@pytest.mark.slow
@pytest.mark.parametrize("ms", [1e-6, 1.0])
def test_energy_never_rises_when_time_is_up(ms):
    system = System(make_scene("tablecloth", resolution=40).model, H)
    solver = prepared(NAME, system)
    for frame in states(system):
        q, outcome = solve(solver, system, frame, {"ms": ms})
        assert outcome.stopped == "time"
        assert outcome.sweeps >= 1
        assert system.energy(q, frame) <= system.energy(frame.s, frame) + energy_noise(system, frame, frame.s)


# --- bodies of all kinds ----------------------------------------------------------------------------------------------


def dust(n):
    """Vertices that nothing holds together."""
    none = np.zeros((0, 3), np.int32), np.zeros((0, 4), np.int32)
    return Model(Mesh(np.random.default_rng(0).random((n, 3)), *none), np.ones(n), (), np.array([0.0, -9.81, 0]))


def cloths():
    """Two that do not touch, one of them free."""
    one = mesh.cloth(9, 9)
    two = mesh.cloth(6, 6).transformed(translate=(3.0, 0, 0))
    return Model.of(mesh.join([one, two]), Cloth()).pin([0, 8])


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        pytest.param(lambda: dust(1), id="a vertex"),
        pytest.param(lambda: dust(300), id="dust"),
        pytest.param(lambda: Model.of(mesh.cloth(2, 2), Cloth()), id="two triangles"),
        pytest.param(lambda: Model.of(mesh.cloth(14, 14), Cloth()), id="free cloth"),
        pytest.param(lambda: Model.of(mesh.cube(3), Solid(1e5)), id="box"),
        pytest.param(cloths, id="two cloths"),
    ],
)
def test_any_body(model):
    """Falls as `newton` has it fall; what is free falls freely."""
    model = model()
    paths = []
    for solver in (NAME, "newton"):
        sim = Simulation(model, solver=solver, budget=Budget(iterations=40), time_step=H, threads=1)
        for _ in range(5):
            assert sim.step().finite
        paths.append(sim.positions)
    np.testing.assert_allclose(paths[0], paths[1], rtol=0, atol=2e-3)
    if not len(model.pinned):
        expected = model.mesh.vertices + model.gravity * H**2 * 15
        np.testing.assert_allclose(paths[0].mean(axis=0), expected.mean(axis=0), rtol=0, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("stretch", "near"), [(1e2, 0.001), (1e3, 0.002), (1e5, 0.04), (1e6, 0.2)])
def test_any_stiffness(stretch, near):
    """Ten frames of a falling cloth end near the converged ones (m); the stiffer, the more Newton iterations it takes:
    three exact ones leave 2 cm at 1e5 N/m and 9 cm at 1e6."""
    scene = make_scene("tablecloth", resolution=16, stretch=stretch)
    ends = []
    for solver, budget in ((NAME, Budget(iterations=24)), ("newton", Budget(iterations=40, tolerance=1e-6))):
        sim = scene.simulate(solver=solver, budget=budget, threads=1)
        for _ in range(10):
            sim.step()
        ends.append(sim.positions)
    assert np.sqrt(np.mean(np.sum((ends[0] - ends[1]) ** 2, axis=1))) < near


@pytest.mark.slow
def test_pins_that_come_and_go():
    """Nothing is laid out anew for them, and what is held goes where it is held."""
    scene = make_scene("tablecloth", resolution=20)
    sim = scene.simulate(solver=NAME, budget=Budget(iterations=12), threads=1)
    for _ in range(3):
        sim.step()
    layout = sim.solver.layout
    sim.grab(210, target=sim.positions[210] + [0.0, 0.05, 0.0])
    for _ in range(5):
        sim.step()
    assert sim.solver.layout is layout
    assert np.linalg.norm(sim.positions[210] - sim.targets[-1]) < 1e-3
    sim.release()
    for _ in range(3):
        assert sim.step().finite
    assert sim.solver.layout is layout


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_contacts(threads):
    """A cloth that falls on a floor lies on it."""
    cloth = mesh.cloth(12, 12, plane="horizontal").transformed(translate=(0, 0.02, 0))
    model = Model.of(cloth, Cloth()).collide([Plane()], itself=False)
    sim = Simulation(model, solver=NAME, budget=Budget(iterations=6), time_step=1 / 60, threads=threads)
    for _ in range(40):
        report = sim.step()
        assert report.finite
    assert report.contacts > 0
    assert sim.positions[:, 1].min() >= -1e-3
    assert sim.positions[:, 1].max() < 0.03


@pytest.mark.slow
def test_what_slides_is_not_held():
    """A sheet on a floor without friction moves along it as if there was none, whatever pushes it down."""
    cloth = mesh.cloth(12, 12, plane="horizontal")
    model = Model.of(cloth, Cloth()).collide([Plane()], itself=False, friction=0.0)
    sim = Simulation(model, solver=NAME, budget=Budget(iterations=3), time_step=1 / 60, threads=1)
    sim.velocities = np.tile([1.0, 0.0, 0.5], (model.n, 1))
    first = sim.positions.astype(np.float64)
    for _ in range(20):
        report = sim.step()
    assert report.contacts > 0
    moved = (sim.positions - first).mean(axis=0)
    np.testing.assert_allclose(moved[[0, 2]], [20 / 60, 10 / 60], rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tablecloth", "bar"])
def test_threads_do_not_change_a_bit(name):
    size = {"tablecloth": 50, "bar": 8}[name]
    ends = []
    for threads in (1, 2, 3):
        sim = make_scene(name, resolution=size).simulate(solver=NAME, budget=Budget(iterations=5), threads=threads)
        for _ in range(6):
            sim.step()
        ends.append(sim.positions.tobytes() + sim.velocities.tobytes())
    assert ends[0] == ends[1] == ends[2]


# --- motion -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_moves_as_converged_steps_do():
    """The tablecloth let go from the horizontal, 15 frames of 33 ms: centimetres from newton's, where L-BFGS over the
    matrix of projective dynamics is half a metre away with more iterations."""
    scene = make_scene("tablecloth", resolution=24)
    paths = {}
    for solver, budget in (
        (NAME, Budget(iterations=6)),
        ("lbfgs(multigrid)", Budget(iterations=13)),
        ("newton", Budget(iterations=20, tolerance=1e-6)),
    ):
        sim = scene.simulate(solver=solver, budget=budget, threads=1)
        paths[solver] = []
        for _ in range(15):
            sim.step()
            paths[solver].append(sim.positions.astype(np.float64))

    def distance(solver, frame):
        return np.sqrt(np.mean(np.sum((paths[solver][frame] - paths["newton"][frame]) ** 2, axis=1)))

    assert distance(NAME, 6) < 0.015
    assert distance(NAME, 14) < 0.05
    assert distance("lbfgs(multigrid)", 14) > 0.4


# --- options ----------------------------------------------------------------------------------------------------------


def test_options():
    assert make_solver("newton-multigrid:steps=5,coarsening=smoothed").steps == 5
    for steps in (-1, 101, 1.5):
        with pytest.raises(InputError, match="steps must be a whole number from 0 to 100"):
            make_solver(("newton-multigrid", {"steps": steps}))
    with pytest.raises(UnknownNameError, match="unknown coarsening 'none'"):
        make_solver("newton-multigrid:coarsening=none")
    solver = make_solver(NAME)
    assert not solver.snaps_pins
    with pytest.raises(InputError, match="has not been prepared"):
        solver.solve(*np.zeros((3, 1, 4), np.float32), Deadline.of(Budget(iterations=1)))


@pytest.mark.parametrize("steps", [0, 1, 2, 4])
def test_iterations_are_those_of_conjugate_gradients(steps):
    """Residuals are met where a Hessian is made, every `steps` iterations; the last may have fewer."""
    sim = make_scene("tablecloth", resolution=12).simulate(
        solver=f"newton-multigrid:steps={steps}", budget=Budget(iterations=7), threads=1
    )
    sim.trace = True
    np.testing.assert_array_equal(sim.step().residuals[:, 0], np.arange(0, 7, steps or 2))
