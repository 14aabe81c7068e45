"""Passes over float32 rows as phases of a plan: what they leave is what the float64 term says."""

from __future__ import annotations

import numpy as np
import pytest

import vivace as vv
from vivace.backends.cpu.executor import Plan
from vivace.energy.system import System
from vivace.solvers.projective.kernels.sweep import store_residual
from vivace.solvers.projective.layout import Layout

MATERIALS = vv.stvk, vv.neo_hookean, vv.corotated  # of all invariants, of two of them, of stretches


def rows(array):
    return np.concatenate([array, np.zeros((len(array), 1))], axis=1).astype(np.float32)


def laid_out(material, moved=0.15, seed=0, threads=1):
    """A layout in an order of its own, at positions that are `moved` off rest."""
    model = vv.Model.of(vv.mesh.cube(3, side=0.2), material).pin([0, 1, 2])
    system, rng = System(model, 1 / 30), np.random.default_rng(seed)
    layout = Layout(system, rng.permutation(model.n).astype(np.int32), threads, potentials=True)
    q = model.mesh.vertices * [1.1, 0.9, 1.0] + moved * 0.05 * rng.normal(size=(model.n, 3))
    frame = system.frame(q, np.zeros_like(q), np.tile([0.0, -9.81, 0.0], (model.n, 1)), model.targets)
    layout.load(rows(q), rows(system.constant(frame)))
    return layout, frame


def in_mesh_order(layout, array):
    out = np.empty_like(array)
    out[layout.order] = array
    return out


@pytest.mark.slow
@pytest.mark.parametrize("material", MATERIALS)
def test_residuals_are_minus_the_gradient(material):
    layout, frame = laid_out(material(young=1e4, poisson=0.4))
    r = np.zeros((layout.n, 4), np.float32)
    arrays = {**store_residual.select(layout.swept), "out": r}
    Plan([*layout.local_phases, store_residual.over(0, layout.n, **arrays)], 1).run()
    q = in_mesh_order(layout, layout.q)[:, :3].astype(np.float64)
    gradient = layout.system.gradient(q, frame)
    np.testing.assert_allclose(in_mesh_order(layout, r)[:, :3], -gradient, atol=1e-5 * np.abs(gradient).max())


def assembled(layout, blocks):
    """Sums of blocks between corners (m, 4, 4, 3, 3) as a matrix of all vertices."""
    (potential,) = layout.potentials
    n = layout.n
    out = np.zeros((n, 3, n, 3))
    for corners, own in zip(potential.vertices, blocks, strict=True):
        for a, i in enumerate(corners):
            for b, k in enumerate(corners):
                out[i, :, k] += own[a, b]
    return out.reshape(3 * n, 3 * n)


def pairs_of(layout):
    """What `pairs` leaves, as blocks (m, 4, 4, 3, 3); those on the diagonal are minus the sum of the others."""
    (potential,) = layout.potentials
    out = np.zeros((18 * potential.count, 4), np.float32)
    Plan(potential.pairs(out), 1).run()
    rows = out[potential.pair_rows[..., None] + np.arange(3)]
    d, a, b = np.moveaxis(rows[..., :3].astype(np.float64), 2, 0)
    found = np.zeros((potential.count, 6, 3, 3))
    for c in range(3):
        found[:, :, c, c], found[:, :, c, (c + 1) % 3], found[:, :, c, (c + 2) % 3] = d[..., c], a[..., c], b[..., c]
    blocks = np.zeros((potential.count, 4, 4, 3, 3))
    for k, (i, j) in enumerate(((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))):
        blocks[:, i, j], blocks[:, j, i] = found[:, k], np.swapaxes(found[:, k], 1, 2)
    for i in range(4):
        blocks[:, i, i] = -blocks[:, i].sum(axis=1)
    return blocks


def exact(layout, *, positive):
    (potential,) = layout.potentials
    q = in_mesh_order(layout, layout.q)[:, :3].astype(np.float64)
    found = np.moveaxis(potential.term.hessians(q, positive=positive).reshape(-1, 4, 3, 4, 3), 2, 3)[potential.visit]
    mine = layout.rank[potential.term.vertices[potential.visit]]
    order = np.argsort(mine, axis=1)  # a layout has the corners of an element in rising order
    each = np.arange(len(order))[:, None, None]
    return found[each, order[:, :, None], order[:, None, :]]


@pytest.mark.slow
@pytest.mark.parametrize("material", MATERIALS)
def test_blocks_between_corners_are_those_of_the_hessian(material):
    """Where singular values are taken to the last digits; without them, near rest, to a few per cent."""
    layout, _ = laid_out(material(young=1e4, poisson=0.4), moved=0.02)
    found, wanted = pairs_of(layout), exact(layout, positive=True)
    (potential,) = layout.potentials
    size = np.abs(wanted).max()
    assert np.abs(found - wanted).max() < (0.08 if potential.term.density.plain else 1e-5) * size


@pytest.mark.slow
@pytest.mark.parametrize("material", [vv.neo_hookean, vv.stable_neo_hookean])
@pytest.mark.parametrize("moved", [0.02, 0.3, 1.0])
def test_curvature_without_singular_values_is_hardly_ever_negative(material, moved):
    layout, _ = laid_out(material(young=1e4, poisson=0.3), moved=moved)
    values = np.linalg.eigvalsh(assembled(layout, pairs_of(layout)))
    assert values[0] > -0.02 * values[-1]


@pytest.mark.slow
@pytest.mark.parametrize("material", MATERIALS)
def test_own_blocks_are_the_diagonal_of_what_pairs_leave(material):
    layout, _ = laid_out(material(young=1e4, poisson=0.4))
    (potential,) = layout.potentials
    straight, mixed = (np.zeros((4 * potential.count, 4), np.float32) for _ in range(2))
    Plan(potential.diagonal(straight, mixed), 1).run()
    blocks = pairs_of(layout)[:, range(4), range(4)]
    slots = potential.slots.reshape(-1, 4)
    atol = 1e-5 * np.abs(blocks).max()
    np.testing.assert_allclose(straight[slots][..., :3], np.stack([blocks[..., c, c] for c in range(3)], -1), atol=atol)
    wanted = np.stack([blocks[..., 1, 2], blocks[..., 0, 2], blocks[..., 0, 1]], axis=-1)
    np.testing.assert_allclose(mixed[slots][..., :3], wanted, atol=atol)


@pytest.mark.slow
@pytest.mark.parametrize("material", MATERIALS)
def test_what_the_trapezium_rule_makes_too_much(material):
    """Half the sum of both forces times the way, less the change of the energy."""
    layout, _ = laid_out(material(young=1e4, poisson=0.4))
    (potential,) = layout.potentials
    old = layout.q + 0.002 * np.random.default_rng(1).normal(size=layout.q.shape).astype(np.float32)
    old[:, 3] = 0.0
    phase, sums = potential.judging(old)
    Plan([phase], 1).run()
    here, there = (in_mesh_order(layout, q)[:, :3].astype(np.float64) for q in (layout.q, old))
    slopes, energies = [np.zeros((layout.n, 3)) for _ in range(2)], []
    for q, out in zip((here, there), slopes, strict=True):
        energies.append(potential.term.add(q, None, out))
    wanted = 0.5 * np.sum((slopes[0] + slopes[1]) * (here - there)) - (energies[0] - energies[1])
    assert sums.sum() == pytest.approx(wanted, abs=1e-4 * abs(energies[0] - energies[1]))
