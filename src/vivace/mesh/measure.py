"""Areas, volumes and shape quality of simplices: pure functions on arrays."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ..blocks import in_blocks
from ..checks import element_array, real_array
from ..errors import InputError


def triangle_areas(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return the (m,) areas of the triangles, in m²."""

    def areas(block: np.ndarray) -> np.ndarray:
        a, b, c = (vertices[block[:, k]] for k in range(3))
        areas: np.ndarray = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
        return areas

    return in_blocks(areas, triangles)


def tet_volumes(vertices: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """Return the (t,) signed volumes of the tetrahedra, in m³; negative where the tetrahedron is inside out."""

    def volumes(block: np.ndarray) -> np.ndarray:
        a, b, c, d = (vertices[block[:, k]] for k in range(4))
        volumes: np.ndarray = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0
        return volumes

    return in_blocks(volumes, tets)


def longest_edges(vertices: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """Return the longest edge of each element, in m."""

    def longest(block: np.ndarray) -> np.ndarray:
        pairs = combinations(range(block.shape[1]), 2)
        longest: np.ndarray = np.max(
            [np.linalg.norm(vertices[block[:, i]] - vertices[block[:, j]], axis=1) for i, j in pairs], axis=0
        )
        return longest

    return in_blocks(longest, elements)


def enclosed_volume(vertices: np.ndarray, triangles: np.ndarray) -> float:
    """Return the volume inside a closed, outward-facing surface in m³, by the divergence theorem."""
    centre = vertices.mean(axis=0)
    a, b, c = (vertices[triangles[:, k]] - centre for k in range(3))
    return float(np.einsum("ij,ij->", np.cross(a, b), c) / 6.0)


def tet_quality(vertices: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """Return the (t,) mean-ratio quality: 1 for a regular tetrahedron, 0 for a flat one, negative when inside out.

    q = 12 (3V)^(2/3) / Σ l², over the six edge lengths l [liu1994].
    """
    points, tets = real_array(vertices), element_array("tetrahedra", tets, 4)
    if points is None or points.ndim != 2 or points.shape[1] != 3 or (len(tets) and tets.max() >= len(points)):
        raise InputError("tet_quality takes (n, 3) positions and (t, 4) numbers of these")
    vertices, squares = points, np.zeros(len(tets))
    for i, j in combinations(range(4), 2):
        squares += ((vertices[tets[:, i]] - vertices[tets[:, j]]) ** 2).sum(axis=1)
    quality: np.ndarray = (
        12.0 * np.cbrt(3.0 * tet_volumes(vertices, tets)) ** 2 / squares * np.sign(tet_volumes(vertices, tets))
    )
    return quality


def nearest_among(points: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """For every point (n, 3) the number that it has among those `kept` (k,), or that of the nearest of them."""
    from scipy.spatial import cKDTree

    number = np.empty(len(points), np.int64)
    gone = np.ones(len(points), bool)
    gone[kept] = False
    number[kept] = np.arange(len(kept))
    number[gone] = cKDTree(points[kept]).query(points[gone])[1]
    return number
