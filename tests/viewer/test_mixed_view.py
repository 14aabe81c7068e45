"""Rigid bodies that a soft one touches, in the app without a browser: one mesh of both, pointers, reset, settings."""

from dataclasses import replace

import numpy as np
import pytest

from viewer.conftest import SWEEPS, running, until
from vivace import Body, mesh
from vivace.collisions import Box, Plane
from vivace.errors import InputError
from vivace.model.materials import Solid
from vivace.model.model import Model
from vivace.rigid import rotation
from vivace.scenes import Scene, make_scene
from vivace.viewer import Target
from vivace.viewer import messages as m
from vivace.viewer.exports import Work, write_recording
from vivace.viewer.frames import frame_message
from vivace.viewer.packing import unpack
from vivace.viewer.recordings import Recording, _film
from vivace.viewer.recordings import frame_of as kept_of
from vivace.viewer.running import Lost
from vivace.viewer.running_mixed import RunningMixedScene
from vivace.viewer.snapshot import Backdrop, Snapshot
from vivace.viewer.starting import run_scene

KEY = ("1", 0)
CORNERS = 24  # of a box, each once for every face


def run(name="box-on-jelly", **parameters):
    scene = make_scene(name, **parameters)
    found = run_scene(scene, scene.simulate(threads=1, budget=SWEEPS))
    assert isinstance(found, RunningMixedScene)
    found.sims[0].budget = SWEEPS
    return found


@pytest.fixture
def jelly():
    """A box of 18 cm over a soft cube of 27 vertices."""
    return run(n=3)


def grab(vertex, target, **exact):
    return m.Grab(0, vertex, list(target), 1, 1, **exact)


def frame_of(found, views, colour_by="plain"):
    found.set_colour_by(colour_by)
    snapshot = Snapshot(1, found.backdrop, 0.0, 1.0, found.settings, {}, views, 1.0)
    return unpack(frame_message(snapshot, 32))


def test_the_page_gets_soft_vertices_and_after_them_those_of_bodies(jelly):
    header, arrays = unpack(jelly.backdrop.message)
    soft = jelly.sims[0].model.n
    assert (header["soft"], header["vertices"]) == (soft, soft + CORNERS)
    assert header["bodies"] == "soft"
    assert header["summary"].endswith(", 1 rigid body")
    triangles = arrays["triangles"].reshape(-1, 3)
    of_box = (triangles >= soft).any(axis=1)
    assert of_box.sum() == 12
    assert (triangles[of_box] >= soft).all()
    colours = arrays["colours"].reshape(-1, 3)
    assert len(colours) == soft + CORNERS
    assert (colours[0] != colours[-1]).any()  # a hue that the soft body has not
    assert arrays["immovable"].size == 0


def test_vertices_of_bodies_follow_their_poses(jelly):
    """Place + turn · local, after steps in which the box falls."""
    soft = jelly.sims[0].model.n
    for _ in range(5):
        views = jelly.step()
    _, arrays = frame_of(jelly, views)
    shown, bodies = arrays["positions0"].reshape(-1, 3), jelly.sims[0].bodies
    expected = bodies.positions[0] + jelly.mesh.local @ rotation.matrices(bodies.orientations[0]).T
    np.testing.assert_allclose(shown[soft:], expected, atol=1e-6)
    np.testing.assert_array_equal(shown[:soft], views[0].report.positions)
    assert shown[soft:, 1].mean() < jelly.mesh.start[:, 1].mean() - 0.01


@pytest.mark.parametrize("colour_by", ["strain", "contact", "residual"])
def test_colours_of_numbers_are_for_soft_vertices(jelly, colour_by):
    _, arrays = frame_of(jelly, jelly.step(), colour_by)
    assert len(arrays["values0"]) == jelly.sims[0].model.n
    assert len(arrays["positions0"]) == 3 * (jelly.sims[0].model.n + CORNERS)


def test_a_pointer_on_a_body_pulls_the_body_and_throws_it(jelly):
    """Held by the point that it touched, in the frame of the box as it is now."""
    (sim,) = jelly.sims
    soft = sim.model.n
    corners = (soft + jelly.mesh.triangles[0]).tolist()
    weights = [0.25, 0.5, 0.25]
    touched = weights @ jelly.mesh.start[jelly.mesh.triangles[0]]
    wanted = touched + np.array([0.3, 0.3, 0.0])
    jelly.grab(KEY, grab(corners[0], wanted, corners=corners, weights=weights))
    np.testing.assert_allclose(sim.bodies.rigid.grabbed_points, [touched], atol=1e-6)
    for _ in range(30):
        (view,) = jelly.step()
    np.testing.assert_allclose(view.held_points, [wanted], atol=0.05)
    assert view.held == ()
    for k in range(10):
        jelly.pointers.drag(jelly.sims, KEY, wanted + np.array([0.0, 0.04 * k, 0.0]))
        jelly.step()
    jelly.pointers.release(jelly.sims, KEY)
    assert KEY not in jelly.pointers
    assert sim.bodies.rigid.grabbed == ()
    assert sim.bodies.velocities[0, 1] > 0.5  # it flies on


def test_one_pointer_holds_one_thing(jelly):
    (sim,) = jelly.sims
    soft = sim.model.n
    jelly.grab(KEY, grab(0, (0.0, 0.5, 0.0)))
    assert jelly.pointers.vertices == (0,)
    jelly.grab(KEY, grab(soft, (0.0, 0.5, 0.0)))
    assert jelly.pointers.vertices == ()
    assert len(sim.bodies.rigid.grabbed) == 1
    assert 0 not in sim.model.pinned
    jelly.grab(KEY, grab(1, (0.0, 0.5, 0.0)))
    assert (jelly.pointers.vertices, sim.bodies.rigid.grabbed) == ((1,), ())
    jelly.grab(("1", 1), grab(soft + 3, (0.0, 0.5, 0.0)))
    jelly.pointers.release_client(jelly.sims, "1")
    assert (jelly.pointers.vertices, sim.bodies.rigid.grabbed) == ((), ())


def test_what_is_no_point_of_a_body_is_refused_and_nothing_is_let_go(jelly):
    soft = jelly.sims[0].model.n
    jelly.grab(KEY, grab(0, (0.0, 0.5, 0.0)))
    with pytest.raises(InputError, match=f"no vertex {soft + CORNERS} to grab: the scene has {soft + CORNERS}"):
        jelly.grab(KEY, grab(soft + CORNERS, (0.0, 0.5, 0.0)))
    with pytest.raises(InputError, match="a point of one of its triangles"):
        jelly.grab(KEY, grab(soft, (0.0, 0.5, 0.0), corners=[soft, soft - 1, soft], weights=[0.2, 0.4, 0.4]))
    assert jelly.pointers.vertices == (0,)


def test_reset_brings_bodies_back_and_keeps_the_settings(jelly):
    """The steps after it are those after the start."""
    (sim,) = jelly.sims
    starts = sim.positions, sim.bodies.positions, sim.bodies.orientations
    first = [jelly.step()[0].vertices for _ in range(3)]
    jelly.grab(KEY, grab(sim.model.n, (0.5, 0.5, 0.0)))
    for _ in range(20):
        jelly.step()
    jelly.set_wind(2.0)
    jelly.reset()
    assert np.array_equal(sim.positions, starts[0])
    assert np.array_equal(sim.bodies.positions, starts[1])
    assert np.array_equal(sim.bodies.orientations, starts[2])
    assert not sim.bodies.velocities.any()
    assert sim.bodies.rigid.grabbed == ()
    assert (jelly.time, sim.frames) == (0.0, 23)  # frames count on: by them one sees how soon a simulation is lost
    assert np.linalg.norm(sim.wind) == pytest.approx(2.0)
    jelly.set_wind(0.0)
    for before in first:
        np.testing.assert_allclose(jelly.step()[0].vertices, before, atol=1e-6)
    jelly.set_gravity(0.0)
    jelly.reset()
    for _ in range(3):
        jelly.step()
    np.testing.assert_allclose(sim.bodies.positions, starts[1], atol=1e-9)


def test_bodies_that_are_lost_are_told_and_brought_back(jelly, monkeypatch):
    """Whether they are nowhere, too far away, or so that a step cannot go on."""
    (sim,) = jelly.sims
    start = sim.bodies.positions
    for place in (np.nan, 1e5):
        report = sim.step()
        far = replace(report, bodies=replace(report.bodies, positions=np.full((1, 3), place)))
        with monkeypatch.context() as patch:
            patch.setattr(sim, "step", lambda budget, far=far: far)
            with pytest.raises(Lost, match="auto lost the simulation"):
                jelly.step()

    def fail(budget):
        raise np.linalg.LinAlgError("Singular matrix")

    with monkeypatch.context() as patch:
        patch.setattr(sim, "step", fail)
        with pytest.raises(Lost, match="auto lost the simulation") as caught:
            jelly.step()
    assert caught.value.__cause__ is None  # started again, and not refused
    jelly.reset()
    assert np.array_equal(sim.bodies.positions, start)
    jelly.step()


def test_stiffness_and_time_step_leave_bodies_where_they_are(jelly):
    (sim,) = jelly.sims
    for _ in range(5):
        jelly.step()
    poses = sim.bodies.positions
    jelly.set_stiffness(2.0)
    jelly.set_time_step(1 / 120)
    assert np.array_equal(sim.bodies.positions, poses)
    jelly.step()
    assert sim.bodies.positions[0, 1] < poses[0, 1]


def test_a_body_on_a_path_is_seen_to_move_and_cannot_be_grabbed():
    cloth = run("cloth-on-moving-box", resolution=8)
    soft = cloth.sims[0].model.n
    _, arrays = unpack(cloth.backdrop.message)
    assert np.array_equal(arrays["immovable"], np.arange(soft, soft + len(cloth.mesh.local)))
    for _ in range(10):
        (view,) = cloth.step()
    assert np.abs(view.vertices[soft:] - cloth.mesh.start).max() > 1e-3
    with pytest.raises(InputError, match="follows a path"):
        cloth.grab(KEY, grab(soft, (0.0, 0.5, 0.0)))


def test_bodies_that_are_fixed_are_scenery():
    cube = Model.of(mesh.cube(3, 0.3).transformed(translate=(0, 1, 0)), Solid(1000.0, 3e4, 0.3))
    stone = Body(Box((0.0, 0.1, 0.0), (0.1, 0.1, 0.1)), fixed=True)
    backdrop = Backdrop(1, Scene("stone", cube.collide([Plane(), stone]), 1 / 60))
    header, arrays = unpack(backdrop.message)
    assert header["vertices"] == header["soft"] == cube.n
    assert len(arrays["scenery_triangles"]) == 3 * 12


def test_a_solver_that_cannot_push_bodies_is_refused_and_the_old_one_goes_on():
    with running(Target("box-on-jelly", {"n": 3})) as told:
        told.frames()
        told.change(solver="vivace")
        until(lambda: any("it does not push rigid bodies" in text for text in told.notices()), "a notice")
        assert told.session.settings.solver == "auto"
        told.change(compare="lbfgs(multigrid)")
        assert "two solvers side by side are for scenes without rigid bodies" in told.notices()[-1]
        assert len(told.session.sims) == 1
        told.frames()


def test_recordings_have_the_vertices_and_the_poses(jelly, tmp_path):
    """A film draws what the page showed; the numbers of each frame are those of its step."""
    recording, views = Recording(), []
    recording.begin(jelly.scene, jelly.settings, jelly.sims[0])
    for _ in range(3):
        views += jelly.step()
        recording.add(kept_of(views[-1].report), jelly.settings.time_step)
    write_recording(recording, tmp_path / "both.npz", None, Work(lambda progress: None))
    with np.load(tmp_path / "both.npz") as saved:
        for k, view in enumerate(views):
            np.testing.assert_array_equal(saved["positions"][k], view.report.positions)
            np.testing.assert_allclose(saved["body_positions"][k], view.report.bodies.positions, atol=1e-6)
            np.testing.assert_allclose(saved["body_orientations"][k], view.report.bodies.orientations, atol=1e-6)
    film = _film(jelly.scene, np.stack([kept_of(view.report) for view in views]), 1 / 60, None, {})
    for frame, view in zip(film.frames, views, strict=True):
        np.testing.assert_allclose(frame, view.vertices, atol=1e-5)
    _, arrays = unpack(jelly.backdrop.message)
    assert np.array_equal(film.triangles.ravel(), arrays["triangles"])
    assert len(film.colours) == len(views[0].vertices)
