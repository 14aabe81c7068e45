"""Phases of the colourings that select independent sets: Luby, Jones-Plassmann, largest degree first.

Each round selects the vertices that outweigh their uncoloured neighbours. Two adjacent vertices cannot both be
selected, so a round may colour all it selected at once. As everywhere on the team, a phase reads of its neighbours
only what an earlier phase wrote.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.arguments import count, doubles, ints, longs, phase_kernel, words
from ...backends.cpu.compiling import inlined
from ...backends.cpu.executor import VALUE
from ...backends.cpu.simd import at
from .bits import UNCOLOURED, draw, key_of, slot, smallest_free

COLOURED = np.int32(2**31 - 1)  # in `turn`: after every set
SET = 0  # slot of the state of Luby's algorithm: the number of the set that is being made


@inlined
def _start(begin, end, seed, active, counts, colours, weight):
    """Random weights, all different: their order is a random permutation."""
    key = key_of(seed, 0)
    for v in range(begin, end):
        active[v] = v
        colours[v] = UNCOLOURED
        weight[v] = draw(key, v)
    counts[slot(begin)] = end - begin


@phase_kernel(items="active")
def start(begin, end, iteration, active: ints, counts: longs, colours: ints, weight: words, seed: count):
    """First phase of every algorithm here; does nothing after the first round."""
    if iteration == 0:
        _start(begin, end, seed, active, counts, colours, weight)


# --- Jones-Plassmann and largest degree first -----------------------------------------------------------------------


@phase_kernel(items="active")
def select_heaviest(
    begin, end, iteration, indptr: ints, indices: ints, active: ints, counts: longs, colours: ints, weight: words,
    pick: ints,
):  # fmt: skip
    """Pick the smallest free colour for every vertex that outweighs its uncoloured neighbours [jones1993]."""
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


@phase_kernel(items="active")
def count_degrees(
    begin, end, iteration, indptr: ints, indices: ints, active: ints, counts: longs, colours: ints, degree: ints
):
    """Degrees in the graph of the uncoloured vertices, updated after every round [fratarcangeli2016, Section 4.2]."""
    for a in range(begin, begin + counts[slot(begin)]):
        v = at(active, a)
        left = 0
        for e in range(at(indptr, v), at(indptr, v + 1)):
            left += at(colours, at(indices, e)) < 0
        degree[v] = left


@phase_kernel(items="active")
def select_largest_degree(
    begin, end, iteration, indptr: ints, indices: ints, active: ints, counts: longs, colours: ints, weight: words,
    pick: ints, degree: ints,
):  # fmt: skip
    """The same with the current degree for a weight; among equal degrees the random weight decides."""
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


@phase_kernel(items="active")
def commit(begin, end, iteration, active: ints, counts: longs, colours: ints, pick: ints):
    """Colour what was selected."""
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


@phase_kernel(items="active")
def join(
    begin, end, iteration, indptr: ints, indices: ints, active: ints, counts: longs, weight: words, joined: ints,
    turn: ints, state: longs,
):  # fmt: skip
    """Let every candidate join that outweighs the candidates around it."""
    now = state[SET]
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


@phase_kernel(items="active")
def settle(
    begin, end, iteration, indptr: ints, indices: ints, active: ints, counts: longs, colours: ints, joined: ints,
    turn: ints, state: longs, candidates: longs,
):  # fmt: skip
    """Colour those that joined in this round and put their neighbours off to the next set."""
    now = state[SET]
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


@phase_kernel(items="counts")
def close_set(begin, end, iteration, counts: longs, candidates: longs, state: longs, monitor: doubles):
    """Serial end of a round: a set without candidates is maximal, so the next one begins."""
    left, still = 0, 0
    for chunk in range(begin, end):
        left += counts[chunk]
        still += candidates[chunk]
    if still == 0:
        state[SET] += 1
    monitor[VALUE] = left
