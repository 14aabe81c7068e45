"""Held elements in a layout: their part of the Hessian, and that nothing of them is left when they are let go."""

import numpy as np
import pytest

from solvers.descent.bodies import MATERIALS, frame_of, tangled
from solvers.rounding import rows
from vivace import Model, mesh
from vivace.backends.cpu.executor import Plan
from vivace.solvers.projective.layout import Layout
from vivace.solvers.projective.potentials import Beginning


def half_tangled(name):
    """A layout of a bar of which one half is tangled and held, and the step's frame."""
    model = Model.of(mesh.bar(9, 3, 3), MATERIALS[name](young=1e5), gravity=(0, 0, 0))
    x = model.mesh.vertices[:, :1]
    q = np.where(x > x.mean(), tangled(model, 0), model.mesh.vertices)
    system, frame = frame_of(model, q)
    layout = Layout(system, np.random.default_rng(0).permutation(model.n).astype(np.int32), 1, potentials=True)
    layout.load(rows(q), rows(system.constant(frame)))
    return layout, frame


def written(potential):
    """What the passes leave: shares, own blocks, pairs of corners, and what judging makes of no motion."""
    m = potential.count
    straight, mixed = (np.full((4 * m, 4), np.nan, np.float32) for _ in range(2))
    pairs = np.full((18 * m, 4), np.nan, np.float32)
    judge, sums = potential.judging(np.zeros_like(potential._q))
    local = potential.local_phases()
    Plan([*local, *potential.diagonal(straight, mixed), *potential.pairs(pairs), judge], 1).run()
    return [potential._shares.copy(), straight, mixed, pairs, sums.copy()]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stvk", "fung", "corotated"])
def test_blocks_are_those_of_the_hessian(name):
    layout, frame = half_tangled(name)
    (potential,) = layout.potentials
    q = layout.q.copy()
    Beginning(layout.potentials, layout.q, layout.order, 1)(layout.system, frame)
    layout.q[:] = q
    held = potential.term.tangle(frame).elements
    assert 0 < len(held) < len(potential.term)
    _, straight, mixed, pairs, _ = written(potential)
    wanted = potential.term.hessian(frame.previous, frame).blocks.reshape(-1, 4, 3, 4, 3)
    slots, size = potential.slots.reshape(-1, 4), np.abs(wanted[held]).max()
    for place, element in enumerate(potential.visit):
        if element in held:
            corner = np.argsort(layout.rank[potential.term.vertices[element]])  # in rising order, as layouts have them
            order = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
            for first, (a, b) in zip(potential.pair_rows[place], order, strict=True):
                block = wanted[element, corner[a], :, corner[b]]
                np.testing.assert_allclose(np.diag(pairs[first, :3]), block, atol=1e-6 * size)
                assert not pairs[first + 1 : first + 3].any()
            for a in range(4):
                own, block = straight[slots[place, a]], wanted[element, corner[a], :, corner[a]]
                np.testing.assert_allclose(np.diag(own[:3]), block, atol=1e-6 * size)
                assert not mixed[slots[place, a]].any()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["neo-hookean", "corotated"])
def test_let_go_they_are_what_they_were(name):
    """Bit for bit, after one tangle and after two."""
    layout, frame = half_tangled(name)
    (potential,) = layout.potentials
    before = written(potential)
    tangle = potential.term.tangle(frame)
    potential.hold(tangle)
    during = written(potential)
    assert any((a != b).any() for a, b in zip(before, during, strict=True))
    assert all(np.isfinite(part).all() for part in during)
    potential.hold(type(tangle)(tangle.elements[::2], tangle.turns[::2]))
    potential.hold(None)
    for a, b in zip(before, written(potential), strict=True):
        np.testing.assert_array_equal(a, b)
