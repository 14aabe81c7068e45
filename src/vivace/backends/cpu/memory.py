"""Memory without allocation: addresses as pointers, and small matrices on the stack."""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic


@intrinsic
def as_pointer(typingctx, address):
    """An integer address as a pointer, for numba.carray."""

    def codegen(context, builder, sig, args):
        return builder.inttoptr(args[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.intp), codegen


@intrinsic
def nine_doubles(typingctx):
    """Room for a 3 x 3 matrix on the caller's stack, to be wrapped with numba.carray.

    A heap array would cost more than the arithmetic on it. Each place in the source that calls this owns one block,
    also inside a loop.
    """

    def codegen(context, builder, sig, args):
        block = cgutils.alloca_once(builder, ir.ArrayType(ir.DoubleType(), 9))
        return builder.bitcast(block, ir.DoubleType().as_pointer())

    return types.CPointer(types.float64)(), codegen
