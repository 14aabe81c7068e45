"""Each form that springs have for speed, on springs that share an end, against `Spring.project` in float64.

Positions, stiffnesses and rest lengths are float32 numbers, which float64 takes as they are; so what is left between a
form and the reference are the roundings of the form itself. d is exact to one rounding, |d| and d/|d| to three.
"""

from __future__ import annotations

from functools import cached_property
from types import SimpleNamespace

import numpy as np
from numba import njit

from kernel_twins import EPS32, to_rows
from vivace.backends.cpu.simd import load4, splat4, store4
from vivace.constraints import ConstraintGroup
from vivace.solvers.projective.kernels.acceleration import BLOCK

from .references import curvatures, projections, run, symmetric, unwrapped

COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11)  # springs at each of the first vertices: fours, and what is left of them


class Springs:
    """Vertices 0 to 9 with so many springs to vertices of their own; among them what has no direction or no length."""

    def __init__(self, kind, seed=0):
        rng = self.rng = np.random.default_rng(seed)
        self.kind, self.m, self.rows = kind, sum(COUNTS), len(COUNTS)
        self.first = np.repeat(np.arange(self.rows, dtype=np.int32), COUNTS)
        self.second = np.arange(self.rows, self.rows + self.m, dtype=np.int32)
        self.n = self.rows + self.m
        self.starts = np.concatenate([[0], np.cumsum(COUNTS)]).astype(np.int32)
        self.w = (10 ** rng.uniform(0, 4, self.m)).astype(np.float32)
        self.rest = rng.uniform(0.1, 2, self.m).astype(np.float32)
        self.rest[[7, 12, 30]] = 0.0
        self.wl = self.w * self.rest
        self.q = to_rows(rng.normal(size=(self.n, 3)))
        self.q[6] = 0.0
        for e in (3, 12, 41):
            self.q[self.second[e]] = self.q[self.first[e]]  # coincident ends, one of them without a rest length
        self.q[self.second[5], :3] = self.q[self.first[5], :3] + 1e-3  # pressed together
        self.q[self.second[50], :3] = [1e3, 0, 0]  # drawn out
        self.q[self.second[22], :3] = [6e-13, 0, 8e-13]  # of vertex 6: there, but too short to have a direction
        self.directed = np.arange(self.m) != 22

    @cached_property
    def z(self):
        return (self.q[self.first, :3].astype(np.float64) - self.q[self.second, :3])[:, None]

    @cached_property
    def p(self):
        return projections(self.kind, self.z, self.rest)

    @cached_property
    def curvature(self):
        """w (I - ∂p/∂z), (m, 3, 3)."""
        return self.w[:, None, None] * curvatures(self.kind, self.z, self.rest)

    def units(self, z):
        """d/|d|: what a spring of length one projects to."""
        return projections(self.kind, z, np.ones(len(z)))[:, 0]

    def per_row(self, x):
        return np.add.reduceat(x, self.starts[:-1])

    def in_fours(self):
        """Row pointers, other ends and places of the springs where each row is filled up to fours with its own end."""
        room = -(-np.array(COUNTS) // 4) * 4
        starts = np.concatenate([[0], np.cumsum(room)]).astype(np.int32)
        place = np.arange(self.m) + np.repeat(starts[:-1] - self.starts[:-1], COUNTS)
        j = np.repeat(np.arange(self.rows, dtype=np.int32), room)
        j[place] = self.second
        return starts, j, place


def spread(values, place, size):
    out = np.zeros(size, np.float32)
    out[place] = values
    return out


def check_curvature(springs, found, scale=1.0):
    """max(w - w l/|d|, 0) errs by a few roundings of w, and w d̂d̂ᵀ likewise."""
    assert np.isfinite(found).all()
    error = np.abs(found - springs.curvature).max(axis=(1, 2))
    assert (error <= 10 * EPS32 * scale * springs.w)[springs.directed].all()


# --- the residual of projective dynamics ------------------------------------------------------------------------------


def pull(form, kind):
    """acc + Σ (w l/|d| - a) d = acc + Σ w p - a d."""
    s = Springs(kind)
    a = (s.w * s.rng.uniform(1, 2, s.m)).astype(np.float32)
    out, more = np.zeros((s.rows, 4), np.float32), np.zeros(4, np.float32)

    @njit
    def add(q, starts, j, a, wl, out):
        for i in range(out.shape[0]):
            store4(out, i, form(load4(out, i), i, load4(q, i), starts, j, a, wl, q))

    add(s.q, s.starts, s.second, np.concatenate([a, more]), np.concatenate([s.wl, more]), out)
    check_pull(s, out, a)


def check_pull(s, out, a):
    """A sum of k terms errs by k roundings of their sizes, each term by five of its own."""
    terms = np.stack([s.w[:, None] * s.p[:, 0], -a[:, None].astype(np.float64) * s.z[:, 0]])
    size = s.per_row(np.linalg.norm(terms, axis=2).sum(axis=0))
    error = np.linalg.norm(out[:, :3] - s.per_row(terms.sum(axis=0)), axis=1)
    assert (error <= (np.array(COUNTS) + 5) * EPS32 * size).all()


def newton_block(form, kind):
    """The pull, and Σ of the curvatures at a vertex."""
    s = Springs(kind)
    starts, j, place = s.in_fours()
    a = (s.w * s.rng.uniform(1, 2, s.m)).astype(np.float32)
    lists = [spread(values, place, len(j)) for values in (a, s.wl, s.w)]
    force, diagonal, off = (np.zeros((s.rows, 4), np.float32) for _ in range(3))
    none = np.zeros(s.rows + 1, np.int32), np.zeros((0, 4), np.float32), np.zeros(0, np.float32)

    @njit
    def make(q, starts, j, a, wl, w, slot_at, shares, scales, force, diagonal, off):
        for i in range(force.shape[0]):
            f, d, o, even = form(i, load4(q, i), starts, j, a, wl, w, slot_at, shares, scales, q)
            store4(force, i, f)
            store4(diagonal, i, d + splat4(even))
            store4(off, i, o)

    make(s.q, starts, j, *lists, *none, force, diagonal, off)
    check_pull(s, force, a)
    certain = s.per_row((~s.directed).astype(int)) == 0
    error = np.abs(symmetric(diagonal, off) - s.per_row(s.curvature)).max(axis=(1, 2))
    assert (error <= (np.array(COUNTS) + 10) * EPS32 * s.per_row(s.w))[certain].all()


def gain_by_turning(form, kind):
    """Σ w l (|d + s| - |d| - d̂·s) = Σ w (p(d + s) - p(d))·(d + s) for steps s that do not pass the other end."""
    s = Springs(kind)
    away = np.where(s.z.any(axis=2), np.linalg.norm(s.z, axis=2), np.inf)[:, 0]
    steps = s.rng.normal(size=(s.rows, 3))
    steps *= 0.4 * np.minimum.reduceat(away, s.starts[:-1])[:, None] / np.linalg.norm(steps, axis=1, keepdims=True)
    rows = to_rows(np.where(np.isfinite(steps), steps, 0.1))
    starts, j, place = s.in_fours()
    out = np.zeros(s.rows, np.float32)

    @njit
    def make(q, steps, starts, j, wl, out):
        for i in range(len(out)):
            out[i] = form(i, load4(q, i), load4(steps, i), starts, j, wl, q)

    make(s.q, rows, starts, j, spread(s.wl, place, len(j)), out)
    step = rows[s.first, None, :3].astype(np.float64)
    change = projections(kind, s.z + step, s.rest) - s.p
    terms = s.w * np.einsum("mrc,mrc->m", change, s.z + step)
    short = np.linalg.norm(step, axis=2)[:, 0]
    size = s.wl * short * np.minimum(1.0, 2 * short / away)
    certain = s.per_row((~s.directed).astype(int)) == 0
    error = np.abs(out - s.per_row(terms))
    assert (error <= (np.array(COUNTS) + 20) * EPS32 * s.per_row(size))[certain].all()


# --- the Hessian ------------------------------------------------------------------------------------------------------


def turned_pairs(form, kind):
    """s I + u uᵀ is the curvature and a rest, at an entry and at its mirror."""
    s = Springs(kind)
    entry, rest = np.arange(s.m, dtype=np.int32), s.rng.random(s.m).astype(np.float32)
    blocks = np.full((2 * s.m, 4), np.nan, np.float32)
    pairs = {"first": s.first, "second": s.second, "entry": entry, "mirror": entry + np.int32(s.m)}
    run(form, s.m, **pairs, w=s.w, wl=s.wl, rest=rest, q=s.q, blocks=blocks)
    np.testing.assert_array_equal(blocks[: s.m], blocks[s.m :])
    found = np.einsum("mc,md->mcd", *2 * [blocks[: s.m, :3].astype(np.float64)])
    found += (blocks[: s.m, 3].astype(np.float64) - rest)[:, None, None] * np.eye(3)
    check_curvature(s, found, scale=2.0)


def wrapped_entries(form, kind):
    """The curvature in the entries of the first ends' rows, and in their mirrors."""
    s = Springs(kind)
    starts = np.concatenate([s.starts, s.m + 1 + np.arange(s.m)]).astype(np.int32)
    middle = np.concatenate([s.starts[:-1], starts[s.rows + 1 :]]).astype(np.int32)
    own = np.arange(s.m, dtype=np.int32)
    entries = {"j": np.concatenate([s.second, s.first]), "mirror": np.concatenate([own + np.int32(s.m), own])}
    twice = {"w": np.tile(s.w, 2), "wl": np.tile(s.wl, 2), "rest": np.zeros(2 * s.m, np.float32)}
    none, nothing = np.zeros(2 * s.m + 1, np.int32), np.zeros((0, 4), np.float32)
    corners = {"corner_at": none, "here": none[:0], "there": none[:0], "scales": twice["w"][:0], "shares": nothing}
    volumes = {"volume_at": none, "near": none[:0], "far": none[:0], "normals": nothing}
    blocks = np.full((6 * s.m, 4), np.nan, np.float32)
    run(form, s.n, row_at=starts, middle=middle, **entries, **twice, q=s.q, blocks=blocks, **corners, **volumes)
    found = unwrapped(blocks)
    check_curvature(s, found[: s.m])
    np.testing.assert_array_equal(found[s.m :], np.swapaxes(found[: s.m], 1, 2))


def turned_energy(form, kind):
    """Σ w l (|d| - |d_old|) |d̂ - d̂_old|²/4, with d̂ and |d| = d̂·d from the projection to length one."""
    s = Springs(kind)
    for size in (1e-3, 0.1, 10.0):
        old = to_rows(s.q[:, :3] + size * s.rng.normal(size=(s.n, 3)))
        partial = np.zeros(-(-s.m // BLOCK))
        run(form, s.m, first=s.first, second=s.second, wl=s.wl, q=s.q, q_old=old, partial=partial)
        before = (old[s.first, :3].astype(np.float64) - old[s.second, :3])[:, None]
        unit, unit_before = s.units(s.z), s.units(before)
        change = (unit * s.z[:, 0]).sum(axis=1) - (unit_before * before[:, 0]).sum(axis=1)
        expected = 0.25 * s.wl * change * ((unit - unit_before) ** 2).sum(axis=1)
        # |d̂ - d̂_old| and the change err by a few roundings of 1 and of the way that d has gone
        way = np.linalg.norm(s.z - before, axis=2)[:, 0]
        bound = s.wl * way * (np.linalg.norm(unit - unit_before, axis=1) + 10 * EPS32)
        assert abs(partial.sum() - expected.sum()) <= 20 * EPS32 * bound.sum()


def closed_form(form, kind):
    """C = I - ∂p/∂z, without its negative part."""
    s = Springs(kind)
    found = s.w[:, None, None] * form(s.z, s.rest.astype(np.float64)).reshape(-1, 3, 3)
    check_curvature(s, found)


def lattice_block(form, kind):
    """The curvature as (xx, yy, zz), (xy, yz, zx)."""
    s = Springs(kind)
    diagonal, off = np.zeros((2, s.m, 4), np.float32)

    @njit
    def make(ends, w, rest, q, diagonal, off):
        for e in range(len(w)):
            d, o = form(e, ends, w, rest, q)
            store4(diagonal, e, d)
            store4(off, e, o)

    make(np.column_stack([s.first, s.second]).ravel(), s.w, s.rest, s.q, diagonal, off)
    check_curvature(s, symmetric(diagonal, off))


def lattice_cells(form, kind):
    """One spring in a cell, and three without stiffness; one feature, one corner that has it: h_00 is the curvature."""
    s = Springs(kind)
    fours = {"stiffness": spread(s.w, 4 * np.arange(s.m), 4 * s.m), "length": np.repeat(s.rest, 4)}
    ends = np.repeat(np.column_stack([s.first, s.second]), 4, axis=0).ravel()
    phi, coefficients = np.tile(np.float32([1, 0, 0, 0]), (4 * s.m, 1)), np.zeros(12, np.float32)
    coefficients[0] = 1.0
    starts, h = np.arange(0, 4 * s.m + 1, 4, dtype=np.int32), np.zeros((48 * s.m, 4), np.float32)
    run(form, s.m, starts=starts, ends=ends, **fours, phi=phi, q=s.q, coefficients=coefficients, h=h)
    check_curvature(s, h.reshape(s.m, 48, 4)[:, :3, :3])


# --- measures ---------------------------------------------------------------------------------------------------------


def gradients_at(form, kind):
    """±d̂ at the two ends."""
    s = Springs(kind)
    group = ConstraintGroup(kind, np.column_stack([s.first, s.second]), np.zeros(0), s.w, s.rest[:, None])
    found = form(group, s.q[:, :3].astype(np.float64))
    unit = s.units(s.z)
    error = np.abs(found - np.stack([unit, -unit], axis=1)).max(axis=(1, 2))
    assert (error <= 4 * np.finfo(float).eps)[s.directed].all()


def strains(s):
    """|C|/l = |d̂·d - l|/l of springs that have a rest length, and which these are."""
    long = s.rest > 0
    return np.abs((s.units(s.z) * s.z[:, 0]).sum(axis=1)[long] / s.rest[long] - 1.0), long


def strain_of_edges(form, kind):
    """Mean, RMS and largest |C|/l, and the largest at each vertex; a length below 1e-10 m counts as that."""
    s = Springs(kind)
    worst, (strain, long) = np.zeros(s.n), strains(s)
    edges = np.column_stack([s.first, s.second])
    found = form(s.q[:, :3].astype(np.float64), edges, s.rest.astype(np.float64), worst)
    expected = np.zeros(s.n)
    np.maximum.at(expected, edges[long].ravel(), np.repeat(strain, 2))
    np.testing.assert_allclose(worst, expected, rtol=1e-12, atol=1e-8)
    np.testing.assert_allclose(found, [strain.mean(), np.sqrt(np.mean(strain**2)), strain.max()], rtol=1e-8)


def strain_of_models(form, kind):
    """Likewise, from a model."""
    s = Springs(kind)
    strain, _ = strains(s)
    group = ConstraintGroup(kind, np.column_stack([s.first, s.second]), np.zeros(0), s.w, s.rest[:, None])
    found = form(SimpleNamespace(groups=[group]), s.q[:, :3].astype(np.float64))
    expected = [strain.mean(), np.sqrt(np.mean(strain**2)), strain.max()]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
