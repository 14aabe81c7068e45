"""What holds bodies to each other: a vertex to a vertex, or to a point of a triangle."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from .base import Prepared, Role, constraint


def nearest_weights(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Barycentric coordinates (m, 3) of the point of each triangle (m, 3, 3) that is nearest to its point (m, 3)."""
    best, shares = np.full(len(points), np.inf), np.zeros((len(points), 3))
    a, ab, ac = triangles[:, 0], triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    rhs = np.stack([np.einsum("mc,mc->m", e, points - a) for e in (ab, ac)], axis=1)
    gram = np.stack([[np.einsum("mc,mc->m", e, f) for f in (ab, ac)] for e in (ab, ac)]).transpose(2, 0, 1)
    det = gram[:, 0, 0] * gram[:, 1, 1] - gram[:, 0, 1] ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        u = (gram[:, 1, 1] * rhs[:, 0] - gram[:, 0, 1] * rhs[:, 1]) / det
        v = (gram[:, 0, 0] * rhs[:, 1] - gram[:, 0, 1] * rhs[:, 0]) / det
    candidates = [np.stack([1 - u - v, u, v], axis=1)]
    for i, j in ((0, 1), (1, 2), (2, 0)):
        along = triangles[:, j] - triangles[:, i]
        size = np.maximum(np.einsum("mc,mc->m", along, along), 1e-300)
        t = np.clip(np.einsum("mc,mc->m", points - triangles[:, i], along) / size, 0.0, 1.0)
        share = np.zeros((len(points), 3))
        share[:, i], share[:, j] = 1 - t, t
        candidates.append(share)
    for share in candidates:
        inside = np.isfinite(share).all(axis=1) & (share >= 0).all(axis=1)
        with np.errstate(invalid="ignore"):
            away = np.linalg.norm(points - np.einsum("mk,mkc->mc", share, triangles), axis=1)
        better = inside & (away < best)
        best[better], shares[better] = away[better], share[better]
    return shares


@constraint("weld", vertices=2, rows=1, role=Role.QUADRATIC, unit="N/m")
class Weld:
    """Holds two vertices together; stiffness in N/m."""

    @staticmethod
    def prepare(rest: np.ndarray) -> Prepared:
        """The operator A = [1, -1]: what lies between the two vertices."""
        return Prepared(operator=[[1.0, -1.0]])


@constraint("attachment", vertices=4, rows=1, role=Role.QUADRATIC, unit="N/m")
class Attachment:
    """Holds a vertex to the nearest point of a triangle (vertex, a, b, c), or to the point `weights` names; N/m."""

    @staticmethod
    def prepare(rest: np.ndarray, weights: ArrayLike | None = None) -> Prepared:
        """The operator A = [1, -u, -v, -w]: what lies between the vertex and its point (u, v, w) of the triangle."""
        if weights is None:
            shares = nearest_weights(rest[:, 0], rest[:, 1:])
        else:
            try:
                shares = np.broadcast_to(np.asarray(weights, np.float64), (len(rest), 3))
            except (ValueError, TypeError):
                raise InputError(
                    f"the weights of an attachment are three numbers, or three for each, not {weights!r}"
                ) from None
            if not np.allclose(shares.sum(axis=1), 1.0):
                raise InputError("the three weights of an attachment must add up to 1")
        return Prepared(operator=np.concatenate([np.ones((len(rest), 1)), -shares], axis=1)[:, None, :])
