"""Greedy colouring by one thread, in three orders."""

from __future__ import annotations

import numpy as np

from .core import colouring
from .kernels import serial as colour_serial


@colouring("greedy")
def greedy(indptr: np.ndarray, indices: np.ndarray, *, seed: int, threads: int) -> tuple[np.ndarray, int]:
    """[fratarcangeli2013, Alg. 1] in the order of the vertex numbers; the seed and the threads are not used."""
    return colour_serial.greedy(indptr, indices, np.arange(len(indptr) - 1, dtype=np.int32)), 1


@colouring("greedy-largest-first")
def greedy_largest_first(indptr: np.ndarray, indices: np.ndarray, *, seed: int, threads: int) -> tuple[np.ndarray, int]:
    """The same from the largest degree to the smallest [welsh1967]; the seed and the threads are not used."""
    order = np.argsort(-np.diff(indptr), kind="stable").astype(np.int32)
    return colour_serial.greedy(indptr, indices, order), 1


@colouring("greedy-smallest-last")
def greedy_smallest_last(indptr: np.ndarray, indices: np.ndarray, *, seed: int, threads: int) -> tuple[np.ndarray, int]:
    """The same in smallest-last order [fratarcangeli2013, Section 3.1]; the seed and the threads are not used.

    Uses at most max over subgraphs of (1 + smallest degree) colours [fratarcangeli2013, Eq. 14].
    """
    return colour_serial.greedy(indptr, indices, colour_serial.smallest_last_order(indptr, indices)), 1
