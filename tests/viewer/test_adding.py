"""Things thrown into a running scene: they fall, lie on the cloth, are grabbed and thrown, and go with a reset."""

import numpy as np
import pytest

from viewer.conftest import SWEEPS, running, until
from vivace.errors import InputError
from vivace.viewer import Target
from vivace.viewer import messages as m
from vivace.viewer.adding import MOST_ADDED, Addition, with_body
from vivace.viewer.starting import run_scene

TABLE = Target("tablecloth", {"resolution": 16})
KEY = ("1", 0)

pytestmark = pytest.mark.slow


def start(target=TABLE):
    scene = target.load()
    sim = scene.simulate(threads=1)
    run = run_scene(scene, sim)
    sim.budget = SWEEPS
    return run


@pytest.mark.parametrize("shape", ["ball", "box", "capsule"])
def test_a_body_falls_onto_the_cloth(shape):
    """It comes to lie on the table top, on the cloth, and the cloth goes on as it was."""
    run = start()
    for _ in range(10):
        run.step()
    before = run.sims[0].positions
    more = with_body(run, shape)
    sim = more.sims[0]
    np.testing.assert_array_equal(sim.positions, before)
    assert more.backdrop.number == run.backdrop.number + 1
    first = float(sim.bodies.positions[0, 1])
    assert first > before[:, 1].max()
    for _ in range(40):
        (view,) = more.step()
    y = float(sim.bodies.positions[0, 1])
    assert 0.5 < y < first - 0.02
    under = np.linalg.norm((sim.positions - sim.bodies.positions[0])[:, [0, 2]], axis=1) < 0.03
    assert not under.any() or y > sim.positions[under, 1].max()  # on the cloth, not below it
    assert view.vertices.shape[0] == sim.model.n + len(more.mesh.local)


def test_several_and_out_again():
    """The first goes on as it is when another comes; without them there is the scene as it was, with its settings."""
    run = start()
    original = run.sims[0].model
    more = with_body(run, "ball")
    for _ in range(15):
        more.step()
    sim = more.sims[0]
    pose, speed = sim.bodies.positions[0], sim.bodies.velocities[0]
    more.set_gravity(3.0)
    most = with_body(more, "box")
    np.testing.assert_array_equal(sim.bodies.positions[0], pose)
    np.testing.assert_array_equal(sim.bodies.velocities[0], speed)
    assert (len(sim.bodies), most.added) == (2, 2)
    most.step()
    most.reset()  # as after a solver has lost it: with what was added
    np.testing.assert_array_equal(sim.positions, run.start[0])
    most.step()
    whole = most.without_added()
    whole.reset()
    assert whole is run
    assert sim.bodies is None
    assert sim.model.collisions is original.collisions
    np.testing.assert_array_equal(sim.positions, run.start[0])
    assert whole.settings.gravity == 3.0
    assert whole.backdrop.number > most.backdrop.number
    whole.step()


def test_what_was_added_is_grabbed_and_thrown():
    more = with_body(start(), "ball")
    sim = more.sims[0]
    vertex = more.mesh.first
    more.step()
    target = (sim.bodies.positions[0] + [0.0, 0.3, 0.0]).tolist()
    more.grab(KEY, m.Grab(0, vertex, target, more.backdrop.number, 1))
    for k in range(12):
        more.pointers.drag(more.sims, KEY, np.add(target, [0.05 * k, 0.0, 0.0]))
        more.step()
    more.pointers.release(more.sims, KEY)
    assert sim.bodies.velocities[0, 0] > 0.3


def test_a_scene_without_contacts_gets_a_floor():
    run = start(Target("tablecloth", {"resolution": 12, "table": False}))
    more = with_body(run, "ball")
    for _ in range(3):
        more.step()
    assert len(more.sims[0].model.collisions.colliders) == 1
    whole = more.without_added()
    whole.reset()
    assert run.sims[0].model.collisions is None
    run.step()


def test_what_cannot_be_thrown_in_is_refused():
    run = start()
    for _ in range(MOST_ADDED):
        run = with_body(run, "ball")
    before = run.sims[0].model
    with pytest.raises(InputError, match=f"{MOST_ADDED} things are in the scene already"):
        with_body(run, "box")
    assert run.sims[0].model is before
    with pytest.raises(InputError, match="is made of rigid ones"):
        with_body(start_rigid(), "ball")


def test_a_scene_that_has_changed_meanwhile_is_left_alone():
    run = start()
    addition = Addition(run, "ball")
    solver = addition.make_solver()
    run.set_stiffness(2.0)
    with pytest.raises(InputError, match="has changed while this was made ready"):
        addition.apply(solver)
    assert run.sims[0].bodies is None
    run.step()


def start_rigid():
    scene = Target("box-stack", {}).load()
    return run_scene(scene, scene.simulate())


def test_solvers_that_cannot_push_are_refused():
    scene = TABLE.load()
    run = run_scene(scene, scene.simulate(solver="pbd-coloured", threads=1))
    with pytest.raises(InputError, match="does not tell what presses"):
        with_body(run, "ball")
    assert run.sims[0].bodies is None


def test_a_page_throws_something_in_and_starts_again():
    with running(TABLE) as told:
        told.frames(2)
        told.tell(m.AddBody("box"))
        until(lambda: told.session.newest.backdrop.number == 2, "the scene with the box")
        sim = told.session.sims[0]
        assert len(sim.bodies) == 1
        told.tell(m.Run("reset"))
        until(lambda: told.session.newest.backdrop.number == 3, "the scene without it")
        assert sim.bodies is None
        assert not told.notices()
        told.change(paused=True)
        told.tell(m.AddBody("ball"))
        until(lambda: told.session.newest.backdrop.number == 4, "a ball while paused")
