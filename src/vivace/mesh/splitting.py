"""Surfaces with edges of three triangles and more, parted into sheets in which every edge has two at most.

Where a pocket is sewn on, the pocket's triangles share the edges of the seam with those of the coat on both sides. A
hinge has two triangles, and a surface that collides has two sides; so the coat stays whole and the pocket gets vertices
of its own, at the same places.

A vertex is doubled once for each fan of triangles around it beyond the first. Triangles belong to one fan if one leads
to the other across edges of two triangles. Across an edge of more, only pairs that continue each other are joined, the
flattest first: the two sides of the coat. A pair that would still leave three triangles at an edge is given up; without
any pairs none are left, because a fan without its tangled edges is a strip with two ends.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from . import topology

REVERSED = 0.5  # how much flatter a pair must be if its triangles are wound against each other (cosine)


def split(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return triangles without edges of more than two, and (d,) the vertex that each new vertex is a copy of.

    New vertices are numbered from n on; there must be an edge of more than two triangles.
    """
    corners = np.arange(3 * len(triangles)).reshape(-1, 3)
    directed = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)  # half-edge k is edge k % 3 of triangle k // 3
    keys = topology.edge_keys(directed)
    order = np.argsort(keys, kind="stable")
    starts, counts = topology.runs(keys[order])
    first = starts[counts == 2]
    plain = np.column_stack([order[first], order[first + 1]])
    tangled = [order[start : start + count] for start, count in zip(starts, counts, strict=True) if count > 2]
    pairs = np.array([pair for half in tangled for pair in _pairs(vertices, triangles, half)], np.int64).reshape(-1, 2)
    while True:
        fans = _fans(triangles, corners, np.concatenate([plain, pairs]))
        stuck = _still_tangled(fans, tangled)
        if not len(stuck):
            return doubled(len(vertices), triangles, fans, np.unique(directed[np.concatenate(tangled)]))
        ends = np.unique(directed[stuck])
        pairs = pairs[~np.isin(directed[pairs[:, 0]], ends).any(axis=1)]


def _pairs(vertices: np.ndarray, triangles: np.ndarray, half: np.ndarray) -> list[tuple[int, int]]:
    """Return pairs of the half-edges of one edge whose triangles continue each other, each half-edge once at most."""
    starts, ends = triangles[half // 3, half % 3], triangles[half // 3, (half + 1) % 3]
    a, b = min(starts[0], ends[0]), max(starts[0], ends[0])
    along = vertices[b] - vertices[a]
    away = vertices[triangles[half // 3, (half + 2) % 3]] - vertices[a]
    away = away - np.outer(away @ along, along) / max(float(along @ along), 1e-300)
    away /= np.maximum(np.linalg.norm(away, axis=1), 1e-300)[:, None]
    costs = away @ away.T + REVERSED * (starts[:, None] == starts)
    found: list[tuple[int, int]] = []
    free = set(range(len(half)))
    for i, j in sorted(combinations(range(len(half)), 2), key=lambda pair: costs[pair]):
        if {i, j} <= free:
            free -= {i, j}
            found.append((int(half[i]), int(half[j])))
    return found


def _fans(triangles: np.ndarray, corners: np.ndarray, joined: np.ndarray) -> np.ndarray:
    """Return (m, 3) the fan of every corner, where triangles are joined across pairs of half-edges (j, 2)."""
    here, there = joined.T
    links = []
    for end in range(2):
        mine = here // 3, (here + end) % 3
        # The same vertex is the start of one half-edge and the end of the other, unless both run the same way.
        theirs = there // 3, (there + 1 - end) % 3
        other = there // 3, (there + end) % 3
        same = triangles[mine] == triangles[theirs]
        links.append(np.column_stack([corners[mine], np.where(same, corners[theirs], corners[other])]))
    return topology.connected_components(corners.size, np.concatenate(links))[1].reshape(-1, 3)


def _still_tangled(fans: np.ndarray, tangled: list[np.ndarray]) -> np.ndarray:
    """Return a half-edge of each edge at which three triangles or more have the same fans at both ends."""
    found = []
    for half in tangled:
        ends = np.sort(np.column_stack([fans[half // 3, half % 3], fans[half // 3, (half + 1) % 3]]), axis=1)
        _, where, counts = np.unique(ends, axis=0, return_index=True, return_counts=True)
        found += half[where[counts > 2]].tolist()
    return np.array(found, np.int64)


def doubled(n: int, triangles: np.ndarray, fans: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the fans of elements (m, k): the largest at a vertex keeps its number, others get new ones at `ends`."""
    count = int(fans.max()) + 1
    vertex = np.empty(count, np.int64)
    vertex[fans.ravel()] = triangles.ravel()
    size = np.bincount(fans.ravel(), minlength=count)
    order = np.lexsort((np.arange(count), -size, vertex))
    starts, _ = topology.runs(vertex[order])
    number = np.where(np.isin(vertex, ends), -1, vertex)
    number[order[starts]] = vertex[order[starts]]
    extra = np.flatnonzero(number < 0)
    number[extra] = n + np.arange(len(extra))
    return number[fans].astype(np.int32), vertex[extra].astype(np.int32)
