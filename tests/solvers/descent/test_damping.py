"""Air and viscosity of hyperelastic bodies [fratarcangeli2018, Eq. 48], held to what an implicit step makes of them.

Air is c = air m: f = -(c/h) (q - q_n), so that v_(n+1) = (v_n + h g)/(1 + air h). (The paper has the energy of that
force with the wrong sign: it is +c/(2h) |q - q_n|².) Viscosity is viscosity/(2h) ‖q - q_n‖²_K with
K = Σ (λ + 2μ) V AᵀA.
"""

import numpy as np
import pytest

import vivace as vv
from vivace import Budget, Model, Simulation, mesh

SOLVERS = ["descent", "descent:direction=gauss-seidel", "newton-multigrid"]
H = 1 / 30


def simulated(solver, *, iterations=30, h=H, **world):
    model = Model.of(mesh.cube(3, 0.3), vv.neo_hookean(young=1e5, poisson=0.4, density=1000.0), **world)
    return Simulation(model, solver=solver, budget=Budget(iterations=iterations), threads=1, time_step=h, substeps=1)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("viscosity", [0.0, 0.01])
def test_a_body_that_falls_through_air(solver, viscosity):
    """v_n = a^n v_0 + (a + ... + a^n) h g with a = 1/(1 + air h), whatever the viscosity: nothing changes its shape."""
    sim = simulated(solver, air=3.0, viscosity=viscosity)
    v = np.array([2.0, 1.0, -1.0])
    sim.velocities = np.tile(v, (sim.model.n, 1))
    for _ in range(6):
        sim.step()
        v = (v + H * sim.model.gravity) / (1 + 3.0 * H)
        # float32 positions, whose last bits are velocities of 2^-24 |q| / h
        np.testing.assert_allclose(sim.velocities, np.tile(v, (sim.model.n, 1)), atol=2e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_viscosity_keeps_momentum(solver):
    """Forces of viscosity add up to nothing: what is thrown out of shape keeps the velocity of its centre."""
    sim = simulated(solver, gravity=(0, 0, 0), viscosity=0.01)
    rest, masses = sim.model.mesh.vertices, sim.model.masses
    sim.velocities = np.array([1.0, 2.0, 3.0]) + 4.0 * (rest - rest.mean(axis=0)) * [1, -1, 0]
    before = masses @ sim.velocities / masses.sum()
    for _ in range(5):
        sim.step()
    np.testing.assert_allclose(masses @ sim.velocities / masses.sum(), before, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_viscosity_damps_what_changes_shape(solver):
    """More of it leaves less motion in a body that was thrown out of shape: a hundredth after four steps."""
    left = []
    for viscosity in (0.0, 0.05):
        sim = simulated(solver, iterations=80, gravity=(0, 0, 0), viscosity=viscosity)
        rest = sim.model.mesh.vertices
        sim.velocities = 1.0 * (rest - rest.mean(axis=0)) * [1, -1, 0]
        for _ in range(4):
            sim.step()
        left.append(float(np.abs(sim.velocities).max()))
    assert left[1] < 0.02 * left[0] or left[1] < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_how_much_viscosity_slows_a_rotation(solver):
    """Being linear it does: L_(n+1) = L_n/(1 + h r), r = 2 viscosity (λ + 2μ) V / J, J the moment of inertia.

    F of what turns changes at the rate ω × F, so K puts a torque of 2 (λ + 2μ) V ω on it. Slowly turned, so that the
    chord is the arc; what is left is the body's yielding, and what iterations leave of a step.
    """
    h, viscosity, spin = 1 / 240, 1e-4, 0.05
    sim = simulated(solver, iterations=150, h=h, gravity=(0, 0, 0), viscosity=viscosity)
    masses, term = sim.model.masses, sim.model.terms[0]
    rest = sim.model.mesh.vertices - masses @ sim.model.mesh.vertices / masses.sum()
    moment = float(masses @ np.square(rest[:, :2]).sum(axis=1))
    rate = 2 * viscosity * float(term.stiffness @ term.elements.volumes) / moment

    def turning():
        q, v = sim.positions.astype(np.float64), sim.velocities.astype(np.float64)
        return float(masses @ np.cross(q - masses @ q / masses.sum(), v)[:, 2])

    sim.velocities = np.cross([0, 0, spin], rest)
    before = turning()
    for _ in range(8):
        sim.step()
    assert turning() == pytest.approx(before / (1 + h * rate) ** 8, rel=0.05)
    assert 8 * h * rate > 0.05  # it is felt
