"""The nearest point of a surface, for few points: pure functions on arrays."""

from __future__ import annotations

import numpy as np

PAIRS = 400_000  # of points and triangles that are looked at together


def nearest_on_triangles(
    points: np.ndarray, vertices: np.ndarray, triangles: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the (k,) triangles that are nearest to points (k, 3), and the (k, 3) barycentric weights of the places.

    Of triangles that are as near, the first. Every pair is looked at: for some hundred points.
    """
    which, weights = np.zeros(len(points), np.int64), np.zeros((len(points), 3))
    corners = vertices[triangles]
    block = max(1, PAIRS // max(len(triangles), 1))
    for begin in range(0, len(points), block):
        some = slice(begin, begin + block)
        found = _closest(points[some], corners)
        way = points[some, None] - np.einsum("ktc,tcx->ktx", found, corners)
        best = np.einsum("ktx,ktx->kt", way, way).argmin(axis=1)
        which[some], weights[some] = best, found[np.arange(len(best)), best]
    return which, weights


def _closest(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """(k, t, 3) weights of the place on each of the triangles (t, 3, 3) that is closest to each of the points."""
    a = corners[:, 0]
    u, v = corners[:, 1] - a, corners[:, 2] - a
    w = points[:, None] - a
    uu, uv, vv = (np.einsum("tx,tx->t", one, two) for one, two in ((u, u), (u, v), (v, v)))
    wu, wv = np.einsum("ktx,tx->kt", w, u), np.einsum("ktx,tx->kt", w, v)
    area = np.maximum(uu * vv - uv * uv, 1e-300)
    second, third = (vv * wu - uv * wv) / area, (uu * wv - uv * wu) / area
    inside = np.stack([1 - second - third, second, third], axis=2)
    # Where that is outside, the nearest place is on one of the sides.
    best, least = np.clip(inside, 0.0, 1.0), np.where((inside >= 0).all(axis=2), -1.0, np.inf)
    for one, two in ((0, 1), (1, 2), (2, 0)):
        side, from_one = corners[:, two] - corners[:, one], points[:, None] - corners[:, one]
        length = np.maximum(np.einsum("tx,tx->t", side, side), 1e-300)
        along = np.clip(np.einsum("ktx,tx->kt", from_one, side) / length, 0.0, 1.0)
        apart = from_one - along[:, :, None] * side
        square = np.einsum("ktx,ktx->kt", apart, apart)
        nearer = square < least
        least = np.where(nearer, square, least)
        on_side = np.zeros_like(inside)
        on_side[:, :, one], on_side[:, :, two] = 1 - along, along
        best = np.where(nearer[:, :, None], on_side, best)
    return np.asarray(best)
