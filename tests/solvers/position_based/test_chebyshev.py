"""Jacobi's iteration of position based dynamics under Chebyshev's method."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solvers.position_based.bodies import H, step
from vivace import Budget, Cloth, InputError, Model, Simulation, mesh
from vivace.solvers import make_solver


def frozen_violation(solver, iterations):
    """Root of Σ C² after some iterations from one deformed state of a cloth, its inextensible springs alone."""
    sheet = mesh.cloth(16, 16)
    model = Model.of(sheet, Cloth(bend=0.0)).pin("top")
    q = sheet.vertices.copy()
    q[:, 2] *= 1.1
    return step(replace(model, gravity=np.zeros(3)), solver, iterations, positions=q)[1].residual


def test_chebyshev_gets_farther_than_jacobi():
    """After 60 iterations the violation is half of Jacobi's with ρ given, and two thirds with ρ left to the solver."""
    plain = frozen_violation("pbd-jacobi:stiffness=1.0", 60)
    assert plain < frozen_violation("pbd-jacobi:stiffness=1.0", 10)
    assert frozen_violation("chebyshev(pbd-jacobi):rho=0.98", 60) < 0.5 * plain
    assert frozen_violation("chebyshev(pbd-jacobi)", 60) < 0.67 * plain


@pytest.mark.parametrize("alpha", [0.25, 0.3])
def test_the_courses_relaxation_works_on_cloth(alpha):
    """α Σ Δx [fratarcangeli2018, Eq. 27], 0.3 for triangles: alone and under Chebyshev's method, 50 frames."""
    model = Model.of(mesh.cloth(10, 10), Cloth(bend=0.0)).pin("top-corners")
    for solver in (f"pbd-jacobi:alpha={alpha},stiffness=1.0", f"chebyshev(pbd-jacobi:alpha={alpha}):rho=0.9"):
        sim = Simulation(model, solver=solver, budget=Budget(iterations=10), time_step=H, threads=1)
        for _ in range(50):
            assert sim.step().finite
        assert np.abs(sim.positions).max() < 2.0


def test_chebyshev_takes_constraints_without_compliance():
    """λ is no part of what is accelerated, so κ = 1, unless a stiffness is given."""
    assert make_solver("chebyshev(pbd-jacobi)").positional.stiffness == 1.0
    assert make_solver("chebyshev(pbd-jacobi:stiffness=0.5)").positional.stiffness == 0.5
    assert make_solver("chebyshev(pbd-jacobi)").name == "chebyshev(pbd-jacobi)"
    with pytest.raises(InputError, match="chebyshev accelerates solvers that make linear corrections"):
        make_solver("chebyshev(pbd)")
