"""Pairs of boxes that overlap, for whoever wants the whole list: to measure interpenetration, to test the grid."""

from __future__ import annotations

import numpy as np
from numba import njit

from ...backends.cpu.addresses import address_of, int_at, put_long, row_at, size_of
from ...backends.cpu.executor import Job, Phase, phase_kernel
from .hash_grid import (
    BASE,
    CHUNKS,
    LEVELS,
    SLOTS,
    arrange_boxes,
    grid_arrays,
    grid_at,
    keep_pair,
    level_at,
    level_of,
    list_of,
    scratch_array,
    scratch_of,
    sort_sets,
    walker,
)


@njit(nogil=True)
def _list(state, i, scratch, held, w):
    order, others, out, room = state
    for e in range(held):
        w = keep_pair(out, room, w, 1, int_at(order, i), int_at(others, int_at(scratch, e)))
    return w


@njit(nogil=True)
def _list_reversed(state, i, scratch, held, w):
    order, others, out, room = state
    for e in range(held):
        w = keep_pair(out, room, w, 1, int_at(others, int_at(scratch, e)), int_at(order, i))
    return w


_walk_list, _walk_list_reversed = walker(_list), walker(_list_reversed)


@phase_kernel
def list_within(table, begin, end, iteration):
    """Chunk by chunk, the overlapping pairs of one set of boxes."""
    grid, order, n = grid_at(table, 0), address_of(table, 7), size_of(table, 7)
    for chunk in range(begin, end):
        scratch, (out, room), w = scratch_of(table, 10, chunk), list_of(table, 11, chunk), 0
        state = order, order, out, room
        for i in range(n * chunk // CHUNKS, n * (chunk + 1) // CHUNKS):
            own = level_at(grid[0], i)
            for k in range(own, LEVELS):
                _, w = _walk_list(grid, k, row_at(grid[3], i), row_at(grid[4], i), i, k == own, state, w, scratch)
        put_long(address_of(table, 12), 8 * chunk, w)


@phase_kernel
def list_between(table, begin, end, iteration):
    """Chunk by chunk, the overlapping pairs of two sets: those where the first is no larger, then the others."""
    grid, order, n = grid_at(table, 0), address_of(table, 7), size_of(table, 7)
    grid_b, order_b, m = grid_at(table, SLOTS), address_of(table, SLOTS + 7), size_of(table, SLOTS + 7)
    for chunk in range(begin, end):
        scratch, (out, room), w = scratch_of(table, 20, chunk), list_of(table, 21, chunk), 0
        state = order, order_b, out, room
        for i in range(n * chunk // CHUNKS, n * (chunk + 1) // CHUNKS):
            low, high = row_at(grid[3], i), row_at(grid[4], i)
            for k in range(level_at(grid[0], i), LEVELS):
                _, w = _walk_list(grid_b, k, low, high, i, False, state, w, scratch)
        state = order_b, order, out, room
        for i in range(m * chunk // CHUNKS, m * (chunk + 1) // CHUNKS):
            low, high = row_at(grid_b[3], i), row_at(grid_b[4], i)
            for k in range(level_at(grid_b[0], i) + 1, LEVELS):
                _, w = _walk_list_reversed(grid, k, low, high, i, False, state, w, scratch)
        put_long(address_of(table, 22), 8 * chunk, w)


@njit(cache=True, nogil=True)
def _typical_extent(low, high, samples):
    """Twice the geometric mean of the largest side, of some of the boxes; points do not count."""
    total, count = 0.0, 0
    n = low.shape[0]
    for k in range(min(n, samples)):
        i = k * n // min(n, samples)
        extent = max(high[i, 0] - low[i, 0], high[i, 1] - low[i, 1], high[i, 2] - low[i, 2])
        if extent > 0:
            total += np.log(np.float64(extent))
            count += 1
    return 2.0 * np.exp(total / count) if count else 1.0


@njit(cache=True, nogil=True)
def _set_levels(low, high, base, level):
    for i in range(low.shape[0]):
        level[i] = level_of(max(high[i, 0] - low[i, 0], high[i, 1] - low[i, 1], high[i, 2] - low[i, 2]), base)


def _filled(lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, ...]:
    arrays = grid_arrays(len(lower))
    low, high = arrays[:2]
    # Rounded outwards, so that boxes which touch in float64 touch in float32.
    low[:, :3] = np.nextafter(lower.astype(np.float32), np.float32(-np.inf))
    high[:, :3] = np.nextafter(upper.astype(np.float32), np.float32(np.inf))
    return arrays


def broad_phase_pairs(
    lower: np.ndarray,
    upper: np.ndarray,
    others: tuple[np.ndarray, np.ndarray] | None = None,
    threads: int = 1,
) -> np.ndarray:
    """Return the (c, 2) int32 pairs of overlapping boxes, each once.

    Boxes are (n, 3) lowest and highest corners. Without `others`, pairs are of two boxes of the set, in either order;
    with them, the first of a pair is of the set and the second of the others. Boxes are rounded outwards to float32:
    those that are apart by less than that may be reported too.
    """
    sets = [_filled(lower, upper)] + ([_filled(*others)] if others is not None else [])
    base = max(_typical_extent(*arrays[:2], 4096) for arrays in sets)
    for arrays in sets:
        arrays[4][BASE] = base
        _set_levels(*arrays[:2], base, arrays[2])
    tables = sum(sets, ())
    arrange = [Phase(arrange_boxes, arrays, 0, len(arrays[0])) for arrays in sets]
    Job([Phase(sort_sets, tables, 0, len(sets), chunks=len(sets)), *arrange], threads).run()
    counts = np.zeros(8 * CHUNKS, np.int64)
    capacity = 4 * (len(lower) // CHUNKS + 16)
    while True:
        out = np.empty(2 * CHUNKS * capacity, np.int32)
        kernel = list_within if others is None else list_between
        Job([Phase(kernel, (*tables, scratch_array(), out, counts), 0, CHUNKS, chunks=CHUNKS)], threads).run()
        if counts.max() < capacity:
            break
        capacity = int(counts.max()) + 1
    lists = out.reshape(CHUNKS, capacity, 2)
    return np.concatenate([lists[c, : counts[8 * c]] for c in range(CHUNKS)])
