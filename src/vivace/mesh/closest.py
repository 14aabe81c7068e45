"""Which element of a mesh is closest to a point: exact, by a tree of the elements' centres."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial import cKDTree

CHUNK = 2048  # points at a time: so many have candidates in memory
FIRST = 8  # elements that are looked at for a first distance
INSIDE = -1e-9  # the least weight of a point that is in a tetrahedron


def closest_triangles(
    points: np.ndarray, vertices: np.ndarray, triangles: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The triangle closest to each point (k,), the weights (k, 3) of the closest place in it, and the distance (k,)."""
    corners = vertices[triangles]
    centres = corners.mean(axis=1)
    radii = np.linalg.norm(corners - centres[:, None], axis=2).max(axis=1)
    tree = cKDTree(centres)
    number = np.empty(len(points), np.int64)
    weights, distance = np.empty((len(points), 3)), np.empty(len(points))
    for some in _chunks(len(points)):
        x = points[some]
        _, few = tree.query(x, k=min(FIRST, len(triangles)))
        few = few.reshape(len(x), -1)
        rows = np.repeat(np.arange(len(x)), few.shape[1])
        _, bound = closest_places(x[rows], corners[few.ravel()])
        # Whatever is closer has its centre within this distance and its own radius.
        least = bound.reshape(few.shape).min(axis=1) * (1 + 1e-12)
        near = tree.query_ball_point(x, least + radii.max())
        counts = np.array([len(found) for found in near])
        rows = np.repeat(np.arange(len(x)), counts)
        which = np.concatenate([np.array(found, np.int64) for found in near])
        kept = np.linalg.norm(x[rows] - centres[which], axis=1) <= least[rows] + radii[which] * (1 + 1e-9)
        rows, which = rows[kept], which[kept]
        own, far = closest_places(x[rows], corners[which])
        best = np.lexsort((which, far, rows))
        best = best[np.flatnonzero(np.diff(rows[best], prepend=-1))]
        number[some], weights[some], distance[some] = which[best], own[best], far[best]
    return number, weights, distance


def containing_tets(points: np.ndarray, vertices: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """The tetrahedron that each point lies in (k,), the one where it is deepest; -1: it is in none."""
    corners = vertices[tets]
    centres = corners.mean(axis=1)
    radii = np.linalg.norm(corners - centres[:, None], axis=2).max(axis=1)
    inverse = np.linalg.inv((corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1))
    tree = cKDTree(centres)
    number = np.full(len(points), -1, np.int64)
    for some in _chunks(len(points)):
        x, own = points[some], number[some]
        _, few = tree.query(x, k=min(2 * FIRST, len(tets)))
        few = few.reshape(len(x), -1)
        for left in range(2):  # most are in one of the nearest; the others are looked for in all that may have them
            rows, which = np.repeat(np.arange(len(x)), few.shape[1]), few.ravel().astype(np.int64)
            if left:
                missing = np.flatnonzero(own < 0)
                near = tree.query_ball_point(x[missing], radii.max() * (1 + 1e-9))
                rows = np.repeat(missing, [len(found) for found in near])
                which = np.array([one for found in near for one in found], np.int64)
            local = np.einsum("kij,kj->ki", inverse[which], x[rows] - corners[which, 0])
            depth = np.minimum(local.min(axis=1, initial=np.inf), 1 - local.sum(axis=1))
            kept = depth >= INSIDE
            rows, which, depth = rows[kept], which[kept], depth[kept]
            order = np.lexsort((which, -depth, rows))
            order = order[np.flatnonzero(np.diff(rows[order], prepend=-1))]
            own[rows[order]] = which[order]
    return number


def closest_places(points: np.ndarray, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights (k, 3) of the place in each triangle (k, 3, 3) that is closest to its point (k, 3), and how far it is.

    The closest place in the plane, if that is inside; else the closest on an edge.
    """
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    weights = plane_weights(points, corners)
    found = np.where(np.isfinite(weights), weights, -1.0)
    outside = (found < 0).any(axis=1)
    best = np.full(len(points), np.inf)
    inner = np.einsum("ki,kij->kj", found, corners) - points
    best[~outside] = np.einsum("ij,ij->i", inner, inner)[~outside]
    for k, (u, v) in enumerate(((a, b), (b, c), (c, a))):
        along = v - u
        length = np.einsum("ij,ij->i", along, along)
        share = np.einsum("ij,ij->i", points - u, along) / np.where(length > 0, length, 1.0)
        share = np.clip(share, 0.0, 1.0)
        off = u + share[:, None] * along - points
        far = np.einsum("ij,ij->i", off, off)
        closer = outside & (far < best)
        best[closer] = far[closer]
        row = np.zeros((len(points), 3))
        row[:, k], row[:, (k + 1) % 3] = 1 - share, share
        found[closer] = row[closer]
    return found, np.sqrt(best)


def plane_weights(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Weights (k, 3) of the points' feet in the planes of triangles (k, 3, 3); their sum is 1; some may be negative."""
    u, v, w = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0], points - corners[:, 0]
    normal = np.cross(u, v)
    square = np.einsum("ij,ij->i", normal, normal)
    with np.errstate(invalid="ignore", divide="ignore"):
        second = np.einsum("ij,ij->i", np.cross(w, v), normal) / square
        third = np.einsum("ij,ij->i", np.cross(u, w), normal) / square
    return np.stack([1 - second - third, second, third], axis=1)


def _chunks(count: int) -> Iterator[slice]:
    return (slice(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK))
