"""Colour constraints, so that those of one colour share no vertex and can be solved at the same time.

    vertices (m, k) ──► lists of corners ──┬─► greedy orders: k reads a constraint, no graph in memory
                                           └─► the dual graph ──► any other algorithm of the registry

Two constraints are neighbours in the dual graph when they share a vertex [fratarcangeli2013, Section 3.1]. It has some
ten times as many edges as there are corners, which is why the greedy algorithms never build it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..backends.cpu.executor import SMALLEST_CHUNK, check_threads
from ..checks import check_seed, is_whole
from ..errors import InputError, VivaceError
from .balance import PASSES
from .core import COLOURINGS, Colouring, colour
from .kernels import constraints as kernels
from .kernels.serial import close_gaps, transposed

LARGEST = 2**31 - 1


class Corners:
    """Constraints as lists of the vertices that make them depend on each other; tested, in compiled form."""

    def __init__(self, vertices: Any, n: int, free: np.ndarray | None = None):
        blocks, free = as_blocks(vertices), as_free(n, free)
        if sum(block.size for block in blocks) > LARGEST:
            raise InputError(f"{sum(block.size for block in blocks)} corners are too many; at most {LARGEST}")
        self.m = sum(len(block) for block in blocks)
        self.n = max(int(n), 1)  # a layer of masks is never empty
        self.pointers = np.zeros(self.m + 1, np.int32)
        corners = np.empty(sum(block.size for block in blocks) + 1, np.int32)  # dropped ones are written too, once
        first = 0
        for block in blocks:
            finding, row, v = kernels.gather(block, free, first, self.pointers, corners)
            if finding == kernels.BAD_INDEX:
                raise InputError(f"constraint {first + row} has vertex {v}; there are {n}, numbered from 0")
            if finding == kernels.REPEATED:
                raise InputError(f"constraint {first + row} has vertex {v} twice; list every vertex once")
            first += len(block)
        self.corners = corners[: self.pointers[-1]]

    def incidence(self) -> tuple[np.ndarray, np.ndarray]:
        """For each vertex the constraints at it: where its list begins, and all lists one after the other."""
        lists: tuple[np.ndarray, np.ndarray] = kernels.incidence(self.pointers, self.corners, self.n)
        return lists

    def lists(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Pointers and corners of the constraints, then those of `incidence`: what kernels take."""
        return self.pointers, self.corners, *self.incidence()


def as_blocks(vertices: Any) -> list[np.ndarray]:
    """One (m, k) array, or a list or tuple of them, as contiguous int32."""
    try:
        several = isinstance(vertices, (list, tuple)) and all(np.ndim(block) == 2 for block in vertices)
    except ValueError:  # rows of different lengths
        several = False
    return [as_table(block) for block in (vertices if several else [vertices])]


def as_table(vertices: Any) -> np.ndarray:
    """Vertices of constraints as a contiguous (m, k) int32 array."""
    try:
        table = np.asarray(vertices)
    except ValueError:
        raise InputError("constraints of one array must have as many vertices each; fill up with -1") from None
    if table.ndim != 2 or table.shape[1] == 0:
        raise InputError(
            f"the vertices of constraints must have shape (constraints, vertices of each), not {table.shape}"
        )
    if table.dtype != np.int32:
        if table.size and table.dtype.kind not in "iu":
            raise InputError(f"the vertices of constraints must be whole numbers, not {table.dtype}")
        if table.size and not -LARGEST <= int(table.min()) <= int(table.max()) <= LARGEST:
            raise InputError(f"vertices do not fit 32 bits: they reach from {table.min()} to {table.max()}")
        table = table.astype(np.int32)
    return np.ascontiguousarray(table)


def as_free(n: int, free: np.ndarray | None) -> np.ndarray:
    """Which of n vertices can move, all of them for None, as the kernels read it."""
    if not is_whole(n) or not 0 <= n < LARGEST:
        raise InputError(f"the number of vertices must be a whole number from 0 to 2**31 - 2, not {n!r}")
    if free is None:
        return np.ones(n, np.uint8)
    free = np.asarray(free)
    if free.shape != (n,) or free.dtype != bool:
        raise InputError(f"free must hold True or False for each of {n} vertices, not {free.dtype} {free.shape}")
    return np.ascontiguousarray(free).view(np.uint8)


def as_constraint_colours(m: int, given: Any, lowest: int = 0) -> np.ndarray:
    """A new int32 vector with one colour for each constraint, none below `lowest`."""
    colours = np.asarray(given)
    if colours.shape != (m,):
        raise InputError(f"colours of shape {colours.shape} for {m} constraints; give one a constraint")
    if m and (colours.dtype.kind not in "iu" or not lowest <= int(colours.min()) <= int(colours.max()) <= LARGEST):
        raise InputError(f"colours must be whole numbers from {lowest} to 2**31 - 1, not {colours.dtype} {colours}")
    return colours.astype(np.int32)


# --- algorithms -------------------------------------------------------------------------------------------------------


def _smallest_last_order(corners: Corners) -> tuple[np.ndarray, int]:
    order_and_bound: tuple[np.ndarray, int] = kernels.smallest_last(*corners.lists())
    return order_and_bound


def _largest_first_order(corners: Corners) -> tuple[np.ndarray, int]:
    degree = kernels.dual_degrees(*corners.lists())
    return np.argsort(-degree, kind="stable").astype(np.int32), int(degree.max(initial=-1)) + 1


def _given_order(corners: Corners) -> tuple[np.ndarray, int]:
    return np.arange(corners.m, dtype=np.int32), corners.m


# Orders for greedy colouring, and how many colours they can need at most.
ORDERS: dict[str, Callable[[Corners], tuple[np.ndarray, int]]] = {
    "greedy": _given_order,
    "greedy-largest-first": _largest_first_order,
    "greedy-smallest-last": _smallest_last_order,
}


def colour_constraints(
    vertices: Any,
    n: int,
    algorithm: str = "greedy-smallest-last",
    *,
    seed: int = 0,
    threads: int | None = None,
    free: np.ndarray | None = None,
    **options: Any,
) -> Colouring:
    """Colour constraints so that no two of one colour share a vertex that can move.

    Args:
        vertices: (m, k) whole numbers: constraint i touches vertices[i]. Or a list of such arrays with different k,
            whose constraints are numbered one after the other. Where a row has fewer vertices, the rest is -1.
        n: the number of vertices.
        algorithm: any of the registry, see COLOURINGS.
        seed: a whole number from 0; algorithms without chance ignore it.
        threads: 1 to 256; None for one a core.
        free: (n,) False for vertices that never move: they make no constraint depend on another.
        **options: the algorithm's own, see `options_of(name)`.

    The greedy algorithms take O(m k) memory, and n bits for each colour. The others, and their options, see the dual
    graph. Smallest-last keeps the bound of [fratarcangeli2013, Eq. 14], or an error says that it does not.
    """
    COLOURINGS[algorithm]  # an unknown name is refused before anything is computed
    if algorithm not in ORDERS or options:
        graph = dual_graph(vertices, n, free)
        return colour(*graph, algorithm, seed=seed, threads=threads, check=False, **options)
    check_threads(threads)
    seed = check_seed(seed)
    corners = Corners(vertices, n, free)
    if corners.m == 0:
        return Colouring(np.zeros(0, np.int32), 0, 0, algorithm, seed)
    order, bound = ORDERS[algorithm](corners)
    colours = np.empty(corners.m, np.int32)
    kernels.first_fit(corners.pointers, corners.corners, order, colours, kernels.new_masks(corners.n, 0), corners.n)
    count = close_gaps(colours)
    if count > bound:
        raise VivaceError(f"{algorithm} took {count} colours where {bound} suffice: an error of the program; report it")
    return Colouring(colours, count, 1, algorithm, seed)


def dual_graph(vertices: Any, n: int, free: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(indptr, indices) of the graph with a node for each constraint; rows ascend and name each neighbour once."""
    lists = Corners(vertices, n, free).lists()
    degree = kernels.dual_degrees(*lists)
    edges = int(degree.sum(dtype=np.int64))
    if edges > LARGEST:
        raise InputError(f"the dual graph would have {edges} entries, more than 2**31 - 1; use a greedy algorithm")
    graph: tuple[np.ndarray, np.ndarray] = transposed(*kernels.dual_rows(*lists, degree))
    return graph


def smallest_last_bound(vertices: Any, n: int, free: np.ndarray | None = None) -> int:
    """max {1 + δ(G') : G' a subgraph of the dual graph} [fratarcangeli2013, Eq. 14]: the colours that always suffice.

    The maximum is met on the way of the smallest-last order [matula1983]: it is 1 + the largest degree at removal.
    """
    return int(_smallest_last_order(Corners(vertices, n, free))[1])


def is_valid_constraint_colouring(vertices: Any, n: int, colours: np.ndarray, free: np.ndarray | None = None) -> bool:
    """Whether every constraint has a colour, from 0, and no two of one colour share a vertex that can move."""
    corners = Corners(vertices, n, free)
    colours = as_constraint_colours(corners.m, colours, lowest=-LARGEST)
    return bool(np.all(colours >= 0)) and shared_vertex(corners, colours) is None


def shared_vertex(corners: Corners, colours: np.ndarray) -> tuple[int, int] | None:
    """Two constraints of one colour that share a vertex, or None."""
    order = np.argsort(colours, kind="stable")
    i, j = kernels.find_shared(corners.pointers, corners.corners, order, colours, corners.n)
    return None if i < 0 else (int(i), int(j))


# --- balance ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BalanceReport:
    """How evenly a colouring shares out the work: the sizes of colours vary [fratarcangeli2013, Section 5.1]."""

    count: int
    sizes: np.ndarray  # (count,)
    largest: int
    smallest: int
    mean: float
    balance: float  # mean / largest: 1 when all colours are equally large
    grain: int  # items below which a second thread brings nothing
    small: int  # colours below the grain
    share_in_small: float  # of all items, those in colours below the grain

    def __str__(self) -> str:
        return (
            f"{self.count} colours of {self.smallest} to {self.largest} items, {self.mean:.1f} on average, "
            f"balance {self.balance:.2f}; {self.small} of them below {self.grain} items, with "
            f"{100 * self.share_in_small:.1f} % of all items"
        )


def balance_report(colouring: Colouring, grain: int = SMALLEST_CHUNK) -> BalanceReport:
    """Say how evenly the colours of vertices or constraints are filled."""
    colouring, grain = _as_colouring(colouring), _as_size("grain", grain)
    sizes, items = colouring.sizes, len(colouring.colours)
    small = sizes < grain
    mean = items / colouring.count if colouring.count else 0.0
    share = float(sizes[small].sum() / items) if items else 0.0
    ends = (colouring.largest, colouring.smallest)
    return BalanceReport(colouring.count, sizes, *ends, mean, colouring.balance, grain, int(small.sum()), share)


def split(colouring: Colouring, largest: int) -> Colouring:
    """Cut every colour of more than `largest` items into as few parts as will do, whose sizes differ by one at most.

    Part of a colour is a colour, so this is always valid, for vertices and for constraints. The parts of a colour
    follow each other, each a range of its items.
    """
    colouring, largest = _as_colouring(colouring), _as_size("largest", largest)
    order, pointers = colouring.order()
    sizes = colouring.sizes
    parts = -(-sizes // largest)
    of = colouring.colours[order]
    rank = np.arange(len(order)) - pointers[of]
    # part p holds the ranks from ⌊size p / parts⌋ on: the last p with size p < parts (rank + 1)
    part = ((rank + 1) * parts[of] - 1) // sizes[of]
    colours = np.empty_like(colouring.colours)
    colours[order] = (np.cumsum(parts) - parts)[of] + part
    name = f"{colouring.algorithm}, split"
    return Colouring(colours, int(parts.sum()), colouring.rounds, name, colouring.seed)


def merge_small(
    vertices: Any, n: int, colouring: Colouring, smallest: int, free: np.ndarray | None = None
) -> Colouring:
    """Dissolve the colours of fewer than `smallest` constraints.

    Their constraints go to the first of the larger colours that permits them; those that none does are gathered, first
    fit, in new colours at the end. Visited by their old colours, they cannot need more of these than there were.
    """
    smallest = _as_size("smallest", smallest)
    corners, colours = _as_coloured(vertices, n, colouring, free)
    keep = colouring.sizes >= smallest
    if keep.all():
        return colouring
    order = colouring.order()[0]
    leftover = order[~keep[colours[order]]]
    number = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
    colours = number[colours]
    masks = kernels.new_masks(corners.n, int(keep.sum()))
    kernels.keep_valid(corners.pointers, corners.corners, colours, masks, corners.n)
    # The larger colours end inside a layer, whose higher bits are free: new colours follow without a gap.
    kernels.first_fit(corners.pointers, corners.corners, leftover, colours, masks, corners.n)
    name = f"{colouring.algorithm}, merged"
    return Colouring(colours, close_gaps(colours), colouring.rounds, name, colouring.seed)


def balanced_constraints(vertices: Any, n: int, colouring: Colouring, free: np.ndarray | None = None) -> Colouring:
    """Return a colouring with as many colours and more even sizes, as `balanced` does for the vertices of a graph."""
    corners, colours = _as_coloured(vertices, n, colouring, free)
    if colouring.count < 2:
        return colouring
    order, sizes = colouring.order()[0], colouring.sizes.astype(np.int64)
    masks = kernels.new_masks(corners.n, colouring.count)
    kernels.keep_valid(corners.pointers, corners.corners, colours, masks, corners.n)
    passes = kernels.even_out(corners.pointers, corners.corners, order, colours, sizes, masks, corners.n, PASSES)
    name = f"{colouring.algorithm}, balanced"
    return Colouring(colours, colouring.count, colouring.rounds + passes, name, colouring.seed)


def _as_colouring(colouring: Colouring) -> Colouring:
    if not isinstance(colouring, Colouring):
        raise InputError(f"a Colouring is needed, such as colour_constraints() returns, not {colouring!r}")
    return colouring


def _as_coloured(vertices: Any, n: int, colouring: Colouring, free: np.ndarray | None) -> tuple[Corners, np.ndarray]:
    """The corners, and a copy of colours that are valid for them."""
    corners = Corners(vertices, n, free)
    colours = as_constraint_colours(corners.m, _as_colouring(colouring).colours)
    conflict = shared_vertex(corners, colours)
    if conflict:
        i, j = conflict
        raise InputError(f"constraints {i} and {j} share a vertex and have colour {colours[i]}; colour them again")
    return corners, colours


def _as_size(name: str, size: int) -> int:
    if not is_whole(size) or size < 1:
        raise InputError(f"{name} must be a whole number of items from 1, not {size!r}")
    return int(size)
