"""Colouring that starts from the colours of the last frame, by one thread: what changed is all there is to do.

Of vertices: a graph as CSR, and pairs on top of it that are new in every frame. Entry t of the pairs, laid out flat,
hangs in a list at its vertex, and its other end is entry t ^ 1: head[v] ──► t ──► following[t] ──► ... ──► -1.

Of constraints: `corners` has k entries for each constraint, -1 where there is none; masks as in `colour_constraints`.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.bits import lowest_bit
from ...backends.cpu.compiling import compiled, inlined
from ...backends.cpu.simd import at
from .bits import ALL, NONE, UNCOLOURED, WORD, bit
from .constraints import clear, put, smallest_permissible, widened

TAIL = 8  # one in so many items, those of the highest colours, are tried at lower ones


@compiled
def sizes_of(colours):
    """How many items each colour has; all items are coloured."""
    highest = 0
    for v in range(colours.shape[0]):
        highest = max(highest, colours[v])
    sizes = np.zeros(highest + 1, np.int64)
    for v in range(colours.shape[0]):
        sizes[colours[v]] += 1
    return sizes


@compiled
def highest_colours(sizes):
    """The lowest colour from which on at most 1 / TAIL of all items are; the highest one in any case, but never 0."""
    total = sizes.sum()
    first, items = sizes.shape[0], 0
    while first > 1 and (items == 0 or (items + sizes[first - 1]) * TAIL <= total):
        first -= 1
        items += sizes[first]
    return first


# --- vertices ---------------------------------------------------------------------------------------------------------


@compiled
def first_outside(values, lowest, n):
    """Where the first value below `lowest` or from n on is; -1 if there is none."""
    outside = 0
    for k in range(values.shape[0]):  # without a way out, so that it runs on vectors
        outside |= (values[k] < lowest) | (values[k] >= n)
    if outside:
        for k in range(values.shape[0]):
            if values[k] < lowest or values[k] >= n:
                return k
    return -1


@inlined
def _loser(indptr, i, j):
    """Of two neighbours with one colour, the one with fewer neighbours, which finds another more easily."""
    di, dj = indptr[i + 1] - indptr[i], indptr[j + 1] - indptr[j]
    return i if di < dj or (di == dj and i < j) else j


@compiled
def uncolour_conflicts(indptr, indices, colours):
    """Take the colour from one end of every edge between two vertices of one colour."""
    for v in range(indptr.shape[0] - 1):
        c = colours[v]
        if c < 0:
            continue
        for e in range(at(indptr, v), at(indptr, v + 1)):
            j = at(indices, e)
            if j < v and at(colours, j) == c:
                loser = _loser(indptr, v, j)
                colours[loser] = UNCOLOURED
                if loser == v:
                    break


@compiled
def link(indptr, ends, colours):
    """(head, following) of the pairs; on the way, one end of each pair of one colour loses it."""
    head, following = np.full(indptr.shape[0] - 1, -1, np.int32), np.empty(ends.shape[0], np.int32)
    for t in range(ends.shape[0]):
        v, j = ends[t], ends[t ^ 1]
        following[t] = head[v]
        head[v] = t
        if v != j and colours[v] >= 0 and colours[v] == colours[j]:
            colours[_loser(indptr, v, j)] = UNCOLOURED
    return head, following


@inlined
def _smallest_free(v, indptr, indices, head, following, ends, colours):
    """The smallest colour that no neighbour of v has, in the graph or in the pairs."""
    base = 0
    while True:
        taken = NONE
        for e in range(at(indptr, v), at(indptr, v + 1)):
            c = at(colours, at(indices, e)) - base
            if 0 <= c < WORD:
                taken |= bit(c)
        t = at(head, v)
        while t >= 0:
            c = colours[ends[t ^ 1]] - base
            if 0 <= c < WORD and ends[t ^ 1] != v:
                taken |= bit(c)
            t = following[t]
        if taken != ALL:
            return base + lowest_bit(~taken)
        base += WORD


@compiled
def refit(indptr, indices, head, following, ends, colours):
    """Colour the uncoloured, first fit; then the vertices of the highest colours try lower ones.

    Contacts push vertices to high colours, where they would stay when the contacts are gone, and the number of colours
    would creep up from frame to frame.
    """
    n = indptr.shape[0] - 1
    for v in range(n):
        if colours[v] < 0:
            colours[v] = _smallest_free(v, indptr, indices, head, following, ends, colours)
    first = highest_colours(sizes_of(colours))
    for v in range(n):
        if colours[v] >= first:
            colours[v] = _smallest_free(v, indptr, indices, head, following, ends, colours)


# --- constraints ------------------------------------------------------------------------------------------------------


@inlined
def _lower(corners, begin, end, i, colours, sizes, masks, n):
    """Give constraint i a lower colour if one is permissible."""
    c = smallest_permissible(masks, n, corners, begin, end)
    if c < colours[i]:
        clear(masks, n, corners, begin, end, colours[i])
        put(masks, n, corners, begin, end, c)
        sizes[colours[i]] -= 1
        sizes[c] += 1
        colours[i] = c


@compiled
def lower_highest(pointers, corners, colours, masks, n):
    """As the end of `refit`, for constraints: those of the highest colours try lower ones."""
    sizes = sizes_of(colours)
    first = highest_colours(sizes)
    for i in range(colours.shape[0]):
        if colours[i] >= first:
            _lower(corners, pointers[i], pointers[i + 1], i, colours, sizes, masks, n)


@compiled
def enter(corners, k, numbers, colours, sizes, masks, n):
    """Colour the constraints `numbers`, first fit; return masks and sizes, which may have grown."""
    for i in numbers:
        c = smallest_permissible(masks, n, corners, i * k, (i + 1) * k)
        if c // WORD * n >= masks.shape[0]:
            masks = widened(masks, n)
        while c >= sizes.shape[0]:
            sizes = np.append(sizes, np.zeros_like(sizes))
        put(masks, n, corners, i * k, (i + 1) * k, c)
        colours[i] = c
        sizes[c] += 1
    return masks, sizes


@compiled
def first_absent(numbers, colours):
    """Where the first number is that has no colour, or has been met before; -1 if there is none."""
    found = -1
    met = numbers.shape[0]
    for k in range(numbers.shape[0]):
        i = numbers[k]
        if i < 0 or i >= colours.shape[0] or colours[i] < 0:
            found = met = k
            break
        colours[i] = ~colours[i]  # negative while it counts as met
    for k in range(met):
        colours[numbers[k]] = ~colours[numbers[k]]
    return found


@compiled
def leave(corners, k, numbers, colours, sizes, masks, n):
    """Take the constraints `numbers` out and give their colours back."""
    for i in numbers:
        clear(masks, n, corners, i * k, (i + 1) * k, colours[i])
        sizes[colours[i]] -= 1
        colours[i] = UNCOLOURED


@compiled
def lower_some(corners, k, begin, visits, colours, sizes, masks, n):
    """The same for `visits` constraints from `begin` on, going round, so that all have their turn in some frames."""
    m = colours.shape[0]
    first = highest_colours(sizes)
    for visit in range(begin, begin + min(visits, m)):
        i = visit if visit < m else visit - m
        if colours[i] >= first:
            _lower(corners, i * k, (i + 1) * k, i, colours, sizes, masks, n)


@compiled
def colour_briefly(table, free, colours, masks, n):
    """Colour the rows of `table` over what the masks hold, first fit, and leave the masks as they were.

    Return the masks, which may have been widened. Vertices that never move are set to -1 in the table; `free` is empty
    when there are none.
    """
    m, k = table.shape
    corners = table.reshape(m * k)
    if free.shape[0] > 0:
        for e in range(m * k):
            if corners[e] >= 0 and at(free, corners[e]) == 0:
                corners[e] = -1
    for i in range(m):
        c = smallest_permissible(masks, n, corners, i * k, (i + 1) * k)
        if c // WORD * n >= masks.shape[0]:
            masks = widened(masks, n)
        put(masks, n, corners, i * k, (i + 1) * k, c)
        colours[i] = c
    for i in range(m):
        clear(masks, n, corners, i * k, (i + 1) * k, colours[i])
    return masks
