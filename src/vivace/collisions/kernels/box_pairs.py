"""Pairs of boxes that overlap, for whoever wants the whole list: to measure interpenetration, to test the grid."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.addresses import int_at, put_long, row_at
from ...backends.cpu.arguments import Phase, doubles, floats, ints, longs, phase_kernel, rows
from ...backends.cpu.compiling import compiled, function
from ...backends.cpu.executor import Plan
from .hash_grid import (
    BASE,
    CHUNKS,
    LEVELS,
    Grid,
    addresses_of,
    arrange_boxes,
    is_empty,
    keep_pair,
    level_at,
    level_of,
    list_of,
    scratch_array,
    scratch_of,
    sort_sets,
    walker,
)


@function
def _list(state, i, scratch, held, w):
    order, others, out, room = state
    for e in range(held):
        w = keep_pair(out, room, w, 1, int_at(order, i), int_at(others, int_at(scratch, e)))
    return w


@function
def _list_reversed(state, i, scratch, held, w):
    order, others, out, room = state
    for e in range(held):
        w = keep_pair(out, room, w, 1, int_at(others, int_at(scratch, e)), int_at(order, i))
    return w


_walk_list, _walk_list_reversed = walker(_list), walker(_list_reversed)


@phase_kernel(items="counts/8")
def list_within(
    begin, end, iteration, whole: longs.address, lengths: doubles.address, starts: ints.address, order: ints.span,
    low: rows.address, high: rows.address, blocks: floats.address,
    scratch: ints.address, lists: ints.span, counts: longs.address,
):  # fmt: skip
    """Chunk by chunk, the overlapping pairs of one set of boxes."""
    grid, n = (whole, lengths, starts, blocks), order[1]
    for chunk in range(begin, end):
        own_scratch, (out, room), w = scratch_of(scratch, chunk), list_of(lists, chunk), 0
        state = order[0], order[0], out, room
        for i in range(n * chunk // CHUNKS, n * (chunk + 1) // CHUNKS):
            own = level_at(grid[0], i)
            for k in range(own, LEVELS):
                if is_empty(whole, k):
                    continue
                _, w = _walk_list(grid, k, row_at(low, i), row_at(high, i), i, k == own, state, w, own_scratch)
        put_long(counts, 8 * chunk, w)


@phase_kernel(items="counts/8")
def list_between(
    begin, end, iteration, whole: longs.address, lengths: doubles.address, starts: ints.address, order: ints.span,
    low: rows.address, high: rows.address, blocks: floats.address,
    whole_b: longs.address, lengths_b: doubles.address, starts_b: ints.address, order_b: ints.span,
    low_b: rows.address, high_b: rows.address, blocks_b: floats.address,
    scratch: ints.address, lists: ints.span, counts: longs.address,
):  # fmt: skip
    """Chunk by chunk, the overlapping pairs of two sets: those where the first is no larger, then the others."""
    grid, n = (whole, lengths, starts, blocks), order[1]
    grid_b, m = (whole_b, lengths_b, starts_b, blocks_b), order_b[1]
    for chunk in range(begin, end):
        own_scratch, (out, room), w = scratch_of(scratch, chunk), list_of(lists, chunk), 0
        state = order[0], order_b[0], out, room
        for i in range(n * chunk // CHUNKS, n * (chunk + 1) // CHUNKS):
            box = row_at(low, i), row_at(high, i)
            for k in range(level_at(grid[0], i), LEVELS):
                if is_empty(whole_b, k):
                    continue
                _, w = _walk_list(grid_b, k, box[0], box[1], i, False, state, w, own_scratch)
        state = order_b[0], order[0], out, room
        for i in range(m * chunk // CHUNKS, m * (chunk + 1) // CHUNKS):
            box = row_at(low_b, i), row_at(high_b, i)
            for k in range(level_at(grid_b[0], i) + 1, LEVELS):
                if is_empty(whole, k):
                    continue
                _, w = _walk_list_reversed(grid, k, box[0], box[1], i, False, state, w, own_scratch)
        put_long(counts, 8 * chunk, w)


@compiled
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


@compiled
def _set_levels(low, high, base, level):
    for i in range(low.shape[0]):
        level[i] = level_of(max(high[i, 0] - low[i, 0], high[i, 1] - low[i, 1], high[i, 2] - low[i, 2]), base)


def _filled(lower: np.ndarray, upper: np.ndarray) -> Grid:
    grid = Grid.of(len(lower))
    # Rounded outwards, so that boxes which touch in float64 touch in float32.
    grid.low[:, :3] = np.nextafter(lower.astype(np.float32), np.float32(-np.inf))
    grid.high[:, :3] = np.nextafter(upper.astype(np.float32), np.float32(np.inf))
    return grid


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
    base = max(_typical_extent(grid.low, grid.high, 4096) for grid in sets)
    arrange = []
    for grid in sets:
        grid.lengths[BASE] = base
        _set_levels(grid.low, grid.high, base, grid.level)
        arrays = {"low": grid.low, "high": grid.high, "order": grid.order}
        arrays |= {"to_low": grid.sorted_low, "to_high": grid.sorted_high, "blocks": grid.blocks}
        arrange.append(Phase(arrange_boxes, arrays, 0, len(grid.low)))
    sort = Phase(sort_sets, {"sets": addresses_of(sets)}, 0, len(sets), chunks=len(sets))
    Plan([sort, *arrange], threads).run()
    counts, scratch = np.zeros(8 * CHUNKS, np.int64), scratch_array()
    walked = sets[0].walked() | (sets[1].walked("_b") if others is not None else {})
    capacity = 4 * (len(lower) // CHUNKS + 16)
    while True:
        out = np.empty(2 * CHUNKS * capacity, np.int32)
        kernel = list_within if others is None else list_between
        arrays = {**walked, "scratch": scratch, "lists": out, "counts": counts}
        Plan([Phase(kernel, arrays, 0, CHUNKS, chunks=CHUNKS)], threads).run()
        if counts.max() < capacity:
            break
        capacity = int(counts.max()) + 1
    lists = out.reshape(CHUNKS, capacity, 2)
    return np.concatenate([lists[c, : counts[8 * c]] for c in range(CHUNKS)])
