"""What stands in a scene is moved by hand: the cloth goes along, nothing passes through, and it can be undone."""

from dataclasses import replace

import numpy as np
import pytest

from viewer.conftest import SWEEPS, running, until
from vivace import mesh
from vivace.collisions.colliders import Plane, Sphere
from vivace.errors import InputError
from vivace.model.materials import Cloth
from vivace.model.model import Model
from vivace.rigid.bodies import Body
from vivace.rigid.paths import Led
from vivace.scenes import Scene
from vivace.simulation.rigid_simulation import RigidSimulation
from vivace.viewer import Target
from vivace.viewer import messages as m
from vivace.viewer.adding import with_body
from vivace.viewer.edges import Edges
from vivace.viewer.exchanging import exchange
from vivace.viewer.recordings import Recording
from vivace.viewer.starting import run_scene
from vivace.viewer.things import FASTEST, LAYERS, TORN, Things

TABLE = Target("tablecloth", {"resolution": 16})
KEY = ("1", 0)
HERE = [0.0, 0.4, 0.0]

slow = pytest.mark.slow


def start(target=TABLE, steps=40):
    return settled(target.load(), steps)


def settled(scene, steps):
    sim = scene.simulate(threads=1)
    run = run_scene(scene, sim)
    sim.budget = SWEEPS
    for _ in range(steps):
        run.step()
    return run


def take(run, thing=0, place=HERE, key=KEY):
    run.grab(key, m.Grab(0, 0, place, run.backdrop.number, 1, thing=thing))


def moved(x, y, z):
    return np.add(HERE, (x, y, z))


def distance(run):
    """Of the soft vertices from all that stands, where that is now (m)."""
    x = run.sims[0].positions.astype(np.float64)
    return min(float(shape.distance(x - thing.path.shift).min()) for thing in run.things.all for shape in thing.shapes)


def forces(sim):
    """The forces that contacts remember, summed for each of what they are with."""
    memory, settings = sim.solver.remembered(), sim.model.collisions
    touched = [*settings.colliders, *(body.shape for body in settings.bodies)]
    which = memory["contacts.keys"] & ((1 << 31) - 1)
    return {id(touched[k]): memory["contacts.forces"][which == k].sum(axis=0) for k in np.unique(which)}


def balls(*spheres, pin="corners"):
    sheet = mesh.cloth(10, 10, 0.5, 0.5, plane="horizontal").transformed(translate=(0, 0.5, 0))
    model = Model.of(sheet, Cloth(0.2, 1e4, 1e-4)).pin(pin)
    return Scene("balls", model.collide([Plane(), *spheres], thickness=0.01), 1 / 30)


def test_a_led_body_goes_evenly_and_stays():
    """p(t) = p₀ + (t - t₀)/T d on the way, and p₀ + d after it: v = d/T."""
    led = Led()
    sim = RigidSimulation([Body(Sphere((0, 1, 0), 0.1), path=led)], time_step=0.1, substeps=4)
    led.go((0.2, 0.0, 0.0), 0.0, 0.1)
    np.testing.assert_allclose(led(0.025)[0], [0.05, 0, 0])
    np.testing.assert_allclose(led.velocity, [2.0, 0, 0])
    sim.step()
    np.testing.assert_allclose(sim.positions[0], [0.2, 1, 0], atol=1e-12)
    np.testing.assert_allclose(sim.velocities[0], [2.0, 0, 0], atol=1e-9)
    sim.step()
    np.testing.assert_allclose(sim.positions[0], [0.2, 1, 0], atol=1e-12)
    np.testing.assert_allclose(sim.velocities[0], 0, atol=1e-9)


def test_what_touches_is_one_thing():
    """A table and its foot; two balls that are apart are two; the floor is none."""
    assert [thing.numbers for thing in Things(TABLE.load().model).all] == [(1, 2)]
    apart = balls(Sphere((0, 0.2, 0), 0.1), Sphere((0.5, 0.2, 0), 0.1)).model
    assert [thing.numbers for thing in Things(apart).all] == [(1,), (2,)]
    together = balls(Sphere((0, 0.2, 0), 0.1), Sphere((0.15, 0.2, 0), 0.1)).model
    assert [thing.numbers for thing in Things(together).all] == [(1, 2)]
    assert not len(Things(Target("tablecloth", {"resolution": 8, "table": False}).load().model))


def test_the_page_knows_which_vertices_go_together():
    run = start(steps=0)
    scenery = run.backdrop.scene.model
    numbers = Things(scenery).numbers()
    assert numbers == {1: 0, 2: 0}
    assert b"scenery_things" in run.backdrop.message


@slow
def test_taking_something_moves_nothing():
    """The same bits where nothing is another thing; as bodies, colliders hold triangles, too, by some mm."""
    run, same, other = start(), start(), start()
    take(run)
    model = same.sims[0].model
    exchange(same.sims[0], replace(model, collisions=replace(model.collisions)))
    for one in (run, same, other):
        one.step()
    assert run.sims[0].bodies is not None
    np.testing.assert_array_equal(same.sims[0].positions, other.sims[0].positions)
    assert np.abs(run.sims[0].positions - other.sims[0].positions).mean() < 2e-3


@slow
def test_a_table_takes_its_cloth_along():
    """Led up and aside it goes no faster than a hand; friction carries the cloth, none of which is inside it."""
    run = start()
    before, h = run.sims[0].positions.mean(axis=0), run.sims[0].time_step
    take(run)
    run.pointers.drag(run.sims, KEY, moved(0.3, 0.2, 0.0))
    last = np.zeros(3)
    for _ in range(30):
        (view,) = run.step()
        shift = np.array(view.shifts[0])
        assert np.linalg.norm(shift - last) <= FASTEST * h * (1 + 1e-9)
        assert distance(run) > 0
        last = shift
    np.testing.assert_allclose(last, [0.3, 0.2, 0.0], atol=2e-3)
    assert view.report.bodies is None  # the page draws it as scenery
    np.testing.assert_allclose(run.sims[0].positions.mean(axis=0) - before, [0.3, 0.2, 0.0], atol=0.05)
    run.pointers.release(run.sims, KEY)
    (carry,) = run.carried()
    assert (carry.thing, carry.before) == (0, (0.0, 0.0, 0.0))
    run.step()
    np.testing.assert_array_equal(run.things.shifts[0], carry.after)  # it stays
    run.reset()
    run.step()
    assert run.sims[0].bodies is None
    assert run.things.shifts == ()


@slow
def test_a_thing_stops_at_walls_and_slides_along_them():
    """Pressed to the floor there is room for cloth under it; where it stood on the floor it comes back to that."""
    run = settled(balls(Sphere((0.0, 0.2, 0.0), 0.1), Sphere((0.5, 0.2, 0.0), 0.1)), 1)
    take(run, 0, [0.0, 0.2, 0.0])
    run.pointers.drag(run.sims, KEY, np.array([0.8, -0.5, 0.0]))
    for _ in range(40):
        run.step()
    x, y, _ = run.things.shifts[0]
    room = LAYERS * 0.01
    assert y == pytest.approx(-0.1 + room, abs=2e-3)  # above the floor
    assert np.hypot(0.5 - x, y) == pytest.approx(0.2 + room, abs=5e-3)  # beside the other ball
    table = start(steps=5)
    take(table)
    for height in (0.1, -0.5):
        table.pointers.drag(table.sims, KEY, moved(0.0, height, 0.0))
        for _ in range(20):
            table.step()
    assert abs(table.things.shifts[0][1]) < 1e-6  # its foot stands in the floor, as it did


@slow
def test_a_thing_gives_way_before_cloth_would_tear():
    """Pushed far up into a cloth that is held by its corners."""
    run = settled(balls(Sphere((0.0, 0.3, 0.0), 0.1)), 5)
    edges = Edges(run.model.mesh)
    take(run, 0, [0.0, 0.3, 0.0])
    run.pointers.drag(run.sims, KEY, np.array([0.0, 3.0, 0.0]))
    worst = 0.0
    for _ in range(60):
        run.step()
        worst = max(worst, edges.strain(run.sims[0].positions.astype(np.float32))[2])
        assert distance(run) > 0
    assert run.things.shifts[0][1] < 0.8
    assert worst < 1.1 * TORN


@slow
def test_what_lies_there_lies_on_when_something_is_taken():
    """A ball that was thrown in goes on with its pose and velocity, and the table is led under it."""
    run = with_body(start(steps=5), "ball")
    for _ in range(15):
        run.step()
    sim = run.sims[0]
    pose, speed = sim.bodies.positions[0], sim.bodies.velocities[0]
    before = forces(sim)
    take(run)
    after = forces(sim)
    assert before.keys() == after.keys()
    for name, pressed in before.items():
        np.testing.assert_allclose(after[name], pressed, rtol=1e-6)
    np.testing.assert_array_equal(sim.bodies.positions[0], pose)
    np.testing.assert_array_equal(sim.bodies.velocities[0], speed)
    (view,) = run.step()
    assert len(view.report.bodies.positions) == 1  # the ball alone
    again = with_body(run, "box")
    assert (len(sim.bodies), again.added) == (4, 2)
    again.step()
    again.reset()  # as after a solver has lost it
    again.step()
    whole = again.without_added()
    whole.reset()
    assert sim.bodies is None
    whole.step()


@slow
def test_both_halves_of_a_split_view_see_it():
    run = start(steps=5)
    take(run)
    run.pointers.drag(run.sims, KEY, moved(0.0, 0.2, 0.0))
    for _ in range(8):
        run.step()
    run.compare_with("vivace", run.maker("vivace")())
    for _ in range(20):
        first, second = run.step()
    heights = [sim.bodies.positions[:, 1] for sim in run.sims]
    np.testing.assert_allclose(*heights, atol=1e-9)
    assert first.shifts == second.shifts
    assert run.sims[1].positions[:, 1].max() > 0.65


@slow
def test_recordings_know_where_it_was():
    run = start(steps=5)
    recording = Recording()
    recording.begin(run.scene, run.settings, run.sims[0])
    recording.add_view(run.step()[0], run.backdrop, 0.033)
    take(run)
    run.pointers.drag(run.sims, KEY, moved(0.0, 0.1, 0.0))
    for _ in range(12):
        recording.add_view(run.step()[0], run.backdrop, 0.033)
    assert recording.view(0)[0].shifts == ()
    (shift,) = recording.view(12)[0].shifts
    assert shift[1] > 0.05
    numbers = recording.numbers()
    bodies = numbers["body_positions"]
    assert bodies.shape == (13, 2, 3)
    np.testing.assert_allclose(bodies[12] - bodies[0], np.tile(shift, (2, 1)), atol=1e-6)
    film = recording.film(None)
    assert film.frames.shape[1] > run.model.n  # the table moves in it
    run.resume(*recording.motion(12), recording.shifts(12))
    run.step()
    np.testing.assert_allclose(run.things.shifts[0], shift, atol=1e-6)
    run.resume(*recording.motion(0), recording.shifts(0))
    assert not np.any(run.things.shifts)


def test_what_cannot_be_taken_is_refused():
    run = start(steps=0)
    with pytest.raises(InputError, match="there is no thing 3 to take: 1 of what stands"):
        take(run, 3)
    assert not run.things.taken
    scene = Target("box-stack", {}).load()
    stack = run_scene(scene, scene.simulate())
    with pytest.raises(InputError, match="is made of rigid ones"):
        take(stack)


@slow
def test_a_page_moves_a_table_and_takes_it_back():
    """Undo leads it back as a hand would, redo there again; starting anew puts it where it stood."""
    with running(TABLE) as told:
        told.frames(2)
        session = told.session

        def height():
            shifts = session.newest.views[0].shifts
            return shifts[0][1] if shifts else 0.0

        told.tell(m.Grab(0, 0, HERE, 1, told.order(), thing=0))
        told.tell(m.Drag(0, [0.0, 0.6, 0.0], told.order()))
        until(lambda: height() > 0.19, "the table")
        told.tell(m.Release(0, told.order()))
        until(lambda: session.state.undo == "move", "the change")
        told.tell(m.History("undo"))
        until(lambda: abs(height()) < 1e-3, "the table back")
        told.tell(m.History("redo"))
        until(lambda: height() > 0.19, "the table up again")
        assert session.newest.backdrop.number == 1  # the page goes on with the scene that it has
        told.tell(m.Pin([0], True, 1, 1))
        until(lambda: session.newest.backdrop.number == 2, "a pin")
        assert height() > 0.19
        told.tell(m.Run("reset"))
        until(lambda: height() == 0.0, "the start")
        assert session.sims[0].bodies is None
        told.tell(m.Grab(0, 0, HERE, 2, told.order(), thing=0))
        told.settle()
        assert KEY in session.running_scene.pointers
        session.leave("1")
        told.settle()
        assert KEY not in session.running_scene.pointers
        assert not told.notices()
