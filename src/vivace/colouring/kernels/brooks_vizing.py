"""The two parallel phases of a Brooks-Vizing colouring round [fratarcangeli2016, Alg. 2].

    propose   own palette, own list of neighbours, own tentative colour   ◄── reads the colours of neighbours
    resolve   own colour                                                  ◄── reads the tentative colours of neighbours

The paper pushes an accepted colour into the palettes of the neighbours (line 12), which needs atomic operations. Here
every vertex pulls: it reads what its neighbours wrote in the phase before and writes only what is its own, so there
is nothing to race for and the result does not depend on who does what first.

The palette of v is held as the colours 0..Δv that no neighbour has taken (`free`, Δv + 1 bits) and as the number of
lowest colours it may use of them (`reach`). Feeding raises the reach to the next free colour. Since each of the Δv
neighbours takes one colour at most, one of Δv + 1 is always free: no vertex ever needs a colour above Δv.

`live` holds the neighbours that are still uncoloured, packed at the front of each row; from round to round there is
less to look at. The first round has nothing to remove, so it reads the graph itself and the second round copies.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.arguments import count, doubles, ints, longs, phase_kernel, words
from ...backends.cpu.bits import count_bits, lowest_bit
from ...backends.cpu.compiling import inlined
from ...backends.cpu.simd import at
from .bits import NONE, UNCOLOURED, WORD, below, bit, bits_below, draw, key_of, nth_bit, slot

PATIENCE = 16  # rounds


@inlined
def _open_palette(v, degree, shrink, offsets, free, reach):
    """Line 3. The text gives Δv/s colours, the pseudocode {0, ..., Δv/s} one more: we take the pseudocode."""
    reach[v] = min(int(degree / shrink), degree) + 1
    left = degree + 1
    for w in range(at(offsets, v), at(offsets, v + 1)):
        free[w] = bits_below(min(left, WORD))
        left -= WORD


@inlined
def _drop_coloured(v, first, last, source, live, colours, offsets, free):
    """Line 12, pulled: remove the colours of newly coloured neighbours from the palette, and them from the list."""
    base = at(offsets, v)
    kept = first
    if at(offsets, v + 1) == base + 1:
        taken = NONE
        for e in range(first, last):
            j = at(source, e)
            c = at(colours, j)
            live[np.uint64(kept)] = j
            kept += c < 0
            taken |= bit(c & (WORD - 1)) if np.uint32(c) < WORD else NONE
        free[base] &= ~taken
    else:
        capacity = (at(offsets, v + 1) - base) * WORD
        for e in range(first, last):
            j = at(source, e)
            c = at(colours, j)
            live[np.uint64(kept)] = j
            kept += c < 0
            if 0 <= c < capacity:
                free[base + c // WORD] &= ~bit(c % WORD)
    return kept


@inlined
def _choose(v, needed, random, offsets, free, reach):
    """Lines 14-16 (feed the hungry) and 6 (a random colour of the palette)."""
    base, end = at(offsets, v), at(offsets, v + 1)
    limit = at(reach, v)
    if end == base + 1:  # up to 63 neighbours: the same as below, in one word and without branches
        word = at(free, base)
        palette = word & bits_below(limit)
        hungry = (count_bits(palette) < needed) & (palette != word)
        limit = lowest_bit(word & ~palette) + 1 if hungry else limit
        reach[v] = limit
        palette = word & bits_below(limit)
        return nth_bit(palette, below(random, count_bits(palette)))
    size = 0
    for w in range(base, end):
        low = min(max(limit - (w - base) * WORD, 0), WORD)
        size += count_bits(at(free, w) & bits_below(low))
    if size < needed:
        # Line 16 as printed adds |P_v| + 1, which is 1 for every empty palette and may be taken already. The next
        # colour that v never had, and that no neighbour has, is what the bound of Δv + 1 colours needs.
        for w in range(base + limit // WORD, end):
            low = max(limit - (w - base) * WORD, 0)
            rest = at(free, w) & ~bits_below(low)
            if rest != NONE:
                limit = (w - base) * WORD + lowest_bit(rest) + 1
                reach[v] = limit
                size += 1
                break
    n = below(random, size)
    for w in range(base, end):
        low = min(max(limit - (w - base) * WORD, 0), WORD)
        palette = at(free, w) & bits_below(low)
        here = count_bits(palette)
        if n < here:
            return (w - base) * WORD + nth_bit(palette, n)
        n -= here
    return limit - 1  # not reached: the palette is not empty


@phase_kernel(items="active")
def propose(
    begin, end, iteration, indptr: ints, indices: ints, offsets: longs, active: ints, counts: longs, live: ints,
    live_end: ints, free: words, reach: ints, colours: ints, tentative: ints, settings: doubles, seed: count,
):  # fmt: skip
    """Lines 1-3 in the first round, 12-16 of the round before in the others, then 5-6: tentative colours."""
    shrink, heuristic = settings[0], settings[1] != 0.0
    key = key_of(seed, iteration)
    if iteration == 0:
        for v in range(begin, end):
            _open_palette(v, at(indptr, v + 1) - at(indptr, v), shrink, offsets, free, reach)
            active[v] = v
            live_end[v] = at(indptr, v + 1)
            tentative[v] = below(draw(key, v), at(reach, v))
        counts[slot(begin)] = end - begin
        return
    # Without the heuristic, neighbours that are left with the same few colours lose to each other for ever, two with
    # one colour first of all. A palette then counts as hungry with one colour too, and with one more every 16 rounds.
    needed = 1 if heuristic else 2 + (iteration - 1) // PATIENCE
    source = indices if iteration == 1 else live
    for a in range(begin, begin + counts[slot(begin)]):
        v = at(active, a)
        first, last = np.int64(at(indptr, v)), np.int64(at(live_end, v))
        live_end[v] = _drop_coloured(v, first, last, source, live, colours, offsets, free)
        tentative[v] = _choose(v, needed, draw(key, v), offsets, free, reach)


@phase_kernel(items="active")
def resolve(
    begin, end, iteration, indptr: ints, indices: ints, active: ints, counts: longs, live: ints, live_end: ints,
    colours: ints, tentative: ints, settings: doubles,
):  # fmt: skip
    """Lines 7-13: keep the tentative colour unless a neighbour that is still uncoloured chose the same."""
    heuristic = settings[1] != 0.0
    source = indices if iteration == 0 else live
    kept = begin
    for a in range(begin, begin + counts[slot(begin)]):
        v = at(active, a)
        mine = at(tentative, v)
        # The Hungarian heuristic, Section 4.1: of those that chose the same colour, the highest index keeps it.
        rival = v if heuristic else -1
        lost = np.int32(0)  # counted to the end of the row: stopping at the first is a branch nobody can predict
        for e in range(np.int64(at(indptr, v)), np.int64(at(live_end, v))):
            j = at(source, e)
            lost += np.int32((at(tentative, j) == mine) & (j > rival))
        colours[v] = UNCOLOURED if lost > 0 else mine
        active[kept] = v
        kept += lost > 0
    counts[slot(begin)] = kept - begin
