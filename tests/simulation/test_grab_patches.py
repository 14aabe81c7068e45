"""Many vertices held at once."""

import numpy as np
import pytest

from simulation.held import SOLVERS, sheet, slack
from vivace import Budget, InputError, Simulation


@pytest.fixture(params=SOLVERS)
def sim(request) -> Simulation:
    return Simulation(sheet(), solver=request.param, budget=Budget(iterations=20), threads=1)


@pytest.mark.parametrize("target", [(0, 0, 0), np.zeros((3, 3)), [[0, 0, 0], [0, np.nan, 0]], np.zeros((1, 2, 3))])
def test_bad_targets_of_a_patch_are_refused_before_anything_changes(sim, target):
    model = sim.model
    with pytest.raises(InputError, match="target must"):
        sim.grab([12, 13], target)
    with pytest.raises(InputError, match="vertex 13 is in the sequence twice"):
        sim.grab([13, 12, 13])
    assert sim.grabbed == ()
    assert sim.model is model


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_a_patch_is_held_by_one_change_of_the_model(sim, kind):
    """Each vertex at its own row of the target, whatever the order, pins of the model among them; one new pin group."""
    vertices, places = [23, 2, 7, 21], np.array([[0.3, 0.2, 0.5], [0, 0.1, -0.5], [0, 0.1, -0.2], [-0.3, 0.2, 0.5]])
    home, groups = sim.targets, len(sim.model.groups)
    assert sim.grab(kind(vertices), places) == (23, 2, 7, 21)
    assert sim.grabbed == (23, 2, 7, 21)
    assert len(sim.model.groups) == groups + 1
    assert sim.model.pinned.tolist() == [0, 1, 2, 3, 4, 7, 21, 23]
    for _ in range(10):
        sim.step()
        np.testing.assert_allclose(sim.positions[vertices], places, atol=slack(sim))
    sim.release(kind([2, 21]))
    assert sim.grabbed == (23, 7)
    np.testing.assert_array_equal(sim.targets[:5], home)
    np.testing.assert_array_equal(sim.targets[5:], places[[2, 0]])
    sim.release((23, 7))
    assert sim.grabbed == ()
    np.testing.assert_array_equal(sim.targets, home)


def test_a_patch_stays_where_it_is_without_a_target(sim):
    sim.step()
    where = sim.positions
    assert sim.grab([11, 12]) == (11, 12)
    np.testing.assert_array_equal(sim.targets[5:], where[[11, 12]])


def test_moving_a_patch_needs_no_new_model(sim):
    """A patch, a part of it in another order, one of it by number: targets move, nothing else is made."""
    sim.grab([11, 12, 13])
    sim.step()
    system, model = sim.system, sim.model
    sim.grab((13, 11), [[0, 1, 3], [0, 1, 1]])
    sim.grab(12, (0, 1, 2))
    sim.grab(2, (0, 1, 0))  # has a pin already
    assert sim.system is system
    assert sim.model is model
    np.testing.assert_array_equal(sim.targets[5:], [[0, 1, 1], [0, 1, 2], [0, 1, 3]])
    np.testing.assert_array_equal(sim.targets[2], [0, 1, 0])


def test_a_patch_may_be_new_in_part(sim):
    """Those that were held stay on their rows' places when others join."""
    sim.grab([13, 20], [[0, 1, 13], [0, 1, 20]])
    sim.grab([17, 13], [[0, 1, 17], [0, 2, 13]])
    assert sim.model.pinned.tolist()[5:] == [13, 17, 20]
    np.testing.assert_array_equal(sim.targets[5:], [[0, 2, 13], [0, 1, 17], [0, 1, 20]])
    np.testing.assert_array_equal(sim.model.pinned[5:], [13, 17, 20])


def test_an_empty_patch_is_nothing(sim):
    model = sim.model
    assert sim.grab([]) == ()
    assert sim.grab(np.zeros(0, int), np.zeros((0, 3))) == ()
    sim.release([])
    assert sim.model is model


def test_a_patch_is_as_its_vertices_one_by_one():
    """The same bits."""
    vertices, places = [7, 12, 17], np.array([[0, 0.1, -0.2], [0, 0.2, 0.0], [0, 0.1, 0.3]])
    first, second = (Simulation(sheet(), budget=Budget(iterations=5), threads=1) for _ in range(2))
    first.grab(vertices, places)
    for vertex, place in zip(vertices, places, strict=True):
        second.grab(vertex, place)
    for _ in range(5):
        first.step()
        second.step()
    np.testing.assert_array_equal(first.positions, second.positions)


def test_a_grab_is_the_pin_of_a_model(sim):
    """The pins of a grab are those of Model.pin."""
    sim.grab([12, 7], [[0, 1, 12], [0, 1, 7]])
    mine, other = sim.model.groups[-1], sheet().pin([12, 7], target=[[0, 1, 12], [0, 1, 7]]).groups[-1]
    assert mine.kind is other.kind
    for name in ("vertices", "operator", "weights", "parameters"):
        a, b = getattr(mine, name), getattr(other, name)
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype
        assert not a.flags.writeable
