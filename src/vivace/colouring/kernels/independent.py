"""Phases of the colourings that select independent sets: Luby, Jones-Plassmann, largest degree first.

Each round selects the vertices that outweigh their uncoloured neighbours. Two adjacent vertices cannot both be
selected, so a round may colour all it selected at once. As everywhere on the team, a phase reads of its neighbours
only what an earlier phase wrote.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ...backends.cpu.executor import VALUE, doubles, ints, longs, phase_kernel
from ...backends.cpu.simd import at
from .bits import UNCOLOURED, bundled, draw, key_of, slot, smallest_free, words

COLOURED = np.int32(2**31 - 1)  # in `turn`: after every set
SET = 0  # slot of the state of Luby's algorithm: the number of the set that is being made


@njit(inline="always")
def _start(begin, end, seed, active, counts, colours, weight):
    """Random weights, all different: their order is a random permutation."""
    key = key_of(seed, 0)
    for v in range(begin, end):
        active[v] = v
        colours[v] = UNCOLOURED
        weight[v] = draw(key, v)
    counts[slot(begin)] = end - begin


@phase_kernel
def start(table, begin, end, iteration):
    """First phase of every algorithm here; does nothing after the first round."""
    table = bundled(table)
    if iteration == 0:
        active, counts, colours, weight = ints(table, 2), longs(table, 3), ints(table, 4), words(table, 5)
        _start(begin, end, longs(table, 8)[0], active, counts, colours, weight)


# --- Jones-Plassmann and largest degree first -----------------------------------------------------------------------


@phase_kernel
def select_heaviest(table, begin, end, iteration):
    """Pick the smallest free colour for every vertex that outweighs its uncoloured neighbours [jones1993]."""
    table = bundled(table)
    indptr, indices, active, counts = ints(table, 0), ints(table, 1), ints(table, 2), longs(table, 3)
    colours, weight, pick = ints(table, 4), words(table, 5), ints(table, 6)
    for a in range(begin, begin + counts[slot(begin)]):
        v = at(active, a)
        mine = at(weight, v)
        outweighed = False
        for e in range(at(indptr, v), at(indptr, v + 1)):
            j = at(indices, e)
            if at(colours, j) < 0 and at(weight, j) > mine:
                outweighed = True
                break
        pick[v] = UNCOLOURED if outweighed else smallest_free(v, indptr, indices, colours)


@phase_kernel
def count_degrees(table, begin, end, iteration):
    """Degrees in the graph of the uncoloured vertices, updated after every round [fratarcangeli2016, Section 4.2]."""
    table = bundled(table)
    indptr, indices, active, counts = ints(table, 0), ints(table, 1), ints(table, 2), longs(table, 3)
    colours, degree = ints(table, 4), ints(table, 7)
    for a in range(begin, begin + counts[slot(begin)]):
        v = at(active, a)
        left = 0
        for e in range(at(indptr, v), at(indptr, v + 1)):
            left += at(colours, at(indices, e)) < 0
        degree[v] = left


@phase_kernel
def select_largest_degree(table, begin, end, iteration):
    """The same with the current degree for a weight; among equal degrees the random weight decides."""
    table = bundled(table)
    indptr, indices, active, counts = ints(table, 0), ints(table, 1), ints(table, 2), longs(table, 3)
    colours, weight, pick, degree = ints(table, 4), words(table, 5), ints(table, 6), ints(table, 7)
    for a in range(begin, begin + counts[slot(begin)]):
        v = at(active, a)
        mine, tie = at(degree, v), at(weight, v)
        outweighed = False
        for e in range(at(indptr, v), at(indptr, v + 1)):
            j = at(indices, e)
            if at(colours, j) < 0 and (at(degree, j) > mine or (at(degree, j) == mine and at(weight, j) > tie)):
                outweighed = True
                break
        pick[v] = UNCOLOURED if outweighed else smallest_free(v, indptr, indices, colours)


@phase_kernel
def commit(table, begin, end, iteration):
    """Colour what was selected."""
    table = bundled(table)
    active, counts, colours, pick = ints(table, 2), longs(table, 3), ints(table, 4), ints(table, 6)
    kept = begin
    for a in range(begin, begin + counts[slot(begin)]):
        v = at(active, a)
        colours[v] = pick[v]
        active[kept] = v
        kept += pick[v] < 0
    counts[slot(begin)] = kept - begin


# --- Luby -------------------------------------------------------------------------------------------------------------
# A vertex may join set number `state[SET]` when its turn has come: turn[v] <= state[SET]. A neighbour of a member has
# its turn in the next set; a member has none again.


@phase_kernel
def join(table, begin, end, iteration):
    """Let every candidate join that outweighs the candidates around it."""
    table = bundled(table)
    indptr, indices, active, counts = ints(table, 0), ints(table, 1), ints(table, 2), longs(table, 3)
    weight, joined, turn, now = words(table, 5), ints(table, 6), ints(table, 7), longs(table, 9)[SET]
    for a in range(begin, begin + counts[slot(begin)]):
        v = at(active, a)
        if at(turn, v) > now:
            continue
        mine = at(weight, v)
        outweighed = False
        for e in range(at(indptr, v), at(indptr, v + 1)):
            j = at(indices, e)
            if at(turn, j) <= now and at(weight, j) > mine:
                outweighed = True
                break
        joined[v] = -1 if outweighed else iteration


@phase_kernel
def settle(table, begin, end, iteration):
    """Colour those that joined in this round and put their neighbours off to the next set."""
    table = bundled(table)
    indptr, indices, active, counts = ints(table, 0), ints(table, 1), ints(table, 2), longs(table, 3)
    colours, joined, turn = ints(table, 4), ints(table, 6), ints(table, 7)
    now, candidates = longs(table, 9)[SET], longs(table, 10)
    kept, still = begin, 0
    for a in range(begin, begin + counts[slot(begin)]):
        v = at(active, a)
        if at(joined, v) == iteration:
            colours[v] = now
            turn[v] = COLOURED
            continue
        active[kept] = v
        kept += 1
        if at(turn, v) > now:
            continue
        still += 1
        for e in range(at(indptr, v), at(indptr, v + 1)):
            if at(joined, at(indices, e)) == iteration:
                turn[v] = now + 1
                still -= 1
                break
    counts[slot(begin)] = kept - begin
    candidates[slot(begin)] = still


@phase_kernel
def close_set(table, begin, end, iteration):
    """Serial end of a round: a set without candidates is maximal, so the next one begins."""
    counts, candidates, state, monitor = longs(table, 0), longs(table, 1), longs(table, 2), doubles(table, 3)
    left, still = 0, 0
    for chunk in range(begin, end):
        left += counts[chunk]
        still += candidates[chunk]
    if still == 0:
        state[SET] += 1
    monitor[VALUE] = left
