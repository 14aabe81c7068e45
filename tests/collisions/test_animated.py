"""Animated meshes as colliders: where they are, what they carry, and that nothing goes through them."""

from __future__ import annotations

import numpy as np
import pytest

import vivace as vv
from vivace.collisions import Box, Sphere, crossings
from vivace.collisions.detector import Detector
from vivace.collisions.impact_zones import affine
from vivace.mesh.closest import closest_triangles

GRAVITY, MU, SPEED = 9.81, 0.3, 0.5


def animation(seconds=2.0, velocity=(0.0, 0.0, 2.0), start=(0.0, 0.0, -0.35), radius=0.12):
    """A ball that goes straight on."""
    surface = Sphere((0, 0, 0), radius).surface(3)
    times = np.array([0.0, seconds])
    frames = surface.vertices + np.array(start) + times[:, None, None] * np.array(velocity)
    return vv.caches.Animation(times, frames, surface.triangles)


def plate(seconds=2.0, speed=SPEED, thickness=0.0):
    """A sheet of eight triangles that goes along x."""
    x, z = np.meshgrid(np.linspace(-1, 3, 5), [-1.0, 1.0], indexing="ij")
    points = np.stack([x.ravel(), np.full(x.size, -thickness), z.ravel()], axis=1)
    a = np.arange(0, 8, 2)
    triangles = np.concatenate([np.stack([a, a + 1, a + 2], 1), np.stack([a + 1, a + 3, a + 2], 1)])
    times = np.array([0.0, seconds])
    return vv.caches.Animation(times, points + times[:, None, None] * np.array([speed, 0, 0]), triangles)


def test_an_animation_goes_straight_and_evenly_between_its_frames():
    moving = vv.caches.Animation([1.0, 2.0, 4.0], [[[0, 0, 0]], [[1, 0, 0]], [[1, 4, 0]]], np.zeros((0, 3), int))
    for time, place in ((0.0, (0, 0, 0)), (1.5, (0.5, 0, 0)), (3.0, (1, 2, 0)), (9.0, (1, 4, 0))):
        np.testing.assert_allclose(moving.at(time)[0], place, atol=1e-12)
    np.testing.assert_allclose(moving.at(4.25, repeat=True)[0], moving.at(1.25)[0], atol=1e-12)


def test_the_first_frame_is_at_the_start():
    ball = animation()
    shown = vv.AnimatedMesh(vv.caches.Animation(ball.times + 5.0, ball.positions, ball.triangles), start=1.0)
    np.testing.assert_allclose(shown.at(1.0), ball.positions[0], atol=1e-6)
    np.testing.assert_allclose(shown.at(2.0) - shown.at(1.0), [[0, 0, 2.0]] * ball.n_vertices, atol=1e-6)


def test_the_nearest_place_is_nearer_than_all_others():
    rng = np.random.default_rng(1)
    vertices, triangles = rng.normal(size=(12, 3)), rng.permuted(np.tile(np.arange(12), (9, 1)), axis=1)[:, :3]
    points = rng.normal(size=(20, 3))
    which, weights, _ = closest_triangles(points, vertices, triangles)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    found = np.linalg.norm(points - np.einsum("kc,kcx->kx", weights, vertices[triangles[which]]), axis=1)
    shares = rng.dirichlet([1, 1, 1], 4000)
    cloud = np.einsum("sc,tcx->tsx", shares, vertices[triangles]).reshape(-1, 3)
    nearest = np.linalg.norm(points[:, None] - cloud, axis=2).min(axis=1)
    assert (found <= nearest + 1e-12).all()
    assert (nearest - found).max() < 0.2  # the cloud is that coarse


def test_points_are_carried_as_by_a_rigid_body():
    turned = animation()
    c, s = np.cos(0.7), np.sin(0.7)
    matrix = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
    moved = np.stack([turned.positions[0], turned.positions[0] @ matrix.T + [1, 2, 3]])
    body = vv.AnimatedMesh(vv.caches.Animation([0, 1], moved, turned.triangles))
    points = turned.positions[0][:5] * 1.1
    carried = body.carried(points)
    np.testing.assert_allclose(carried.at(1.0), points @ matrix.T + [1, 2, 3], atol=1e-6)


def test_an_affine_motion_is_found_again():
    rng = np.random.default_rng(2)
    matrix, shift, points = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=(1, 9, 3))
    at = rng.normal(size=(1, 3))
    found = affine(points, points @ matrix.T + shift, np.ones((1, 9)), at)
    np.testing.assert_allclose(found, at @ matrix.T + shift, rtol=1e-5)


def on_a_belt(thing):
    cloth = vv.mesh.cloth(5, 5, 0.2, 0.2).transformed(translate=(0, 0.004, 0))
    model = vv.Model.of(cloth, vv.Cloth(0.2, 1e3, 1e-5)).collide([thing], thickness=0.004, friction=MU, itself=False)
    return vv.Simulation(model, budget=vv.Budget(iterations=16), time_step=1 / 60, substeps=1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["animated", "rigid"])
def test_a_belt_drags_cloth_with_friction_until_it_sticks(kind):
    """v(t) = min(μ g t, speed of the belt)."""
    box = Box((1.0, -0.05, 0.0), (2.0, 0.05, 1.0))
    keys = vv.Keyframes([0, 2], shifts=[[0, 0, 0], [2 * SPEED, 0, 0]])
    thing = vv.AnimatedMesh(plate()) if kind == "animated" else vv.Body(box, path=keys, friction=MU)
    sim = on_a_belt(thing)
    for _ in range(20):
        sim.step()
        wanted = min(MU * GRAVITY * sim.time, SPEED)
        assert sim.velocities[:, 0].mean() == pytest.approx(wanted, abs=0.03 * SPEED)
    assert np.ptp(sim.velocities[:, 0]) < 0.02 * SPEED


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "pbd-coloured"])
def test_nothing_goes_through_what_moves_fast(solver):
    """2 m/s at 33 ms is 6.7 cm a frame, more than half of the ball."""
    cloth = vv.mesh.cloth(13, 13, 0.6, 0.6, plane="vertical")
    cloth = cloth.transformed(translate=-cloth.vertices.mean(axis=0))
    ball = vv.AnimatedMesh(animation())
    model = vv.Model.of(cloth, vv.Cloth(0.2, 1e3, 1e-5)).pin("top").collide([ball], thickness=0.006, friction=0.3)
    sim = vv.Simulation(model, solver=solver, budget=vv.Budget(iterations=16), time_step=1 / 30)
    triangles = np.concatenate([cloth.triangles, ball.triangles + cloth.n_vertices])
    touched = 0
    for _ in range(14):
        touched += sim.step().contacts
        edges, pierced = crossings(np.concatenate([sim.positions, ball.at(sim.time)]), triangles)
        soft = (edges < cloth.n_vertices).any(axis=1) | (pierced < len(cloth.triangles))
        assert not soft.any()
    assert touched > 100
    assert sim.positions[:, 2].max() > 0.3  # it was pushed


@pytest.mark.slow
def test_a_run_with_an_animated_mesh_goes_on_from_a_checkpoint(tmp_path):
    sim = on_a_belt(vv.AnimatedMesh(plate()))
    for _ in range(3):
        sim.step()
    sim.save(tmp_path / "belt.vivace")
    other = vv.load(tmp_path / "belt.vivace")
    for _ in range(3):
        sim.step()
        other.step()
    assert np.array_equal(sim.positions, other.positions)
    assert np.array_equal(sim.velocities, other.velocities)


def found_near_a_ball(lift, speed):
    """Contacts of a flat sheet so far in front of a fine ball that comes up at a speed, in a step of 1/60 s."""
    ball = vv.AnimatedMesh(animation(velocity=(0.0, speed, 0.0), start=(0.0, -0.12 - lift, 0.0)))
    sheet = vv.mesh.cloth(11, 11, 0.2, 0.2)
    model = vv.Model.of(sheet).collide([ball], thickness=0.004, itself=False)
    detector = Detector(sheet, model.collisions, np.ones(sheet.n_vertices))
    detector.drive(0.0, 1 / 60)
    q = np.zeros((sheet.n_vertices, 4), np.float32)
    q[:, :3] = sheet.vertices
    return sheet, ball, detector.find(q, q, 1)


@pytest.mark.parametrize(("lift", "speed"), [(0.005, 2.0), (0.001, 0.5), (0.03, 2.0)])
def test_normals_are_those_of_the_body_and_no_vertex_is_left_out(lift, speed):
    sheet, ball, contacts = found_near_a_ball(lift, speed)
    walls, middle = contacts.colliders, ball.at(1 / 60).mean(axis=0)
    outwards = sheet.vertices[walls.vertices[:, 0]] - middle
    outwards /= np.linalg.norm(outwards, axis=1)[:, None]
    for planes in (walls.planes, contacts.patches.planes):
        offsets = planes[:, 3] - planes[:, :3] @ middle  # a plane that cuts the ball holds cloth off where it is not
        assert (offsets > 0.85 * 0.12).all()
    assert (np.einsum("cx,cx->c", outwards, walls.planes[:, :3]) > 0.8).all()
    inside = np.linalg.norm(sheet.vertices - middle, axis=1) < 0.12
    assert inside.any()
    assert set(np.flatnonzero(inside)) <= set(walls.vertices[:, 0])


def test_what_cannot_be_touched_is_refused():
    ball = animation()
    with pytest.raises(vv.InputError, match="no triangles"):
        vv.AnimatedMesh(vv.caches.Animation([0.0], ball.positions[:1], np.zeros((0, 3), int)))
    with pytest.raises(vv.InputError, match="Animation"):
        vv.AnimatedMesh(ball.positions)
    with pytest.raises(vv.InputError, match="repeats"):
        vv.AnimatedMesh(vv.caches.Animation([0.0], ball.positions[:1], ball.triangles), repeat=True)
    wire = vv.Model.of(vv.mesh.noodle(3)) if not len(vv.mesh.noodle(3).triangles) else None
    if wire is not None:
        with pytest.raises(vv.InputError, match="triangles"):
            vv.Simulation(wire.collide([vv.AnimatedMesh(ball)]))
