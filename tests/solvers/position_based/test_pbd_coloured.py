"""Colours of constraints: valid, in any order within, types together or apart."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from solvers.position_based.bodies import step
from solvers.rounding import U
from vivace import Budget, Cloth, Jelly, Model, Simulation, mesh
from vivace.colouring import is_valid_constraint_colouring
from vivace.solvers.position_based.pbd_coloured import PbdColoured


@dataclass(eq=False)
class Backwards(PbdColoured):
    """Constraints of a colour in the opposite order."""

    def arrange(self, groups, system):
        arranged = super().arrange(groups, system)
        orders = []
        for order, pointers in arranged:
            parts = [order[a:b][::-1] for a, b in pairwise(pointers)]
            orders.append((np.concatenate(parts) if parts else order, pointers))
        return orders


@pytest.mark.parametrize("together", [False, True])
def test_the_order_within_a_colour_does_not_matter(together):
    """Constraints of a colour share no vertex: any order gives the same, but for the roundings of those that are solved
    four at a time and those that are left over: a few units over 20 iterations. A conflict would be much more.
    """
    sheet = mesh.cloth(12, 12)
    model = Model.of(sheet, Cloth()).pin("top-corners")
    results = []
    for kind in (PbdColoured, Backwards):
        sim = Simulation(model, solver=kind(together=together), budget=Budget(iterations=4), threads=1)
        for _ in range(5):
            sim.step()
        results.append(sim.positions)
    np.testing.assert_allclose(*results, rtol=0, atol=20 * 4 * U)


# --- colours ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("options", [{}, {"smallest": 20}, {"largest": 12}, {"smallest": 20, "largest": 40}])
@pytest.mark.parametrize("algorithm", ["greedy-smallest-last", "brooks-vizing"])
def test_colours_are_valid_whatever_the_options(together, options, algorithm):
    """No two constraints of a colour share a vertex; `colours` counts them all; `largest` is kept."""
    model = Model.of(mesh.cube(4, side=0.5), Jelly(bend=1.0)).pin([0])
    solver = PbdColoured(together=together, colouring_algorithm=algorithm, **options)
    sim = Simulation(model, solver=solver, budget=Budget(iterations=3), threads=1)
    for _ in range(5):
        report = sim.step()
    assert report.finite
    groups = [group for group in model.groups if group.kind.name != "pin"]
    names = ["all"] if together else [group.kind.name for group in groups]
    assert list(solver.colourings) == names
    tables = [[group.vertices for group in groups]] if together else [[group.vertices] for group in groups]
    for colouring, table in zip(solver.colourings.values(), tables, strict=True):
        assert is_valid_constraint_colouring(table, model.n, colouring.colours)
        if "largest" in options:
            assert colouring.largest <= options["largest"]
    assert report.colours == solver.colours == sum(c.count for c in solver.colourings.values())


def test_coloured_together_takes_fewer_phases_than_apart():
    """Types that share few vertices share colours."""
    model = Model.of(mesh.cloth(10, 10), Cloth())
    apart, together = (step(model, f"pbd-coloured:together={value}", 1)[1].colours for value in (False, True))
    assert together < apart
    assert step(model, "pbd", 1)[1].colours is None


def test_two_groups_of_a_type_have_colours_of_their_own():
    sheet = mesh.cloth(4, 4)
    model = Model.of(sheet, Cloth(bend=0.0)).constrain("spring", [[0, 15]], 10.0)
    sim, _ = step(model, "pbd-coloured", 1)
    assert list(sim.solver.colourings) == ["spring", "spring'"]
