"""Phases of Chebyshev's weights, tuned: changes are those of Eq. 37, and the search ends where none helps."""

import numpy as np
import pytest

from solvers.descent.bodies import cube, frame_of
from vivace.solvers import make_solver
from vivace.solvers.descent.momentum import largest_rho
from vivace.solvers.descent.tuning import STEPS, Phases, _Judge, tuned_phases


def test_changes_are_those_of_the_paper():
    """1 - ρ by 5 % [fratarcangeli2018, Eq. 37], one phase at a time; lengths keep their sum, and none is empty."""
    phases = Phases((0.9, 0.98), (2, 10))
    changed = phases.changed(0.05, 2)
    assert STEPS[-1] == 0.05
    rhos = [one.rhos for one in changed[:4]]
    np.testing.assert_allclose(rhos, [(0.905, 0.98), (0.895, 0.98), (0.9, 0.981), (0.9, 0.979)])
    assert [one.lengths for one in changed[4:]] == [(4, 8)]  # (0, 12) would leave the first without iterations
    assert all(sum(one.lengths) == 12 for one in changed)
    assert str(phases) == "0.9*2;0.98*10"
    assert str(Phases((0.9,), (12,))) == "0.9"


@pytest.mark.slow
def test_what_is_found_is_a_place_where_no_change_helps():
    """Lower than where the search began, and than each of the paper's changes of it; the solver is as before."""
    model = cube("neo-hookean", n=4, pinned=True)
    system, _ = frame_of(model, model.mesh.vertices)
    solver = make_solver("descent:rho=0.7")
    solver.prepare(system, threads=1, seed=0)
    memory = solver.remembered()["descent"].copy()
    found = tuned_phases(solver, system, phases=2, iterations=16, most=200)
    assert solver.rho == 0.7
    np.testing.assert_array_equal(solver.remembered()["descent"], memory)
    parts = [part.split("*") for part in found.split(";")]
    phases = Phases(tuple(float(rho) for rho, _ in parts), tuple(int(length) for _, length in parts))
    judge = _Judge(solver, system, 16, 200)
    assert judge(phases) <= judge(Phases((largest_rho(16),) * 2, (8, 8)))
    assert all(judge(one) >= judge(phases) - 1e-5 for one in phases.changed(0.05, 1))
    assert tuned_phases(solver, system, phases=2, iterations=16, most=200) == found
