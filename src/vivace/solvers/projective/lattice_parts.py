"""The lattice over each connected part of a body: its axes, its cells, and where vertices stand in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...energy.system import System

FLAT = 1e-4  # extent of an axis, relative to the longest, below which a part has no cells along it
EDGES_PER_CELL = 3.2  # mean distances to a neighbour that a cell is long at least; some five edges of a grid


@dataclass(eq=False)
class Part:
    """A connected part: its vertices, their lattice coordinates in cells (k, dims), and how many cells there are."""

    vertices: np.ndarray
    xi: np.ndarray
    cells: np.ndarray
    dense: bool = False

    @property
    def nodes(self) -> int:
        """The number of lattice nodes."""
        return int(np.prod(self.cells + 1))

    @property
    def slab(self) -> int:
        """Nodes of a slab."""
        return self.nodes if self.dense else self.nodes // (int(self.cells[0]) + 1)


def work(cells: np.ndarray) -> float:
    """Multiplications of an elimination over a lattice with these cells, the longest axis first."""
    return float(1.2 * (3.0 * np.prod(cells[1:] + 1)) ** 3 * (cells[0] + 1))


def axes_of(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal rows along which the points extend, longest first, and their extents; flat axes are left out.

    The coordinate axes are taken unless the principal ones make a clearly smaller box.
    """
    centred = points - points.mean(axis=0)
    principal = np.linalg.svd(centred, full_matrices=False)[2] if len(points) >= 3 else np.eye(3)
    best = None
    for frame in (np.eye(3), principal):
        extents = np.ptp(centred @ frame.T, axis=0)
        floor = FLAT * extents.max()
        size = float(np.prod(np.maximum(extents, floor)))
        if best is None or size < 0.9 * best[0]:
            best = size, frame, extents
    assert best is not None
    _, frame, extents = best
    order = np.argsort(-extents, kind="stable")
    order = order[extents[order] > FLAT * extents.max()]
    return frame[order], extents[order]


def cells_for(extents: np.ndarray, edge: float, most: int, limit: float) -> np.ndarray:
    """Cells along each axis: as cubic as may be, none too small, and not too much work.

    Args:
        extents: of the part along its axes (m), longest first.
        edge: mean distance to a neighbour (m).
        most: cells along the longest axis.
        limit: of `work`.
    """
    for count in range(most, 0, -1):
        length = extents[0] / count
        if count > 1 and length < EDGES_PER_CELL * edge:
            continue
        cells: np.ndarray = np.maximum(1, np.round(extents / length)).astype(int)
        if count == 1 or work(cells) <= limit:
            return cells
    raise AssertionError("one cell is always possible")


def part_of(rest: np.ndarray, piece: np.ndarray, axes: np.ndarray, extents: np.ndarray, cells: np.ndarray) -> Part:
    """A part from its vertices `piece`, its axes (dims, 3), its extents along them (m) and the cells along each."""
    along = rest[piece] @ axes.T
    length = extents / cells
    return Part(piece, (along - along.min(axis=0)) / length, cells)


def features(xi: np.ndarray) -> np.ndarray:
    """Products of the coordinates (..., dims) that make up a multilinear function, but for 1: (..., 2^dims - 1)."""
    dims = xi.shape[-1]
    chosen = (np.arange(1, 2**dims)[:, None] >> np.arange(dims)) & 1
    products: np.ndarray = np.where(chosen == 1, xi[..., None, :], 1.0).prod(axis=-1)
    return products


def edge_lengths(system: System) -> np.ndarray:
    """The mean distance at rest of each vertex to its neighbours (n,)."""
    rest, (indptr, indices) = system.model.mesh.vertices, system.graph
    counts = np.diff(indptr)
    rows = np.repeat(np.arange(system.n), counts)
    away = np.linalg.norm(rest[rows] - rest[indices], axis=1)
    return np.bincount(rows, away, minlength=system.n) / np.maximum(counts, 1)
