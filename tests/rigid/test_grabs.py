"""Bodies that are held, against closed forms of the damped spring."""

import numpy as np
import pytest

from vivace import InputError
from vivace.collisions import Box, Plane, Sphere
from vivace.rigid import rotation
from vivace.rigid.bodies import Bodies, Body
from vivace.rigid.grabs import RATE, REACH, SPIN, BodyGrabs
from vivace.rigid.stepping import free_velocities, move
from vivace.simulation.rigid_simulation import RigidSimulation

GRAVITY = np.array([0.0, -9.81, 0.0])
NONE = np.zeros(3)


def box(mass=2.0, half=(0.1, 0.05, 0.15), **options):
    return Body(Box((0.0, 1.0, 0.0), half), mass=mass, **options)


def held(*bodies):
    arrays = Bodies.of(bodies)
    return arrays, BodyGrabs(arrays)


def step(bodies, grabs, h, gravity=GRAVITY):
    turned = rotation.matrices(bodies.orientations)
    new = grabs.pulled(free_velocities(bodies, turned, gravity, h), turned, h)
    bodies.velocities[:], bodies.spins[:] = new[:, :3], new[:, 3:]
    move(bodies, new, h)


@pytest.mark.parametrize("mass", [1e-3, 1e3])
@pytest.mark.parametrize("h", [0.1, pytest.param(1 / 60, marks=pytest.mark.slow)])
def test_a_held_body_hangs_still_below_the_grab(mass, h):
    """k sag = m g: a body hangs g ÷ RATE² below its target whatever it weighs, its centre under the held corner."""
    bodies, grabs = held(box(mass))
    corner = np.array([0.1, 1.05, 0.15])
    grabs.hold(0, corner)
    for _ in range(round(4.0 / h)):
        step(bodies, grabs, h)
    sag = 9.81 / RATE**2
    np.testing.assert_allclose(grabs.points()[0], corner - [0.0, sag, 0.0], atol=1e-6)
    arm = np.linalg.norm([0.1, 0.05, 0.15])
    np.testing.assert_allclose(bodies.positions[0], corner - [0.0, sag + arm, 0.0], atol=1e-4)
    assert np.abs(bodies.velocities).max() < 1e-4
    assert np.abs(bodies.spins).max() < 1e-3


@pytest.mark.parametrize("h", [0.1, 1 / 60, 1e-3])
def test_the_impulse_is_that_of_the_spring_at_the_end_of_the_step(h):
    """M (V' - V) = h Jᵀ f' - h D V', f' = m RATE² (a - p - h u') - 2 m RATE u', D the drag about the held point."""
    start = box(spin=(1.0, -2.0, 0.5), velocity=(0.3, 0.1, -0.2))
    bodies, grabs = held(start)
    point, target = np.array([0.1, 1.05, -0.15]), np.array([0.2, 1.1, -0.1])
    grabs.hold(0, point, target)
    turned = rotation.matrices(bodies.orientations)
    free = np.concatenate([bodies.velocities, bodies.spins], axis=1)
    (new,) = grabs.pulled(free, turned, h)
    arm, mass, inertia = point - bodies.positions[0], bodies.masses[0], bodies.inertias[0]
    end = new[:3] + np.cross(new[3:], arm)
    force = mass * (RATE**2 * (target - point - h * end) - 2 * RATE * end)
    about = inertia + mass * ((arm @ arm) * np.eye(3) - np.outer(arm, arm))
    np.testing.assert_allclose(mass * (new[:3] - free[0, :3]), h * force, rtol=1e-9)
    turning = h * (np.cross(arm, force) - SPIN * about @ new[3:])
    np.testing.assert_allclose(inertia @ (new[3:] - free[0, 3:]), turning, rtol=1e-9, atol=1e-15)


def test_without_gravity_the_centre_approaches_as_critical_damping_does():
    """Held by its centre, a body is x'' = - RATE² x - 2 RATE x': (1 + RATE t) exp(- RATE t) of the way is left."""
    bodies, grabs = held(box())
    grabs.move(grabs.hold(0, bodies.positions[0]), bodies.positions[0] + [0.1, 0.0, 0.0])
    h, t = 2e-4, 2.0 / RATE
    for _ in range(round(t / h)):
        step(bodies, grabs, h, NONE)
    assert 0.1 - bodies.positions[0, 0] == pytest.approx(0.1 * 3.0 * np.exp(-2.0), rel=0.01)


@pytest.mark.parametrize("mass", [1e-3, 1e3])
def test_a_jerk_stays_finite_and_below_the_speed_of_the_spring(mass):
    """However far the target jumps, the pull is that of REACH: no faster than RATE REACH ÷ 2, and no overshoot."""
    bodies, grabs = held(box(mass, half=(0.1, 0.001, 0.1)))
    grab = grabs.hold(0, (0.1, 1.0, 0.1))
    fastest = 0.0
    for k in range(100):
        grabs.move(grab, (0.0, 1.0, 0.0) if k % 7 else (100.0, -50.0, 30.0))
        step(bodies, grabs, 0.1)
        turned = rotation.matrices(bodies.orientations)[0]
        arm = turned @ [0.1, 0.0, 0.1]
        fastest = max(fastest, np.linalg.norm(bodies.velocities[0] + np.cross(bodies.spins[0], arm)))
    assert np.isfinite(bodies.positions).all()
    assert fastest < 0.5 * RATE * REACH + 9.81 / RATE


def test_two_hands_share_a_body():
    """Held at both ends it hangs level, half the sag, and neither hand has the whole of it."""
    bodies, grabs = held(box())
    ends = [np.array([x, 1.0, 0.0]) for x in (-0.1, 0.1)]
    hands = [grabs.hold(0, end) for end in ends]
    for _ in range(120):
        step(bodies, grabs, 1 / 60)
    np.testing.assert_allclose(grabs.points(), ends + 0.5 * GRAVITY / RATE**2, atol=1e-6)
    grabs.release(hands[0])
    assert grabs.held == (hands[1],)


def test_what_is_not_held_keeps_its_velocity():
    bodies, grabs = held(box(), Body(Sphere((1.0, 1.0, 0.0), 0.1), velocity=(0.0, 2.0, 0.0)))
    grabs.hold(0, bodies.positions[0])
    turned = rotation.matrices(bodies.orientations)
    free = free_velocities(bodies, turned, GRAVITY, 0.01)
    pulled = grabs.pulled(free, turned, 0.01)
    assert np.array_equal(pulled[1], free[1])
    assert not np.array_equal(pulled[0], free[0])
    grabs.release()
    assert grabs.pulled(free, turned, 0.01) is free


def swung():
    """A box on the ground that is lifted and moved sideways."""
    sim = RigidSimulation([Body(Plane(), fixed=True), Body(Box((0.0, 0.1, 0.0), (0.1, 0.1, 0.1)))], threads=1)
    grab = sim.grab(1, (0.0, 0.2, 0.0))
    for k in range(30):
        sim.move_grab(grab, (0.02 * k, 0.2 + 0.02 * k, 0.0))
        sim.step()
    return sim, grab


@pytest.mark.slow
def test_a_box_is_lifted_and_thrown_with_the_velocity_it_has():
    """Let go it flies on: the velocity of its centre changes by gravity alone."""
    sim, grab = swung()
    assert sim.positions[1, 1] > 0.4
    before = sim.velocities[1]
    assert before[0] > 0.5
    assert before[1] > 0.5
    sim.release(grab)
    assert np.array_equal(sim.velocities[1], before)
    assert sim.grabbed == ()
    sim.step()
    np.testing.assert_allclose(sim.velocities[1], before + GRAVITY * sim.time_step, atol=1e-9)


@pytest.mark.slow
def test_reset_lets_go_and_makes_the_same_steps_again():
    sim, _ = swung()
    ended = sim.positions, sim.orientations
    sim.reset()
    assert sim.grabbed == ()
    assert sim.time == 0.0
    assert sim.frames == 0
    assert np.array_equal(sim.positions[1], [0.0, 0.1, 0.0])
    again = sim.grab(1, (0.0, 0.2, 0.0))
    for k in range(30):
        sim.move_grab(again, (0.02 * k, 0.2 + 0.02 * k, 0.0))
        sim.step()
    assert np.array_equal(sim.positions, ended[0])
    assert np.array_equal(sim.orientations, ended[1])


def test_what_cannot_be_grabbed_is_refused_by_name():
    still = Body(Box((1.0, 1.0, 0.0), (0.1, 0.1, 0.1)), path=lambda t: (np.zeros(3), np.zeros(3)))
    _, grabs = held(Body(Plane(), fixed=True), box(), still)
    for body, why in ((0, "is fixed"), (2, "follows a path"), (3, "from 0 to 2"), (1.5, "not 1.5"), (True, "not True")):
        with pytest.raises(InputError, match=why):
            grabs.hold(body, (0.0, 1.0, 0.0))
    for point in ((0.0, 1.0), (0.0, np.nan, 0.0), "here"):
        with pytest.raises(InputError, match="point"):
            grabs.hold(1, point)
    with pytest.raises(InputError, match="target"):
        grabs.hold(1, (0.0, 1.0, 0.0), (1e9, 0.0, 0.0))
    assert grabs.held == ()
    grab = grabs.hold(1, (0.0, 1.0, 0.0))
    for bad in (grab + 1, "one", None):
        with pytest.raises(InputError, match="there is no grab"):
            grabs.move(bad, (0.0, 0.0, 0.0))
    with pytest.raises(InputError, match="there is no grab"):
        grabs.release([grab, grab + 1])
    assert grabs.held == (grab,)
    assert grabs.body_of(grab) == 1
