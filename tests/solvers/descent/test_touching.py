"""Hyperelastic bodies that lie, slide and are held."""

import numpy as np
import pytest

from solvers.test_slopes import ANGLE, G, Slope
from vivace import Budget, Model, Simulation, mesh, neo_hookean
from vivace.collisions.colliders import Plane

SOLVERS = ["descent", "descent:direction=gauss-seidel", "newton-multigrid"]
SIDE = 0.2


def rubber(**more):
    return neo_hookean(young=2e5, poisson=0.4, density=500.0, **more)


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_cube_lands_and_rests(solver):
    """On the floor, its thickness above it, and with the height that its own weight leaves it, ρ g L²/(2 E).

    30 sweeps of single vertices do not carry the weight through the body: it lies, and is not pressed.
    """
    iterations = 100 if "gauss-seidel" in solver else 30
    body = mesh.cube(4, side=SIDE).transformed(translate=(0, 0.2, 0))
    model = Model.of(body, rubber(), air=1.0).collide([Plane()], itself=False, thickness=0.004)
    sim = Simulation(model, solver=solver, budget=Budget(iterations=iterations), threads=1)
    for _ in range(90):
        assert sim.step().finite
        assert sim.positions[:, 1].min() >= 0.004 - 1e-5
    assert sim.positions[:, 1].min() < 0.0041
    assert np.abs(sim.velocities).max() < 1e-2
    pressed = SIDE - np.ptp(sim.positions[:, 1])
    assert 0.2 * 500 * G * SIDE**2 / (2 * 2e5) < pressed < 3 * 500 * G * SIDE**2 / (2 * 2e5)


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "iterations", "near"), [("descent", 400, 0.1), ("newton-multigrid", 100, 0.02)])
@pytest.mark.parametrize("friction", [0.2, 0.6])
def test_a_slab_on_a_slope(solver, iterations, near, friction):
    """It rests where μ > tan θ = 0.36, and slides at g (sin θ - μ cos θ) where not.

    What is left of the step goes into friction: with 100 iterations `descent` slides a third faster.
    """
    shape = mesh.bar(4, 2, 4, (SIDE, SIDE / 4, SIDE)).transformed(translate=(0, SIDE / 8, 0))
    speeds = Slope(solver, friction, iterations=iterations, body=(shape, rubber())).run(40)
    if friction > np.tan(ANGLE):
        assert np.abs(speeds[-10:]).max() < 5e-3
    else:
        expected = G * (np.sin(ANGLE) - friction * np.cos(ANGLE))
        assert np.polyfit(np.arange(10, 40) / 30, speeds[10:], 1)[0] == pytest.approx(expected, rel=near)


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_what_is_grabbed_follows(solver):
    """A corner goes where it is held, the body follows; let go, it falls."""
    model = Model.of(mesh.cube(4, side=SIDE), rubber(), air=1.0)
    sim = Simulation(model, solver=solver, budget=Budget(iterations=40), threads=1)
    for k in range(60):
        sim.grab(0, (0.3, min(0.01 * k, 0.3), 0.0))
        assert sim.step().finite
    assert np.linalg.norm(sim.positions[0] - [0.3, 0.3, 0.0]) < 2e-3
    assert sim.positions[:, 1].mean() < 0.3  # hangs from it
    sim.release()
    before = sim.positions[:, 1].mean()
    for _ in range(10):
        sim.step()
    assert sim.positions[:, 1].mean() < before - 0.2
