"""Luby's colouring: one maximal independent set after another, each a colour."""

from __future__ import annotations

import numpy as np

from ..backends.cpu.arguments import Phase
from .core import colouring
from .kernels.independent import close_set, join, settle, start
from .rounds import all_vertices, new_counts, run_rounds


@colouring("luby")
def luby(indptr: np.ndarray, indices: np.ndarray, *, seed: int, threads: int) -> tuple[np.ndarray, int]:
    """[luby1985] with one random permutation for all sets. A round is one selection of local maxima."""
    n = len(indptr) - 1
    active, colours = np.empty((2, n), np.int32)
    joined, turn = np.full(n, -1, np.int32), np.zeros(n, np.int32)
    counts, candidates, weight = new_counts(n), new_counts(n), np.empty(n, np.uint64)
    state, monitor = np.zeros(1, np.int64), np.array([1.0, 0.0])
    seeds = np.array([seed], np.int64)
    ends = {"counts": counts, "candidates": candidates, "state": state}
    arrays = {"indptr": indptr, "indices": indices, "active": active, "colours": colours, "weight": weight, **ends}
    arrays |= {"joined": joined, "turn": turn, "seed": seeds}
    last = Phase(close_set, {**ends, "monitor": monitor}, 0, len(counts), serial=True)
    rounds = run_rounds(all_vertices((start, join, settle), arrays, n), counts, threads, n, last)
    return colours, rounds
