"""Brooks-Vizing colouring: random colours from small palettes that grow only where they must."""

from __future__ import annotations

import math

import numpy as np

from ..errors import InputError
from .core import colouring
from .kernels.brooks_vizing import propose, resolve
from .kernels.serial import degree_range, palette_offsets
from .rounds import all_vertices, new_counts, run_rounds


@colouring("brooks-vizing")
def brooks_vizing(
    indptr: np.ndarray,
    indices: np.ndarray,
    *,
    seed: int,
    threads: int,
    shrink: float | None = None,
    heuristic: bool = True,
) -> tuple[np.ndarray, int]:
    """[fratarcangeli2016, Alg. 2], after [grable2000]: v gets a colour from 0 to Δv, and mostly far less.

    Args:
        indptr: where the neighbours of each vertex begin in `indices`, (n + 1,).
        indices: the neighbours of all vertices, one list after the other.
        seed: of the random choices.
        threads: that share the work; the result does not depend on them.
        shrink: palettes start with ⌊Δv / shrink⌋ + 1 colours; from 1; None for max(2, smallest degree), Section 4.1.
            More shrinking: fewer colours, more rounds.
        heuristic: of neighbours that choose the same colour, True lets the highest index keep it, False none: far more
            rounds, for comparison.
    """
    if shrink is None:
        shrink = max(2, degree_range(indptr)[0])
    if (
        isinstance(shrink, bool)
        or not isinstance(shrink, (int, float, np.integer, np.floating))
        or not 1 <= shrink < math.inf
    ):
        raise InputError(f"shrink must be a finite number from 1, not {shrink!r}")
    n = len(indptr) - 1
    offsets = palette_offsets(indptr)
    active, live_end, reach, tentative, colours = np.empty((5, n), np.int32)
    counts, live, free = new_counts(n), np.empty_like(indices), np.empty(offsets[-1], np.uint64)
    settings, seeds = np.array([shrink, heuristic], np.float64), np.array([seed], np.int64)
    arrays = {
        "indptr": indptr,
        "indices": indices,
        "offsets": offsets,
        "active": active,
        "counts": counts,
        "live": live,
        "live_end": live_end,
        "free": free,
        "reach": reach,
        "colours": colours,
        "tentative": tentative,
        "settings": settings,
        "seed": seeds,
    }
    # With the heuristic the highest uncoloured index wins, so there are n rounds at most.
    limit = n if heuristic else 100 * n + 10_000
    rounds = run_rounds(all_vertices((propose, resolve), arrays, n), counts, threads, limit)
    return colours, rounds
