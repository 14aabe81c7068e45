"""A model after a cut is the model of the cut mesh, with the pins and the masses it had."""

import numpy as np
import pytest

from vivace import Body, Budget, InputError, Model, Simulation
from vivace.collisions import Box
from vivace.constraints import Role
from vivace.mesh import Mesh, cloth, cube
from vivace.model import Cloth, Jelly, Solid, cut_model, stable_neo_hookean
from vivace.terms.term import Term

ABOVE = [0.0, 3.0, 0.0]
ACROSS = [[-2, 0, 0.013], [2, 0, 0.013]]
SLIT = [[-0.2, 0, 0.013], [0.2, 0, 0.1]]


def rows(group):
    return sorted(map(tuple, np.sort(group.vertices, axis=1).tolist()))


@pytest.mark.parametrize("stroke", [ACROSS, SLIT])
@pytest.mark.parametrize("irregular", [False, True])
def test_cloth(stroke, irregular):
    before = Model.of(cloth(14, 14, irregular=irregular), Cloth(bend=1e-4))
    after = cut_model(before, ABOVE, stroke).model
    anew = Model.of(after.mesh, Cloth(bend=1e-4))
    np.testing.assert_allclose(after.masses, anew.masses, rtol=1e-12)
    assert [rows(group) for group in after.groups] == [rows(group) for group in anew.groups]
    # Springs keep their sum; a hinge across the cut is gone.
    assert after.groups[0].weights.sum() == pytest.approx(before.groups[0].weights.sum())
    assert len(after.groups[1]) < len(before.groups[1])


@pytest.mark.parametrize("material", [Solid(poisson_ratio=0.3), Jelly(), stable_neo_hookean()])
def test_bodies(material):
    box = cube(5)
    middle = box.bounds.mean(axis=0)
    before = Model.of(box, material)
    after = cut_model(before, middle + np.array([0, 5, 0]), middle + np.array([[-9, 0, 0.01], [0.02, 0, 0.01]])).model
    anew = Model.of(after.mesh, material)
    np.testing.assert_allclose(after.masses, anew.masses, rtol=1e-12)
    assert [rows(group) for group in after.groups] == [rows(group) for group in anew.groups]
    q = after.mesh.vertices + 0.01 * np.random.default_rng(0).normal(size=(after.n, 3))
    for mine, other in zip(after.terms, anew.terms, strict=True):
        assert mine.energy(q) == pytest.approx(other.energy(q))


def test_pins_and_attachments_hold_every_copy():
    sheet = cloth(9, 9)
    before = Model.of(sheet).pin(sheet.groups["left"], target=[1.0, 2, 3])
    made = cut_model(before, ABOVE, ACROSS)
    after = made.model
    assert sorted(made.parents[after.pinned].tolist()) == sorted([*sheet.groups["left"].tolist(), 4 * 9])
    np.testing.assert_array_equal(after.targets, np.tile([1.0, 2, 3], (10, 1)))
    body = Body(Box((0.0, -0.5, 0.0), (0.1, 0.1, 0.1)), fixed=True, name="box")
    before = Model.of(sheet).collide([body]).attach("left", to="box")
    made = cut_model(before, ABOVE, ACROSS)
    assert sorted(made.model.attachments[0].vertices.tolist()) == sorted(made.model.pinned.tolist())
    assert made.model.collisions is before.collisions


def test_a_term_that_says_nothing_of_cuts():
    class Mine(Term):
        def energy(self, q, frame=None):
            return 0.0

        def add_gradient(self, q, frame, out):
            pass

    before = Model.of(cloth(5, 5)).add(Mine())
    with pytest.raises(InputError, match=r"Mine has no method renumbered"):
        cut_model(before, ABOVE, ACROSS)


@pytest.mark.slow
def test_halves_fall_apart():
    """One half is pinned and the other is free: it falls h² g (1 + 2 + ... + k), as implicit Euler has it."""
    sheet = cloth(10, 10)
    made = cut_model(Model.of(sheet).pin(sheet.groups["top"]), ABOVE, ACROSS)
    sim = Simulation(made.model, solver="newton", budget=Budget(iterations=20), time_step=0.01, substeps=1)
    for _ in range(10):
        sim.step()
    free = made.model.mesh.vertices[:, 2] > 0.1
    np.testing.assert_allclose(sim.positions[free, 1], -(0.01**2) * 9.81 * 55, rtol=1e-4)


def test_unpin():
    model = Model.of(cloth(5, 5)).pin("corners").pin([2])
    assert model.unpin([0, 2, 3]).pinned.tolist() == [4, 20, 24]
    assert not any(group.kind.role is Role.TARGET for group in model.unpin(range(25)).groups)
    assert model.unpin([7]).pinned.tolist() == model.pinned.tolist()
    assert isinstance(model.mesh, Mesh)
