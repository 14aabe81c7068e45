"""Rigid bodies in motion, against closed forms; tolerances are what a step of such a length leaves."""

import numpy as np
import pytest

from vivace import Budget, InputError
from vivace.collisions import Box, Capsule, Plane, Sphere
from vivace.rigid import rotation
from vivace.rigid.bodies import Body
from vivace.rigid.proximal import Ellipse
from vivace.simulation.rigid_simulation import RigidSimulation

G = 9.81


def on_ramp(angle, friction, shape=None, **options):
    """A box of 20 cm, or another shape, on a plane that rises along x."""
    normal = np.array([-np.sin(angle), np.cos(angle), 0.0])
    shape = shape or Box(tuple(0.1 * normal), (0.1, 0.1, 0.1), rotate=(0.0, 0.0, angle))
    bodies = [Body(Plane(normal=tuple(normal)), fixed=True, friction=friction), Body(shape, friction=friction)]
    down = -np.array([np.cos(angle), np.sin(angle), 0.0])
    return RigidSimulation(bodies, threads=1, **options), down


def advance(sim, seconds):
    for _ in range(round(seconds / sim.time_step)):
        report = sim.step()
    return report


@pytest.mark.slow
@pytest.mark.parametrize(
    "solver",
    ["contact-sets", "coloured", "gauss-seidel", "anderson", "rescaled", "jacobi:omega=0.5", "naive-parallel:parts=1"],
)
def test_a_box_slides_from_the_friction_angle_on(solver):
    """Coulomb's law at 0.99 and 1.01 of the angle: at rest, and g (sin θ - μ cos θ)."""
    critical = np.arctan(0.5)
    sim, down = on_ramp(0.99 * critical, 0.5, solver=solver)
    advance(sim, 0.3)
    assert np.linalg.norm(sim.velocities[1]) < 1e-4
    sim, down = on_ramp(1.01 * critical, 0.5, solver=solver)
    advance(sim, 0.5)
    expected = 0.5 * G * (np.sin(1.01 * critical) - 0.5 * np.cos(1.01 * critical))
    assert sim.velocities[1] @ down == pytest.approx(expected, rel=0.02)
    assert np.abs(sim.spins[1]).max() < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(("grain", "coefficient"), [((1, 0, 0), 0.2), ((0, 0, 1), 0.6)])
def test_friction_with_a_grain_depends_on_the_direction(grain, coefficient):
    """An ellipse: down the slope a box has the coefficient along the grain of the ground, or across it."""
    angle = 0.7
    normal = np.array([-np.sin(angle), np.cos(angle), 0.0])
    down = -np.array([np.cos(angle), np.sin(angle), 0.0])
    slope = Box(tuple(-0.5 * normal), (20.0, 0.5, 20.0), rotate=(0.0, 0.0, angle))
    box = Box(tuple(0.1 * normal), (0.1, 0.1, 0.1), rotate=(0.0, 0.0, angle))
    ground = Body(slope, fixed=True, friction=Ellipse(0.2, 0.6), grain=grain)
    sim = RigidSimulation([ground, Body(box, friction=0.9)], threads=1)
    advance(sim, 0.5)
    expected = 0.5 * G * (np.sin(angle) - coefficient * np.cos(angle))
    assert sim.velocities[1] @ down == pytest.approx(expected, rel=0.01)
    assert abs(sim.velocities[1, 2]) < 1e-3


@pytest.mark.slow
def test_what_slides_askew_of_the_grain_turns_towards_it():
    """Along neither axis: friction of an ellipse is not against the motion, but against the gradient of its set."""
    ground = Body(Plane(), fixed=True, friction=Ellipse(0.1, 0.8))
    box = Body(Box((0.0, 0.1, 0.0), (0.1, 0.1, 0.1)), velocity=(3.0, 0.0, 3.0))
    sim = RigidSimulation([ground, box], threads=1)
    advance(sim, 0.2)
    assert 0 < sim.velocities[1, 2] < 0.8 * sim.velocities[1, 0]


def test_a_ball_rolls_without_slipping():
    """a = 5/7 g sin θ, and v = ω r, while tan θ < 7/2 μ."""
    angle = 0.3
    sim, down = on_ramp(angle, 0.5, Sphere(tuple(0.1 * np.array([-np.sin(angle), np.cos(angle), 0.0])), 0.1))
    advance(sim, 0.5)
    assert sim.velocities[1] @ down == pytest.approx(5 / 7 * G * np.sin(angle) * 0.5, rel=1e-3)
    assert sim.spins[1, 2] * 0.1 == pytest.approx(sim.velocities[1] @ down, rel=1e-3)


@pytest.mark.slow
def test_a_ball_on_a_smooth_ramp_slips():
    """tan θ > 7/2 μ: a = g (sin θ - μ cos θ), and the spin lags behind: ω' = 5/2 μ g cos θ ÷ r."""
    angle, mu = 0.8, 0.1
    sim, down = on_ramp(angle, mu, Sphere(tuple(0.1 * np.array([-np.sin(angle), np.cos(angle), 0.0])), 0.1))
    advance(sim, 0.5)
    assert sim.velocities[1] @ down == pytest.approx(0.5 * G * (np.sin(angle) - mu * np.cos(angle)), rel=1e-3)
    assert sim.spins[1, 2] == pytest.approx(0.5 * 2.5 * mu * G * np.cos(angle) / 0.1, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_ball_bounces_to_the_height_it_should(restitution):
    """ε² of the height it fell from, within what it falls in a step; (1 - ε) in (2.72) would let it through."""
    ball = Body(Sphere((0.0, 1.1, 0.0), 0.1), restitution=restitution)
    sim = RigidSimulation([Body(Plane(), fixed=True), ball], time_step=1 / 240, substeps=4, threads=1)
    heights = []
    for _ in range(round(0.9 * 240)):
        sim.step()
        heights.append(sim.positions[1, 1] - 0.1)
    landed = int(np.argmin(heights))
    fall = np.sqrt(2 * G) / 960
    assert min(heights) > -2 * fall
    assert max(heights[landed:]) == pytest.approx(restitution**2, abs=4 * fall)


@pytest.mark.slow
def test_spin_friction_stops_a_spinning_ball():
    """Contensou: a torque of 2/3 μ m g R (2.37) about the normal, where R is the radius of the contact area."""
    mu, area = 0.5, 0.02
    ball = Body(Sphere((0.0, 0.1, 0.0), 0.1), spin=(0.0, 10.0, 0.0), friction=mu)
    sim = RigidSimulation([Body(Plane(), fixed=True, friction=mu), ball], contact_radius=area, threads=1)
    advance(sim, 0.5)
    slowing = 2 / 3 * mu * G * area / (0.4 * 0.1**2)
    assert sim.spins[1, 1] == pytest.approx(10.0 - 0.5 * slowing, rel=1e-3)
    sim.contact_radius[:] = 0.0
    before = sim.spins[1, 1]
    advance(sim, 0.2)
    assert sim.spins[1, 1] == pytest.approx(before, rel=1e-6)


@pytest.mark.slow
def test_momentum_and_energy_of_a_collision():
    """Two balls without gravity, one heavier: momenta are kept, and with ε = 1 so is the energy."""
    light = Body(Sphere((-1.0, 0.03, 0.0), 0.1), mass=1.0, velocity=(4.0, 0.0, 0.0), restitution=1.0, friction=0.0)
    heavy = Body(Sphere((0.0, 0.0, 0.0), 0.1), mass=3.0, restitution=1.0, friction=0.0)
    sim = RigidSimulation([light, heavy], gravity=(0, 0, 0), threads=1, budget=Budget(iterations=200))
    energy = sim.bodies.kinetic_energy()
    advance(sim, 1.0)
    masses = np.array([1.0, 3.0])
    assert sim.velocities[0, 0] < 0  # it has bounced back
    np.testing.assert_allclose(masses @ sim.velocities, [4.0, 0.0, 0.0], atol=1e-12)
    assert sim.bodies.kinetic_energy() == pytest.approx(energy, rel=1e-9)


@pytest.mark.slow
def test_a_spinning_body_keeps_its_angular_momentum_and_gains_no_energy():
    """About the middle axis it tumbles; an explicit torque (2.7) would blow it up."""
    brick = Body(Box((0, 0, 0), (0.05, 0.1, 0.2)), spin=(0.02, 12.0, 0.0))
    sim = RigidSimulation([brick], gravity=(0, 0, 0), threads=1)

    def momentum():
        turned = rotation.matrices(sim.orientations)[0]
        return turned @ sim.bodies.inertias[0] @ turned.T @ sim.spins[0]

    before, energy = momentum(), sim.bodies.kinetic_energy()
    advance(sim, 3.0)
    assert sim.bodies.kinetic_energy() <= energy * (1 + 1e-9)
    assert sim.bodies.kinetic_energy() > 0.8 * energy
    assert np.linalg.norm(momentum()) == pytest.approx(np.linalg.norm(before), rel=0.05)
    assert np.abs(sim.spins[0, [0, 2]]).max() > 0.5  # it did tumble


@pytest.mark.slow
def test_what_lies_on_a_moved_plate_goes_with_it():
    plate = Body(Box((0, 0, 0), (1.0, 0.05, 1.0)), path=lambda t: (np.array([0.5 * t, 0.0, 0.0]), np.zeros(3)))
    sim = RigidSimulation([plate, Body(Box((0, 0.15, 0), (0.1, 0.1, 0.1)))], threads=1)
    advance(sim, 1.0)
    np.testing.assert_allclose(sim.velocities[1], [0.5, 0.0, 0.0], atol=0.01)
    assert sim.positions[0, 0] == pytest.approx(0.5)
    assert sim.positions[1, 0] == pytest.approx(0.5, abs=0.05)  # it slipped until it was as fast


@pytest.mark.slow
def test_a_turned_plate_turns():
    plate = Body(Box((0, 0, 0), (1.0, 0.05, 1.0)), path=lambda t: (np.zeros(3), np.array([0.0, t, 0.0])))
    sim = RigidSimulation([plate], threads=1)
    advance(sim, 1.0)
    turned = rotation.matrices(sim.orientations)[0]
    np.testing.assert_allclose(turned @ [1, 0, 0], [np.cos(1.0), 0, -np.sin(1.0)], atol=1e-9)


@pytest.mark.slow
def test_a_stack_of_twenty_stands():
    """Four seconds; what moves dies away, and the top stays above the bottom."""
    boxes = [Body(Box((0, 0.1 + 0.2 * k, 0), (0.1, 0.1, 0.1))) for k in range(20)]
    sim = RigidSimulation([Body(Plane(), fixed=True), *boxes], threads=1)
    report = advance(sim, 4.0)
    assert report.kinetic_energy < 1e-8
    assert np.abs(sim.positions[1:, [0, 2]]).max() < 1e-3
    assert sim.positions[-1, 1] > 3.89
    assert report.depth < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["contact-sets", "coloured", "naive-parallel", "message-passing", "anderson"])
def test_threads_do_not_change_a_bit(solver):
    rng = np.random.default_rng(0)
    places = rng.uniform(-0.4, 0.4, (30, 3)) + np.array([0, 1.0, 0])
    shapes = [
        Sphere(tuple(p), 0.08) if k % 3 else Capsule(tuple(p), tuple(p + 0.1), 0.05) for k, p in enumerate(places)
    ]
    bodies = [Body(Plane(), fixed=True), *(Body(shape) for shape in shapes)]
    found = []
    for threads in (1, 2):
        sim = RigidSimulation(bodies, solver=solver, threads=threads)
        for _ in range(12):
            sim.step()
        found.append(sim.positions.tobytes() + sim.orientations.tobytes())
    assert found[0] == found[1]


@pytest.mark.slow
def test_a_thousand_bodies_in_one_point_part_without_an_explosion():
    balls = [Body(Sphere((0.0, 2.0, 0.0), 0.05)) for _ in range(200)]
    sim = RigidSimulation([Body(Plane(), fixed=True), *balls], threads=1)
    for _ in range(10):
        report = sim.step()
    assert np.isfinite(sim.positions).all()
    assert np.abs(sim.velocities).max() < 20.0
    assert report.kinetic_energy < 200 * sim.bodies.masses[1] * G * 2.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mass": 0.0}, "mass of a body must be"),
        ({"mass": -1.0}, "mass of a body must be"),
        ({"density": float("nan")}, "density of a body must be"),
        ({"restitution": 1.5}, "restitution must lie between 0 and 1"),
        ({"restitution": -0.1}, "restitution must lie between 0 and 1"),
        ({"friction": -0.5}, "friction of a body must be"),
        ({"velocity": (0.0, float("inf"), 0.0)}, "velocity of a body"),
        ({"inertia": np.diag([1.0, 1.0, -1.0])}, "positive definite"),
        ({"inertia": np.diag([1.0, 1.0, 5.0])}, "no body has the moments"),
        ({"inertia": np.array([[1, 0.5, 0], [0, 1, 0], [0, 0, 1.0]])}, "symmetric"),
    ],
)
def test_bad_bodies_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Body(Sphere((0, 0, 0), 0.1), **options)


def test_more_that_is_refused():
    with pytest.raises(InputError, match="half space"):
        Body(Plane())
    ball = Body(Sphere((0, 0, 0), 0.1))
    for options, message in (
        ({"substeps": 0}, "substeps must be"),
        ({"time_step": 0.0}, "time step"),
        ({"gravity": (0, np.nan, 0)}, "gravity"),
        ({"contact_radius": -1.0}, "contact_radius"),
        ({"solver": "gaus"}, "unknown contact solver"),
    ):
        with pytest.raises(InputError, match=message):
            RigidSimulation([ball], **options)
    with pytest.raises(InputError, match="grain of a body must have a length"):
        Body(Sphere((0, 0, 0), 0.1), grain=(0, 0, 0))
    with pytest.raises(InputError, match="function of the time"):
        Body(Sphere((0, 0, 0), 0.1), path=3)
    lost = RigidSimulation([Body(Sphere((0, 0, 0), 0.1), path=lambda t: ((np.nan, 0, 0), np.zeros(3)))])
    with pytest.raises(InputError, match="the path of body 0"):
        lost.step()
    assert np.isfinite(lost.velocities).all()
    with pytest.raises(InputError, match="must be a Body"):
        RigidSimulation([Sphere((0, 0, 0), 0.1)])
