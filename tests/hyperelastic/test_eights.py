"""Eight elements at once leave what one after the other leaves, flattened ones and different materials among them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import vivace as vv
from vivace.backends.cpu.executor import Plan
from vivace.hyperelastic import HYPERELASTIC, Hyperelastic
from vivace.solvers.projective.potentials import Potential

DENSITIES = "stvk", "neo-hookean", "mooney-rivlin", "fung", "stable-neo-hookean"
MESH = vv.mesh.cube(4, side=0.3)


def bent(flat):
    """Positions well away from rest; `flat`: the last few elements are pressed to nothing, and inverted."""
    rng = np.random.default_rng(3)
    q = MESH.vertices * [1.3, 0.8, 1.0] + 0.01 * rng.normal(size=MESH.vertices.shape)
    if flat:
        q[MESH.vertices[:, 1] > 0.99 * MESH.vertices[:, 1].max()] -= [0.0, 0.09, 0.0]
    return q


def laid_out(name, *, eights, flat=False, several=False):
    density = HYPERELASTIC[name]
    soft, stiff = (np.array(density.of_moduli(young, 0.4)) for young in (1e4, 3e4))
    constants = np.where((np.arange(len(MESH.tets)) % 20 < 3)[:, None], stiff, soft) if several else soft
    term = Hyperelastic(MESH, replace(density, eights=eights), constants)
    n = MESH.n_vertices
    rank = np.random.default_rng(4).permutation(n).astype(np.int32)
    counts = np.bincount(rank[MESH.tets].ravel(), minlength=n)
    cursor = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int32)
    q, shares = np.zeros((n, 4), np.float32), np.zeros((4 * len(MESH.tets), 4), np.float32)
    q[rank, :3] = bent(flat)
    return Potential(term, rank, cursor, q, shares), q, shares


def left_by(name, threads=1, **options):
    """What every pass leaves."""
    potential, q, shares = laid_out(name, **options)
    straight, mixed, pairs = (
        np.zeros_like(shares),
        np.zeros_like(shares),
        np.zeros((18 * potential.count, 4), np.float32),
    )
    old = q + np.float32(0.003) * np.random.default_rng(5).normal(size=q.shape).astype(np.float32)
    old[:, 3] = 0.0
    judge, missed = potential.judging(old)
    store, stored = potential.storing()
    phases = [*potential.local_phases(), judge, store, *potential.diagonal(straight, mixed)]
    Plan([*phases, *potential.pairs(pairs)], threads).run()
    return shares, straight, mixed, pairs, missed.sum(), stored.sum()


@pytest.mark.slow
@pytest.mark.parametrize("name", DENSITIES)
@pytest.mark.parametrize("case", [{}, {"flat": True}, {"several": True}], ids=str)
def test_eight_at_once(name, case):
    """Float32 leaves some 1e-7 of forces and curvature; modes of eight take the largest stretch from above."""
    found, wanted = left_by(name, eights=True, **case), left_by(name, eights=False, **case)
    for one, other, tolerance in zip(found, wanted, (1e-6, 1e-6, 1e-6, 5e-4, 1e-11, 1e-12), strict=True):
        assert np.abs(one - other).max() <= tolerance * np.abs(other).max()


@pytest.mark.slow
@pytest.mark.parametrize("case", [{}, {"flat": True}], ids=str)
def test_threads_do_not_change_a_bit(case):
    one, two = (left_by("neo-hookean", threads, eights=True, **case) for threads in (1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_energies_are_those_of_the_term():
    potential, _, _ = laid_out("neo-hookean", eights=True)
    phase, sums = potential.storing()
    Plan([phase], 1).run()
    assert sums.sum() == pytest.approx(potential.term.energy(bent(False)), rel=1e-5)
