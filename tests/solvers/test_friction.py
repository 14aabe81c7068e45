"""Friction of walls: what rests, what slides, and forces that are remembered."""

import numpy as np
import pytest

from solvers.contact_lists import colliders_of
from vivace import Budget, Cloth, Model, Simulation, mesh
from vivace.collisions.colliders import Plane
from vivace.collisions.contacts import BITS, Contacts
from vivace.energy.system import System

POSITIONAL = ["pbd", "pbd-coloured", "pbd-jacobi", "pbd-vivace"]
PROJECTIVE = ["vivace", "lbfgs(multigrid)", "auto", "multigrid"]
G, H = 9.81, 1 / 30
ANGLE = np.radians(20.0)  # tan = 0.364


class Slope:
    """A cloth that lies on a slope, at the distance that contacts keep."""

    def __init__(self, solver, friction, *, iterations=10, thickness=0.004):
        self.down = np.array([np.cos(ANGLE), -np.sin(ANGLE), 0])
        self.normal = np.array([np.sin(ANGLE), np.cos(ANGLE), 0])
        sheet = mesh.cloth(6, 6, 0.3, 0.3).transformed(rotate=[0, 0, -ANGLE], translate=thickness * self.normal)
        model = Model.of(sheet, Cloth(density=0.5, stretch=1e3))
        ground = Plane((0, 0, 0), tuple(self.normal))
        self.model = model.collide([ground], friction=friction, itself=False, thickness=thickness)
        self.sim = Simulation(self.model, solver=solver, budget=Budget(iterations=iterations), time_step=H, threads=1)

    def run(self, frames, speed=0.0):
        """Speed down the slope, on average, after each of the frames; it starts with `speed`."""
        self.sim.velocities = np.tile(speed * self.down, (self.model.n, 1))
        speeds = []
        for _ in range(frames):
            assert self.sim.step().contacts == self.model.n
            speeds.append(float((self.sim.velocities @ self.down).mean()))
            assert (self.sim.positions @ self.normal >= 0.004 - 1e-6).all()
        return np.array(speeds)

    @property
    def creep(self):
        """m g/(w h) (m/s) of sweeps: there a contact is a spring, of the stiffness of the vertex it holds.

        All others remember what has held it, and so does whoever is position based within a step.
        """
        if self.sim.solver.name != "vivace":
            return 2.0**-22 * 0.2 / H  # a few roundings of positions up to 0.2 m
        return float((self.model.masses * G / System(self.model, H).diagonal).max() / H)


@pytest.mark.parametrize("solver", [*POSITIONAL, *PROJECTIVE])
def test_a_cloth_rests_below_the_angle_of_friction(solver):
    """μ = 0.5 > tan θ: after the first frames nothing moves, but for the creep of a contact that is a spring."""
    slope = Slope(solver, 0.5)
    slope.run(40)
    assert np.abs(slope.sim.velocities).max() <= slope.creep


@pytest.mark.parametrize("solver", [*POSITIONAL, *PROJECTIVE])
def test_a_cloth_slides_above_the_angle_of_friction(solver):
    """a = g (sin θ - μ cos θ): implicit Euler is exact for a constant acceleration, so what is left is the solver's."""
    speeds = Slope(solver, 0.2).run(60)
    expected = G * (np.sin(ANGLE) - 0.2 * np.cos(ANGLE))
    slope = np.polyfit(np.arange(10, 60) * H, speeds[10:], 1)[0]
    assert slope == pytest.approx(expected, rel=2e-5 if solver in POSITIONAL else 3e-3)


@pytest.mark.parametrize("solver", [*POSITIONAL, *PROJECTIVE])
def test_static_friction_holds_and_kinetic_friction_lets_slide(solver):
    """μ_s = 0.6 > tan θ > μ_k = 0.2: what rests stays, what is pushed goes on, as if it had been μ_k all the time."""
    slope = Slope(solver, (0.6, 0.2))
    assert abs(slope.run(40)[-1]) <= slope.creep
    speeds = Slope(solver, (0.6, 0.2)).run(60, speed=0.5)
    expected = G * (np.sin(ANGLE) - 0.2 * np.cos(ANGLE))
    assert np.polyfit(np.arange(10, 60) * H, speeds[10:], 1)[0] == pytest.approx(
        expected, rel=2e-5 if solver in POSITIONAL else 3e-3
    )


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
