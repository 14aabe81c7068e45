"""Position based solvers: where they converge to, with compliance and with stiffness."""

from __future__ import annotations

import numpy as np
import pytest

from solvers.position_based.bodies import SOLVERS, H, rope, step
from vivace import Budget, Cloth, Model, Simulation, mesh


@pytest.mark.parametrize("solver", SOLVERS)
def test_compliance_leads_to_the_minimum_where_gradients_do_not_turn(solver):
    """A rope in its own line: ∇C is constant, so λ of the iterations is that of the minimum of ε.

    The error falls by a factor of ten at least from 1 to 10 to 100 iterations, to what float32 leaves: the energy of
    positions that are rounded, (u |q|)² Σ Y_ii/2, is below 1e-11 of what there was to gain.
    """
    model = rope(10, stiffness=20.0, gravity=(0, 0, 0))
    velocities = np.zeros((model.n, 3))
    velocities[:, 1] = np.random.default_rng(0).normal(size=model.n)
    errors = [step(model, solver, k, velocities=velocities)[1].relative_error for k in (1, 10, 100, 400)]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]
    assert errors[3] < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_compliance_leads_near_the_minimum_where_they_do(solver):
    """λ is the sum of steps along gradients that turn on the way: not quite that of the last gradient [macklin2016,
    section 4.1, drops the same terms]. On a cloth that is deformed by a tenth of its edges, 3e-4 of the error is left.
    """
    sheet = mesh.cloth(6, 6)
    model = Model.of(sheet, Cloth(stretch=50.0, bend=1e-3))
    q = sheet.vertices + 0.02 * np.random.default_rng(1).normal(size=sheet.vertices.shape)
    errors = [step(model, solver, k, positions=q)[1].relative_error for k in (1, 10, 1000)]
    assert errors[0] > 3 * errors[1] > 3 * errors[2]
    assert errors[2] < 3e-4


def test_what_is_left_vanishes_with_the_turn_of_the_gradients():
    """Springs whose directions turn by half as much leave less than half of the relative error."""
    sheet = mesh.cloth(6, 6)
    model = Model.of(sheet, Cloth(stretch=50.0, bend=0.0))
    noise = np.random.default_rng(1).normal(size=sheet.vertices.shape)
    errors = [
        step(model, "pbd", 500, positions=sheet.vertices + d * noise)[1].relative_error for d in (0.04, 0.02, 0.01)
    ]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


def hanging(solver, springs, iterations):
    """How much longer than at rest a rope is that hangs from its end, after 10 s."""
    model = rope(springs, stiffness=20.0, air=3.0).pin([0])
    sim = Simulation(model, solver=solver, budget=Budget(iterations=iterations), time_step=H, threads=1)
    for _ in range(300):
        sim.step()
    assert np.abs(sim.velocities).max() < 1e-3
    assert (sim.positions[0] == 0).all()
    return -float(sim.positions[-1, 1]) - 1.0


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["pbd", "pbd-coloured", "pbd-vivace"])
def test_compliance_depends_on_neither_iterations_nor_resolution(solver):
    """A rope of weight ρ g L stretches by ρ g L²/(2 EA), whatever its springs; each has (weight below) / (EA/l)."""
    expected = 1.0 * 9.81 / (2 * 20.0)
    for springs, iterations in ((5, 30), (5, 120), (10, 60), (20, 200)):
        assert hanging(solver, springs, iterations) == pytest.approx(expected, rel=1e-3)


@pytest.mark.slow
def test_stiffness_depends_on_both():
    """κ = 0.5: more iterations are a stiffer rope, more springs a softer one."""
    few, many = hanging("pbd:stiffness=0.5", 10, 5), hanging("pbd:stiffness=0.5", 10, 40)
    assert few > 3 * many
    assert hanging("pbd:stiffness=0.5", 20, 5) > 1.5 * few


@pytest.mark.slow
def test_the_springs_of_a_rope_carry_what_hangs_below():
    """k (|x_i - x_(i+1)| - l) = g Σ_(j>i) m_j for every spring."""
    model = rope(8, stiffness=20.0, air=3.0).pin([0])
    sim = Simulation(model, solver="pbd-coloured", budget=Budget(iterations=100), time_step=H, threads=1)
    for _ in range(300):
        sim.step()
    tension = model.groups[0].weights * (-np.diff(sim.positions[:, 1].astype(float)) - 1 / 8)
    below = 9.81 * (model.masses.sum() - np.cumsum(model.masses)[:-1])
    np.testing.assert_allclose(tension, below, rtol=2e-3)
