"""Largest-degree-first colouring: like Jones-Plassmann, weighted by how many neighbours are still uncoloured."""

from __future__ import annotations

import numpy as np

from .core import colouring
from .kernels.independent import commit, count_degrees, select_largest_degree, start
from .rounds import all_vertices, new_counts, run_rounds


@colouring("largest-degree-first")
def largest_degree_first(indptr: np.ndarray, indices: np.ndarray, *, seed: int, threads: int) -> tuple[np.ndarray, int]:
    """[fratarcangeli2016, Section 4.2], after [welsh1967]: the weight is the current degree; chance breaks ties."""
    n = len(indptr) - 1
    active, colours, pick, degree = np.empty((4, n), np.int32)
    counts, weight = new_counts(n), np.empty(n, np.uint64)
    arrays = {"indptr": indptr, "indices": indices, "active": active, "counts": counts, "colours": colours}
    arrays |= {"weight": weight, "pick": pick, "degree": degree, "seed": np.array([seed], np.int64)}
    phases = all_vertices((start, count_degrees, select_largest_degree, commit), arrays, n)
    return colours, run_rounds(phases, counts, threads, n)
