"""Interpenetration: which edges pierce which triangles, exactly.

Five signs of determinants say whether an edge pierces a triangle. They are computed in float64 with a bound on their
rounding [shewchuk1997], and the few that the bound leaves open again in rational arithmetic: no tolerance, no doubt.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ..backends.cpu.executor import check_threads
from ..checks import real_array
from ..mesh import checks, topology
from .kernels.box_pairs import broad_phase_pairs
from .kernels.piercing import UNSURE, pierce_pairs


def crossings(positions: Any, triangles: Any, threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the (c, 2) int32 vertices of edges that pierce a triangle, and the (c,) int32 triangles they pierce.

    Pairs that share a vertex are no crossings, nor are those that only touch. Sorted by edge, then by triangle.

    Args:
        positions: (n, 3) or, float32 rows, (n, 4) positions, in m.
        triangles: (m, 3) vertex numbers.
        threads: how many; None: one for each core.
    """
    threads = check_threads(threads)
    rows = real_array(positions)
    if rows is not None and rows.ndim == 2 and rows.shape[1] == 4:
        positions = rows[:, :3]
    x = checks.checked_vertices(positions, most=np.inf)
    triangles = checks.checked_elements(triangles, 3, len(x))
    edges = topology.unique_edges(triangles)
    edges = edges[edges[:, 0] != edges[:, 1]]
    boxes = [(x[corners].min(axis=1), x[corners].max(axis=1)) for corners in (edges, triangles)]
    pairs = broad_phase_pairs(*boxes[0], boxes[1], threads)
    verdict = pierce_pairs(x, edges, triangles, pairs)
    for k in np.flatnonzero(verdict == UNSURE):
        verdict[k] = _pierces_exactly(x[edges[pairs[k, 0]]], x[triangles[pairs[k, 1]]])
    pairs = pairs[verdict == 1]
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    return edges[pairs[:, 0]], pairs[:, 1]


def _pierces_exactly(edge: np.ndarray, triangle: np.ndarray) -> bool:
    """The same five signs, in rational numbers."""
    p, q, a, b, c = ([Fraction(float(v)) for v in point] for point in (*edge, *triangle))
    if _side(a, b, c, p) * _side(a, b, c, q) >= 0:
        return False
    around = {_side(p, q, a, b), _side(p, q, b, c), _side(p, q, c, a)}
    return len(around) == 1 and 0 not in around


def _side(a: list[Fraction], b: list[Fraction], c: list[Fraction], d: list[Fraction]) -> int:
    """The sign of the determinant of a - d, b - d, c - d."""
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = ([x - y for x, y in zip(row, d, strict=True)] for row in (a, b, c))
    value = ax * (by * cz - bz * cy) - ay * (bx * cz - bz * cx) + az * (bx * cy - by * cx)
    return (value > 0) - (value < 0)
