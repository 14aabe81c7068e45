"""What has creased on the page: a start is a start, and whoever goes on from somewhere has the creases of there."""

import numpy as np
import pytest

from vivace.mesh import connected_components
from vivace.solvers import Budget, make_solver
from vivace.viewer.choices import Target
from vivace.viewer.editing import cut_along
from vivace.viewer.ghost import _reference
from vivace.viewer.running_scene import RunningScene

CREASED = Target("tablecloth", {"resolution": 10, "table": False, "crease": 2.0})
EACH = Budget(iterations=4)


def curvatures(sim):
    """What flowed at each hinge, (p, 5)."""
    return sim.state.memory["creases.0"]


def hinges(sim):
    return next(group for group in sim.model.groups if group.kind.flow is not None)


def is_flat(sim):
    count = hinges(sim).kind.flowing
    return np.array_equal(curvatures(sim), hinges(sim).parameters[:, :count])


@pytest.fixture
def bent():
    """A running scene whose cloth has been rolled, and has creased by that."""
    scene = CREASED.load()
    running = RunningScene(scene, scene.simulate(threads=1, budget=EACH))
    (sim,) = running.sims
    assert is_flat(sim)
    x, y, z = sim.positions.T
    sim.positions = np.column_stack([np.sin(8 * x) / 8, y + (1 - np.cos(8 * x)) / 8, z])
    assert not is_flat(sim)
    return running


def test_a_reset_takes_creases_out(bent):
    bent.reset()
    assert is_flat(bent.sims[0])
    bent.step()
    assert np.isfinite(bent.sims[0].positions).all()


def test_two_solvers_side_by_side_begin_with_the_same_creases(bent):
    bent.compare_with("newton", make_solver("newton"))
    first, second = bent.sims
    np.testing.assert_array_equal(curvatures(first), curvatures(second))


def test_the_ghost_begins_with_the_creases_of_now(bent):
    (sim,) = bent.sims
    kept = curvatures(sim)
    make = _reference(sim)
    bent.reset()  # the live one goes on before the thread has made its own
    np.testing.assert_array_equal(curvatures(make()), kept)


def test_creases_are_carried_over_a_cut_and_back(bent):
    (before,) = bent.sims
    kept = curvatures(before)
    eye, stroke = [0.0, 5.0, 0.0], [[-2.0, 0.0, 0.013], [2.0, 0.0, 0.013]]
    flat = bent.start[0]
    edit = cut_along(bent.model, bent.own_model.n, 0, eye, stroke, flat)
    bent.use_model(edit)
    (after,) = bent.sims
    assert connected_components(after.model.n, after.model.mesh.edges)[0] == 2
    old = {tuple(row): k for k, row in enumerate(hinges(before).vertices.tolist())}
    rows = [old[tuple(row)] for row in edit.parents[hinges(after).vertices].tolist()]
    assert len(rows) < len(kept)  # those across the cut are gone
    np.testing.assert_array_equal(curvatures(after), kept[rows])
    bent.use_model(edit, back=True)
    np.testing.assert_array_equal(curvatures(bent.sims[0])[rows], kept[rows])
    bent.use_model(edit)
    bent.reset()
    assert is_flat(bent.sims[0])
