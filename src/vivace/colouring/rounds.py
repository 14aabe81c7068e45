"""Run coloured rounds on the team until no vertex is left."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..backends.cpu.executor import VALUE, Job, Phase, phase_kernel
from ..errors import VivaceError
from .kernels.bits import bundle, count_uncoloured, slots


def all_vertices(kernels: Sequence[phase_kernel], arrays: tuple[np.ndarray, ...], n: int) -> list[Phase]:
    """One parallel phase over all vertices for each kernel, all on the same arrays, which the caller keeps."""
    shared = (bundle(arrays),)
    return [Phase(kernel, shared, 0, n) for kernel in kernels]


def run_rounds(phases: list[Phase], counts: np.ndarray, threads: int, limit: int, last: Phase | None = None) -> int:
    """Repeat the phases until `counts`, uncoloured vertices by chunk, are all zero; return how many rounds that took.

    `last`, which writes the number of vertices left to the monitor, is the plain count unless given.
    """
    monitor = np.array([1.0, 0.0]) if last is None else last.arrays[-1]
    last = last or Phase(count_uncoloured, (counts, monitor), 0, len(counts), serial=True)
    rounds = Job([*phases, last], threads, monitor).run(limit)
    if monitor[VALUE] > 0:
        raise VivaceError(f"{int(monitor[VALUE])} vertices are uncoloured after {rounds} rounds; use another seed")
    return rounds


def new_counts(n: int) -> np.ndarray:
    return np.zeros(slots(n), np.int64)
