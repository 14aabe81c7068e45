"""Vertices that a file has several times at one place, made one."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components


def places(vertices: np.ndarray) -> np.ndarray:
    """For every vertex the first one that is at exactly the same place."""
    order = np.lexsort(vertices.T)
    ordered = vertices[order]
    fresh = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    earliest = np.minimum.reduceat(order, np.flatnonzero(fresh))
    first = np.empty(len(vertices), np.int64)
    first[order] = earliest[np.cumsum(fresh) - 1]
    return first


def seams(vertices: np.ndarray, triangles: np.ndarray, labels: np.ndarray | None = None) -> np.ndarray:
    """For every vertex the one that it becomes where rims are sewn up: the first of those that are one.

    A seam is an edge that two triangles have at the same places, in opposite directions, with vertices of their own, as
    files have it where texture coordinates or normals jump. Sheets that lie on each other, or touch at a point, stay
    apart; so do triangles of different `labels` (m,).
    """
    first = places(vertices)
    if np.array_equal(first, np.arange(len(first))):
        return first
    edges = np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)]).astype(np.int64)
    label = np.tile(np.zeros(len(triangles), np.int64) if labels is None else labels, 3)
    ordered = np.sort(edges, axis=1)
    _, inverse, count = np.unique(ordered @ np.array([len(vertices), 1]), return_inverse=True, return_counts=True)
    alone = count[inverse] == 1
    edges, label = edges[alone], label[alone]
    at = first[edges]
    edges, label, at = (part[at[:, 0] != at[:, 1]] for part in (edges, label, at))
    forward = at[:, 0] < at[:, 1]
    order = np.lexsort((forward, at.max(axis=1), at.min(axis=1), label))
    edges, forward = edges[order], forward[order]
    key = np.column_stack([label[order], at.min(axis=1)[order], at.max(axis=1)[order]])
    begins = np.concatenate([[True], (key[1:] != key[:-1]).any(axis=1)])[: len(key)]
    fresh = np.flatnonzero(begins)
    two = fresh[np.diff(np.append(fresh, len(key))) == 2]
    two = two[forward[two] != forward[two + 1]]
    a, b = edges[two], edges[two + 1]
    pairs = np.concatenate([np.stack([a[:, 0], b[:, 1]], 1), np.stack([a[:, 1], b[:, 0]], 1)])
    n = len(vertices)
    graph = coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), (n, n))
    _, part = connected_components(graph, directed=False)
    least = np.full(part.max() + 1, n, np.int64)
    np.minimum.at(least, part, np.arange(n))
    found: np.ndarray = least[part]
    return found


def numbers(first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices that are kept, in order, and for every vertex the number that it then has."""
    kept = np.unique(first)
    return kept, np.searchsorted(kept, first)
