"""Even out the sizes of colours, so that every phase of a sweep has about the same work."""

from __future__ import annotations

import numpy as np

from ..backends.cpu.arguments import Phase
from ..backends.cpu.executor import Plan, check_threads
from ..errors import InputError
from .core import Colouring
from .graph import as_colours, as_graph
from .kernels.balance import find_permissible, move
from .kernels.bits import WORD

PASSES = 16  # nearly all moves are made in the first two or three


def balanced(indptr: np.ndarray, indices: np.ndarray, colouring: Colouring, *, threads: int | None = None) -> Colouring:
    """Return a colouring with as many colours and more even sizes: vertices move from fuller to emptier colours.

    A vertex moves to the smallest colour that none of its neighbours has, when that is smaller than its own by two
    or more. The result depends on nothing else; the largest colour never grows. `rounds` counts the passes too.
    The graph is the one that was coloured, without its diagonal.
    """
    threads = check_threads(threads)
    indptr, indices = as_graph(indptr, indices)
    if not isinstance(colouring, Colouring):
        raise InputError(f"balanced() needs a Colouring, such as colour() returns, not {type(colouring).__name__}")
    colours = as_colours(indptr, colouring.colours).copy()
    if colouring.count < 2:
        return colouring
    order, pointers = colouring.order()
    sizes = colouring.sizes.astype(np.int64)
    permissible = np.empty(len(order) * -(-len(sizes) // WORD), np.uint64)
    monitor, first = np.array([1.0, 0.0]), np.zeros(1, np.int64)
    arrays = {"indptr": indptr, "indices": indices, "order": order, "colours": colours, "permissible": permissible}
    arrays |= {"sizes": sizes, "monitor": monitor, "first": first}
    phases, finding, moving = [], find_permissible.select(arrays), move.select(arrays)
    for begin, end in zip(pointers[:-1].tolist(), pointers[1:].tolist(), strict=True):
        phases.append(Phase(find_permissible, finding, begin, end))
        phases.append(Phase(move, moving, begin, end, serial=True))
    passes = Plan(phases, threads, monitor).run(PASSES)
    algorithm = f"{colouring.algorithm}, balanced"
    return Colouring(colours, colouring.count, colouring.rounds + passes, algorithm, colouring.seed)
