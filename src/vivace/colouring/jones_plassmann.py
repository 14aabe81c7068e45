"""Jones-Plassmann colouring: random weights, the heaviest of a neighbourhood takes its smallest free colour."""

from __future__ import annotations

import numpy as np

from .core import colouring
from .kernels.independent import commit, select_heaviest, start
from .rounds import all_vertices, new_counts, run_rounds


@colouring("jones-plassmann")
def jones_plassmann(indptr: np.ndarray, indices: np.ndarray, *, seed: int, threads: int) -> tuple[np.ndarray, int]:
    """[jones1993]. The same colours as a greedy pass from the heaviest vertex to the lightest."""
    n = len(indptr) - 1
    active, colours, pick = np.empty((3, n), np.int32)
    counts, weight = new_counts(n), np.empty(n, np.uint64)
    arrays = {"indptr": indptr, "indices": indices, "active": active, "counts": counts, "colours": colours}
    arrays |= {"weight": weight, "pick": pick, "seed": np.array([seed], np.int64)}
    rounds = run_rounds(all_vertices((start, select_heaviest, commit), arrays, n), counts, threads, n)
    return colours, rounds
