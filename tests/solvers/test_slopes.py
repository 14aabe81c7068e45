"""What lies on a slope: it rests up to the angle of friction, and slides beyond it as in the closed form."""

import numpy as np
import pytest

from solvers.contact_lists import colliders_of
from vivace import Budget, Cloth, Model, Simulation, Solid, mesh
from vivace.collisions.colliders import Plane
from vivace.collisions.contacts import BITS, Contacts
from vivace.energy.system import System

POSITIONAL = ["pbd", "pbd-coloured", "pbd-jacobi", "pbd-vivace"]
SWEEPING = ["vivace", "gauss-seidel", "jacobi", "weighted-jacobi", "block-descent"]
PROJECTIVE = [*SWEEPING, "lbfgs(multigrid)", "auto", "multigrid"]
G, H = 9.81, 1 / 30
ANGLE = np.radians(20.0)  # tan = 0.364


def acceleration(angle, friction):
    """g (sin θ - μ cos θ), or 0 where friction holds."""
    return max(0.0, G * (np.sin(angle) - friction * np.cos(angle)))


class Slope:
    """A cloth (or what `body` makes) that lies on a slope, at the distance that contacts keep."""

    def __init__(self, solver, friction, *, iterations=10, thickness=0.004, angle=ANGLE, body=None):
        self.down = np.array([np.cos(angle), -np.sin(angle), 0])
        self.normal = np.array([np.sin(angle), np.cos(angle), 0])
        shape, material = body or (mesh.cloth(6, 6, 0.3, 0.3), Cloth(density=0.5, stretch=1e3))
        lying = shape.transformed(rotate=[0, 0, -angle], translate=thickness * self.normal)
        model = Model.of(lying, material)
        ground = Plane((0, 0, 0), tuple(self.normal))
        self.model = model.collide([ground], friction=friction, itself=False, thickness=thickness)
        self.sim = Simulation(self.model, solver=solver, budget=Budget(iterations=iterations), time_step=H, threads=1)

    def run(self, frames, speed=0.0):
        """Speed down the slope, of its centre, after each of the frames; it starts with `speed`."""
        self.sim.velocities = np.tile(speed * self.down, (self.model.n, 1))
        speeds, share = [], self.model.masses / self.model.masses.sum()
        flat = not len(self.model.mesh.tets)
        for _ in range(frames):
            contacts = self.sim.step().contacts
            assert contacts == self.model.n or not flat
            speeds.append(float(share @ self.sim.velocities @ self.down))
            assert (self.sim.positions @ self.normal >= 0.004 - 1e-6).all()
        return np.array(speeds)

    @property
    def creep(self):
        """m g/(w h) (m/s) of sweeps: there a contact is a spring, of the stiffness of the vertex it holds.

        All others remember what has held it, and so does whoever is position based within a step.
        """
        if self.sim.solver.name not in SWEEPING:
            return 2.0**-22 * 0.2 / H  # a few roundings of positions up to 0.2 m
        return float((self.model.masses * G / System(self.model, H).diagonal).max() / H)


@pytest.mark.slow
@pytest.mark.parametrize("solver", [*POSITIONAL, *PROJECTIVE])
def test_a_cloth_rests_below_the_angle_of_friction(solver):
    """μ = 0.5 > tan θ: after the first frames nothing moves, but for the creep of a contact that is a spring."""
    slope = Slope(solver, 0.5)
    slope.run(40)
    assert np.abs(slope.sim.velocities).max() <= slope.creep


@pytest.mark.slow
@pytest.mark.parametrize("solver", [*POSITIONAL, *PROJECTIVE])
def test_a_cloth_slides_above_the_angle_of_friction(solver):
    """a = g (sin θ - μ cos θ): implicit Euler is exact for a constant acceleration, so what is left is the solver's."""
    speeds = Slope(solver, 0.2).run(40)
    expected = G * (np.sin(ANGLE) - 0.2 * np.cos(ANGLE))
    slope = np.polyfit(np.arange(10, 40) * H, speeds[10:], 1)[0]
    assert slope == pytest.approx(expected, rel=2e-5 if solver in POSITIONAL else 3e-3)


@pytest.mark.slow
@pytest.mark.parametrize("solver", [*POSITIONAL, *PROJECTIVE])
def test_static_friction_holds_and_kinetic_friction_lets_slide(solver):
    """μ_s = 0.6 > tan θ > μ_k = 0.2: what rests stays, what is pushed goes on, as if it had been μ_k all the time."""
    slope = Slope(solver, (0.6, 0.2))
    assert abs(slope.run(40)[-1]) <= slope.creep
    speeds = Slope(solver, (0.6, 0.2)).run(40, speed=0.5)
    expected = G * (np.sin(ANGLE) - 0.2 * np.cos(ANGLE))
    assert np.polyfit(np.arange(10, 40) * H, speeds[10:], 1)[0] == pytest.approx(
        expected, rel=2e-5 if solver in POSITIONAL else 3e-3
    )


@pytest.mark.slow
def test_friction_does_not_depend_on_the_iterations():
    """The push of a step is divided among more visits, its sum is the same: so is what friction takes."""
    few, many = (Slope("pbd-coloured", 0.2, iterations=k).run(20)[-1] for k in (1, 50))
    assert few == pytest.approx(many, rel=2e-5)


@pytest.mark.parametrize("solver", ["pbd-coloured", "vivace"])
def test_colliders_may_have_a_friction_of_their_own(solver):
    """A plane of ice on a rough model: a = g sin θ."""
    slope = Slope(solver, 0.9)
    ice = Plane((0, 0, 0), tuple(slope.normal), friction=0.0)
    slope.sim.model = slope.model.collide([ice], friction=0.9, itself=False, thickness=0.004)
    assert slope.run(30)[-1] == pytest.approx(30 * H * G * np.sin(ANGLE), rel=3e-3)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "lbfgs(multigrid)", "multigrid"])
@pytest.mark.parametrize("load", [0.0, 40.0])
def test_walls_remember_the_forces_that_hold(solver, load):
    """At rest N adds up to the weight and the load, over all vertices, and friction T to what pulls down the slope."""
    slope = Slope(solver, 0.5)
    sim, masses = slope.sim, slope.model.masses
    sim.apply_forces(-load * G * masses[:, None] * slope.normal)
    for _ in range(60):
        sim.step()
    inner = sim.solver._solver if solver == "auto" else sim.solver
    keys, forces = inner.layout.contacts._held
    np.testing.assert_array_equal(keys >> BITS, np.arange(slope.model.n))
    weight = G * masses.sum()
    assert forces[:, 3].sum() == pytest.approx(weight * (np.cos(ANGLE) + load), rel=1e-4)
    np.testing.assert_allclose(
        forces[:, :3].sum(axis=0), -weight * np.sin(ANGLE) * slope.down, rtol=0, atol=2e-4 * weight * (1 + load)
    )
    assert np.abs(sim.positions @ slope.normal - 0.004).max() < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "multigrid", "newton-multigrid"])
def test_positions_that_are_set_begin_without_a_past(solver):
    slope = Slope(solver, 0.5, iterations=4)
    sim, start = slope.sim, slope.sim.positions
    runs = []
    for _ in range(2):
        sim.positions, sim.velocities = start, np.zeros_like(start)
        for _ in range(5):
            sim.step()
        runs.append(sim.positions)
    np.testing.assert_array_equal(*runs)


def test_remembered_forces_outlive_a_lack_of_room():
    """More contacts than there is room for: a new layout, which goes on with what held those that there were."""
    slope = Slope("multigrid", 0.5)
    slope.run(20)
    layout = slope.sim.solver.layout
    new = layout.with_room_for(Contacts(colliders_of(np.zeros(9000, np.int32))))
    assert new.contacts.room > layout.contacts.room
    assert new.contacts._held is layout.contacts._held
    assert len(new.contacts._held[0]) == slope.model.n


@pytest.mark.parametrize(
    ("solver", "least"), [("auto", 4), ("lbfgs(multigrid)", 4), ("vivace", 8), ("gauss-seidel", 8), ("pbd-coloured", 8)]
)
def test_what_touches_is_not_left_to_melt(solver, least):
    """It gets some iterations however short the time is, and the report says that it is late; nobody else does."""
    slope = Slope(solver, 0.5)
    slope.sim.substeps = 1
    slope.sim.budget = Budget(ms=1e-6)
    report = slope.sim.step()
    assert report.contacts
    assert report.sweeps == least
    assert report.late_ms > 0
    slope.sim.positions = slope.sim.positions + 10.0 * slope.normal
    assert slope.sim.step().sweeps == 1
    slope.sim.positions = slope.sim.positions - 10.0 * slope.normal
    slope.sim.budget = Budget(iterations=2)
    assert slope.sim.step().sweeps == 2


# --- sweeps: right however few there are ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("angle", [20.0, 40.0, 60.0])
@pytest.mark.parametrize("iterations", [1, 4, 10, 40])
@pytest.mark.parametrize("solver", SWEEPING)
def test_sweeps_of_any_number_slide_as_they_should(solver, iterations, angle):
    """g (sin θ - μ cos θ) to 3e-3 from one sweep on, and rest where that is negative."""
    angle = np.radians(angle)
    for friction in (0.0, 0.5) if iterations in (1, 10) else (0.2, 1.0):
        slope = Slope(solver, friction, iterations=iterations, angle=angle)
        speeds, expected = slope.run(30), acceleration(angle, friction)
        if expected:
            assert np.polyfit(np.arange(10, 30) * H, speeds[10:], 1)[0] == pytest.approx(expected, rel=3e-3)
        else:
            assert np.abs(slope.sim.velocities).max() <= slope.creep


@pytest.mark.parametrize("solver", ["vivace", "gauss-seidel", "jacobi", "block-descent"])
def test_a_cloth_that_has_been_dropped_slides_as_it_should(solver):
    """From 3 cm, crumpled by 2 mm: when it has come down, the same acceleration."""
    angle = np.radians(40.0)
    slope = Slope(solver, 0.5, angle=angle)
    noise = 0.002 * np.random.default_rng(0).standard_normal((slope.model.n, 3))
    slope.sim.positions = slope.sim.positions + 0.03 * slope.normal + noise
    speeds = []
    for _ in range(50):
        slope.sim.step()
        speeds.append(slope.model.masses @ slope.sim.velocities @ slope.down / slope.model.masses.sum())
    assert np.polyfit(np.arange(20, 50) * H, speeds[20:], 1)[0] == pytest.approx(acceleration(angle, 0.5), rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("angle", "friction"), [(20.0, 0.2), (40.0, 0.5)])
@pytest.mark.parametrize(("solver", "iterations"), [("vivace", 30), ("gauss-seidel", 30), ("jacobi", 100)])
def test_a_cube_slides_as_it_should(solver, iterations, angle, friction):
    """Where only the foot touches it takes the sweeps that carry its force to the top: then 2 % again."""
    angle, shape = np.radians(angle), mesh.cube(3, side=0.2)
    body = shape.transformed(translate=(0, -shape.vertices[:, 1].min(), 0)), Solid(500.0, 2e5)
    speeds = Slope(solver, friction, iterations=iterations, angle=angle, body=body).run(50)
    found = np.polyfit(np.arange(10, 50) * H, speeds[10:], 1)[0]
    assert found == pytest.approx(acceleration(angle, friction), rel=0.02)


def test_blocks_of_block_descent_have_their_contacts():
    """k of every vertex is Y_ii of the system with contacts, less what springs add to the block."""
    slope = Slope("block-descent", 0.5)
    slope.sim.prepare()
    solver = slope.sim.solver
    free = solver._even.copy()
    slope.run(2)
    order, system = solver.layout.order, solver.layout.system
    assert (system.contact_weight > 0).all()
    np.testing.assert_allclose(solver._even - free, system.contact_weight[order], rtol=1e-4)
