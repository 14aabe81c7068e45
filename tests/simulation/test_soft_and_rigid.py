"""Soft and rigid bodies in one step: momentum, weight, friction with what moves, and nothing through anything."""

from __future__ import annotations

import numpy as np
import pytest

import vivace as vv
from vivace.collisions import Box, Plane, Sampled, Sphere

THICKNESS = 0.005


def sheet(n: int = 14, side: float = 0.6, gravity=(0.0, -9.81, 0.0)) -> vv.Model:
    cloth = vv.mesh.cloth(n, n, width=side, height=side, plane="horizontal")
    return vv.Model.of(cloth, vv.Cloth(density=0.2, stretch=1e3, bend=1e-4), gravity=gravity)


def hit(iterations: int = 64, threads: int | None = None) -> vv.Simulation:
    """A ball that flies into a cloth that nothing holds, without gravity."""
    ball = vv.Body(Sphere((0.03, 0.13, 0.02), 0.1), mass=0.2, velocity=(0.0, -3.0, 0.0))
    model = sheet(gravity=(0, 0, 0)).collide([ball], thickness=THICKNESS, itself=False)
    return vv.Simulation(model, time_step=1 / 60, substeps=2, budget=vv.Budget(iterations=iterations), threads=threads)


def momentum(sim: vv.Simulation) -> np.ndarray:
    soft = (sim.model.masses[:, None] * sim.velocities).sum(axis=0)
    return soft + (sim.bodies.masses[:, None] * sim.bodies.velocities).sum(axis=0)


@pytest.mark.slow
def test_momentum_goes_from_the_ball_to_the_cloth():
    """What one side gains the other loses, within what the solver leaves unsolved."""
    sim = hit()
    before = momentum(sim)
    for _ in range(12):
        sim.step()
    assert sim.bodies.velocities[0, 1] > -2.6  # it has given some of its 3 m/s away
    assert sim.velocities[:, 1].mean() < -1.0
    assert momentum(sim) == pytest.approx(before, abs=0.01 * 0.6)


@pytest.mark.slow
def test_no_vertex_is_inside_the_ball():
    sim = hit(8)
    for _ in range(12):
        sim.step()
        away = np.linalg.norm(sim.positions - sim.bodies.positions[0], axis=1)
        assert away.min() > 0.1 + 0.5 * THICKNESS


@pytest.mark.slow
def test_a_box_lies_on_a_soft_cube_with_its_weight():
    cube = vv.mesh.cube(4, side=0.2)
    model = vv.Model.of(cube, vv.Solid(density=1000, youngs_modulus=3e4))
    box = vv.Body(Box((0.0, 0.155, 0.0), (0.05, 0.05, 0.05)), mass=1.0)
    model = model.collide([Plane((0, -0.1 - THICKNESS, 0)), box], thickness=THICKNESS, itself=False)
    sim = vv.Simulation(model, time_step=1 / 60, substeps=2, budget=vv.Budget(iterations=32))
    for _ in range(90):
        report = sim.step()
    assert np.abs(sim.bodies.velocities).max() < 0.01
    assert np.abs(sim.bodies.positions[0, [0, 2]]).max() < 0.003
    # the foot carries both: a box of 1 kg and a cube of 8 kg
    foot = sim.solver.contact_forces()
    on_floor = (foot.ids & (2**31 - 1)) == 0
    assert foot.forces[on_floor, 1].sum() == pytest.approx(9 * 9.81, rel=0.02)
    assert foot.forces[~on_floor, 1].sum() == pytest.approx(-9.81, rel=0.03)
    assert report.bodies is not None
    assert report.bodies.contacts == 0


def carried(friction: float) -> tuple[float, float]:
    """How far a cloth goes with the box that it lies on, and how far the box goes."""

    def path(time):
        return np.array([0.5 * 0.8 * min(time, 0.5) ** 2 + 0.4 * max(time - 0.5, 0.0), 0.0, 0.0]), np.zeros(3)

    box = vv.Body(Box((0.0, -0.1 - THICKNESS, 0.0), (0.5, 0.1, 0.5)), path=path)
    model = sheet(10, 0.4).collide([box], thickness=THICKNESS, itself=False, friction=friction)
    sim = vv.Simulation(model, time_step=1 / 60, budget=vv.Budget(iterations=16))
    for _ in range(60):
        sim.step()
    return float(sim.positions[:, 0].mean()), float(sim.bodies.positions[0, 0])


@pytest.mark.slow
def test_a_cloth_goes_with_a_box_that_is_moved():
    """Friction holds it up to μ g = 2.9 m/s², and the box speeds up with 0.8 m/s²."""
    cloth, box = carried(0.3)
    assert box == pytest.approx(0.3, abs=1e-6)
    assert cloth == pytest.approx(box, abs=0.005)


@pytest.mark.slow
def test_without_friction_the_box_is_pulled_from_under_it():
    assert abs(carried(0.0)[0]) < 1e-3


@pytest.mark.slow
def test_any_solver_follows_bodies_on_a_path():
    box = vv.Body(
        Box((0.0, -0.1 - THICKNESS, 0.0), (0.5, 0.1, 0.5)), path=lambda t: (np.array([0, 0.3 * t, 0]), np.zeros(3))
    )
    for solver in ("vivace", "pbd-vivace", "gauss-seidel"):
        model = sheet(8, 0.4).collide([box], thickness=THICKNESS, itself=False)
        sim = vv.Simulation(model, time_step=1 / 60, solver=solver, budget=vv.Budget(iterations=8))
        for _ in range(20):
            sim.step()
        lift = 0.3 * 20 / 60
        assert sim.positions[:, 1] == pytest.approx(lift, abs=0.004), solver


@pytest.mark.slow
def test_the_same_bits_again_from_a_state_and_with_other_threads(tmp_path):
    sim, other = hit(16, threads=1), hit(16, threads=2)
    for _ in range(5):
        sim.step(), other.step()
    assert (sim.positions == other.positions).all()
    assert (sim.bodies.positions == other.bodies.positions).all()
    path = sim.state.save(tmp_path / "state.npz")
    for _ in range(4):
        sim.step()
    again = hit(16)
    again.state = vv.State.load(path)
    for _ in range(4):
        again.step()
    assert (sim.positions == again.positions).all()
    assert (sim.bodies.orientations == again.bodies.orientations).all()


@pytest.mark.slow
@pytest.mark.parametrize("mass", [1e-3, 100.0])
def test_light_and_heavy_bodies_stay_finite_in_long_steps(mass):
    """Without the stiffness of contacts in the answer of bodies a light one would be thrown off at once."""
    ball = vv.Body(Sphere((0.03, 0.12, 0.02), 0.1), mass=mass)
    model = sheet().pin("corners").collide([ball], thickness=THICKNESS, itself=False)
    sim = vv.Simulation(model, time_step=1 / 30, substeps=1, budget=vv.Budget(iterations=4))
    for _ in range(40):
        assert sim.step().finite
        assert np.abs(sim.bodies.velocities).max() < 20.0


def test_what_does_not_go_together_is_refused():
    ball = vv.Body(Sphere((0, 0.3, 0), 0.1))
    model = sheet(6).collide([ball], itself=False)
    with pytest.raises(vv.InputError, match="bdf2"):
        vv.Simulation(model, integrator="bdf2")
    for solver in ("pbd", "vivace"):
        with pytest.raises(vv.InputError, match="rigid bodies that are free"):
            vv.Simulation(model, solver=solver).step()
    sampled = Sampled.of(Sphere((0, 0, 0), 0.1).surface(), spacing=0.05, cache=False)
    with pytest.raises(vv.InputError, match="ConvexMesh"):
        vv.Simulation(sheet(6).collide([sampled, ball], itself=False))
    plain = vv.Simulation(sheet(6).collide([Plane((0, -1, 0))], itself=False))
    with pytest.raises(vv.InputError, match="poses"):
        vv.Simulation(model).state = plain.state
