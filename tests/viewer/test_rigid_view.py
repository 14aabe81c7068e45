"""Rigid bodies in the app, without a browser: the mesh of all bodies, pointers, settings, frames and recordings."""

import json

import numpy as np
import pytest

from viewer.conftest import running
from vivace.collisions import Plane
from vivace.errors import InputError, UnknownNameError
from vivace.rigid import rotation
from vivace.rigid.bodies import Body
from vivace.scenes import SCENES, RigidScene, is_rigid, load_scene, make_scene
from vivace.solvers.rigid import CONTACT_SOLVERS
from vivace.viewer import Target
from vivace.viewer import messages as m
from vivace.viewer.body_mesh import MOST_TRIANGLES, BodyMesh
from vivace.viewer.choices import contact_solver_choices, scene_choices
from vivace.viewer.exports import Work, write_recording
from vivace.viewer.frames import frame_message
from vivace.viewer.packing import unpack
from vivace.viewer.recordings import Recording, frame_of
from vivace.viewer.running import Lost
from vivace.viewer.running_rigid import RunningRigidScene
from vivace.viewer.server import _scene_file
from vivace.viewer.session import Session
from vivace.viewer.snapshot import Snapshot
from vivace.viewer.starting import run_scene

KEY = ("1", 0)


@pytest.fixture
def stack():
    """Three boxes of 20 cm."""
    scene = make_scene("box-stack", n=3)
    return run_scene(scene, scene.simulate(threads=1))


@pytest.fixture
def mug():
    scene = make_scene("mug")
    return run_scene(scene, scene.simulate(threads=1))


def triangle_of(running, body):
    """The corners of the first triangle of a body."""
    mesh = running.mesh
    return mesh.triangles[mesh.owner[mesh.triangles[:, 0]] == body][0].tolist()


def grab(corners, weights=(0.25, 0.5, 0.25), target=(0.0, 1.0, 0.0)):
    return m.Grab(0, corners[0], list(target), 1, 1, corners, list(weights))


# --- the mesh ---------------------------------------------------------------------------------------------------------


def test_boxes_have_corners_of_their_own_on_every_face():
    """Else normals would be shared across their edges: 8 corners, each on three faces."""
    mesh = BodyMesh(make_scene("box-stack", n=2))
    assert len(mesh.local) == 2 * 24
    assert len(mesh.triangles) == 2 * 12
    np.testing.assert_allclose(np.abs(mesh.local), 0.1, atol=1e-12)
    np.testing.assert_allclose(mesh.start[mesh.owner == 2].mean(axis=0), [0.0, 0.3, 0.0], atol=1e-6)


def test_vertices_follow_the_pose_of_their_body():
    mesh = BodyMesh(make_scene("dominoes", n=2))
    positions = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [-1.0, 0.0, 0.0]])
    turns = rotation.exponential(np.array([[0.0, 0.0, 0.0], [0.0, np.pi / 2, 0.0], [0.0, 0.0, 0.0]]))
    placed = mesh.placed(positions, turns)
    one = mesh.owner == 1
    x, y, z = mesh.local[one].T
    np.testing.assert_allclose(placed[one], np.stack([z + 1, y + 2, -x + 3], axis=1), atol=1e-6)
    np.testing.assert_allclose(placed[~one], mesh.local[~one] + positions[2], atol=1e-6)


@pytest.mark.slow
def test_many_balls_have_few_triangles_each_and_a_colour_of_their_own():
    mesh = BodyMesh(make_scene("ball-grid", size=6))
    assert len(mesh.triangles) < 1.1 * MOST_TRIANGLES
    assert len(mesh.triangles) / 216 < 200
    first = [mesh.colours[mesh.owner == body].min(axis=0) for body in range(1, 217)]
    assert len(np.unique(np.round(first, 3), axis=0)) == 216


def test_what_is_fixed_is_scenery_and_what_follows_a_path_cannot_be_grabbed(mug):
    mesh = mug.mesh
    assert set(mesh.owner.tolist()) == {2, 3}  # the ground and the table stand
    assert set(mesh.owner[mesh.immovable].tolist()) == {2}  # the plate
    header, arrays = unpack(mug.backdrop.message)
    assert header["bodies"] == "rigid"
    assert header["summary"] == "1 rigid body"
    assert header["ground"] == pytest.approx(0.0)
    assert header["vertices"] == len(mesh.local) == len(arrays["colours"]) // 3
    assert np.array_equal(arrays["immovable"], mesh.immovable)
    assert arrays["scenery_triangles"].size >= 36


def test_a_scene_in_which_nothing_moves_is_refused():
    with pytest.raises(InputError, match="no body of the scene 'still' moves"):
        BodyMesh(RigidScene("still", [Body(Plane(), fixed=True)]))


# --- pointers ---------------------------------------------------------------------------------------------------------


def test_a_pointer_holds_the_point_that_it_touched(stack):
    """That of the body as it is now, not as the page saw it."""
    (sim,) = stack.sims
    sim.bodies.positions[3] += [0.5, 0.0, 0.0]
    corners = triangle_of(stack, 3)
    stack.grab(KEY, grab(corners))
    touched = [0.25, 0.5, 0.25] @ (stack.mesh.start[corners] + [0.5, 0.0, 0.0])
    np.testing.assert_allclose(sim.grabbed_points, [touched], atol=1e-6)
    stack.pointers.release(stack.sims, KEY)
    assert sim.grabbed == ()
    assert KEY not in stack.pointers


def test_without_weights_a_vertex_is_held(stack):
    stack.grab(KEY, m.Grab(0, 7, [0.0, 1.0, 0.0], 1, 1))
    np.testing.assert_allclose(stack.sims[0].grabbed_points, [stack.mesh.start[7]], atol=1e-6)


def test_a_pointer_holds_one_thing_and_a_client_that_leaves_holds_none(stack):
    for pointer, body in ((0, 1), (0, 2), (1, 3)):
        stack.grab(("1", pointer), grab(triangle_of(stack, body)))
    assert len(stack.sims[0].grabbed) == 2
    stack.pointers.release_client(stack.sims, "2")
    assert len(stack.sims[0].grabbed) == 2
    stack.pointers.release_client(stack.sims, "1")
    assert stack.sims[0].grabbed == ()


def test_what_is_no_point_of_a_body_is_refused_and_the_pointer_keeps_what_it_has(stack, mug):
    stack.grab(KEY, grab(triangle_of(stack, 1)))
    one, other = triangle_of(stack, 1), triangle_of(stack, 2)
    for corners, weights, why in (
        ([*one[:2], other[0]], (0.2, 0.4, 0.4), "one of its triangles"),
        (one, (0.0, 0.0, 0.0), "sum to one"),
        ([one[0], one[1], 10**6], (0.2, 0.4, 0.4), "no vertex 1000000"),
    ):
        with pytest.raises(InputError, match=why):
            stack.grab(KEY, grab(corners, weights))
    assert len(stack.sims[0].grabbed) == 1
    with pytest.raises(InputError, match="follows a path"):
        mug.grab(KEY, grab(triangle_of(mug, 2)))


@pytest.mark.slow
def test_a_box_is_dragged_thrown_and_put_back(stack):
    (sim,) = stack.sims
    stack.grab(KEY, grab(triangle_of(stack, 3), target=stack.mesh.start[triangle_of(stack, 3)].mean(axis=0)))
    for k in range(20):
        stack.pointers.drag(stack.sims, KEY, np.array([0.03 * k, 0.7, 0.0]))
        (view,) = stack.step()
    assert len(view.held_points) == 1
    assert sim.positions[3, 0] > 0.3
    thrown = sim.velocities[3]
    assert thrown[0] > 0.5
    stack.pointers.release(stack.sims, KEY)
    stack.step()
    assert sim.velocities[3, 0] == pytest.approx(thrown[0], rel=1e-6)
    stack.reset()
    np.testing.assert_allclose(sim.positions[3], [0.0, 0.5, 0.0])
    assert stack.time == 0.0
    assert sim.frames == 21  # counts on


# --- settings ---------------------------------------------------------------------------------------------------------


def test_settings_that_rigid_bodies_have(stack):
    (sim,) = stack.sims
    assert stack.settings.iterations == sim.budget.iterations == 50
    stack.set_iterations(7)
    assert (sim.budget.iterations, sim.budget.ms, stack.settings.iterations) == (7, None, 7)
    stack.set_budget_ms(4.0)
    assert (sim.budget.iterations, sim.budget.ms, stack.settings.iterations) == (None, 4.0, None)
    stack.set_gravity(3.0)
    stack.set_time_step(0.02)
    assert sim.gravity.tolist() == [0.0, -3.0, 0.0]
    assert sim.time_step == 0.02
    stack.set_colour_by("plain")
    stack.compare_no_more()


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("wind", 3.0, "wind blows on soft bodies"),
        ("wind_heading", 90.0, "wind blows on soft bodies"),
        ("stiffness", 2.0, "only soft bodies have a stiffness"),
        ("relaxation", 1.5, "set with its name"),
        ("colour_by", "strain", "colours by strain are for soft bodies"),
    ],
)
def test_settings_of_soft_bodies_are_refused_with_a_reason(stack, name, value, why):
    before = stack.settings
    with pytest.raises(InputError, match=why):
        getattr(stack, f"set_{name}")(value)
    with pytest.raises(InputError, match="two solvers side by side are for soft bodies"):
        stack.check_comparable()
    assert stack.settings == before


def test_the_menu_has_scenes_of_rigid_bodies_and_all_contact_solvers(stack):
    shown = {choice.name for choice in scene_choices("box-stack")}
    assert shown >= {name for name in SCENES if is_rigid(name)} >= {"box-stack", "dominoes"}
    assert [choice.name for choice in stack.choices] == [*CONTACT_SOLVERS]
    assert all(choice.summary and "[" not in choice.summary for choice in stack.choices)
    assert contact_solver_choices("coloured:merged=2")[0].name == "coloured:merged=2"
    with pytest.raises(UnknownNameError):
        stack.maker("vivace")


@pytest.mark.slow
def test_another_contact_solver_goes_on(stack):
    solver = stack.maker("gauss-seidel")()
    stack.use_solver(0, "gauss-seidel", solver, None)
    (view,) = stack.step()
    assert (view.solver, stack.settings.solver, stack.sims[0].solver.name) == ("gauss-seidel",) * 3
    stack.use_fallback(0)
    assert stack.settings.solver == "contact-sets"


# --- frames -----------------------------------------------------------------------------------------------------------


def framed(stack, views):
    shot = Snapshot(1, stack.backdrop, stack.time, 1.0, stack.settings, {}, views, 1.0)
    return unpack(frame_message(shot, 16))


@pytest.mark.slow
def test_a_frame_has_what_the_step_did(stack):
    views = stack.step()
    header, arrays = framed(stack, views)
    (view,) = header["views"]
    assert view["contacts"] == 12
    assert 0 < view["sweeps"] <= 4 * 50
    assert view["depth"] >= 0.0
    assert [stage for stage, _ in view["stages"]] == ["detect", "solve", "apart", "move"]
    assert view["ms"] == pytest.approx(sum(ms for _, ms in view["stages"]))
    assert view["residuals"][0][0] == 0.0
    assert arrays["values0"].size == 0
    positions = arrays["positions0"].reshape(-1, 3) * view["scale"] + view["low"]
    np.testing.assert_allclose(positions, stack.mesh.start, atol=1e-4)
    stack.sims[0].bodies.positions[3] += [100.0, 0.0, 0.0]  # 16 bits of that would be two millimetres
    _, arrays = framed(stack, stack.step())
    assert arrays["positions0"].dtype == np.float32


@pytest.mark.slow
def test_a_body_that_is_too_far_away_is_lost(stack):
    stack.sims[0].bodies.positions[2, 0] = 5e5
    with pytest.raises(Lost, match="lost the simulation"):
        stack.step()


# --- recordings -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_recordings_are_poses_and_films(stack, tmp_path):
    recording, seen = Recording(), []
    recording.begin(stack.scene, stack.settings, stack.sims[0])
    for _ in range(3):
        (view,) = stack.step()
        recording.add(frame_of(view.report), stack.settings.time_step)
    recording.end()
    write_recording(recording, tmp_path / "poses.npz", None, Work(lambda progress: None))
    with np.load(tmp_path / "poses.npz") as numbers:
        assert numbers["positions"].shape == (3, 4, 3)
        assert numbers["orientations"].shape == (3, 4, 4)
        assert numbers["movable"].tolist() == [False, True, True, True]
        assert json.loads(str(numbers["settings"]))["scene"] == "box-stack"
        np.testing.assert_allclose(numbers["positions"][-1], stack.sims[0].positions, atol=1e-6)
    write_recording(
        recording, tmp_path / "film.gif", None, Work(lambda progress: seen.append((progress.done, progress.total)))
    )
    assert (tmp_path / "film.gif").read_bytes()[:6] == b"GIF89a"
    assert seen[-1] == (2, 2)  # 60 a second are more than a .gif has


# --- in a session -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_session_goes_from_soft_to_rigid_bodies_and_back():
    with running() as told:
        told.frames()
        told.tell(m.LoadScene("dominoes"))
        rigid = told.until_scene("dominoes")
        assert isinstance(told.session.running_scene, RunningRigidScene)
        assert told.session.state.bodies == "rigid"
        assert rigid.views[0].report.depth >= 0
        told.change(wind=3.0)
        assert any("wind blows on soft bodies" in text for text in told.notices())
        told.change(compare="coloured")
        assert any("side by side" in text for text in told.notices())
        told.tell(m.LoadScene("bar"))
        told.until_scene("bar")
        assert told.session.state.bodies == "soft"


@pytest.mark.slow
def test_a_pointer_of_a_client_moves_a_box():
    with running(Target("box-stack", {"n": 2})) as told:
        mesh, sim = told.session.running_scene.mesh, told.session.sims[0]
        corners = mesh.triangles[mesh.owner[mesh.triangles[:, 0]] == 2][0].tolist()
        told.tell(m.Grab(0, corners[0], [0.0, 0.9, 0.0], 1, told.order(), corners, [0.3, 0.3, 0.4]))
        told.settle()
        assert len(sim.grabbed) == 1
        told.frames(60)
        assert sim.positions[2, 1] > 0.6
        told.tell(m.Release(0, told.order()))
        told.settle()
        assert sim.grabbed == ()
        told.tell(m.Run("reset"))
        told.settle()
        assert told.notices() == []


def test_a_scene_is_saved_with_its_settings(tmp_path):
    session = Session(Target("dominoes", {"n": 3}), solver="coloured", threads=1)
    session.running_scene.set_iterations(9)
    session.running_scene.set_gravity(3.0)
    (tmp_path / "saved.toml").write_text(_scene_file(session), encoding="utf-8")
    scene = load_scene(tmp_path / "saved.toml")
    assert (scene.solver, scene.budget.iterations, list(scene.gravity)) == ("coloured", 9, [0.0, -3.0, 0.0])
    assert len(scene.bodies) == 4
