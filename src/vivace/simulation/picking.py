"""What a ray hits: the vertex that somebody points at."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..checks import real_array, shown
from ..errors import InputError

REACH = 0.05  # of the body's size: how near to a vertex a ray must pass where there are no triangles


def as_ray(origin: ArrayLike, direction: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Checked, the direction of length one."""
    o, d = real_array(origin), real_array(direction)
    if o is None or d is None:
        raise InputError("a ray is (origin, direction), three numbers each")
    if o.shape != (3,) or d.shape != (3,) or not (np.isfinite(o).all() and np.isfinite(d).all()):
        raise InputError(
            f"a ray is (origin, direction), three finite numbers each, not {shown(origin)}, {shown(direction)}"
        )
    length = np.linalg.norm(d)
    if length == 0:
        raise InputError("the direction of a ray must not be zero")
    return o, d / length


def first_triangle(points: np.ndarray, triangles: np.ndarray, o: np.ndarray, d: np.ndarray) -> tuple[int, float] | None:
    """The first triangle that the ray hits, from either side, and how far away; None if it hits none [moeller1997]."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    e, f = b - a, c - a
    p = np.cross(d, f)
    det = np.einsum("mc,mc->m", e, p)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = o - a
        u = np.einsum("mc,mc->m", t, p) / det
        r = np.cross(t, e)
        v = r @ d / det
        away = np.einsum("mc,mc->m", f, r) / det
        hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (away > 0)
    if not hit.any():
        return None
    best = int(np.argmin(np.where(hit, away, np.inf)))
    return best, float(away[best])


def picked_vertex(points: np.ndarray, triangles: np.ndarray, o: np.ndarray, d: np.ndarray) -> int | None:
    """The corner nearest to where the ray hits the surface; without triangles, the vertex nearest to the ray."""
    if len(triangles):
        found = first_triangle(points, triangles, o, d)
        if found is None:
            return None
        corners = triangles[found[0]]
        return int(corners[np.argmin(np.linalg.norm(points[corners] - (o + found[1] * d), axis=1))])
    along = np.maximum((points - o) @ d, 0.0)
    away = np.linalg.norm(points - o - along[:, None] * d, axis=1)
    best = int(np.argmin(away))
    size = float(np.ptp(points, axis=0).max())
    return best if away[best] <= REACH * size else None
