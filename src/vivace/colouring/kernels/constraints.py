"""Colouring constraints that share vertices, by one thread and without ever writing the dual graph down.

Constraint i touches corners[pointers[i] : pointers[i + 1]], vertices from 0 to n - 1 (-1 is skipped), and two
constraints are neighbours when they touch the same vertex. The constraints at v are
incident[starts[v] : starts[v + 1]].

`masks` holds the colours that are taken at each vertex, a bit each, 64 colours to a layer of n words: vertex v has
words v, n + v, 2 n + v, ... A colour is permissible for a constraint when its bit is clear at all k corners, which
takes k reads and not a walk over some hundred neighbours. In a valid colouring a bit belongs to one constraint
alone, so taking a constraint out clears its own bits and nobody else's.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.bits import lowest_bit
from ...backends.cpu.compiling import compiled, inlined
from ...backends.cpu.simd import at
from .bits import ALL, NONE, UNCOLOURED, WORD, bit

# What `gather` finds.
SOUND, BAD_INDEX, REPEATED = range(3)


@compiled
def gather(block, free, first, pointers, corners):
    """Append the rows of `block` to the lists, without -1 and without vertices that never move; test them on the way.

    (SOUND, ...) or what is wrong and where: the row, and the vertex.
    """
    n = free.shape[0]
    seen = np.full(n, -1, np.int32)
    filled = pointers[first]
    for r in range(block.shape[0]):
        for k in range(block.shape[1]):
            v = block[r, k]
            if v < -1 or v >= n:
                return BAD_INDEX, r, v
            if v < 0:
                continue
            if seen[v] == r:
                return REPEATED, r, v
            seen[v] = r
            corners[filled] = v
            filled += free[v]
        pointers[first + r + 1] = filled
    return SOUND, 0, 0


@compiled
def incidence(pointers, corners, n):
    """(starts, incident): the constraints at each vertex, ascending."""
    starts, incident = np.zeros(n + 1, np.int32), np.empty(pointers[-1], np.int32)
    for e in range(pointers[-1]):
        starts[corners[e] + 1] += 1
    for v in range(n):
        starts[v + 1] += starts[v]
    place = starts[:n].copy()
    for i in range(pointers.shape[0] - 1):
        for e in range(pointers[i], pointers[i + 1]):
            incident[place[corners[e]]] = i
            place[corners[e]] += 1
    return starts, incident


# --- the dual graph, walked or written down ---------------------------------------------------------------------------


@compiled
def dual_degrees(pointers, corners, starts, incident):
    """How many other constraints each one shares a vertex with; two that share several vertices count once."""
    m = pointers.shape[0] - 1
    degree, seen = np.zeros(m, np.int32), np.full(m, -1, np.int32)
    for i in range(m):
        seen[i] = i
        for e in range(pointers[i], pointers[i + 1]):
            for f in range(at(starts, at(corners, e)), at(starts, at(corners, e) + 1)):
                j = at(incident, f)
                degree[i] += at(seen, j) != i
                seen[np.uint32(j)] = i
    return degree


@compiled
def dual_rows(pointers, corners, starts, incident, degree):
    """The dual graph as CSR, each row in the order in which its neighbours are met."""
    m = pointers.shape[0] - 1
    indptr, seen = np.zeros(m + 1, np.int32), np.full(m, -1, np.int32)
    for i in range(m):
        indptr[i + 1] = indptr[i] + degree[i]
    indices = np.empty(indptr[m], np.int32)
    filled = 0
    for i in range(m):
        seen[i] = i
        for e in range(pointers[i], pointers[i + 1]):
            for f in range(starts[corners[e]], starts[corners[e] + 1]):
                j = incident[f]
                if seen[j] != i:
                    seen[j] = i
                    indices[filled] = j
                    filled += 1
    return indptr, indices


@compiled
def smallest_last(pointers, corners, starts, incident):
    """The smallest-last order of the dual graph, and 1 + the largest degree at removal [fratarcangeli2013, Eq. 14].

    As `colour_serial.smallest_last_order`, with neighbours met at the corners and marked, so that one that shares
    several vertices loses one degree only. A constraint that has been selected is dropped from the list of a vertex
    the next time that is walked, so that every list is walked over those left alone. `incident` is spent.
    """
    m = pointers.shape[0] - 1
    degree = dual_degrees(pointers, corners, starts, incident)
    order, seen = np.empty(m, np.int32), np.full(m, -1, np.int32)
    before, after = np.full(m, -1, np.int32), np.full(m, -1, np.int32)
    ends = starts[1:].copy()
    highest, bound = 0, 0
    for i in range(m):
        highest = max(highest, degree[i])
    front = np.full(highest + 1, -1, np.int32)
    for i in range(m):
        after[i] = front[degree[i]]
        if after[i] >= 0:
            before[after[i]] = i
        front[degree[i]] = i
    d = 0
    for k in range(m - 1, -1, -1):
        while front[d] < 0:
            d += 1
        bound = max(bound, d + 1)
        i = front[d]
        front[d] = after[i]
        if after[i] >= 0:
            before[after[i]] = -1
        degree[i] = -1  # selected
        order[k] = i
        for e in range(pointers[i], pointers[i + 1]):
            v = corners[e]
            f, end = starts[v], ends[v]
            while f < end:
                j = at(incident, f)
                if at(degree, j) < 0:
                    end -= 1
                    incident[f] = incident[end]
                    continue
                f += 1
                if at(seen, j) == i:
                    continue
                seen[j] = i
                if before[j] >= 0:
                    after[before[j]] = after[j]
                else:
                    front[degree[j]] = after[j]
                if after[j] >= 0:
                    before[after[j]] = before[j]
                degree[j] -= 1
                before[j], after[j] = -1, front[degree[j]]
                if after[j] >= 0:
                    before[after[j]] = j
                front[degree[j]] = j
                d = min(d, degree[j])
            ends[v] = end
    return order, bound


# --- sets of colours at the vertices ----------------------------------------------------------------------------------


@compiled
def new_masks(n, count):
    """Empty sets for n vertices, with room for at least `count` colours."""
    return np.zeros(n * max(1, (count + WORD - 1) // WORD), np.uint64)


@compiled
def widened(masks, n):
    """The same sets with one more layer, or a quarter more, so that growing stays linear."""
    layers = masks.shape[0] // n
    wide = np.zeros(n * (layers + 1 + layers // 4), np.uint64)
    wide[: masks.shape[0]] = masks
    return wide


@inlined
def smallest_permissible(masks, n, corners, begin, end):
    """The smallest colour that is taken at none of the corners; the first of the next layer when all are full."""
    base, first = 0, 0
    while base < masks.shape[0]:
        taken = NONE
        for e in range(begin, end):
            v = at(corners, e)
            if v >= 0:
                taken |= at(masks, base + v)
        if taken != ALL:
            return first + lowest_bit(~taken)
        base += n
        first += WORD
    return first


@inlined
def put(masks, n, corners, begin, end, colour):
    """Take a colour at all corners."""
    base, mark = colour // WORD * n, bit(colour % WORD)
    for e in range(begin, end):
        v = at(corners, e)
        if v >= 0:
            masks[np.uint64(base + v)] |= mark


@inlined
def clear(masks, n, corners, begin, end, colour):
    """Give a colour back at all corners."""
    base, mark = colour // WORD * n, bit(colour % WORD)
    for e in range(begin, end):
        v = at(corners, e)
        if v >= 0:
            masks[np.uint64(base + v)] &= ~mark


@inlined
def is_taken(masks, n, corners, begin, end, colour):
    """Whether any of a constraint's corners has the colour already."""
    base, taken = colour // WORD * n, NONE
    for e in range(begin, end):
        v = at(corners, e)
        if v >= 0:
            taken |= at(masks, base + v)
    return taken & bit(colour % WORD) != NONE


@compiled
def keep_valid(pointers, corners, colours, masks, n):
    """Enter every colour into the masks; a constraint whose colour is taken already, by a lower number, loses it."""
    lost = 0
    for i in range(colours.shape[0]):
        c = colours[i]
        if c < 0:
            continue
        if is_taken(masks, n, corners, pointers[i], pointers[i + 1], c):
            colours[i] = UNCOLOURED
            lost += 1
        else:
            put(masks, n, corners, pointers[i], pointers[i + 1], c)
    return lost


@compiled
def first_fit(pointers, corners, order, colours, masks, n):
    """[fratarcangeli2013, Alg. 1] for the constraints of `order`; return the masks, which may have been widened."""
    for i in order:  # 2
        c = smallest_permissible(masks, n, corners, pointers[i], pointers[i + 1])  # 3
        if c // WORD * n >= masks.shape[0]:
            masks = widened(masks, n)
        put(masks, n, corners, pointers[i], pointers[i + 1], c)
        colours[i] = c  # 4
    return masks


@compiled
def find_shared(pointers, corners, order, colours, n):
    """Two constraints of one colour with a common vertex, or (-1, -1). `order` is grouped by colour."""
    last = np.full(n, -1, np.int32)  # the last constraint met at a vertex
    for i in order:
        for e in range(pointers[i], pointers[i + 1]):
            j = last[corners[e]]
            if j >= 0 and colours[j] == colours[i]:
                return j, i
            last[corners[e]] = i
    return -1, -1


@compiled
def even_out(pointers, corners, order, colours, sizes, masks, n, passes):
    """Move constraints to the smallest colour permitted while that makes the two sizes more alike; return the passes.

    As in `colour_balance.move`: Σ size² falls with each move, and the smallest size never does, so that what it was
    at the start of a pass tells which constraints can have nowhere to go.
    """
    count = sizes.shape[0]
    for turn in range(passes):
        moved, smallest = 0, sizes.min()
        for i in order:
            own = colours[i]
            if sizes[own] < smallest + 2:
                continue
            best = own
            for w in range((count + WORD - 1) // WORD):
                left = ALL
                for e in range(pointers[i], pointers[i + 1]):
                    left &= ~at(masks, w * n + at(corners, e))
                while left != NONE:
                    c = w * WORD + lowest_bit(left)
                    if c >= count:
                        break
                    if sizes[c] < sizes[best]:
                        best = c
                    left &= ~bit(c % WORD)
            if sizes[best] + 2 <= sizes[own]:
                clear(masks, n, corners, pointers[i], pointers[i + 1], own)
                put(masks, n, corners, pointers[i], pointers[i + 1], best)
                sizes[own] -= 1
                sizes[best] += 1
                colours[i] = best
                moved += 1
        if moved == 0:
            return turn + 1
    return passes
