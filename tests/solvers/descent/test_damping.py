"""Air and viscosity of hyperelastic bodies [fratarcangeli2018, Eq. 48], held to what an implicit step makes of them.

Air is c = air m: f = -(c/h) (q - q_n), so that v_(n+1) = (v_n + h g)/(1 + air h). (The paper has the energy of that
force with the wrong sign: it is +c/(2h) |q - q_n|².) Viscosity is viscosity/(2h) ‖q - q_n‖²_K with
K = Σ (λ + 2μ) V AᵀA, q_n turned with each element (`hyperelastic.viscosity`).
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
    """Of a cube that swells, one step leaves 1/(1 + h² e + h viscosity d) of its speed, within a quarter.

    With F = c I the elastic force is 3V (3λ + 2μ)(c - 1) and the viscous one 3V viscosity (λ + 2μ) ċ; e and d
    are these over the inertia Σ m r². A quarter, because corners do not swell as the middle does.
    """
    h, viscosity, speed = 1 / 240, 0.01, 0.1
    sim = simulated(solver, iterations=80, h=h, gravity=(0, 0, 0), viscosity=viscosity)
    model, term = sim.model, sim.model.terms[0]
    centred = model.mesh.vertices - model.masses @ model.mesh.vertices / model.masses.sum()
    inertia = float(model.masses @ np.square(centred).sum(axis=1))
    mu, lam = 1e5 / 2.8, 1e5 * 0.4 / (1.4 * 0.2)
    volume = float(term.elements.volumes.sum())
    sim.velocities = speed * centred
    sim.step()
    left = float(model.masses @ (sim.velocities * centred).sum(axis=1)) / inertia
    elastic, viscous = 3 * volume * (3 * lam + 2 * mu) / inertia, 3 * volume * (lam + 2 * mu) / inertia
    assert left == pytest.approx(speed / (1 + h**2 * elastic + h * viscosity * viscous), rel=0.25)
    without = simulated(solver, iterations=80, h=h, gravity=(0, 0, 0))
    without.velocities = speed * centred
    without.step()
    assert left < 0.8 * float(model.masses @ (without.velocities * centred).sum(axis=1)) / inertia


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_viscosity_does_not_slow_a_rotation(solver):
    """A cube that spins keeps its angular momentum as it does without viscosity; K alone would stop it in 0.1 s.

    That would be L_(n+1) = L_n/(1 + h r) with r = 2 viscosity (λ + 2μ) V / J, 28 a second here.
    """
    left = []
    for viscosity in (0.0, 1e-3):
        sim = simulated(solver, iterations=60, h=1 / 120, gravity=(0, 0, 0), viscosity=viscosity)
        masses = sim.model.masses
        rest = sim.model.mesh.vertices
        sim.velocities = np.array([1.0, 0.5, 0.0]) + np.cross([0, 0, 3.0], rest - masses @ rest / masses.sum())

        def turning(sim=sim, masses=masses):
            q, v = sim.positions.astype(np.float64), sim.velocities.astype(np.float64)
            return float(masses @ np.cross(q - masses @ q / masses.sum(), v)[:, 2])

        before = turning()
        for _ in range(12):
            sim.step()
        left.append(turning() / before)
    assert left[0] > 0.98
    assert left[1] == pytest.approx(left[0], rel=3e-3)
