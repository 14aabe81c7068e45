"""Round bodies from implicit shapes: a ball, and a figure with a head, two arms and two legs."""

from __future__ import annotations

import math

import numpy as np

from ..checks import check_count, check_room, check_size, many
from . import stuffing
from .mesh import Mesh

# Bones of the figure as (start, end, radius at start, radius at end), for a figure 1 m high that stands on y = 0 and
# faces +z; arms and legs are for its left (+x) and mirrored for its right.
_MIDDLE = [
    ((0.0, 0.50, 0.0), (0.0, 0.70, 0.0), 0.115, 0.125),  # belly to chest
    ((0.0, 0.88, 0.02), (0.0, 0.89, 0.03), 0.105, 0.105),  # head
    ((0.0, 0.76, 0.0), (0.0, 0.82, 0.01), 0.065, 0.065),  # neck
]
_LIMBS = [
    ((0.11, 0.72, 0.0), (0.26, 0.60, 0.01), 0.062, 0.050),  # upper arm
    ((0.26, 0.60, 0.01), (0.37, 0.50, 0.08), 0.050, 0.042),  # forearm
    ((0.385, 0.485, 0.095), (0.395, 0.475, 0.105), 0.055, 0.055),  # hand
    ((0.085, 0.46, 0.0), (0.12, 0.26, 0.02), 0.085, 0.065),  # thigh
    ((0.12, 0.26, 0.02), (0.13, 0.07, 0.0), 0.065, 0.052),  # shin
    ((0.13, 0.055, 0.0), (0.145, 0.055, 0.09), 0.055, 0.055),  # foot
]
_HAND = np.array([0.39, 0.48, 0.10])
_BLEND = 0.02  # m: how far neighbouring bones melt into each other


def _figure(x: np.ndarray) -> np.ndarray:
    """Return values at (n, 3) positions: positive inside the figure, about the distance to its surface."""
    # Bones are blended by a soft maximum; folding x to its left half makes the figure symmetric.
    folded = np.column_stack([np.abs(x[:, 0]), x[:, 1], x[:, 2]])
    total = np.zeros(len(x))
    for start, end, first, last in _MIDDLE + _LIMBS:
        a, axis = np.array(start), np.array(end) - np.array(start)
        along = np.clip((folded - a) @ axis / (axis @ axis), 0.0, 1.0)
        gap = np.linalg.norm(folded - a - along[:, None] * axis, axis=1)
        total += np.exp(np.minimum((first + along * (last - first) - gap) / _BLEND, 50.0))
    return _BLEND * np.log(np.maximum(total, 1e-300))


def check_lattice(what: str, *cells: int) -> None:
    """Refuse lattices that do not fit: two vertices and twelve tetrahedra a cell, before the shape is cut out."""
    count = math.prod(c + 3 for c in cells)
    check_room(what, 2 * count, 12 * count, corners=4, each=140)


def body(n: int = 43, height: float = 1.0) -> Mesh:
    """A standing figure of tetrahedra: torso, head, arms and legs.

    It stands on y = 0 and faces +z. Groups: "left-hand" (at +x), "right-hand", "feet" and "head".

    Args:
        n: lattice cells along its height, 16 or more so that the arms survive; 43 gives about 10,000 vertices and
            50,000 tetrahedra, and both grow as n³.
        height: in m.
    """
    n = check_count("n", n, 16)
    check_size("height", height)
    check_lattice(f"a body of {many(n)} cells", n, 11 * n // 10, n // 2)
    vertices, tets = stuffing.stuff(_figure, np.array([-0.5, -0.02, -0.2]), np.array([0.5, 1.02, 0.2]), spacing=1.0 / n)
    low, high = vertices[:, 1].min(), vertices[:, 1].max()
    mirrored = _HAND * [-1, 1, 1]
    groups = {
        "left-hand": np.flatnonzero(np.linalg.norm(vertices - _HAND, axis=1) < 0.075),
        "right-hand": np.flatnonzero(np.linalg.norm(vertices - mirrored, axis=1) < 0.075),
        "feet": np.flatnonzero(vertices[:, 1] < low + 0.04),
        "head": np.flatnonzero(vertices[:, 1] > 0.85),
    }
    vertices = (vertices - [0.0, low, 0.0]) * (height / (high - low))
    return Mesh.from_tets(vertices, tets, name="body", groups=groups)


def ball(n: int = 10, radius: float = 0.5) -> Mesh:
    """A ball of tetrahedra around the origin. Groups: "surface", "top" and "bottom" (the outer fifth of its height).

    Args:
        n: lattice cells along the diameter, 2 or more.
        radius: in m.
    """
    n = check_count("n", n, 2)
    check_size("radius", radius)
    check_lattice(f"a ball of {many(n)} cells", n, n, n)
    vertices, tets = stuffing.stuff(lambda x: 1.0 - np.linalg.norm(x, axis=1), -np.ones(3), np.ones(3), spacing=2.0 / n)
    distance = np.linalg.norm(vertices, axis=1)
    groups = {
        "surface": np.flatnonzero(distance > 1.0 - 1e-5),
        "top": np.flatnonzero(vertices[:, 1] > 0.6 - 1e-9),
        "bottom": np.flatnonzero(vertices[:, 1] < -0.6 + 1e-9),
    }
    return Mesh.from_tets(vertices * radius, tets, name="ball", groups=groups)
