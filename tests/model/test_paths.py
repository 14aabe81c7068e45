"""Pins that follow paths: keyframes, functions and animations, in steps, substeps, checkpoints and scene files."""

from __future__ import annotations

import numpy as np
import pytest

import vivace as vv

TIMES = [0.0, 0.1, 0.2]
SHIFTS = [[0, 0, 0], [0.1, 0, 0], [0.1, 0.2, 0]]


@pytest.fixture(scope="module")
def cloth():
    return vv.mesh.cloth(4, 4, 0.3, 0.3)


@vv.storable("test-sway")
def sway(time):
    return [0.2 * np.sin(time), 0.0, 0.0]


def simulated(model, **options):
    return vv.Simulation(model, budget=vv.Budget(iterations=8), time_step=1 / 30, **options)


def held(sim, cloth):
    return sim.positions[cloth.groups["top"]]


@pytest.mark.parametrize("substeps", [1, 2])
@pytest.mark.parametrize("integrator", ["euler", "bdf2"])
def test_pins_are_where_their_path_leads(cloth, substeps, integrator):
    path = vv.Keyframes(TIMES, shifts=SHIFTS)
    sim = simulated(vv.Model.of(cloth).pin("top", path=path), substeps=substeps, integrator=integrator)
    home = cloth.vertices[cloth.groups["top"]]
    for _ in range(8):
        sim.step()
        np.testing.assert_allclose(sim.targets, home + path(sim.time)[0], atol=1e-9)
        np.testing.assert_allclose(held(sim, cloth), home + path(sim.time)[0], atol=5e-3)


def test_all_kinds_of_paths_say_the_same(cloth):
    home, times = cloth.vertices[cloth.groups["top"]], np.linspace(0, 1, 5)
    shifts = np.stack([times, 2 * times, 0 * times], axis=1)
    whole = np.repeat(cloth.vertices[None], 5, axis=0) + shifts[:, None]
    none = np.zeros((0, 3), int)
    paths = {
        "keyframes": vv.Keyframes(times, shifts=shifts),
        "shift": lambda time: np.array([time, 2 * time, 0.0]),
        "pair": lambda time: (np.array([time, 2 * time, 0.0]), np.zeros(3)),
        "places": lambda time: home + np.array([time, 2 * time, 0.0]),
        "animation": vv.caches.Animation(times, home + shifts[:, None], none),
        "of the mesh": vv.caches.Animation(times, whole, none),
    }
    for name, path in paths.items():
        led = vv.Model.of(cloth).pin("top", path=path).paths[0]
        np.testing.assert_allclose(led.places(0.3, home), home + np.array([0.3, 0.6, 0.0]), atol=1e-6, err_msg=name)


def test_rotations_are_about_the_middle_of_the_pins(cloth):
    path = vv.Keyframes([0, 1], rotations=[[0, 0, 0], [0, np.pi, 0]])
    led = vv.Model.of(cloth).pin("top", path=path).paths[0]
    home = cloth.vertices[cloth.groups["top"]]
    middle = home.mean(axis=0)
    half_a_turn = np.diag([-1.0, 1.0, -1.0])
    np.testing.assert_allclose(led.places(1.0, home), middle + (home - middle) @ half_a_turn, atol=1e-12)


def test_places_are_in_the_order_that_was_given(cloth):
    order = [3, 0, 2]
    places = cloth.vertices[order] + [[0.1, 0, 0], [0.2, 0, 0], [0.3, 0, 0]]
    model = vv.Model.of(cloth).pin(order, path=vv.caches.Animation([0.0], places[None], np.zeros((0, 3), int)))
    sim = simulated(model)
    sim.step()
    where = {int(v): sim.targets[k] for k, v in enumerate(sim.model.pinned)}
    for vertex, place in zip(order, places, strict=True):
        np.testing.assert_allclose(where[vertex], place, atol=1e-6)


def test_a_grabbed_pin_is_in_the_hand_and_goes_back_to_its_path(cloth):
    path = vv.Keyframes(TIMES, shifts=SHIFTS)
    sim = simulated(vv.Model.of(cloth).pin("top", path=path))
    vertex = int(cloth.groups["top"][1])
    sim.grab(vertex, (0.0, 1.0, 0.0))
    sim.step()
    row = sim.model.pinned.tolist().index(vertex)
    np.testing.assert_allclose(sim.targets[row], (0.0, 1.0, 0.0))
    sim.release()
    sim.step()
    np.testing.assert_allclose(sim.targets[row], cloth.vertices[vertex] + path(sim.time)[0], atol=1e-9)


def test_pins_are_given_a_path_and_lose_it_while_they_run(cloth):
    sim = simulated(vv.Model.of(cloth).pin("top"))
    sim.step()
    sim.move("top", lambda time: [0.0, 0.0, time])
    sim.step()
    home = cloth.vertices[cloth.groups["top"]]
    np.testing.assert_allclose(sim.targets, home + np.array([0, 0, sim.time]), atol=1e-9)
    stopped = sim.targets
    sim.move("top", None)
    sim.step()
    np.testing.assert_allclose(sim.targets, stopped, atol=1e-9)
    sim.move([15], sway)  # it was free
    assert 15 in sim.model.pinned
    sim.step()


def test_unpinned_vertices_follow_no_longer(cloth):
    model = vv.Model.of(cloth).pin("top", path=vv.Keyframes(TIMES, shifts=SHIFTS))
    some = model.unpin(cloth.groups["top"][:2])
    assert some.paths[0].vertices.tolist() == cloth.groups["top"][2:].tolist()
    assert model.unpin("top").paths == ()


@pytest.mark.parametrize("path", [vv.Keyframes(TIMES, shifts=SHIFTS), sway])
def test_paths_are_in_checkpoints(cloth, path, tmp_path):
    sim = simulated(vv.Model.of(cloth).pin("top", path=path), substeps=2)
    sim.step()
    sim.save(tmp_path / "led.vivace")
    other = vv.load(tmp_path / "led.vivace")
    for _ in range(3):
        sim.step()
        other.step()
    assert np.array_equal(sim.positions, other.positions)


def test_paths_that_lead_nowhere_are_refused(cloth):
    model = vv.Model.of(cloth)
    for path in (3.0, lambda time: [1.0, 2.0], lambda time: np.full((4, 3), np.nan)):
        with pytest.raises(vv.InputError):
            model.pin("top", path=path)
    with pytest.raises(vv.InputError, match="vertices"):
        model.pin("top", path=vv.caches.Animation([0.0], np.zeros((1, 7, 3)), np.zeros((0, 3), int)))


def test_scene_files_have_paths(tmp_path, cloth):
    file = tmp_path / "led.toml"
    file.write_text(
        """
[mesh]
generator = "cloth"
nx = 4
ny = 4
[[pins]]
where = "top-corners"
path = { times = [0, 1], shifts = [[0, 0, 0], [1, 0, 0]] }
[[pins]]
where = "bottom-corners"
[collisions]
itself = false
[[collisions.colliders]]
kind = "sphere"
centre = [0, -3, 0]
radius = 0.1
path = { times = [0, 1], shifts = [[0, 0, 0], [0, 1, 0]] }
"""
    )
    scene = vv.load_scene(file)
    assert len(scene.model.paths) == 1
    assert len(scene.model.collisions.bodies) == 1
    sim = scene.simulate(budget=vv.Budget(iterations=8))
    sim.step()
    np.testing.assert_allclose(sim.targets[:2, 0] - scene.model.targets[:2, 0], sim.time, atol=1e-9)
    file.write_text(
        file.read_text().replace("times = [0, 1], shifts = [[0, 0, 0], [1", "time = [0, 1], shifts = [[0, 0, 0], [1")
    )
    with pytest.raises(vv.InputError, match="times"):
        vv.load_scene(file)


def test_the_time_is_set_and_paths_begin_there():
    sheet = vv.mesh.cloth(3, 3)
    model = vv.Model.of(sheet, gravity=(0, 0, 0)).pin([0, 1, 2], path=lambda time: [0.0, 0.0, 0.1 * time])
    sim = vv.Simulation(model, budget=vv.Budget(iterations=20), time_step=0.1, threads=1)
    sim.step()
    sim.time = 0.5
    assert sim.time == 0.5
    sim.step()
    assert (sim.time, sim.frames) == (pytest.approx(0.6), 2)
    np.testing.assert_allclose(sim.positions[:3], sheet.vertices[:3] + np.array([0.0, 0.0, 0.06]), atol=1e-3)
    assert sim.state.seconds == sim.time
    for bad in ("now", np.nan, None):
        with pytest.raises(vv.InputError, match="number of seconds"):
            sim.time = bad
