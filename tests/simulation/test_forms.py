"""Velocities, or positions of before (Verlet's form): the same motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solvers.position_based.bodies import BODIES, H, rope, step
from solvers.rounding import U
from vivace import Budget, InputError, Simulation


def test_both_forms_give_the_same_motion():
    """x + (x - x_before) + h² a is x + h v + h² a: one step agrees to rounding, twenty to what grows of it."""
    model = BODIES["cloth"]()
    v = np.random.default_rng(0).normal(size=(model.n, 3))
    one = [step(model, "pbd-coloured", 5, velocities=v, form=form)[0] for form in ("velocity", "verlet")]
    np.testing.assert_allclose(one[0].positions, one[1].positions, atol=64 * U)
    np.testing.assert_allclose(one[0].velocities, one[1].velocities, atol=64 * U / H)
    for sim in one:
        for _ in range(20):
            sim.step()
    np.testing.assert_allclose(one[0].positions, one[1].positions, atol=1e-3)


@pytest.mark.parametrize("form", ["velocity", "verlet"])
def test_velocities_are_read_as_written(form):
    """Verlet's form keeps v h: what is read back is v to two roundings. Free fall then adds h g."""
    model = replace(rope(4), groups=())
    sim = Simulation(model, solver="pbd", budget=Budget(iterations=1), time_step=H, threads=1, form=form)
    v = np.random.default_rng(0).normal(size=(model.n, 3))
    sim.velocities = v
    np.testing.assert_allclose(sim.velocities, v, rtol=4 * U)
    sim.step()
    np.testing.assert_allclose(sim.velocities, v + np.array([0, -9.81 * H, 0]), atol=8 * U * 2 / H)
    np.testing.assert_allclose(sim.positions, model.mesh.vertices + H * v - [0, 9.81 * H**2, 0], atol=8 * U)


@pytest.mark.parametrize("solver", ["pbd-coloured", "vivace"])
def test_verlet_works_with_every_kind_of_solver(solver):
    model = BODIES["cloth"]()
    sims = [
        Simulation(model, solver=solver, budget=Budget(iterations=10), time_step=H, threads=1, form=form)
        for form in ("velocity", "verlet")
    ]
    for _ in range(3):
        for sim in sims:
            sim.step()
    np.testing.assert_allclose(sims[0].positions, sims[1].positions, atol=1e-5)


def test_an_unknown_form_is_refused():
    with pytest.raises(InputError, match="unknown form 'verlett'; did you mean 'verlet'"):
        Simulation(BODIES["cloth"](), form="verlett")
