"""Filling a smooth implicit shape with well-shaped tetrahedra: isosurface stuffing [labelle2007].

A body-centred cubic lattice is laid over the shape. Lattice points that almost touch the surface are moved onto it,
and the tetrahedra the surface still cuts are trimmed by a few stencils. The paper proves bounds on the angles for its
own choice of diagonals in the stencils; ours is simpler and carries no proof, so the tests measure the quality instead.

A lattice point's side is +1 inside, −1 outside, 0 on the surface. A *cut* is the point where the surface crosses an
edge whose ends are on opposite sides.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import measure, topology

Implicit = Callable[[np.ndarray], np.ndarray]  # (n, 3) positions -> (n,) values, positive inside

# A point moves onto the surface when a cut is nearer than this share of the edge [labelle2007].
_NEAR_LONG, _NEAR_SHORT = 0.24999, 0.41189


def stuff(inside: Implicit, lower: np.ndarray, upper: np.ndarray, spacing: float) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (n, 3) and tetrahedra (t, 4) int32 that fill the set where `inside` is positive.

    Args:
        inside: a continuous function, positive inside the shape.
        lower: lowest corner of a box that holds the shape, in m.
        upper: highest corner of it.
        spacing: edge of a lattice cell, in m.
    """
    points, tets = _lattice(np.asarray(lower, float), np.asarray(upper, float), spacing)
    values = inside(points)
    side = np.sign(values).astype(np.int8)
    tets = tets[(side[tets] > 0).any(axis=1)]
    edges = topology.unique_edges(tets)
    edges = edges[side[edges[:, 0]] * side[edges[:, 1]] < 0]
    share = _crossings(inside, points, edges)
    points, side, edges, share = _snap(points, side, edges, share, spacing)
    cuts = points[edges[:, 0]] + share[:, None] * (points[edges[:, 1]] - points[edges[:, 0]])
    # Edges are sorted by key, so a cut is found again by bisection.
    trimmed = _trim(tets, side, topology.edge_keys(edges), len(points))
    vertices = np.concatenate([points, cuts])
    inverted = measure.tet_volumes(vertices, trimmed) < 0
    trimmed[inverted] = trimmed[inverted][:, [0, 1, 3, 2]]
    used, numbers = np.unique(trimmed, return_inverse=True)
    return vertices[used], numbers.reshape(-1, 4).astype(np.int32)


def _lattice(lower: np.ndarray, upper: np.ndarray, spacing: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the points and tetrahedra of a body-centred cubic lattice, one cell larger than the box on every side."""
    cells = np.ceil((upper - lower) / spacing).astype(int) + 3
    origin = 0.5 * (lower + upper) - 0.5 * cells * spacing
    corner_of = np.arange(np.prod(cells + 1)).reshape(cells + 1)
    centre_of = np.arange(np.prod(cells)).reshape(cells) + corner_of.size
    corners = np.stack(np.meshgrid(*(np.arange(c + 1.0) for c in cells), indexing="ij"), -1).reshape(-1, 3)
    centres = np.stack(np.meshgrid(*(np.arange(c) + 0.5 for c in cells), indexing="ij"), -1).reshape(-1, 3)
    tets = []
    for axis in range(3):
        # Two cells that share a face make four tetrahedra: their centres and one edge of the face each.
        centre, corner = np.moveaxis(centre_of, axis, 0), np.moveaxis(corner_of, axis, 0)
        a, b = centre[:-1], centre[1:]
        face = corner[1:-1]
        ring = [face[:, :-1, :-1], face[:, 1:, :-1], face[:, 1:, 1:], face[:, :-1, 1:]]
        tets += [np.stack([a, b, ring[k], ring[(k + 1) % 4]], -1).reshape(-1, 4) for k in range(4)]
    return origin + spacing * np.concatenate([corners, centres]), np.concatenate(tets)


def _crossings(inside: Implicit, points: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return where along each edge, from 0 to 1, the surface crosses it, by bisection."""
    start, step = points[edges[:, 0]], points[edges[:, 1]] - points[edges[:, 0]]
    inward = inside(start) > 0
    low, high = np.zeros(len(edges)), np.ones(len(edges))
    for _ in range(24):
        middle = 0.5 * (low + high)
        before = (inside(start + middle[:, None] * step) > 0) == inward
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    return 0.5 * (low + high)


def _snap(
    points: np.ndarray, side: np.ndarray, edges: np.ndarray, share: np.ndarray, spacing: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Move points onto cuts that are too near them, and drop the cuts next to moved points.

    A moved point takes its other cuts with it, so its neighbours may no longer need to move. The paper moves one at a
    time; here each round moves every point whose neighbours with lower numbers do not want to move.
    """
    points, side = points.copy(), side.copy()
    long = np.linalg.norm(points[edges[:, 1]] - points[edges[:, 0]], axis=1) > 0.95 * spacing
    near = np.where(long, _NEAR_LONG, _NEAR_SHORT)
    while True:
        distance = np.minimum(share, 1 - share)
        close = distance < near
        if not close.any():
            return points, side, edges, share
        end = np.where(share < 0.5, edges[:, 0], edges[:, 1])
        wants = np.zeros(len(points), bool)
        wants[end[close]] = True
        rivals = edges[wants[edges].all(axis=1)]
        wants[rivals.max(axis=1)] = False
        movers = np.flatnonzero(close & wants[end])
        # Nearest cut last, so that it is the one that stays assigned.
        movers = movers[np.argsort(-distance[movers] * np.where(long[movers], 1.0, np.sqrt(0.75)), kind="stable")]
        a, b = edges[movers].T
        points[end[movers]] = points[a] + share[movers, None] * (points[b] - points[a])
        side[end[movers]] = 0
        kept = (side[edges] != 0).all(axis=1)
        edges, share, near, long = edges[kept], share[kept], near[kept], long[kept]


def _trim(tets: np.ndarray, side: np.ndarray, cut_keys: np.ndarray, n: int) -> np.ndarray:
    """Return the part of each tetrahedron that is inside; cut k is vertex n + k. Orientation is left to the caller.

    Corners are sorted by side, then number. A four-sided face (two corners in, one out) is split through its lower
    inner corner; both tetrahedra at the face choose alike, and three such choices on a prism never form a cycle.
    """
    rank = np.take_along_axis(tets, np.argsort(tets, axis=1), axis=1)
    rank = np.take_along_axis(rank, np.argsort(-side[rank], axis=1, kind="stable"), axis=1)
    sides = side[rank]
    n_in, n_out = (sides > 0).sum(axis=1), (sides < 0).sum(axis=1)

    def cut(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return n + np.searchsorted(cut_keys, topology.edge_keys(np.column_stack([a, b])))

    def pick(inner: int, outer: int) -> np.ndarray:
        picked: np.ndarray = rank[(n_in == inner) & (n_out == outer)]
        return picked

    out = [rank[(n_in > 0) & (n_out == 0)]]
    for outer in (1, 2, 3):
        p, *rest = pick(1, outer).T
        zeros, outs = rest[: 3 - outer], rest[3 - outer :]
        out.append(np.column_stack([p, *zeros, *(cut(p, o) for o in outs)]))

    p, q, z, o = pick(2, 1).T  # a pyramid
    po, qo = cut(p, o), cut(q, o)
    out += [np.column_stack([p, q, qo, z]), np.column_stack([p, qo, po, z])]

    p, q, o, r = pick(2, 2).T  # a wedge on the edge p q
    po, pr, qo, qr = cut(p, o), cut(p, r), cut(q, o), cut(q, r)
    out += [np.column_stack(x) for x in ([p, q, qo, qr], [p, po, qo, qr], [p, po, qr, pr])]

    p, q, r, o = pick(3, 1).T  # a prism
    po, qo, ro = cut(p, o), cut(q, o), cut(r, o)
    out += [np.column_stack(x) for x in ([p, q, r, ro], [p, q, qo, ro], [p, po, qo, ro])]
    return np.concatenate(out)
