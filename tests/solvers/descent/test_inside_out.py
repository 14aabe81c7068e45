"""Bodies turned inside out, flattened and tangled: they stay finite, and come back."""

import numpy as np
import pytest

from solvers.descent.bodies import MATERIALS, cube, stretches, tangled
from vivace import Budget, Simulation

SOLVERS = {"descent": 64, "newton-multigrid": 16}  # iterations of a frame
NEAR = 0.01  # of a stretch from 1: at rest

STATES = {
    "mirrored": lambda rest: rest * [-1.0, 1.0, 1.0],
    "point reflection": lambda rest: -rest,
    "flat": lambda rest: rest * [1.0, 1.0, 0.0],
    "a line": lambda rest: rest * [1.0, 0.0, 0.0],
}


def come_back(sim, frames):
    """Frames until every stretch is near 1; None if that did not happen."""
    for frame in range(frames):
        assert sim.step().finite
        if np.abs(stretches(sim.model, sim.positions) - 1).max() < NEAR:
            return frame
    return None


def from_state(solver, model, positions):
    sim = Simulation(model, solver=solver, budget=Budget(iterations=SOLVERS[solver]), threads=1, time_step=1 / 30)
    sim.positions = positions
    return sim


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", MATERIALS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_tangle_comes_back(solver, name, seed):
    """Every vertex anywhere in the box: half of the elements are inverted. benchmarks/inside_out.py has more seeds."""
    model = cube(name, early=True, gravity=(0, 0, 0), air=2.0)
    start = tangled(model, seed)
    assert (stretches(model, start)[:, 2] < 0).mean() > 0.3
    assert come_back(from_state(solver, model, start), 150) is not None


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("name", MATERIALS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_an_inverted_body_comes_back(solver, name, state):
    """Mirrored every element is inverted and at its energy's saddle; a little noise shows which way is down."""
    model = cube(name, early=True, gravity=(0, 0, 0), air=2.0)
    rest = model.mesh.vertices
    start = STATES[state](rest) + 0.01 * np.random.default_rng(0).normal(size=rest.shape)
    assert come_back(from_state(solver, model, start), 150) is not None


@pytest.mark.slow
@pytest.mark.parametrize("iterations", [1, 3, 30])
@pytest.mark.parametrize("name", MATERIALS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_tangles_stay_finite_and_do_not_grow(solver, name, iterations):
    """As they come, converted where the paper does it, and with few iterations: no element is drawn out ever longer.

    They may stay tangled: see docs/descent.md.
    """
    model = cube(name, gravity=(0, 0, 0))
    for seed in range(3):
        sim = from_state(solver, model, tangled(model, seed))
        widest = stretches(model, sim.positions).max()
        for _ in range(60):
            assert sim.step(Budget(iterations=iterations)).finite
        assert stretches(model, sim.positions).max() < 2 * widest
