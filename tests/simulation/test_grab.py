"""Taking hold of vertices: they stay, follow, keep their velocity; another model under a hand."""

import numpy as np
import pytest

from simulation.held import DOWN, SOLVERS, sheet, slack
from vivace import Budget, InputError, Model, Simulation, Solid, mesh


@pytest.fixture(params=SOLVERS)
def sim(request) -> Simulation:
    return Simulation(sheet(), solver=request.param, budget=Budget(iterations=20), threads=1)


# --- grabbing --------------------------------------------------------------------------------------------------------


def test_grab_by_a_ray_sees_where_the_body_is_now(sim):
    assert sim.grab(((0.02, 1.0, 0.48), DOWN)) == 22
    sim.release()
    sim.positions = sim.positions + np.array([5.0, 0, 0], np.float32)
    assert sim.grab(((0.02, 1.0, 0.48), DOWN)) is None
    assert sim.grab(((5.02, 1.0, 0.48), DOWN)) == 22
    assert sim.grabbed == (22,)


def test_grab_of_a_body_takes_its_surface():
    cube = mesh.cube(4)
    sim = Simulation(Model.of(cube, Solid()), budget=Budget(iterations=3), threads=1)
    (low, high), centre = cube.bounds, cube.bounds.mean(axis=0)
    vertex = sim.grab(((centre[0] + 0.01, high[1] + 1, centre[2] + 0.01), DOWN))
    assert sim.positions[vertex, 1] == pytest.approx(high[1])
    assert low[1] < high[1]


def test_what_is_grabbed_stays_where_it_is(sim):
    place = sim.positions[12]
    assert sim.grab(12) == 12
    assert sim.grabbed == (12,)
    for _ in range(30):
        sim.step()
        np.testing.assert_allclose(sim.positions[12], place, atol=slack(sim))
    assert sim.positions[22, 1] < -0.05  # the rest hangs down from it


def test_what_is_grabbed_follows(sim):
    """x = target in every step: exactly in position based dynamics, to what a pin gives in projective dynamics."""
    for k in range(20):
        target = [0.02 * k, 0.01 * k, 0.1]
        assert sim.grab(12, target) == 12
        np.testing.assert_allclose(sim.targets[-1], target)
        sim.step()
        np.testing.assert_allclose(sim.positions[12], target, atol=slack(sim))
    assert len(sim.targets) == 6
    assert sim.grabbed == (12,)


def test_moving_a_target_needs_no_new_model(sim):
    """Only the first grab changes what the solver has prepared for; moving is a change of numbers."""
    sim.grab(12)
    sim.step()
    system, model = sim.system, sim.model
    sim.grab(12, (0, 0.1, 0))
    assert sim.system is system
    assert sim.model is model


def test_several_are_held_at_once(sim):
    """In any order of grabbing, each at its own place; one is let go, the others stay."""
    places = {23: (0.3, 0.2, 0.5), 7: (0.0, 0.1, -0.2), 21: (-0.3, 0.2, 0.5)}
    for vertex, place in places.items():
        sim.grab(vertex, place)
    assert set(sim.grabbed) == set(places)
    for _ in range(10):
        sim.step()
        for vertex, place in places.items():
            np.testing.assert_allclose(sim.positions[vertex], place, atol=slack(sim))
        np.testing.assert_allclose(sim.positions[:5], sim.model.mesh.vertices[:5], atol=slack(sim))
    sim.release(7)
    assert set(sim.grabbed) == {21, 23}
    for _ in range(20):
        sim.step()
    for vertex in (21, 23):
        np.testing.assert_allclose(sim.positions[vertex], places[vertex], atol=slack(sim))
    assert np.linalg.norm(sim.positions[7] - places[7]) > 0.01


def test_release_gives_the_model_back(sim):
    model = sim.model
    sim.grab(12)
    sim.grab(13)
    assert len(sim.model.pinned) == 7
    sim.release()
    assert sim.model is model
    assert sim.grabbed == ()
    assert len(sim.targets) == 5


@pytest.mark.parametrize("solver", SOLVERS)
def test_released_vertices_keep_their_velocity(solver):
    """A free body grabbed by all of its vertices and moved by v h a step flies on with v: no force, no gravity."""
    model = sheet(pinned=False)
    sim = Simulation(model, solver=solver, budget=Budget(iterations=20), threads=1)
    sim.gravity = (0, 0, 0)
    h, v = sim.system.h, np.array([0.5, 1.0, -0.25])
    rest = model.mesh.vertices
    for k in range(1, 6):
        for vertex in range(model.n):
            sim.grab(vertex, rest[vertex] + k * h * v)
        sim.step()
    sim.release()
    for k in range(6, 11):
        sim.step()
        np.testing.assert_allclose(sim.positions, rest + k * h * v, atol=2e-5)
    np.testing.assert_allclose(sim.velocities, np.tile(v, (model.n, 1)), atol=2e-4)


def test_grabbing_does_not_undo_what_was_set(sim):
    """Gravity, forces, targets and the state are the simulation's own; grabbing and letting go leave them alone."""
    rng = np.random.default_rng(0)
    sim.gravity = (0, -1.62, 0)
    sim.apply_forces(rng.normal(size=(25, 3)))
    moved = sim.targets + 0.1
    sim.targets = moved
    v = rng.normal(size=(25, 3)).astype(np.float32)
    sim.velocities = v
    q, forces = sim.positions, sim._motion.acceleration.copy()
    for change in (lambda: sim.grab(12), lambda: sim.grab(13, (0, 0, 0)), lambda: sim.release(12), sim.release):
        change()
        np.testing.assert_array_equal(sim.gravity, [0, -1.62, 0])
        np.testing.assert_array_equal(sim.targets[:5], moved)
        np.testing.assert_array_equal(sim.velocities, v)
        np.testing.assert_array_equal(sim.positions, q)
        np.testing.assert_array_equal(sim._motion.acceleration, forces)


def test_a_grab_that_ends_at_once_changes_nothing(sim):
    """Bits of a simulation that nobody has touched."""
    other = Simulation(sheet(), solver=sim.solver.name, budget=Budget(iterations=20), threads=1)
    for frame in range(12):
        if frame % 4 == 2:
            sim.grab(12)
            sim.grab(17, (0, 0, 0))
            sim.release(12)
            sim.release()
        sim.step()
        other.step()
    np.testing.assert_array_equal(sim.positions, other.positions)
    np.testing.assert_array_equal(sim.velocities, other.velocities)


def test_a_pinned_vertex_can_be_grabbed_and_goes_home(sim):
    """Its pin follows the hand; released, it is held where its pin held it before."""
    home = sim.targets.copy()
    assert sim.grab(2, (0, 0.3, -0.5)) == 2
    assert len(sim.model.pinned) == 5
    for _ in range(5):
        sim.step()
    np.testing.assert_allclose(sim.positions[2], [0, 0.3, -0.5], atol=slack(sim))
    sim.grab(12)
    sim.grab(2, (0, 0.2, -0.5))
    sim.release(12)
    np.testing.assert_allclose(sim.targets[2], [0, 0.2, -0.5])
    sim.release(2)
    np.testing.assert_array_equal(sim.targets, home)
    for _ in range(30):
        sim.step()
    np.testing.assert_allclose(sim.positions[2], home[2], atol=slack(sim))


def test_a_new_model_drops_what_was_grabbed(sim):
    sim.grab(12)
    sim.grab(2, (0, 1, 0))
    model = sheet().pin([24])
    sim.model = model
    assert sim.grabbed == ()
    assert sim.model is model
    np.testing.assert_array_equal(sim.targets, model.targets)
    with pytest.raises(InputError, match="vertex 12 is not grabbed; those that are: none"):
        sim.release(12)
    sim.step()


@pytest.mark.parametrize(
    "what", [-1, 25, 1.5, True, "12", None, np.nan, [0, 25], [-1], [0, 1.0], [True], "1", np.zeros((2, 2), int), [[0]]]
)
def test_what_cannot_be_grabbed_is_refused(sim, what):
    with pytest.raises(InputError, match="grab takes a vertex from 0 to 24, a sequence of them or a ray"):
        sim.grab(what)
    assert sim.grabbed == ()


@pytest.mark.parametrize("target", [(0, 0), (0, np.nan, 0), (0, np.inf, 0), "here", (0, 1e39, 0)])
def test_bad_targets_are_refused_before_anything_changes(sim, target):
    model = sim.model
    with pytest.raises(InputError, match="target must"):
        sim.grab(12, target)
    assert sim.grabbed == ()
    assert sim.model is model


# --- another model under a hand --------------------------------------------------------------------------------------


def test_exchange_keeps_what_was_set(sim):
    """Grabs, gravity, forces, moved targets, state; released, pins of the new model go where the old ones were."""
    rng = np.random.default_rng(0)
    base = sim.model
    sim.gravity = (0, -1.62, 0)
    sim.apply_forces(rng.normal(size=(25, 3)))
    sim.targets = sim.targets + 0.1
    home = sim.targets
    sim.grab([12, 2], [[0, 1, 0], [0, 1, -0.5]])
    q, targets, force = sim.positions, sim.targets, sim._motion.acceleration.copy()
    new = base.stiffened(2.0)
    sim.replace_model(new)
    assert sim.grabbed == (12, 2)
    assert sim.model.pinned.tolist() == [0, 1, 2, 3, 4, 12]
    assert sim.model.groups[-1].weights[0] == new.pin_stiffness
    np.testing.assert_array_equal(sim.targets, targets)
    np.testing.assert_array_equal(sim.gravity, [0, -1.62, 0])
    np.testing.assert_array_equal(sim._motion.acceleration, force)
    np.testing.assert_array_equal(sim.positions, q)
    sim.step()
    sim.release()
    assert sim.model is new
    np.testing.assert_array_equal(sim.targets, home)


def test_exchange_takes_new_pins_as_they_are(sim):
    """A pin that only the new model has, or has elsewhere, is where the new model says."""
    sim.targets = sim.targets + 0.1
    moved = sim.targets
    other = sheet(pinned=False).pin([0, 24]).pin([1], target=[[5, 5, 5]])
    sim.replace_model(other)
    np.testing.assert_array_equal(sim.targets, [moved[0], other.targets[1], [5, 5, 5]])
    sim.grab(24, (0, 0, 0))  # a pin here, free in the next
    sim.replace_model(sheet())
    assert sim.model.pinned.tolist() == [0, 1, 2, 3, 4, 24]
    np.testing.assert_array_equal(sim.targets[[0, 5]], [moved[0], [0, 0, 0]])
    with pytest.raises(InputError, match="takes a Model with its own 25 vertices"):
        sim.replace_model(Model.of(mesh.cloth(4, 4)))


def test_what_is_not_held_cannot_be_released(sim):
    sim.release()  # of nothing: nothing to do
    sim.grab(12)
    sim.grab(13)
    for what in (3, [12, 3], np.array([13, 3])):
        with pytest.raises(InputError, match=r"vertex .*3.* is not grabbed; those that are: 12, 13"):
            sim.release(what)
        assert sim.grabbed == (12, 13)


def test_numpy_numbers_are_vertices_too(sim):
    assert sim.grab(np.int64(12)) == 12
    sim.release(np.int32(12))
    assert sim.grabbed == ()
