"""What Newton's levels are made of before anything moves: entries, prolongations, who is whose neighbour below."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from ...colouring import colour
from ...constraints import ConstraintGroup
from ...constraints.kernels.membrane import local_membranes
from ...constraints.kernels.rotation import local_rotations
from ...constraints.kernels.volume import local_volumes
from ...energy.kernels.assemble import add_stiffness, pair_springs, sort_rows, split_rows
from .hierarchy import Hierarchy
from .layout import Layout

SOLID = local_rotations, local_volumes  # tetrahedra that have blocks of their own
OWN = (*SOLID, local_membranes)  # and triangles


def split_entries(layout: Layout) -> tuple[np.ndarray, ...]:
    """Entries of Y off the diagonal (mesh order): without what has blocks of its own; springs' w; springs' w l."""
    system, off = layout.system, layout.system.off

    def total(groups: Sequence[ConstraintGroup], weights: Sequence[np.ndarray]) -> np.ndarray:
        values, diagonal = np.zeros(off.nnz), np.zeros(system.n)
        for group, weight in zip(groups, weights, strict=True):
            add_stiffness(off.indptr, off.indices, values, diagonal, group.vertices, group.operator, weight)
        return values

    springs, tets = system.springs, [g for g in system.projected if g.kind.kernel in OWN]
    w = total(springs, [g.weights for g in springs])
    wl = total(springs, [g.weights * g.parameters[:, 0] for g in springs])
    tets += [term.proxy for term in system.hyperelastic]
    own = w + total(tets, [g.weights for g in tets])
    rest = off.data - own
    rest[np.abs(rest) <= 1e-12 * np.abs(own)] = 0.0  # rounding noise of the subtraction
    return rest, w, wl


def layout_entries(layout: Layout, values: np.ndarray) -> np.ndarray:
    """-values in the order of the layout's rows, float32."""
    off, none = layout.system.off, np.zeros(0)
    at, other, _ = pair_springs(layout.n, np.zeros((0, 2), np.int32))
    limits = np.array([0, off.nnz], np.int64)
    rows = split_rows(layout.order, layout.rank, off.indptr, off.indices, values, at, other, none, none, limits)
    sort_rows(*rows[4:])
    entries: np.ndarray = rows[6][: rows[4][-1]]
    return entries


def unit_prolongations(hierarchy: Hierarchy) -> list[sp.csr_array]:
    """P of every level with rows that add up to one (or are empty), in the hierarchy's own orders, float64.

    PyAMG's P reproduces a near-null vector of the level above from one of the level below, P c = b: dividing rows by b
    and multiplying columns by c makes both of them one.
    """
    if hierarchy.down is None:
        return []
    transfers = [hierarchy.down[0], *(level.prolong for level in hierarchy.levels if level.prolong is not None)]
    out, b = [], np.ones(len(transfers[0].row_at) - 1)
    for (at, j, a), level in zip(transfers, hierarchy.levels, strict=True):
        p = sp.csr_array((a.astype(np.float64), j, at), (len(b), level.n))
        c, _ = spl.cg(p.T @ p, p.T @ b, rtol=1e-12, maxiter=200)
        usual = np.median(c)
        c = np.where(c > 0.1 * usual, c, usual) if np.isfinite(c).all() and usual > 0 else np.ones(level.n)
        p = sp.csr_array(sp.diags_array(1.0 / b) @ p @ sp.diags_array(c))
        sums = np.asarray(p.sum(axis=1)).ravel()
        near = np.abs(sums - 1.0) < 1e-3
        out.append(sp.csr_array(sp.diags_array(np.where(near, 1.0 / np.where(near, sums, 1.0), 1.0)) @ p))
        b = c
    return out


def coarse_pattern(at: np.ndarray, j: np.ndarray, p: sp.csr_array, seed: int) -> tuple[np.ndarray, ...]:
    """Who is whose neighbour below: an order by colours, the colours' pointers, rows, middle, columns."""
    n, entries = len(at) - 1, np.ones(int(at[-1]))
    near = sp.csr_array((entries, j[: len(entries)], at), (n, n)) + sp.eye_array(n)
    ones = sp.csr_array((np.ones(p.nnz), p.indices, p.indptr), p.shape)
    full = sp.csr_array(ones.T @ near @ ones)
    off = sp.csr_array(full - sp.diags_array(full.diagonal()))
    off.eliminate_zeros()
    off.sort_indices()
    indptr, indices = off.indptr.astype(np.int32), off.indices.astype(np.int32)
    order, pointers = colour(indptr, indices, "greedy", seed=seed, check=False).order()
    off = sp.csr_array(off[order][:, order])
    off.sort_indices()
    at, j = off.indptr.astype(np.int32), off.indices.astype(np.int32)
    return order, pointers, at, sort_rows(at, j, np.ones(len(j), np.float32)), j
