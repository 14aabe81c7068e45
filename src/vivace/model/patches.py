"""Which vertices the curvature of a sheet is told from: six for each triangle (`constraints.plate`)."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import scipy.sparse as sp

from ..constraints import ConstraintGroup
from ..constraints.membrane import frames_of
from ..constraints.plate import flattened, second_derivatives
from ..mesh import topology

ILL = 20.0  # norm of the second derivatives, in units of the triangle's area, beyond which other vertices are tried
WORST = 200.0  # beyond which there is no plate
NEAREST = 10  # vertices around a triangle that are tried
FEW = 40  # vertices away from the border, below which a mesh is not asked
ITERATIONS = 40  # of conjugate gradients, to learn how much a mesh gives way


def patches(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray | None:
    """Six vertices for each triangle (m, 6), its own first; None for a mesh in which some triangle has none that do.

    The others are those across its three edges. At a border, or where these have no quadratic or a wild one, the best
    three of those around it.
    """
    if not len(triangles):
        return np.zeros((0, 6), np.int32)
    across = _across(triangles)
    u, v = frames_of(vertices[triangles], (1.0, 0.0, 0.0))
    whole = (across >= 0).all(axis=1)
    ordered = np.sort(np.concatenate([triangles, across], axis=1), axis=1)
    whole &= (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)
    found = np.concatenate([triangles, across], axis=1)
    size = np.full(len(triangles), np.inf)
    flat, _ = flattened(vertices[found[whole]], u[whole], v[whole])
    size[whole] = _norms(flat)
    indptr, neighbours = topology.adjacency(len(vertices), topology.unique_edges(triangles))
    around = [neighbours[a:b] for a, b in pairwise(indptr)] if (size > ILL).any() else []
    for t in np.flatnonzero(size > ILL):
        own = triangles[t]
        known = [k for k in across[t] if k >= 0]
        near = np.setdiff1d(np.concatenate([around[k] for k in (*own, *known)]), own)
        far = np.square(vertices[near] - vertices[own].mean(axis=0)).sum(axis=1)
        near = near[np.argsort(far, kind="stable")[:NEAREST]]
        if len(near) < 3:
            return None
        tried = np.array([(*own, *near[list(chosen)]) for chosen in combinations(range(len(near)), 3)])
        one = np.full(len(tried), t)
        norms = _norms(flattened(vertices[tried], u[one], v[one])[0])
        # those across its edges first, where it has them and others are not much better
        norms = norms * (1.5 - 0.15 * np.isin(tried[:, 3:], known).sum(axis=1))
        best = int(np.argmin(norms))
        if not norms[best] < WORST:
            return None
        if norms[best] < size[t]:
            found[t] = tried[best]
    return found.astype(np.int32)


def _norms(flat: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        norms: np.ndarray = np.sqrt(np.square(second_derivatives(flat)).sum(axis=(1, 2)))
    return norms


def _across(triangles: np.ndarray) -> np.ndarray:
    """The vertex on the other side of each triangle's edge opposite corner k (m, 3); -1 at a border."""
    m = len(triangles)
    ends = np.concatenate([triangles[:, [1, 2]], triangles[:, [2, 0]], triangles[:, [0, 1]]])
    keys = topology.edge_keys(ends)
    order = np.argsort(keys, kind="stable")
    starts, counts = topology.runs(keys[order])
    first = starts[counts == 2]
    one, other = order[first], order[first + 1]
    corner = triangles.T.ravel()  # entry k m + t: the vertex opposite edge k of triangle t
    found = np.full(3 * m, -1)
    found[one], found[other] = corner[other], corner[one]
    return found.reshape(3, m).T


def giving_way(group: ConstraintGroup, n: int, border: np.ndarray) -> float:
    """The share of a plate's rigidity that an irregular mesh loses, in the mean over directions of bending.

    Second derivatives are exact for a sheet of uniform curvature, but its inner vertices are not in balance on an
    irregular mesh: each gives way a little to and fro, and what is stored then is less. That is linear, and as local as
    the mesh is irregular: a few iterations of conjugate gradients tell how much.

    Args:
        group: isotropic plates, in frames that are the same all over the sheet.
        n: how many vertices there are.
        border: those at the border: forces of edges reach some vertices from there, and these are not asked.
    """
    m, rows, k = group.operator.shape
    columns = np.repeat(group.vertices, rows, axis=0).ravel()
    g = sp.csr_array((group.operator.ravel(), columns, np.arange(0, m * rows * k + 1, k)), (m * rows, n))
    weights = np.repeat(group.weights, rows)
    matrix = sp.csr_array(g.T @ sp.diags_array(weights) @ g)
    outer = np.zeros(n)
    outer[border] = 1.0
    outer = np.where(abs(matrix) @ outer > 0, 1.0, 0.0)
    inverse = np.where(outer > 0, 0.0, 1.0 / np.maximum(matrix.diagonal(), 1e-300))
    whole = float((group.weights / 3) @ (outer[group.vertices[:, :3]] == 0).sum(axis=1))
    if np.count_nonzero(inverse) < FEW:
        return 0.0
    lost = 0.0
    for angle in np.arange(4) * np.pi / 4:  # a curvature of one across each; (κ_uu, κ_vv, √2 κ_uv) as rows have it
        c, s = np.cos(angle), np.sin(angle)
        load = -(g.T @ (weights * np.tile([c * c, s * s, np.sqrt(2.0) * c * s], m)))
        lost += _work(matrix, load, inverse)
    return lost / 4 / whole


def _work(matrix: sp.csr_array, load: np.ndarray, inverse: np.ndarray) -> float:
    """load · x for matrix x = load where `inverse` of the diagonal is not zero, by conjugate gradients."""
    r, x = np.where(inverse > 0, load, 0.0), np.zeros(len(load))
    d = inverse * r
    size, first = float(r @ d), float(r @ d)
    for _ in range(ITERATIONS):
        if not size > 1e-6 * first:
            break
        product = np.where(inverse > 0, matrix @ d, 0.0)
        step = size / float(d @ product)
        x += step * d
        r = r - step * product
        z = inverse * r
        new = float(r @ z)
        d, size = z + new / size * d, new
    return float(load @ x)
