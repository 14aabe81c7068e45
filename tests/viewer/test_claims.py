"""What the patent's system claims, where no other test holds it; and whether the table of claims names real tests."""

import re
from pathlib import Path

import numpy as np
import pytest

import vivace as vv
from vivace.scenes import make_scene
from vivace.viewer import messages as m

from .conftest import until

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "viewer.md"


@pytest.mark.parametrize("omega", [1.75, 1.85, 1.95])
@pytest.mark.parametrize("sweeps", [3, 8, 30])
def test_the_range_of_relaxation_is_stable(omega, sweeps):
    """Claim 7: a cloth that swings for three seconds keeps its size, however few sweeps a frame has."""
    sim = make_scene("tablecloth", resolution=16).simulate(
        solver=f"vivace:omega={omega}", budget=vv.Budget(iterations=sweeps), threads=1
    )
    for _ in range(90):
        assert sim.step().finite
    assert np.abs(sim.positions).max() < 4.0  # of 1 m at rest
    assert np.abs(sim.velocities).max() < 20.0


def test_the_units_work_in_order_when_somebody_pulls(told):
    """Claim 15: the graph is coloured, the partitions solved, the model updated, with what the input port received."""
    told.tell(m.Change(solver="vivace"))
    until(lambda: told.session.settings.solver == "vivace")
    snapshot = told.frames(3)
    told.tell(m.Grab(0, 70, [0.0, 0.3, 0.0], snapshot.backdrop.number, 1))
    snapshot = told.frames(12)
    (view,) = snapshot.views
    assert list(view.report.stages) == ["predict", "collide", "colour", "solve", "guard", "update"]
    sim = told.session.sims[0]
    assert 70 in sim.model.pinned  # modelling: the constraint graph has the pull in it
    indptr, indices = sim.system.graph
    rows = np.repeat(np.arange(sim.model.n), np.diff(indptr))
    assert (view.labels[rows] != view.labels[indices]).all()  # colouring: partitions of independent unknowns
    assert view.report.sweeps > 0
    np.testing.assert_allclose(view.report.positions[70], [0.0, 0.3, 0.0], atol=0.05)  # solved and updated


def test_every_claim_is_in_the_table():
    rows = [line.split("|")[1] for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    claims = {int(number) for row in rows for number in re.findall(r"\b\d+\b", row)}
    assert claims >= set(range(1, 24))


def test_the_table_names_tests_that_exist():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TABLE.read_text(encoding="utf-8"))
    assert len(named) > 20
    for file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{test}"
