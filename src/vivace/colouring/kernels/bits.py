"""What the colouring kernels share: sets of colours as bits, a stateless random number, and who is still uncoloured.

A random number is a hash of (seed, round, vertex) and not the next of a stream, so that a colouring is the same
whoever visits a vertex, and when. The mixer is the finaliser of SplitMix64 [steele2014]: a bijection on 64 bits, hence
in one round no two vertices draw the same number and the numbers order the vertices as a random permutation.

The uncoloured vertices of a chunk [begin, end) are a list in the chunk's own slice of `active`, in ascending order,
its length in `counts[slot(begin)]`. Nobody else reads or writes either, so the list shrinks without a lock.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.arguments import doubles, longs, phase_kernel
from ...backends.cpu.bits import lowest_bit
from ...backends.cpu.compiling import inlined
from ...backends.cpu.executor import SMALLEST_CHUNK, VALUE
from ...backends.cpu.simd import at

UNCOLOURED = -1
WORD = 64  # bits in a word of a set of colours
ONE, NONE, ALL = np.uint64(1), np.uint64(0), np.uint64(0xFFFFFFFFFFFFFFFF)
STEP = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ / golden ratio, odd
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S27, S30, S31, S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


@inlined
def bit(colour):
    """The word with bit `colour` set, for 0 <= colour < 64."""
    return ONE << np.uint64(colour)


@inlined
def bits_below(count):
    """The word with its `count` lowest bits set, for 0 <= count <= 64."""
    return ALL >> np.uint64(WORD - count) if count > 0 else NONE


@inlined
def nth_bit(word, n):
    """The number of the n-th lowest bit that is set, from 0. Its first steps do without branches."""
    word &= word - np.uint64(n > 0)
    word &= word - np.uint64(n > 1)
    word &= word - np.uint64(n > 2)
    word &= word - np.uint64(n > 3)
    for _ in range(4, n):
        word &= word - ONE
    return lowest_bit(word)


@inlined
def mix(x):
    """Scatter the bits of a 64-bit word, so that similar words give unlike ones."""
    x = (x ^ (x >> S30)) * FIRST
    x = (x ^ (x >> S27)) * SECOND
    return x ^ (x >> S31)


@inlined
def key_of(seed, iteration):
    """What all vertices of one round hash with."""
    return mix(np.uint64(seed) + STEP * np.uint64(iteration + 1))


@inlined
def draw(key, v):
    """64 random bits for vertex v."""
    return mix(key + STEP * np.uint64(v))


@inlined
def below(random, count):
    """A number from 0 to count - 1 out of 64 random bits: the upper half scaled, which needs no division."""
    return np.int64(((random >> S32) * np.uint64(count)) >> S32)


@inlined
def slot(begin):
    """Where the chunk that starts at `begin` counts: chunks are at least SMALLEST_CHUNK long, so it is its own."""
    return begin // SMALLEST_CHUNK


def slots(n: int) -> int:
    """How many counters a plan over n vertices needs."""
    return n // SMALLEST_CHUNK + 1


@inlined
def smallest_free(v, indptr, indices, colours):
    """The smallest colour that no neighbour of v has. Looks at 64 colours at a time, nearly always once."""
    base = 0
    while True:
        taken = NONE
        for e in range(at(indptr, v), at(indptr, v + 1)):
            c = at(colours, at(indices, e)) - base
            if 0 <= c < WORD:
                taken |= bit(c)
        if taken != ALL:
            return base + lowest_bit(~taken)
        base += WORD


@phase_kernel(items="counts")
def count_uncoloured(begin, end, iteration, counts: longs, monitor: doubles):
    """Serial end of a round: tell the monitor how many vertices are left."""
    left = 0
    for chunk in range(begin, end):
        left += counts[chunk]
    monitor[VALUE] = left
