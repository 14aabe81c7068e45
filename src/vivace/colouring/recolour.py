"""Colour again from the colours of the last frame: keep what still holds, colour what is new.

- `recolour`: the vertices of a graph that has changed.
- `recolour_with`: the vertices of a graph that has not, and pairs (contacts) that are new each frame.
- `recolour_constraints`: constraints, some of them new.
- `WarmConstraints`: constraints that come and go: a frame costs what has changed in it.
- `ContactColours`: constraints that stay, and contacts that are new each frame.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.cpu.executor import check_threads
from ..checks import check_seed
from ..errors import InputError
from .constraints import (
    LARGEST,
    Corners,
    as_constraint_colours,
    as_free,
    as_table,
    shared_vertex,
)
from .core import Colouring
from .graph import as_colours, as_graph, check_graph
from .kernels import constraints as colour_constraints
from .kernels import warm as colour_warm
from .kernels.serial import close_gaps

NAME = "recolour"
MORE_VISITS = 2, 256  # constraints that an update looks at: so many a change, and so many more
NO_PAIRS = np.zeros((0, 2), np.int32)


# --- vertices ---------------------------------------------------------------------------------------------------------


def recolour(
    indptr: np.ndarray,
    indices: np.ndarray,
    previous: np.ndarray,
    *,
    seed: int = 0,
    threads: int | None = None,
    check: bool = True,
) -> Colouring:
    """Colour a graph from `previous`, (n,) colours with -1 where there is none, keeping all that are still valid.

    Of two neighbours with one colour the one with fewer neighbours loses it, the lower number when they tie. Vertices
    without a colour take the smallest one that is permissible, in ascending order. Those of the highest colours, an
    eighth of all at most, try lower ones, so that the number of colours does not creep up from frame to frame. One
    thread, no chance: seed and threads change nothing.

    Args:
        indptr: (n + 1,) where the neighbours of each vertex begin in `indices`.
        indices: the neighbours of all vertices, one list after the other.
        previous: (n,) colours of the last frame, -1 for none.
        seed: changes nothing.
        threads: change nothing.
        check: False skips the test of the graph, see `colour`.
    """
    return recolour_with(indptr, indices, NO_PAIRS, previous, seed=seed, threads=threads, check=check, trust=False)


def recolour_with(
    indptr: np.ndarray,
    indices: np.ndarray,
    extra: np.ndarray,
    previous: np.ndarray,
    *,
    seed: int = 0,
    threads: int | None = None,
    check: bool = True,
    trust: bool = False,
) -> Colouring:
    """The same for a graph and pairs of vertices on top of it, which are not merged into the graph.

    Args:
        indptr: as for `recolour`.
        indices: as for `recolour`.
        extra: (e, 2) pairs that must differ too, in any order, repeated or not, such as contacts.
        previous: (n,) colours of the last frame, -1 for none.
        seed: changes nothing.
        threads: change nothing.
        check: False skips the test of the graph, see `colour`.
        trust: True when `previous` has no conflict in the graph itself, as the last result never has; it may have any
            in the pairs. Then, without `check`, this takes O(n + e) whatever the number of edges.
    """
    check_threads(threads)
    seed = check_seed(seed)
    indptr, indices = as_graph(indptr, indices)
    ends = _as_pairs(extra, len(indptr) - 1)
    colours = _as_previous(as_colours(indptr, previous))
    if check:
        indptr, indices = check_graph(indptr, indices)
    if len(colours) == 0:
        return Colouring(colours, 0, 0, NAME, seed)
    if not trust:
        colour_warm.uncolour_conflicts(indptr, indices, colours)
    head, following = colour_warm.link(indptr, ends, colours)
    colour_warm.refit(indptr, indices, head, following, ends, colours)
    return Colouring(colours, close_gaps(colours), 1, NAME, seed)


def _as_pairs(pairs: np.ndarray, n: int) -> np.ndarray:
    """The ends of all pairs in a row, tested."""
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InputError(f"extra pairs must have shape (pairs, 2), not {pairs.shape}")
    ends = as_table(pairs).reshape(-1)
    outside = colour_warm.first_outside(ends, 0, n)
    if outside >= 0:
        raise InputError(f"pair {outside // 2} has vertex {ends[outside]}; the graph has vertices 0 to {n - 1}")
    return ends


def _as_previous(colours: np.ndarray) -> np.ndarray:
    """A copy of earlier colours without gaps, -1 for none."""
    lowest, highest = int(colours.min(initial=0)), int(colours.max(initial=-1))
    if lowest < -1:
        raise InputError(f"previous colours must be whole numbers from 0, or -1 for none, not {lowest}")
    colours = colours.copy()
    if highest > _largest_sensible(len(colours)):
        colours[colours >= 0] = np.unique(colours[colours >= 0], return_inverse=True)[1]
    close_gaps(colours)
    return colours


def _largest_sensible(items: int) -> int:
    """Colours above this are mostly gaps, even where some items are gone: a table of them all would be waste."""
    return 2 * items + 1024


# --- constraints ------------------------------------------------------------------------------------------------------


def recolour_constraints(vertices: Any, n: int, previous: np.ndarray, *, free: np.ndarray | None = None) -> Colouring:
    """Colour constraints from `previous`, (m,) colours with -1 for new ones, keeping all that are still valid.

    Of two constraints with one colour and a common vertex the lower number keeps it. New ones take the smallest colour
    that is permissible, and those of the highest colours, an eighth of all at most, try lower ones. O(m k) whatever has
    changed, as much as a greedy colouring from scratch: where that is too much, see `WarmConstraints`.

    Args:
        vertices: as for `colour_constraints`; constraints that are gone are not listed, nor are their colours.
        n: the number of vertices.
        previous: (m,) colours of the last frame, -1 for new constraints.
        free: as for `colour_constraints`.
    """
    corners = Corners(vertices, n, free)
    colours = _as_previous(as_constraint_colours(corners.m, previous, lowest=-LARGEST))
    if corners.m == 0:
        return Colouring(colours, 0, 0, NAME, 0)
    lists = (corners.pointers, corners.corners)
    masks = colour_constraints.new_masks(corners.n, int(colours.max()) + 1)
    colour_constraints.keep_valid(*lists, colours, masks, corners.n)
    new = np.flatnonzero(colours < 0).astype(np.int32)
    masks = colour_constraints.first_fit(*lists, new, colours, masks, corners.n)
    colour_warm.lower_highest(*lists, colours, masks, corners.n)
    return Colouring(colours, close_gaps(colours), 1, NAME, 0)


class WarmConstraints:
    """Constraints of up to k vertices that come and go. They keep their numbers; freed numbers are given out again.

        warm = WarmConstraints(vertices, n, colouring.colours)
        numbers = warm.update(removed=[4, 7], added=[[0, 8, 9, -1]])
        colours = warm.colours        # -1 at numbers that are free

    Args:
        free: (n,) False for vertices that never move.
    """

    def __init__(self, vertices: np.ndarray, n: int, colours: np.ndarray, *, free: np.ndarray | None = None):
        corners = Corners(as_table(vertices), n, free)
        self._free, self._n = as_free(n, free), corners.n
        self._m, self._k = as_table(vertices).shape
        self._colours = as_constraint_colours(corners.m, colours)
        _refuse_conflict(corners, self._colours)
        self._colours = _as_previous(self._colours)
        count = int(self._colours.max(initial=-1)) + 1
        self._corners = self._table(as_table(vertices)).reshape(-1)
        self._masks = colour_constraints.new_masks(self._n, count)
        colour_constraints.keep_valid(corners.pointers, corners.corners, self._colours, self._masks, self._n)
        self._sizes = np.bincount(self._colours, minlength=max(count, 64)).astype(np.int64)
        self._given_back = np.zeros(0, np.int32)  # numbers that are free, the next to be used last
        self._turn = 0

    @property
    def colours(self) -> np.ndarray:
        """(numbers,) the colour of each constraint, -1 at free numbers. Read it; the next update changes it."""
        view = self._colours[: self._m]
        view.flags.writeable = False
        return view

    @property
    def count(self) -> int:
        """1 + the highest colour. Colours in between may be empty for a while."""
        used = np.flatnonzero(self._sizes)
        return int(used[-1]) + 1 if len(used) else 0

    def update(self, removed: np.ndarray, added: np.ndarray) -> np.ndarray:
        """Take constraints out by their numbers, add others by their vertices, (a, k); return the numbers of these.

        Takes O(k) for each change, and as long for some more that are tried at lower colours.
        """
        removed, added = self._as_numbers(removed), self._as_added(added)
        state = (self._colours, self._sizes, self._masks, self._n)
        colour_warm.leave(self._corners, self._k, removed, *state)
        self._given_back = np.concatenate([self._given_back, removed[::-1]])
        reused = min(len(added), len(self._given_back))
        kept = len(self._given_back) - reused
        numbers = self._given_back[kept:][::-1]
        self._given_back = self._given_back[:kept]
        numbers = np.concatenate([numbers, np.arange(self._m, self._m + len(added) - reused, dtype=np.int32)])
        self._m += len(added) - reused
        self._grow()
        self._corners.reshape(-1, self._k)[numbers] = added
        state = (self._colours, self._sizes, self._masks, self._n)
        self._masks, self._sizes = colour_warm.enter(self._corners, self._k, numbers, *state)
        visits = MORE_VISITS[0] * (len(removed) + len(added)) + MORE_VISITS[1]
        live = (self._colours[: self._m], self._sizes, self._masks, self._n)
        colour_warm.lower_some(self._corners, self._k, self._turn, visits, *live)
        self._turn = (self._turn + visits) % max(self._m, 1)
        return numbers

    def _table(self, table: np.ndarray) -> np.ndarray:
        """The vertices that count, -1 in place of the others."""
        if len(self._free) == 0:
            return np.full_like(table, -1)
        return np.where(self._free[table] > 0, table, np.int32(-1))

    def _grow(self) -> None:
        room = len(self._colours)
        if self._m > room:
            more = max(self._m - room, room)
            self._colours = np.concatenate([self._colours, np.full(more, -1, np.int32)])
            self._corners = np.concatenate([self._corners, np.full(more * self._k, -1, np.int32)])

    def _as_numbers(self, removed: np.ndarray) -> np.ndarray:
        removed = np.asarray(removed)
        if removed.ndim != 1 or (len(removed) and removed.dtype.kind not in "iu"):
            raise InputError(
                f"numbers to remove must be a vector of whole numbers, not {removed.dtype} {removed.shape}"
            )
        removed = removed.astype(np.int64)
        absent = colour_warm.first_absent(removed, self._colours[: self._m])
        if absent >= 0:
            number, there = removed[absent], 0 <= removed[absent] < self._m
            twice = there and self._colours[number] >= 0
            raise InputError(
                f"constraint {number} is to be removed twice; list every number once"
                if twice
                else f"there is no constraint {number} to remove; see colours, which is -1 at free numbers"
            )
        return removed.astype(np.int32)

    def _as_added(self, added: np.ndarray) -> np.ndarray:
        if np.size(added) == 0:
            return np.zeros((0, self._k), np.int32)
        added = as_table(added)
        if added.shape[1] != self._k:
            raise InputError(f"added constraints must have {self._k} vertices each, not {added.shape[1]}; fill with -1")
        Corners(added, len(self._free), None)  # tests them
        return self._table(added)


class ContactColours:
    """Colours for contacts that are new each frame, beside constraints that stay.

        contact_colours = ContactColours(vertices, n, colouring.colours)
        colours = contact_colours.colour(contacts)           # (c, 4) vertices, -1 where there are fewer

    A contact shares its colour with no other contact, and with none of the constraints that stay, at its vertices. Give
    () for vertices and colours where contacts are solved apart from them. `free` is as for `colour_constraints`.
    """

    def __init__(self, vertices: Any, n: int, colours: np.ndarray, *, free: np.ndarray | None = None):
        corners = Corners(vertices, n, free)
        colours = as_constraint_colours(corners.m, colours)
        _refuse_conflict(corners, colours)
        highest = int(colours.max(initial=-1))
        if highest > _largest_sensible(corners.m):
            raise InputError(f"colour {highest} for {corners.m} constraints; number the colours from 0 without gaps")
        self._vertices, self._n = int(n), corners.n
        self._free = np.zeros(0, np.uint8) if free is None else as_free(n, free)
        self._masks = colour_constraints.new_masks(self._n, highest + 1)
        colour_constraints.keep_valid(corners.pointers, corners.corners, colours, self._masks, self._n)

    def colour(self, contacts: np.ndarray) -> np.ndarray:
        """(c,) int32 colours for contacts of (c, k) vertices, first fit in their order: O(k) each.

        The colours are those of the constraints that stay, and new ones after them; some may be empty of contacts.
        """
        table = as_table(contacts)
        outside = colour_warm.first_outside(table.reshape(-1), -1, self._vertices)
        if outside >= 0:
            contact, v = outside // table.shape[1], table.flat[outside]
            raise InputError(f"contact {contact} has vertex {v}; there are {self._vertices}, numbered from 0")
        colours = np.empty(len(table), np.int32)
        self._masks = colour_warm.colour_briefly(table.copy(), self._free, colours, self._masks, self._n)
        return colours


def _refuse_conflict(corners: Corners, colours: np.ndarray) -> None:
    conflict = shared_vertex(corners, colours)
    if conflict:
        i, j = conflict
        raise InputError(f"constraints {i} and {j} share a vertex and have colour {colours[i]}; colour them first")
