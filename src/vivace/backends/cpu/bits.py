"""Bits of a 64-bit word, by the processor's own instructions."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def count_bits(typingctx, word):
    """How many bits of a word are set."""
    if word != types.uint64:
        return None
    return types.int64(word), lambda context, builder, sig, args: builder.ctpop(args[0])


@intrinsic
def lowest_bit(typingctx, word):
    """The number of the lowest bit that is set; 64 for an empty word."""
    if word != types.uint64:
        return None
    return types.int64(word), lambda context, builder, sig, args: builder.cttz(args[0], ir.IntType(1)(0))
