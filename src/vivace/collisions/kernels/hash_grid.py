"""Which boxes overlap: a grid for each size of box, every box in one cell of it, cells wrapped round like a torus.

    level k + 1   ┌───────────────┬──────         boxes of similar size share a level; a box lies in the cell of its
                  │               │               lower corner, and nowhere else, so that no pair is met twice
    level k       ├───┬───┬───┬───┼───┬──
                  │   │ ▄ │   │   │   │           who looks for partners walks the cells that a box of that level
                  └───┴───┴───┴───┴───┴──         can start in if it overlaps: a few rows, each one run of memory

The smaller of two boxes looks for the larger, so nobody walks thousands of cells: however long a box is, it lies in
one cell of a coarse level. Within a level, a box looks only at the cells after its own, so that a pair is tested once.

Space has no end but memory has: where there would be too many cells, they are numbered modulo a power of two along an
axis (at least `SMALLEST_WRAP`, more than any walk is long). Boxes far apart may then share a cell, and the test of the
boxes parts them. The work is linear in the number of boxes and of overlaps, as long as boxes are spread over cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...backends.cpu.addresses import double_at, int_at, long_at, put_int
from ...backends.cpu.arguments import (
    floats,
    ints,
    longs,
    phase_kernel,
    read_doubles,
    read_ints,
    read_longs,
    read_rows,
    rows,
)
from ...backends.cpu.boxes import keep_overlapping
from ...backends.cpu.compiling import compile_now, function, spliced
from ...backends.cpu.simd import at, lane4, load4, max4, min4, store4

LEVELS = 12
TYPICAL = 4  # the level of boxes that are typical; each level after it holds boxes RATIO times larger
RATIO = 8.0
SMALLEST_WRAP = 16
SHARE_X, SHARE_YZ = 0.25, 1.01  # cells in units of the level's largest box: x is contiguous in memory and may be finer
FINEST = 16.0  # ... but not finer than this share of the largest box that the level could hold
FAR = 2.0**40  # cell numbers stay below this
SCRATCH = 1024  # overlapping boxes that are collected before they are visited
CHUNKS = 64  # a fixed number, so that the order of what is found does not depend on the threads

# A level's whole numbers ...
BEGIN, END, FIRST, MASK, COUNT, WHOLE = 0, 1, 2, 3, 6, 16
# ... and its lengths: origin (3), inverse cell size (3), largest box (3), and the number of the last cell (3).
ORIGIN, INVERSE, LARGEST, LAST, LENGTHS = 0, 3, 6, 9, 16
BASE = LEVELS * LENGTHS  # after the levels: the largest box of the typical level
SLOTS = 11  # arrays of a grid
EIGHT = 8  # boxes that are tested together


class Grid(NamedTuple):
    """The arrays of a grid of boxes."""

    low: np.ndarray
    high: np.ndarray
    level: np.ndarray
    whole: np.ndarray
    lengths: np.ndarray
    key: np.ndarray
    starts: np.ndarray
    order: np.ndarray
    sorted_low: np.ndarray
    sorted_high: np.ndarray
    blocks: np.ndarray  # the sorted boxes once more, as `keep_overlapping` reads them

    @classmethod
    def of(cls, n: int) -> Grid:
        """Room for n boxes."""
        cells = sum(_most_cells(n) for _ in range(2)) + LEVELS * SMALLEST_WRAP**3 + 2
        return cls(
            *(np.zeros((n, 4), np.float32), np.zeros((n, 4), np.float32), np.zeros(n, np.int32)),
            *(np.zeros(LEVELS * WHOLE, np.int64), np.zeros(LEVELS * LENGTHS + 1), np.zeros(n, np.int32)),
            *(np.zeros(cells, np.int32), np.zeros(n, np.int32)),
            *(np.zeros((n, 4), np.float32), np.zeros((n, 4), np.float32)),
            np.zeros(8 * EIGHT * -(-n // EIGHT), np.float32),
        )

    def walked(self, suffix: str = "") -> dict[str, np.ndarray]:
        """What a walk through the sorted boxes reads, by the names that kernels have for it."""
        read = {"whole": self.whole, "lengths": self.lengths, "starts": self.starts, "order": self.order}
        read |= {"low": self.sorted_low, "high": self.sorted_high, "blocks": self.blocks}
        return {name + suffix: array for name, array in read.items()}


def addresses_of(grids: Sequence[Grid]) -> np.ndarray:
    """(address, size) of all arrays of some grids, for `sort_sets`; the caller keeps the grids alive."""
    return np.array([(array.ctypes.data, array.size) for grid in grids for array in grid], np.int64).ravel()


def _most_cells(n: int) -> int:
    return max(SMALLEST_WRAP**3, 1 << int(4 * n).bit_length())


@spliced
def level_of(extent, base):
    """The first level whose boxes may be that large: base 8^(k - TYPICAL)."""
    k, limit = 0, base * RATIO**-TYPICAL
    while extent > limit and k < LEVELS - 1:
        k += 1
        limit *= RATIO
    return k


@spliced
def _cell(x, axis, lengths):
    """The number of the cell that x lies in, along an axis; never outside those in use. Monotone in x.

    `lengths` is the address of the level's lengths.
    """
    c = (x - double_at(lengths, ORIGIN + axis)) * double_at(lengths, INVERSE + axis)
    return np.int64(min(max(c, 0.0), double_at(lengths, LAST + axis)))


@spliced
def _row(y, z, whole):
    """The first cell of the row (y, z), counted from the level's own; `whole` is the address of its whole numbers."""
    y, z = y & long_at(whole, MASK + 1), z & long_at(whole, MASK + 2)
    return (z * long_at(whole, COUNT + 1) + y) * long_at(whole, COUNT)


@function
def _lay_out(low, high, level, base, whole, lengths):
    """Cell sizes and numbers of cells for each level; how many cells there are."""
    lowest, highest = np.full((LEVELS, 4), np.float32(np.inf)), np.full((LEVELS, 4), np.float32(-np.inf))
    largest, counts = np.zeros((LEVELS, 4), np.float32), np.zeros(LEVELS, np.int64)
    i = 0
    while i < low.shape[0]:  # boxes of one level follow each other: keep them in registers, not in the tables
        k, x = at(level, i), load4(low, i)
        lower, upper, size, start = x, x, load4(high, i) - x, i
        i += 1
        while i < low.shape[0] and at(level, i) == k:
            x = load4(low, i)
            lower, upper, size = min4(lower, x), max4(upper, x), max4(size, load4(high, i) - x)
            i += 1
        store4(lowest, k, min4(load4(lowest, k), lower))
        store4(highest, k, max4(load4(highest, k), upper))
        store4(largest, k, max4(load4(largest, k), size))
        counts[k] += i - start
    first, begin = 0, 0
    limit = base * RATIO**-TYPICAL
    for k in range(LEVELS):
        whole[k * WHOLE + BEGIN], whole[k * WHOLE + END] = begin, begin + counts[k]
        whole[k * WHOLE + FIRST] = first
        begin += counts[k]
        if counts[k] > 0:
            cells = np.ones(3)  # along each axis; in float64, which does not overflow
            for axis in range(3):
                share = SHARE_X if axis == 0 else SHARE_YZ
                size = max(share * np.float64(largest[k, axis]), limit / FINEST, 1e-30)
                span = np.float64(highest[k, axis]) - np.float64(lowest[k, axis])
                lengths[k * LENGTHS + ORIGIN + axis] = lowest[k, axis]
                lengths[k * LENGTHS + INVERSE + axis] = 1.0 / size
                lengths[k * LENGTHS + LARGEST + axis] = largest[k, axis]
                lengths[k * LENGTHS + LAST + axis] = np.floor(min(span / size, FAR))
                whole[k * WHOLE + MASK + axis] = -1
                cells[axis] = 1 + lengths[k * LENGTHS + LAST + axis]
            while cells[0] * cells[1] * cells[2] > max(4 * counts[k], SMALLEST_WRAP**3):
                axis = np.argmax(cells)
                wrap = 2.0 ** (np.ceil(np.log2(cells[axis])) - 1)  # the next lower power of two
                whole[k * WHOLE + MASK + axis] = np.int64(wrap) - 1
                cells[axis] = wrap
            for axis in range(3):
                whole[k * WHOLE + COUNT + axis] = np.int64(cells[axis])
            first += np.int64(cells[0] * cells[1] * cells[2])
        limit *= RATIO
    return first


@function
def sort_boxes(low, high, level, whole, lengths, key, starts, order):
    """Counting sort of the boxes by level and cell; boxes of one cell stay in their order."""
    cells = _lay_out(low, high, level, lengths[BASE], whole, lengths)
    starts[: cells + 2] = 0
    first_own, first_size = np.int64(whole.ctypes.data), np.int64(lengths.ctypes.data)
    for i in range(low.shape[0]):
        k, x = np.int64(at(level, i)), load4(low, i)
        own, size = first_own + 8 * WHOLE * k, first_size + 8 * LENGTHS * k
        cx = _cell(np.float64(lane4(x, 0)), 0, size)
        cy = _cell(np.float64(lane4(x, 1)), 1, size)
        cz = _cell(np.float64(lane4(x, 2)), 2, size)
        c = long_at(own, FIRST) + _row(cy, cz, own) + (cx & long_at(own, MASK))
        key[i] = c
        starts[c + 2] += 1
    for c in range(1, cells + 1):
        starts[c + 1] += starts[c]
    for i in range(low.shape[0]):  # starts[c + 1] is where cell c begins, and moves to its end: where c + 1 begins
        c = np.int64(at(key, i))
        place = at(starts, c + 1)
        order[place] = i
        starts[c + 1] = place + 1


def walker(visit):
    """Compile the walk for a visitor: Numba could not cache who passes a function as an argument.

    It is kept on disk inside its callers alone: by itself it would be looked up by a name of the visitor that is
    another one in every process.
    """

    def walk_level(grid, k, box_low, box_high, me, forward, state, w, scratch):
        """w = visit(state, me, scratch, held, w) for the boxes of level k that overlap; return how many, and w.

        The level must not be empty (`is_empty`).

        The visitor finds the numbers of `held` boxes in `scratch`, and room for three more. `grid` is (whole, lengths,
        starts, blocks), addresses. With `forward`, `me` is a box of that level itself, and only those after it are
        visited. Whether two boxes overlap is a coin toss to the processor, so nothing branches on it: every number is
        written to `scratch`, and stays there if its box overlaps.
        """
        whole, lengths, starts, blocks = grid
        whole += 8 * WHOLE * k
        lengths += 8 * LENGTHS * k
        # The lowest corner that an overlapping box can have; a little lower for the rounding of its extent.
        slack = 1.0 + 1e-6
        lx, ly, lz = np.float64(lane4(box_low, 0)), np.float64(lane4(box_low, 1)), np.float64(lane4(box_low, 2))
        x0 = _cell(lx - slack * double_at(lengths, LARGEST), 0, lengths)
        y0 = _cell(ly - slack * double_at(lengths, LARGEST + 1), 1, lengths)
        z0 = _cell(lz - slack * double_at(lengths, LARGEST + 2), 2, lengths)
        x1 = _cell(np.float64(lane4(box_high, 0)), 0, lengths)
        y1 = _cell(np.float64(lane4(box_high, 1)), 1, lengths)
        z1 = _cell(np.float64(lane4(box_high, 2)), 2, lengths)
        x_me, y_me, z_me = x0, y0, z0
        if forward:
            x_me, y_me, z_me = _cell(lx, 0, lengths), _cell(ly, 1, lengths), _cell(lz, 2, lengths)
            z0 = z_me
        mask, last = long_at(whole, MASK), long_at(whole, COUNT) - 1
        z1 = min(z1, z0 + long_at(whole, COUNT + 2) - 1)  # once round the torus is enough
        y1 = min(y1, y0 + long_at(whole, COUNT + 1) - 1)
        x1 = min(x1, x0 + last)
        first = long_at(whole, FIRST)
        met, held = 0, 0
        for z in range(z0, z1 + 1):
            for y in range(y_me if forward and z == z_me else y0, y1 + 1):
                row = first + _row(y, z, whole)
                own = forward and z == z_me and y == y_me
                a, b = (x_me if own else x0) & mask, x1 & mask
                begin = me + 1 if own else np.int64(int_at(starts, row + a))
                end = np.int64(int_at(starts, row + (b if a <= b else last) + 1))
                for part in range(2):
                    while begin < end:
                        held = keep_overlapping(box_low, box_high, blocks, begin, end, scratch, held)
                        begin = (begin | (EIGHT - 1)) + 1
                        if held >= SCRATCH:
                            w = visit(state, me, scratch, held, w)
                            met += held
                            held = 0
                    if a <= b or part == 1:
                        break
                    # The run goes over the edge of the torus.
                    begin, end = np.int64(int_at(starts, row)), np.int64(int_at(starts, row + b + 1))
        return met + held, visit(state, me, scratch, held, w)

    return compile_now(walk_level, cache=False)


@spliced
def level_at(whole, position):
    """The level of the box at a position in sorted order."""
    k = 0
    while position >= long_at(whole, k * WHOLE + END):
        k += 1
    return k


@spliced
def is_empty(whole, k):
    """Whether level k has no boxes."""
    return long_at(whole, k * WHOLE + BEGIN) == long_at(whole, k * WHOLE + END)


@phase_kernel(items="sets/22")
def sort_sets(begin, end, iteration, sets: longs.span):
    """Sort sets of boxes, one an item; `sets` is what `addresses_of` makes of their grids."""
    for k in range(begin, end):
        table = sets[0] + 16 * SLOTS * k
        sort_boxes(
            *(read_rows(table, 0), read_rows(table, 1), read_ints(table, 2), read_longs(table, 3)),
            *(read_doubles(table, 4), read_ints(table, 5), read_ints(table, 6), read_ints(table, 7)),
        )


@phase_kernel(items="to_low")
def arrange_boxes(
    begin, end, iteration, low: rows, high: rows, order: ints, to_low: rows, to_high: rows, blocks: floats
):
    """Copy the boxes into sorted order."""
    for i in range(begin, end):
        o = at(order, i)
        lower, upper = load4(low, o), load4(high, o)
        store4(to_low, i, lower)
        store4(to_high, i, upper)
        p = 8 * EIGHT * (i // EIGHT) + i % EIGHT
        blocks[p], blocks[p + EIGHT], blocks[p + 2 * EIGHT] = lane4(lower, 0), lane4(lower, 1), lane4(lower, 2)
        blocks[p + 3 * EIGHT], blocks[p + 4 * EIGHT] = lane4(lower, 3), lane4(upper, 0)
        blocks[p + 5 * EIGHT], blocks[p + 6 * EIGHT] = lane4(upper, 1), lane4(upper, 2)
        blocks[p + 7 * EIGHT] = lane4(upper, 3)


# --- where walks write -----------------------------------------------------------------------------------------------


@spliced
def keep_pair(out, room, w, keep, i, j):
    """Append (i, j) to a list if `keep` is 1, without a branch; once the list is full only count.

    The last place is for what is not kept: a list of `room` places can hold room - 1 pairs.
    """
    place = 2 * min(w, room - 1)
    put_int(out, place, i)
    put_int(out, place + 1, j)
    return w + keep


@spliced
def list_of(lists, chunk):
    """(address, room) of a chunk's part of lists."""
    room = lists[1] // (2 * CHUNKS)
    return lists[0] + 8 * room * chunk, room


@spliced
def scratch_of(scratch, chunk):
    """The address of a chunk's part of scratch memory."""
    return scratch + 4 * (SCRATCH + 16) * chunk


def scratch_array() -> np.ndarray:
    """Memory for walks, for all chunks."""
    return np.zeros(CHUNKS * (SCRATCH + 16), np.int32)
