"""Reading and writing at plain addresses, for functions that are called in inner loops.

Numba counts references to the arrays that are handed to a function, and takes them apart there: some thirty calls for a
visitor with a dozen arrays, many times the work that it does. An address is a number and costs nothing. Indices are in
elements (rows for `row_at`) and never checked.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .simd import _VECTOR, float4


def _reader(name: str, llvm_type: ir.Type, result: types.Type, align: int):
    def codegen(context, builder, sig, args):
        index = context.cast(builder, args[1], sig.args[1], types.intp)
        pointer = builder.inttoptr(args[0], llvm_type.as_pointer())
        return builder.load(builder.gep(pointer, [index], inbounds=True), align=align)

    def read(typingctx, address, index):
        if isinstance(address, types.Integer) and isinstance(index, types.Integer):
            return result(types.intp, index), codegen
        return None

    read.__name__ = name
    read.__doc__ = f"Element `index` of {result} at `address`."
    return intrinsic(read)


def _writer(name: str, llvm_type: ir.Type, kind: types.Type):
    def codegen(context, builder, sig, args):
        index = context.cast(builder, args[1], sig.args[1], types.intp)
        value = context.cast(builder, args[2], sig.args[2], kind)
        pointer = builder.inttoptr(args[0], llvm_type.as_pointer())
        builder.store(value, builder.gep(pointer, [index], inbounds=True))
        return context.get_dummy_value()

    def write(typingctx, address, index, value):
        if isinstance(address, types.Integer) and isinstance(index, types.Integer):
            return types.void(types.intp, index, value), codegen
        return None

    write.__name__ = name
    write.__doc__ = f"Write element `index` of {kind} at `address`."
    return intrinsic(write)


row_at = _reader("row_at", _VECTOR, float4, 4)
int_at = _reader("int_at", ir.IntType(32), types.int32, 4)
long_at = _reader("long_at", ir.IntType(64), types.int64, 8)
float_at = _reader("float_at", ir.FloatType(), types.float32, 4)
double_at = _reader("double_at", ir.DoubleType(), types.float64, 8)
put_int = _writer("put_int", ir.IntType(32), types.int32)
put_long = _writer("put_long", ir.IntType(64), types.int64)
put_double = _writer("put_double", ir.DoubleType(), types.float64)


@intrinsic
def address_of(typingctx, table, slot):
    """The address of the array in a slot of a phase's table (see `arguments`)."""

    def codegen(context, builder, sig, args):
        slot = context.cast(builder, args[1], sig.args[1], types.intp)
        pointer = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        return builder.load(builder.gep(pointer, [builder.mul(slot, ir.IntType(64)(2))], inbounds=True), align=8)

    return types.intp(types.intp, slot), codegen


@intrinsic
def size_of(typingctx, table, slot):
    """How many elements the array in a slot of a phase's table has."""

    def codegen(context, builder, sig, args):
        slot = context.cast(builder, args[1], sig.args[1], types.intp)
        entry = builder.add(builder.mul(slot, ir.IntType(64)(2)), ir.IntType(64)(1))
        pointer = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        return builder.load(builder.gep(pointer, [entry], inbounds=True), align=8)

    return types.intp(types.intp, slot), codegen
