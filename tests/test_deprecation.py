"""Names of the last release still work, and say what they are called now."""

import importlib
import sys

import pytest

import vivace as vv
from vivace.deprecation import MOVED


@pytest.fixture
def simulation():
    model = vv.Model.of(vv.mesh.cloth(4, 4, width=1.0, height=1.0))
    return vv.Simulation(model, budget=vv.Budget(iterations=1), threads=1)


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_modules_that_have_moved(old, new):
    for name in (old, "vivace.kernels"):
        sys.modules.pop(name, None)
    with pytest.warns(DeprecationWarning, match=new):
        module = importlib.import_module(old)
    assert module is importlib.import_module(new)


def test_names_that_have_changed(simulation):
    with pytest.warns(DeprecationWarning, match="Simulation.replace_model"):
        simulation.exchange(simulation.model.stiffened(2.0))
    report = simulation.step()
    with pytest.warns(DeprecationWarning, match="corrected"):
        assert report.stuck == report.corrected
    with pytest.warns(DeprecationWarning, match="pin_stiffness"):
        assert simulation.model.firm == simulation.model.pin_stiffness
    with pytest.warns(DeprecationWarning, match="ColliderSearch"):
        assert vv.collisions.Walls is vv.collisions.ColliderSearch
    with pytest.raises(AttributeError):
        vv.collisions.Floors  # noqa: B018


def test_a_solver_that_still_has_touch():
    with pytest.warns(DeprecationWarning, match="set_contacts"):

        class Old(vv.Solver):
            def touch(self, contacts, previous, start):
                return "touched"

            def prepare(self, system, *, threads, seed):
                """Nothing."""

            def solve(self, start, constant, out, deadline):
                """Nothing."""

    assert Old().set_contacts(None, None, None) == "touched"
