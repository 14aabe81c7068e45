"""Graphs as the colourings take them, and the test of a result."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from .kernels.serial import (
    BAD_INDEX,
    BAD_POINTER,
    HAS_LOOPS,
    SOUND,
    find_conflict,
    find_one_way,
    inspect_graph,
    is_symmetric,
    transposed,
    without_loops,
)


def _as_int32(name: str, values: np.ndarray) -> np.ndarray:
    values = np.asarray(values)
    if values.ndim != 1:
        raise InputError(f"{name} must be a vector, not an array of shape {values.shape}")
    if values.dtype != np.int32:
        if len(values) and values.dtype.kind not in "iu":
            raise InputError(f"{name} must hold whole numbers, not {values.dtype}")
        if len(values) and not -(2**31) <= int(values.min()) <= int(values.max()) < 2**31:
            raise InputError(f"{name} does not fit 32 bits: it reaches from {values.min()} to {values.max()}")
        values = values.astype(np.int32)
    return np.ascontiguousarray(values)


def as_graph(indptr: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the two vectors as contiguous int32 after the tests that cost nothing."""
    indptr, indices = _as_int32("indptr", indptr), _as_int32("indices", indices)
    if len(indptr) == 0:
        raise InputError("indptr is empty; a graph of n vertices needs n + 1 pointers, so [0] for no vertices")
    if indptr[0] != 0:
        raise InputError(f"indptr must start at 0, not {indptr[0]}")
    if indptr[-1] != len(indices):
        raise InputError(f"indptr ends at {indptr[-1]} but there are {len(indices)} indices; both must agree")
    return indptr, indices


def check_graph(indptr: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Refuse a graph with an index out of range or an edge in one direction; return it without its diagonal."""
    n = len(indptr) - 1
    finding, v, e = inspect_graph(indptr, indices)
    if finding == BAD_POINTER:
        raise InputError(f"indptr must not decrease: vertex {v} has {indptr[v]} and the next {indptr[v + 1]}")
    if finding == BAD_INDEX:
        raise InputError(f"vertex {v} has neighbour {indices[e]}; the graph has vertices 0 to {n - 1}")
    if finding == HAS_LOOPS:
        indptr, indices = without_loops(indptr, indices)
    sorted_rows = (indptr, indices) if finding == SOUND else transposed(indptr, indices)
    if not is_symmetric(*sorted_rows):
        v, j, there, back = find_one_way(indptr, indices)
        raise InputError(
            f"the graph is not symmetric: vertex {v} lists {j} {_times(there)}, but {j} lists {v} {_times(back)}; "
            "store every edge in both directions"
        )
    return indptr, indices


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def as_colours(indptr: np.ndarray, colours: np.ndarray) -> np.ndarray:
    """Return colours as int32, one for each vertex of the graph."""
    colours = _as_int32("colours", colours)
    if len(colours) != len(indptr) - 1:
        raise InputError(f"{len(colours)} colours for a graph of {len(indptr) - 1} vertices; give one a vertex")
    return colours


def first_conflict(indptr: np.ndarray, indices: np.ndarray, colours: np.ndarray) -> tuple[int, int] | None:
    """Return the first edge (i, j) whose ends have the same colour, or None. The diagonal does not count."""
    indptr, indices = as_graph(indptr, indices)
    colours = as_colours(indptr, colours)
    finding, v, e = inspect_graph(indptr, indices)
    if finding in (BAD_POINTER, BAD_INDEX):
        raise InputError(f"row {v} of the graph is broken at entry {e}: an index or a pointer is out of range")
    i, j = find_conflict(indptr, indices, colours)
    return None if i < 0 else (int(i), int(j))


def is_valid(indptr: np.ndarray, indices: np.ndarray, colours: np.ndarray) -> bool:
    """Whether every vertex has a colour, from 0, and no edge joins two of the same."""
    return bool(np.all(np.asarray(colours) >= 0)) and first_conflict(indptr, indices, colours) is None
