"""Areas, volumes and shape quality of simplices: pure functions on arrays."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def triangle_areas(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return the (m,) areas of the triangles, in m²."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)


def tet_volumes(vertices: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """Return the (t,) signed volumes of the tetrahedra, in m³; negative where the tetrahedron is inside out."""
    a, b, c, d = (vertices[tets[:, k]] for k in range(4))
    return np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0


def longest_edges(vertices: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """Return the longest edge of each element, in m."""
    longest = np.zeros(len(elements))
    for i, j in combinations(range(elements.shape[1]), 2):
        np.maximum(longest, np.linalg.norm(vertices[elements[:, i]] - vertices[elements[:, j]], axis=1), out=longest)
    return longest


def enclosed_volume(vertices: np.ndarray, triangles: np.ndarray) -> float:
    """Return the volume inside a closed, outward-facing surface in m³, by the divergence theorem."""
    centre = vertices.mean(axis=0)
    a, b, c = (vertices[triangles[:, k]] - centre for k in range(3))
    return float(np.einsum("ij,ij->", np.cross(a, b), c) / 6.0)


def tet_quality(vertices: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """Return the (t,) mean-ratio quality: 1 for a regular tetrahedron, 0 for a flat one, negative when inside out.

    q = 12 (3V)^(2/3) / Σ l², over the six edge lengths l [liu1994].
    """
    squares = np.zeros(len(tets))
    for i, j in combinations(range(4), 2):
        squares += ((vertices[tets[:, i]] - vertices[tets[:, j]]) ** 2).sum(axis=1)
    return 12.0 * np.cbrt(3.0 * tet_volumes(vertices, tets)) ** 2 / squares * np.sign(tet_volumes(vertices, tets))
