"""Run coloured rounds on the team until no vertex is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..backends.cpu.arguments import Phase, phase_kernel
from ..backends.cpu.executor import VALUE, Plan
from ..errors import VivaceError
from .kernels.bits import count_uncoloured, slots


def all_vertices(kernels: Sequence[phase_kernel], arrays: Mapping[str, np.ndarray], n: int) -> list[Phase]:
    """One parallel phase over all vertices for each kernel, on those of the arrays that it takes."""
    return [Phase(kernel, kernel.select(arrays), 0, n) for kernel in kernels]


def run_rounds(phases: list[Phase], counts: np.ndarray, threads: int, limit: int, last: Phase | None = None) -> int:
    """Repeat the phases until `counts`, uncoloured vertices by chunk, are all zero; return how many rounds that took.

    `last`, which writes the number of vertices left to the monitor, is the plain count unless given.
    """
    monitor = np.array([1.0, 0.0]) if last is None else last.arrays["monitor"]
    last = last or Phase(count_uncoloured, {"counts": counts, "monitor": monitor}, 0, len(counts), serial=True)
    rounds = Plan([*phases, last], threads, monitor).run(limit)
    if monitor[VALUE] > 0:
        raise VivaceError(f"{int(monitor[VALUE])} vertices are uncoloured after {rounds} rounds; use another seed")
    return rounds


def new_counts(n: int) -> np.ndarray:
    """Room for `run_rounds` to count the uncoloured vertices of n, chunk by chunk."""
    return np.zeros(slots(n), np.int64)
