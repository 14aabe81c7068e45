"""Phases that even out the sizes of colours.

The vertices are visited in groups, one for each colour they had at the start. No two vertices of a group are adjacent,
so whatever colour each of them moves to, the others' choices stay permissible: they can be found in parallel. Only
the decision is serial, since it depends on the sizes as they change.
"""

from __future__ import annotations

from ...backends.cpu.arguments import count, doubles, ints, longs, phase_kernel, words
from ...backends.cpu.bits import lowest_bit
from ...backends.cpu.executor import VALUE
from ...backends.cpu.simd import at
from .bits import ALL, NONE, WORD, bit


@phase_kernel(items="order")
def find_permissible(
    begin, end, iteration, indptr: ints, indices: ints, order: ints, colours: ints, permissible: words, sizes: longs
):
    """For each vertex of a group, the set of colours that none of its neighbours has.

    The set is left empty where no colour is small enough to move to, which spares the last passes nearly everything.
    """
    width = (sizes.shape[0] + WORD - 1) // WORD
    smallest = sizes.min()
    for k in range(begin, end):
        v = at(order, k)
        worth = sizes[at(colours, v)] >= smallest + 2
        for w in range(width):
            permissible[k * width + w] = ALL if worth else NONE
        if not worth:
            continue
        for e in range(at(indptr, v), at(indptr, v + 1)):
            c = at(colours, at(indices, e))
            permissible[k * width + c // WORD] &= ~bit(c % WORD)


@phase_kernel(items="order")
def move(
    begin, end, iteration, order: ints, colours: ints, permissible: words, sizes: longs, monitor: doubles, first: count
):
    """Move vertices to the smallest colour permitted, as long as that makes the two sizes more alike.

    From a colour of size a to one of size b <= a - 2: Σ size² falls by 2 (a - b - 1) > 0, so this ends, and no size
    ever grows past the largest.
    """
    count = sizes.shape[0]
    width = (count + WORD - 1) // WORD
    moved = 0
    for k in range(begin, end):
        v = order[k]
        own = colours[v]
        best = own
        for w in range(width):
            left = permissible[k * width + w]
            while left != NONE:
                c = w * WORD + lowest_bit(left)
                if c >= count:
                    break
                if sizes[c] < sizes[best]:
                    best = c
                left &= ~bit(c % WORD)
        if sizes[best] + 2 <= sizes[own]:
            sizes[own] -= 1
            sizes[best] += 1
            colours[v] = best
            moved += 1
    # Groups run one after the other; the first one of a pass starts the count of moves.
    monitor[VALUE] = moved if begin == first else monitor[VALUE] + moved
