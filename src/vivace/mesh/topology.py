"""Who touches whom: edges, hinges, boundaries and neighbours of element arrays, without a loop over elements.

An edge (a, b) with a < b is packed into one int64 key, a·2³² + b, because sorting keys is several times faster than
sorting rows. Everything here takes and returns plain arrays; indices are vertex numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph

from ..checks import NUMBERED, check_count, element_array, shown
from ..errors import InputError

# Faces of a tetrahedron with positive volume, seen from outside in counter-clockwise order.
TET_FACES = np.array([[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]])


def edge_keys(edges: np.ndarray) -> np.ndarray:
    """Return one int64 key for each (e, 2) edge, the same for both directions."""
    a, b = np.asarray(edges).T
    return _keys(a, b)


def _keys(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    keys: np.ndarray = np.minimum(a, b).astype(np.int64)
    keys <<= 32
    keys |= np.maximum(a, b)
    return keys


def edges_from_keys(keys: np.ndarray) -> np.ndarray:
    """Return the (e, 2) int32 edges, lower index first, that `edge_keys` packed."""
    edges = np.empty((len(keys), 2), np.int32)
    edges[:, 0] = keys >> 32
    edges[:, 1] = keys & 0xFFFFFFFF
    return edges


def _half_edges(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the 3m directed edges of the triangles and the vertex opposite each."""
    triangles = np.asarray(triangles)
    directed = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    opposite = np.concatenate([triangles[:, 2], triangles[:, 0], triangles[:, 1]])
    return directed, opposite


def unique_edges(elements: np.ndarray) -> np.ndarray:
    """Return the (e, 2) int32 edges of (m, k) simplices, each once, sorted: every pair of corners is an edge."""
    elements = element_array("elements", elements)
    if len(elements) == 0:
        return np.zeros((0, 2), np.int32)
    pairs = [_keys(elements[:, i], elements[:, j]) for i, j in combinations(range(elements.shape[1]), 2)]
    keys = np.concatenate(pairs)
    keys.sort()
    return edges_from_keys(keys[runs(keys)[0]])


def hinges_of(triangles: np.ndarray) -> np.ndarray:
    """Return (h, 4) int32 hinges (v0, v1, v2, v3): an edge v0 < v1 of exactly two triangles and its opposite vertices.

    Sorted by edge. Where the two triangles are wound alike, v2 belongs to the one that runs from v0 to v1, so that
    the sign of the dihedral angle means the same for every hinge.
    """
    triangles = element_array("triangles", triangles, 3)
    if len(triangles) == 0:
        return np.zeros((0, 4), np.int32)
    directed, opposite = _half_edges(triangles)
    keys = edge_keys(directed)
    # Sorting by direction within an edge puts the triangle that runs from v0 to v1 first.
    order = np.lexsort((directed[:, 0] > directed[:, 1], keys))
    starts, counts = runs(keys[order])
    first = starts[counts == 2]
    edges = edges_from_keys(keys[order[first]])
    return np.column_stack([edges, opposite[order[first]], opposite[order[first + 1]]]).astype(np.int32)


def nonmanifold_edges(triangles: np.ndarray) -> np.ndarray:
    """Return the (k, 2) int32 edges that more than two triangles share."""
    return _edges_where(triangles, lambda counts: counts > 2)


def boundary_edges(triangles: np.ndarray) -> np.ndarray:
    """Return the (k, 2) int32 edges that belong to one triangle only; none for a closed surface."""
    return _edges_where(triangles, lambda counts: counts == 1)


def _edges_where(triangles: np.ndarray, wanted: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    triangles = element_array("triangles", triangles, 3)
    if len(triangles) == 0:
        return np.zeros((0, 2), np.int32)
    keys = np.sort(edge_keys(_half_edges(triangles)[0]))
    starts, counts = runs(keys)
    return edges_from_keys(keys[starts[wanted(counts)]])


def runs(ordered: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each run of equal values starts in an ordered array, and how long it is."""
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return starts, np.diff(np.concatenate([starts, [len(ordered)]]))


def duplicates(elements: np.ndarray) -> np.ndarray:
    """Return the sorted indices of elements whose corners, in any order, an earlier element has already."""
    elements = np.sort(np.asarray(elements), axis=1)
    if len(elements) < 2:
        return np.zeros(0, np.int64)
    order = np.lexsort(elements.T[::-1])  # stable, so the earliest of equal rows leads its run
    same = (elements[order[1:]] == elements[order[:-1]]).all(axis=1)
    return np.sort(order[1:][same])


def _tet_faces(tets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return all 4t faces, an order that puts equal faces together, and the runs of equal faces in that order."""
    faces = np.asarray(tets)[:, TET_FACES].reshape(-1, 3)
    corners = np.sort(faces, axis=1)
    order = np.lexsort(corners.T[::-1])
    ordered = corners[order]
    starts = np.flatnonzero(np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)]))
    return faces, order, starts, np.diff(np.concatenate([starts, [len(faces)]]))


def boundary_of_tets(tets: np.ndarray) -> np.ndarray:
    """Return the (m, 3) int32 faces of one tetrahedron only, facing out of tetrahedra with positive volume."""
    tets = element_array("tetrahedra", tets, 4)
    if len(tets) == 0:
        return np.zeros((0, 3), np.int32)
    faces, order, starts, counts = _tet_faces(tets)
    # In the order of the tets, which keeps the surface as local in memory as they are.
    outer: np.ndarray = faces[np.sort(order[starts[counts == 1]])].astype(np.int32)
    return outer


def nonmanifold_faces(tets: np.ndarray) -> np.ndarray:
    """Return the (k, 3) int32 faces that more than two tetrahedra share."""
    tets = element_array("tetrahedra", tets, 4)
    if len(tets) == 0:
        return np.zeros((0, 3), np.int32)
    faces, order, starts, counts = _tet_faces(tets)
    shared: np.ndarray = faces[order[starts[counts > 2]]].astype(np.int32)
    return shared


def _edges_among(n: int, edges: np.ndarray) -> np.ndarray:
    """Return (e, 2) edges, all between vertices below n."""
    check_count("n", n, 0)
    edges = element_array("edges", edges, 2)
    if n >= NUMBERED or (len(edges) and edges.max() >= n):
        raise InputError(f"edges must join vertices below n, and n must be below 2^31, not {shown(n)}")
    return edges


def adjacency(n: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the neighbours of n vertices as CSR (indptr, indices), int32, neighbours in rising order.

    `edges` is (e, 2), in any order and direction; repeated edges count once and loops are dropped.
    """
    edges = _edges_among(n, edges).astype(np.int64, copy=False)
    edges = edges[edges[:, 0] != edges[:, 1]]
    keys = np.unique(np.concatenate([(edges[:, 0] << 32) | edges[:, 1], (edges[:, 1] << 32) | edges[:, 0]]))
    indptr = np.zeros(n + 1, np.int32)
    np.cumsum(np.bincount(keys >> 32, minlength=n), out=indptr[1:])
    return indptr, (keys & 0xFFFFFFFF).astype(np.int32)


def connected_components(n: int, edges: np.ndarray) -> tuple[int, np.ndarray]:
    """Return how many pieces n vertices form when joined by `edges`, and the (n,) int32 piece of each vertex."""
    edges = _edges_among(n, edges)
    graph = scipy.sparse.coo_matrix((np.ones(len(edges), np.int8), (edges[:, 0], edges[:, 1])), shape=(n, n))
    count, labels = scipy.sparse.csgraph.connected_components(graph.tocsr(), directed=False)
    return int(count), labels.astype(np.int32)
