"""A dragon of tetrahedra: a long body with neck, head, tail, four legs and two wings, from an implicit shape."""

from __future__ import annotations

import numpy as np
import scipy.sparse.csgraph

from ..checks import check_count, check_size, many
from . import stuffing, topology
from .body import check_lattice
from .mesh import Mesh

# Bones as (start, end, radius at start, radius at end), in thousandths of a dragon that stands on y = 0 and looks along
# +x; those beside the plane z = 0 are mirrored.
_BONES = [
    ((-120, 260, 0), (100, 285, 0), 88, 98),  # belly to chest
    ((120, 320, 0), (225, 450, 0), 76, 56),  # neck
    ((225, 450, 0), (300, 575, 0), 56, 50),
    ((320, 610, 0), (400, 595, 0), 62, 46),  # head
    ((400, 590, 0), (480, 565, 0), 44, 34),  # snout
    ((305, 645, 32), (240, 725, 58), 27, 22),  # horns
    ((-140, 260, 0), (-320, 205, 0), 78, 55),  # tail
    ((-320, 205, 0), (-500, 165, 0), 55, 42),
    ((-500, 165, 0), (-660, 190, 0), 42, 34),
    ((-660, 190, 0), (-780, 270, 0), 34, 28),
    ((-775, 265, 0), (-800, 290, 0), 42, 38),  # its end, which is thicker
    ((105, 250, 65), (135, 130, 110), 58, 44),  # fore legs
    ((135, 130, 110), (120, 48, 112), 44, 37),
    ((120, 38, 112), (180, 36, 120), 37, 36),
    ((-135, 235, 65), (-95, 130, 120), 70, 50),  # hind legs
    ((-95, 130, 120), (-160, 50, 122), 48, 37),
    ((-160, 38, 122), (-90, 36, 130), 38, 36),
    ((30, 350, 45), (0, 470, 150), 38, 30),  # arms of the wings
]
# Fingers of a wing spread from the end of its arm to tips along this line, so near each other that they are one sheet.
_WRIST, _TIPS, _FINGERS, _FINGER = (0, 470, 150), ((-60, 600, 330), (-310, 520, 260), (-270, 400, 120)), 13, 24
_BLEND = 0.014  # of its length: how far neighbouring bones melt into each other
_LONG = 1.34  # of the bones' unit: from the end of the tail to the nose
_BACK = np.array([0.01, 0.37, 0.0])
_LOW, _HIGH = np.array([-0.88, -0.02, -0.40]), np.array([0.54, 0.78, 0.40])


def _fingers() -> list[tuple[tuple[float, ...], tuple[float, ...], float, float]]:
    line = np.array(_TIPS, float)
    at = np.linspace(0, len(line) - 1, _FINGERS)
    tips = np.column_stack([np.interp(at, np.arange(len(line)), line[:, axis]) for axis in range(3)])
    return [(tuple(map(float, _WRIST)), tuple(map(float, tip)), 28.0, float(_FINGER)) for tip in tips]


def _dragon(x: np.ndarray) -> np.ndarray:
    """Values at (n, 3) positions: positive inside, about the distance to the surface."""
    folded = np.column_stack([x[:, 0], x[:, 1], np.abs(x[:, 2])])  # both sides alike
    most = np.full(len(x), -np.inf)
    found = []
    for start, end, first, last in [*_BONES, *_fingers()]:
        a, axis = 1e-3 * np.array(start), 1e-3 * (np.array(end) - np.array(start))
        along = np.clip((folded - a) @ axis / (axis @ axis), 0.0, 1.0)
        gap = np.linalg.norm(folded - a - along[:, None] * axis, axis=1)
        found.append(1e-3 * (first + along * (last - first)) - gap)
        most = np.maximum(most, found[-1])
    # A soft maximum; of fingers only the largest counts, or where they meet there would be a lump.
    bones, fingers = found[: len(_BONES)], np.max(found[len(_BONES) :], axis=0)
    total = sum(np.exp((one - most) / _BLEND) for one in [*bones, fingers])
    blended: np.ndarray = most + _BLEND * np.log(total)
    return blended


def _largest(vertices: np.ndarray, tets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest of the pieces: a coarse lattice cuts off tips of thin parts."""
    edges = topology.unique_edges(tets)
    ones, shape = np.ones(len(edges)), (len(vertices), len(vertices))
    _, piece = scipy.sparse.csgraph.connected_components(scipy.sparse.coo_array((ones, edges.T), shape), directed=False)
    kept = tets[piece[tets[:, 0]] == np.bincount(piece).argmax()]
    used, numbers = np.unique(kept, return_inverse=True)
    return vertices[used], numbers.reshape(-1, 4).astype(np.int32)


def dragon(n: int = 64, length: float = 1.0) -> Mesh:
    """A dragon of tetrahedra that stands on y = 0 and looks along +x.

    Groups: "back" (between its wings), "tail" (the end of it), "head", "feet", "wings" (their tips).

    Args:
        n: lattice cells along its length, 24 or more, below 32 with stumps for wings; 64 gives about 13,000
            vertices and 58,000 tetrahedra, and both grow as n³.
        length: from the end of its tail to its nose, in m.
    """
    n = check_count("n", n, 24)
    check_size("length", length)
    check_lattice(f"a dragon of {many(n)} cells", n, 7 * n // 10, 7 * n // 10)
    vertices, tets = stuffing.stuff(_dragon, _LOW, _HIGH, spacing=_LONG / n)
    vertices, tets = _largest(vertices, tets)
    x, y, z = vertices.T
    groups = {
        "back": np.flatnonzero(np.linalg.norm(vertices - _BACK, axis=1) < 0.075),
        "tail": np.flatnonzero(x < x.min() + 0.09),
        "head": np.flatnonzero((x > 0.28) & (y > 0.5)),
        "feet": np.flatnonzero(y < y.min() + 0.03),
        "wings": np.flatnonzero(np.abs(z) > 0.26),
    }
    vertices = (vertices - [0.0, y.min(), 0.0]) * (length / (x.max() - x.min()))
    return Mesh.from_tets(vertices, tets, name="dragon", groups=groups)
