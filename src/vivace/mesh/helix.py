"""A double helix of tetrahedra: two strands wound around each other, and rungs between them."""

from __future__ import annotations

import numpy as np
import scipy.spatial

from ..checks import check_count, check_size, many
from . import stuffing
from .body import check_lattice
from .mesh import Mesh

# For a helix 1 m high that stands on y = 0.
RADIUS = 0.17  # m: of the strands' curves around the y axis
STRAND, RUNG = 0.062, 0.036  # m: their own radii
TURNS, RUNGS = 1.5, 7
FINE = 0.004  # m: between the points that stand for a curve; the surface is off by FINE²/(8 · RUNG) at most


def _strand(y: np.ndarray, which: int) -> np.ndarray:
    """Points (n, 3) of a strand's curve at heights y."""
    angle = 2 * np.pi * TURNS * y + which * np.pi
    return np.column_stack([RADIUS * np.cos(angle), y, RADIUS * np.sin(angle)])


def _curves() -> tuple[np.ndarray, np.ndarray]:
    """Points that stand for the two strands, and for the rungs."""
    length = np.hypot(1.0, 2 * np.pi * TURNS * RADIUS)
    heights = np.linspace(STRAND, 1 - STRAND, int(length / FINE))
    strands = np.concatenate([_strand(heights, which) for which in (0, 1)])
    share = np.linspace(0, 1, int(2 * RADIUS / FINE))[:, None, None]
    at = np.linspace(STRAND, 1 - STRAND, RUNGS + 2)[1:-1]
    rungs = (1 - share) * _strand(at, 0) + share * _strand(at, 1)
    return strands, rungs.reshape(-1, 3)


def double_helix(n: int = 40, height: float = 1.0) -> Mesh:
    """Two strands around the y axis with seven rungs, on y = 0. Groups: "top" and "bottom", the ends of the strands.

    Args:
        n: lattice cells along its height, 24 or more so that the rungs survive; 40 gives about 10,000 vertices and
            42,000 tetrahedra, and both grow as n³.
        height: in m.
    """
    n = check_count("n", n, 24)
    check_size("height", height)
    wide = 2 * (RADIUS + STRAND)
    check_lattice(f"a double helix of {many(n)} cells", n, n // 2, n // 2)
    strands, rungs = (scipy.spatial.cKDTree(points) for points in _curves())

    def inside(x: np.ndarray) -> np.ndarray:
        far = STRAND + 3.0 / n  # beyond that, nobody asks how far
        near, between = (curve.query(x, distance_upper_bound=far)[0] for curve in (strands, rungs))
        found: np.ndarray = np.maximum(STRAND - near, RUNG - between)
        return found

    low, high = np.array([-wide / 2, 0.0, -wide / 2]), np.array([wide / 2, 1.0, wide / 2])
    vertices, tets = stuffing.stuff(inside, low, high, spacing=1.0 / n)
    foot, head = vertices[:, 1].min(), vertices[:, 1].max()
    groups = {
        "top": np.flatnonzero(vertices[:, 1] > head - STRAND),
        "bottom": np.flatnonzero(vertices[:, 1] < foot + STRAND),
    }
    vertices = (vertices - [0.0, foot, 0.0]) * (height / (head - foot))
    return Mesh.from_tets(vertices, tets, name="double helix", groups=groups)
