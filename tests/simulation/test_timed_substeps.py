"""The number of substeps of a solver that times itself."""

import numpy as np
import pytest

from vivace import Budget, Model, Simulation, mesh
from vivace.solvers import make_solver


@pytest.mark.parametrize("trace", [False, True])  # with a trace, substeps come one by one
def test_a_solver_may_want_others_when_it_is_set_up(monkeypatch, trace):
    """Found out in the first step by a solver that times itself: that step has as many parts as it wants then."""
    wanted = [4]
    kind = type(make_solver("vivace"))
    monkeypatch.setattr(kind, "time_itself", lambda self, model: True)
    monkeypatch.setattr(kind, "substeps_for", lambda self, model, h, budget: wanted[0])
    model = Model.of(mesh.cloth(5, 5)).pin("corners")
    sim = Simulation(model, solver="vivace", budget=Budget(ms=50.0, iterations=5), threads=1, trace=trace)
    assert sim.substeps == 4
    wanted[0] = 2
    report = sim.step()
    assert (report.substeps, sim.substeps) == (2, 2)
    assert np.isfinite(report.energy)
