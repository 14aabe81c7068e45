"""Which vertices the curvature of a sheet is told from: six for each triangle (`constraints.plate`)."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ..constraints.membrane import frames_of
from ..constraints.plate import flattened, second_derivatives
from ..mesh import topology

ILL = 20.0  # norm of the second derivatives, in units of the triangle's area, beyond which other vertices are tried
WORST = 200.0  # beyond which there is no plate
NEAREST = 10  # vertices around a triangle that are tried


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
    around = [neighbours[a:b] for a, b in zip(indptr[:-1], indptr[1:], strict=True)] if (size > ILL).any() else []
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
