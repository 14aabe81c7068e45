"""Animated meshes in the app without a browser: where they are in frames, and that all else works with them."""

import numpy as np
import pytest

import vivace as vv
from viewer.conftest import SWEEPS, running, until
from vivace.collisions import Box, Plane, Sphere
from vivace.errors import InputError
from vivace.model import cut_model
from vivace.pictures.bodies import LED, film_of_model
from vivace.scenes import Scene
from vivace.solvers import make_solver
from vivace.viewer import Target, ghost
from vivace.viewer import messages as m
from vivace.viewer.adding import with_body
from vivace.viewer.editing import ModelEdit, pinned_by, unpinned
from vivace.viewer.frames import frame_message
from vivace.viewer.packing import unpack
from vivace.viewer.recordings import Recording
from vivace.viewer.running_scene import RunningScene
from vivace.viewer.snapshot import Snapshot
from vivace.viewer.starting import run_scene

KEY = ("1", 0)
H, SIDE, SPEED = 1 / 30, 6, 0.6


def moving_ball():
    """A ball below a cloth, that goes along x and swells."""
    surface = Sphere((0, 0, 0), 0.1).surface(2)
    grown = surface.vertices[None] * np.array([1.0, 1.3])[:, None, None]
    places = np.array([[0.0, 0.0, 0.0], [2.0 * SPEED, 0.0, 0.0]])
    return vv.AnimatedMesh(vv.caches.Animation([0.0, 2.0], grown + places[:, None], surface.triangles), name="the ball")


def shift(time):
    return [0.3 * time, 0.0, 0.0]


def scene_of(*others):
    """A cloth over the ball, one edge of which goes along x."""
    sheet = vv.mesh.cloth(SIDE, SIDE, 0.5, 0.5, plane="horizontal").transformed(translate=(0.0, 0.2, 0.0))
    edge = np.flatnonzero(sheet.vertices[:, 0] < sheet.vertices[:, 0].min() + 1e-9)
    model = vv.Model.of(sheet).pin(edge, path=shift)
    return Scene("over a ball", model.collide([moving_ball(), *others], thickness=0.01, itself=False), H)


def run(*others):
    scene = scene_of(*others)
    found = run_scene(scene, scene.simulate(threads=1, budget=SWEEPS))
    assert isinstance(found, RunningScene)
    found.sims[0].budget = SWEEPS
    return found


@pytest.fixture
def cloth():
    return run()


def shown(found, view):
    snapshot = Snapshot(1, found.backdrop, 0.0, 1.0, found.settings, {}, (view,), 1.0)
    return unpack(frame_message(snapshot, 32))[1]["positions0"].reshape(-1, 3)


def grab(vertex, target):
    return m.Grab(0, vertex, list(target), 1, 1)


@pytest.mark.slow
def test_the_page_gets_an_animated_mesh_after_the_cloth_and_cannot_take_it(cloth):
    header, arrays = unpack(cloth.backdrop.message)
    ball, n = moving_ball(), SIDE * SIDE
    assert (header["soft"], header["vertices"]) == (n, n + ball.n_vertices)
    triangles = arrays["triangles"].reshape(-1, 3)
    of_ball = (triangles >= n).any(axis=1)
    np.testing.assert_array_equal(triangles[of_ball], ball.triangles + n)
    assert np.flatnonzero(of_ball).min() == (~of_ball).sum()  # the page's ghost has those before them
    np.testing.assert_array_equal(arrays["immovable"], n + np.arange(ball.n_vertices))
    colours = arrays["colours"].reshape(-1, 3)
    np.testing.assert_allclose(colours[n:] / 255, np.tile(LED, (ball.n_vertices, 1)), atol=1 / 255)
    cloth.grab(KEY, grab(3, (0.0, 0.5, 0.0)))
    with pytest.raises(InputError, match="the ball moves as its animation says and cannot be grabbed"):
        cloth.grab(KEY, grab(n + ball.n_vertices - 1, (0.0, 0.5, 0.0)))
    assert cloth.pointers.vertices == (3,)
    with pytest.raises(InputError, match="there is no vertex"):
        cloth.grab(KEY, grab(n + ball.n_vertices, (0.0, 0.5, 0.0)))


@pytest.mark.slow
def test_frames_have_it_where_it_is_at_the_simulations_time(cloth):
    """After steps of one length and of another, and from the start again after a reset."""
    ball, n = moving_ball(), SIDE * SIDE
    first = [shown(cloth, cloth.step()[0]) for _ in range(3)]
    np.testing.assert_allclose(first[2][n:], ball.at(3 * H), atol=1e-6)
    assert np.ptp(first[2][n:] - first[0][n:], axis=0).max() > 1e-4  # it swells
    cloth.set_time_step(2 * H)
    np.testing.assert_allclose(shown(cloth, cloth.step()[0])[n:], ball.at(5 * H), atol=1e-6)
    cloth.set_time_step(H)
    cloth.reset()
    assert cloth.sims[0].time == 0.0
    again = [shown(cloth, cloth.step()[0]) for _ in range(3)]
    np.testing.assert_array_equal(again[2][n:], first[2][n:])
    np.testing.assert_allclose(again[2][:n], first[2][:n], atol=1e-4)


def test_two_solvers_cuts_and_edits_go_on_at_the_same_time(cloth):
    """What is made anew, made when it is: the ball, and the pins' path."""
    for _ in range(3):
        cloth.step()
    cloth.compare_with("vivace", make_solver("vivace"))
    assert [sim.time for sim in cloth.sims] == [3 * H, 3 * H]
    cloth.compare_no_more()
    (sim,) = cloth.sims
    middle = sim.positions.mean(axis=0).astype(float)
    eye = middle + np.array([0.0, 2.0, 0.0])
    stroke = [(middle + np.array([0.02, 0.0, z])).tolist() for z in (-0.5, 0.5)]
    made = cut_model(cloth.model, eye.tolist(), stroke, sim.positions)
    assert made.model.n > cloth.model.n
    edit = ModelEdit("cut", cloth.model, made.model, made.parents, parted=made.parted)
    cloth.use_model(edit)
    (view,) = cloth.step()
    n = made.model.n
    np.testing.assert_allclose(shown(cloth, view)[n:], moving_ball().at(4 * H), atol=1e-6)
    assert cloth.backdrop.animated.first == n
    cloth.use_model(edit, back=True)
    (view,) = cloth.step()
    np.testing.assert_allclose(shown(cloth, view)[SIDE * SIDE :], moving_ball().at(5 * H), atol=1e-6)


@pytest.mark.slow
def test_pins_on_a_path_are_grabbed_let_go_and_pinned_again(cloth):
    (sim,), edge = cloth.sims, cloth.model.pinned
    homes = cloth.model.targets

    def places():
        return homes + np.array(shift(sim.time))

    cloth.step()
    np.testing.assert_allclose(sim.positions[edge], places(), atol=2e-3)
    one = int(edge[0])
    cloth.grab(KEY, grab(one, homes[0] + [0.0, 0.05, 0.0]))
    for _ in range(4):
        cloth.step()
    assert sim.positions[one, 1] > homes[0, 1] + 0.01
    np.testing.assert_allclose(sim.positions[edge[1:]], places()[1:], atol=2e-3)
    cloth.pointers.release(cloth.sims, KEY)
    for _ in range(4):
        cloth.step()
    np.testing.assert_allclose(sim.positions[edge], places(), atol=2e-3)

    cloth.use_model(ModelEdit("unpin", cloth.model, unpinned(cloth.model, [one])))
    for _ in range(6):
        cloth.step()
    assert one not in sim.model.pinned
    assert one not in np.concatenate([path.vertices for path in sim.model.paths])
    np.testing.assert_allclose(sim.positions[edge[1:]], places()[1:], atol=2e-3)
    model = pinned_by("scene", cloth.model, cloth.own_model, sim.positions)
    cloth.use_model(ModelEdit("pins", cloth.model, model))
    for _ in range(4):
        cloth.step()
    np.testing.assert_allclose(sim.positions[edge], places(), atol=2e-3)


def test_recordings_know_when_their_frames_were(cloth):
    """Shown again, gone on from, and in a film: begun in the middle."""
    ball, recording, n = moving_ball(), Recording(), SIDE * SIDE
    for _ in range(2):
        cloth.step()
    recording.begin(cloth.scene, cloth.settings, cloth.sims[0])
    for _ in range(3):
        recording.add_view(cloth.step()[0], cloth.backdrop, H)
    view, _, seconds = recording.view(1)
    assert seconds == pytest.approx(2 * H)
    np.testing.assert_allclose(view.vertices[n:], ball.at(4 * H), atol=1e-6)
    film = recording.film(None)
    for k, frame in enumerate(film.drawn()[0]):
        np.testing.assert_allclose(frame[n:], ball.at((k + 3) * H), atol=1e-6)
    cloth.resume(*recording.motion(0), seconds=recording.simulated(0))
    assert cloth.sims[0].time == pytest.approx(3 * H)
    np.testing.assert_allclose(cloth.step()[0].vertices[n:], ball.at(4 * H), atol=1e-6)


@pytest.mark.slow
def test_things_that_are_thrown_in_come_before_it():
    """A cloth, then a ball that falls, then what is animated; films have them all."""
    found = with_body(run(Plane((0.0, -1.0, 0.0))), "ball")
    n, ball, rigid = SIDE * SIDE, moving_ball(), len(found.mesh.local)
    (view,) = found.step()
    seen = shown(found, view)
    assert seen[n : n + rigid, 1].min() > ball.at(H)[:, 1].max()  # above everything that is there
    assert len(seen) == n + rigid + ball.n_vertices
    np.testing.assert_allclose(seen[n + rigid :], ball.at(H), atol=1e-6)
    with pytest.raises(InputError, match="cannot be grabbed"):
        found.grab(KEY, grab(n + rigid, (0.0, 0.5, 0.0)))
    found.grab(KEY, grab(n, (0.0, 0.5, 0.0)))
    back = found.without_added()
    back.reset()
    assert back.sims[0].time == 0.0
    assert len(back.step()[0].vertices) == n + ball.n_vertices


def test_films_draw_rigid_and_animated_bodies():
    box = vv.Body(Box((0.0, 0.6, 0.0), (0.05, 0.05, 0.05)), density=500.0)
    scene = scene_of(box)
    sim = scene.simulate(threads=1, budget=SWEEPS)
    reports = [sim.step() for _ in range(2)]
    poses = tuple(np.stack([getattr(r.bodies, name) for r in reports]) for name in ("positions", "orientations"))
    frames = np.stack([report.positions for report in reports])
    made = film_of_model(scene.model, frames, H, poses=poses, view=scene.view, settings={})
    ball = moving_ball()
    drawn, triangles = made.drawn()
    assert triangles.max() == len(drawn[0]) - 1 == len(made.bodies.colours) + SIDE * SIDE - 1
    np.testing.assert_allclose(drawn[1][-ball.n_vertices :], ball.at(2 * H), atol=1e-6)
    rigid = made.bodies.frames[1][: -ball.n_vertices]
    np.testing.assert_allclose((rigid.min(axis=0) + rigid.max(axis=0)) / 2, poses[0][1, 0], atol=1e-3)
    assert set(made.bodies.owner.tolist()) == {0, 1}


@pytest.mark.slow
def test_a_session_has_it_with_a_ghost(monkeypatch):
    """Both motions begin at the same place, and the ball is where it was in each frame that is shown again."""
    monkeypatch.setattr(ghost, "SECONDS", 0.2)
    scene, n = scene_of(), SIDE * SIDE
    with running(Target("over a ball", {}), scene=scene) as told:
        told.frames(3)
        told.tell(m.SetGhost(on=True))
        seen = {}

        def look():
            new = told.session.newest
            if new.ghost is not None:
                seen[new.ghost.frame] = new
            return new.ghost is not None and len(seen) == new.ghost.frames

        until(look, "all frames of a ghost")
        assert seen[0].ghost.largest == 0
        begun = seen[0].views[0].seconds
        assert begun > 2 * H
        for k, one in seen.items():
            np.testing.assert_allclose(one.views[0].vertices[n:], moving_ball().at(begun + k * H), atol=1e-6)
            assert len(one.ghost.positions) == n
            assert one.ghost.rms < 0.2
        told.tell(m.SetGhost(on=False))
        told.change(paused=True)
        told.tell(m.Run("reset"))
        told.settle()
        until(lambda: told.session.newest.time == pytest.approx(H), "the first step after a reset")
        assert not told.notices()
