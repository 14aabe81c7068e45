"""Grabbing a vertex and letting it go, by its number or by a ray."""

import numpy as np
import pytest

from vivace import Budget, Cloth, InputError, Model, Simulation, Solid, Wire, mesh
from vivace.simulation.picking import as_ray, first_triangle, picked_vertex

SOLVERS = ["vivace", "pbd-coloured"]
DOWN = (0.0, -1.0, 0.0)


def sheet(pinned=True) -> Model:
    """A horizontal cloth of 5 x 5 vertices, 25 cm apart: vertex 5 j + i at x = i/4 - 1/2, z = j/4 - 1/2."""
    model = Model.of(mesh.cloth(5, 5), Cloth(density=1.0, stretch=500.0))
    return model.pin("top") if pinned else model


@pytest.fixture(params=SOLVERS)
def sim(request) -> Simulation:
    return Simulation(sheet(), solver=request.param, budget=Budget(iterations=20), threads=1)


def slack(sim) -> float:
    """How far a pin may give way: a pin of projective dynamics is 30 times as stiff as what pulls at it."""
    return 1e-6 if sim.solver.name.startswith("pbd") else 0.02


# --- rays ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_first_triangle_against_brute_force(seed):
    """The smallest t > 0 with o + t d in a triangle, by solving for t and the barycentric coordinates of each."""
    rng = np.random.default_rng(seed)
    points, triangles = rng.normal(size=(30, 3)), np.stack([rng.permutation(30)[:3] for _ in range(40)])
    hits = 0
    for _ in range(50):
        origin = 2 * rng.normal(size=3)
        o, d = as_ray(origin, 0.8 * rng.normal(size=3) - origin)
        found = []
        for number, (a, b, c) in enumerate(points[triangles]):
            u, v, t = np.linalg.solve(np.column_stack([b - a, c - a, -d]), o - a)
            if min(u, v, 1 - u - v) >= 0 and t > 0:
                found.append((t, number))
        mine = first_triangle(points, triangles, o, d)
        assert (mine is None) == (not found)
        if mine is not None:
            hits += 1
            assert mine[0] == min(found)[1]
            assert mine[1] == pytest.approx(min(found)[0], rel=1e-9)
    assert 5 < hits < 50


def test_a_ray_takes_the_nearest_corner_of_the_nearest_triangle():
    near, far = mesh.cloth(3, 3), mesh.cloth(3, 3).transformed(translate=(0, -1, 0))
    both = mesh.join([far, near])
    for i, (x, _, z) in enumerate(near.vertices):
        ray = as_ray((0.9 * x + 0.01, 5.0, 0.9 * z), DOWN)
        assert picked_vertex(both.vertices, both.triangles, *ray) == 9 + i
        ray = as_ray((0.9 * x + 0.01, -5.0, 0.9 * z), (0, 2, 0))
        assert picked_vertex(both.vertices, both.triangles, *ray) == i


def test_a_ray_may_miss():
    cloth = mesh.cloth(3, 3)
    ahead = as_ray((0, 1, 0), DOWN)
    assert picked_vertex(cloth.vertices, cloth.triangles, *ahead) is not None
    for origin, direction in (((0, 1, 0), (0, 1, 0)), ((2, 1, 0), DOWN), ((-1, 1, 0), (1, 0, 0))):
        assert picked_vertex(cloth.vertices, cloth.triangles, *as_ray(origin, direction)) is None


def test_without_triangles_a_ray_takes_the_vertex_it_passes():
    """Within 5% of the body's size, and before the origin only."""
    wire = mesh.Mesh.from_edges(np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]]), [[0, 1], [1, 2]])
    assert picked_vertex(wire.vertices, wire.triangles, *as_ray((1.05, 3, 0), DOWN)) == 1
    assert picked_vertex(wire.vertices, wire.triangles, *as_ray((1.2, 3, 0), DOWN)) is None
    assert picked_vertex(wire.vertices, wire.triangles, *as_ray((1.0, 3, 0), (0, 1, 0))) is None


@pytest.mark.parametrize(
    ("ray", "message"),
    [
        (((0, 1, 0), (0, 0, 0)), "direction of a ray must not be zero"),
        (((0, np.nan, 0), DOWN), "three finite numbers each"),
        (((0, 1, 0), (0, np.inf, 0)), "three finite numbers each"),
        (((0, 1), DOWN), "three finite numbers each"),
        ((("a", "b", "c"), DOWN), "three numbers each"),
        (((0, 1, 0), DOWN, 3), "a ray is a pair"),
    ],
)
def test_bad_rays_are_refused(sim, ray, message):
    with pytest.raises(InputError, match=message):
        sim.grab(ray)
    assert sim.grabbed == ()
    assert len(sim.targets) == 5


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


@pytest.mark.parametrize("target", [(0, 0, 0), np.zeros((3, 3)), [[0, 0, 0], [0, np.nan, 0]], np.zeros((1, 2, 3))])
def test_bad_targets_of_a_patch_are_refused_before_anything_changes(sim, target):
    model = sim.model
    with pytest.raises(InputError, match="target must"):
        sim.grab([12, 13], target)
    with pytest.raises(InputError, match="vertex 13 is in the sequence twice"):
        sim.grab([13, 12, 13])
    assert sim.grabbed == ()
    assert sim.model is model


# --- a patch ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_a_patch_is_held_by_one_change_of_the_model(sim, kind):
    """Each vertex at its own row of the target, whatever the order, pins of the model among them; one new pin group."""
    vertices, places = [23, 2, 7, 21], np.array([[0.3, 0.2, 0.5], [0, 0.1, -0.5], [0, 0.1, -0.2], [-0.3, 0.2, 0.5]])
    home, groups = sim.targets, len(sim.model.groups)
    assert sim.grab(kind(vertices), places) == (23, 2, 7, 21)
    assert sim.grabbed == (23, 2, 7, 21)
    assert len(sim.model.groups) == groups + 1
    assert sim.model.pinned.tolist() == [0, 1, 2, 3, 4, 7, 21, 23]
    for _ in range(10):
        sim.step()
        np.testing.assert_allclose(sim.positions[vertices], places, atol=slack(sim))
    sim.release(kind([2, 21]))
    assert sim.grabbed == (23, 7)
    np.testing.assert_array_equal(sim.targets[:5], home)
    np.testing.assert_array_equal(sim.targets[5:], places[[2, 0]])
    sim.release((23, 7))
    assert sim.grabbed == ()
    np.testing.assert_array_equal(sim.targets, home)


def test_a_patch_stays_where_it_is_without_a_target(sim):
    sim.step()
    where = sim.positions
    assert sim.grab([11, 12]) == (11, 12)
    np.testing.assert_array_equal(sim.targets[5:], where[[11, 12]])


def test_moving_a_patch_needs_no_new_model(sim):
    """A patch, a part of it in another order, one of it by number: targets move, nothing else is made."""
    sim.grab([11, 12, 13])
    sim.step()
    system, model = sim.system, sim.model
    sim.grab((13, 11), [[0, 1, 3], [0, 1, 1]])
    sim.grab(12, (0, 1, 2))
    sim.grab(2, (0, 1, 0))  # has a pin already
    assert sim.system is system
    assert sim.model is model
    np.testing.assert_array_equal(sim.targets[5:], [[0, 1, 1], [0, 1, 2], [0, 1, 3]])
    np.testing.assert_array_equal(sim.targets[2], [0, 1, 0])


def test_a_patch_may_be_new_in_part(sim):
    """Those that were held stay on their rows' places when others join."""
    sim.grab([13, 20], [[0, 1, 13], [0, 1, 20]])
    sim.grab([17, 13], [[0, 1, 17], [0, 2, 13]])
    assert sim.model.pinned.tolist()[5:] == [13, 17, 20]
    np.testing.assert_array_equal(sim.targets[5:], [[0, 2, 13], [0, 1, 17], [0, 1, 20]])
    np.testing.assert_array_equal(sim.model.pinned[5:], [13, 17, 20])


def test_an_empty_patch_is_nothing(sim):
    model = sim.model
    assert sim.grab([]) == ()
    assert sim.grab(np.zeros(0, int), np.zeros((0, 3))) == ()
    sim.release([])
    assert sim.model is model


def test_a_patch_is_as_its_vertices_one_by_one():
    """The same bits."""
    vertices, places = [7, 12, 17], np.array([[0, 0.1, -0.2], [0, 0.2, 0.0], [0, 0.1, 0.3]])
    first, second = (Simulation(sheet(), budget=Budget(iterations=5), threads=1) for _ in range(2))
    first.grab(vertices, places)
    for vertex, place in zip(vertices, places, strict=True):
        second.grab(vertex, place)
    for _ in range(5):
        first.step()
        second.step()
    np.testing.assert_array_equal(first.positions, second.positions)


def test_a_grab_is_the_pin_of_a_model(sim):
    """The pins of a grab are those of Model.pin."""
    sim.grab([12, 7], [[0, 1, 12], [0, 1, 7]])
    mine, other = sim.model.groups[-1], sheet().pin([12, 7], target=[[0, 1, 12], [0, 1, 7]]).groups[-1]
    assert mine.kind is other.kind
    for name in ("vertices", "operator", "weights", "parameters"):
        a, b = getattr(mine, name), getattr(other, name)
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype
        assert not a.flags.writeable


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


def test_a_wire_can_be_grabbed_by_a_ray():
    wire = mesh.Mesh.from_edges(np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]]), [[0, 1], [1, 2]])
    sim = Simulation(Model.of(wire, Wire()), solver="pbd", budget=Budget(iterations=5), threads=1)
    assert sim.grab(((2.0, 1.0, 0.0), DOWN)) == 2
    for _ in range(5):
        sim.step()
    np.testing.assert_array_equal(sim.positions[2], [2, 0, 0])
