"""Which of eight boxes overlap another: one comparison of eight numbers for each side of a box."""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from .simd import _FLOAT, _I32, float4


def _lanes_of_masks() -> list[int]:
    """For each eight bits, the numbers of those that are set, lowest first, a byte each; then zeros."""
    set_bits = ([lane for lane in range(8) if mask >> lane & 1] for mask in range(256))
    return [sum(lane << 8 * place for place, lane in enumerate(lanes)) for lanes in set_bits]


@intrinsic
def keep_overlapping(typingctx, low, high, blocks, begin, end, out, held):
    """Append to `out` which boxes overlap or touch the box from `low` to `high`; how many `out` then holds.

    Looks at the block of eight boxes that has number `begin` in it, and of that at those from `begin` on and before
    `end`. `blocks` is an address: of each block the lowest x of its eight boxes, then y, z and the fourth side, then
    the same of the highest. `out` is the address of int32 numbers, of which `held` are in use; there must be room for
    eight more.
    """
    numbers = blocks, begin, end, out, held
    if low != float4 or high != float4 or not all(isinstance(t, types.Integer) for t in numbers):
        return None

    def codegen(context, builder, sig, args):
        i64, eight = ir.IntType(64), ir.VectorType(_FLOAT, 8)
        ints, bytes8 = ir.VectorType(_I32, 8), ir.VectorType(ir.IntType(8), 8)
        blocks, begin, end, out, held = (
            context.cast(builder, value, given, types.intp) for value, given in zip(args[2:], sig.args[2:], strict=True)
        )
        first = builder.and_(begin, i64(-8))
        pointer = builder.inttoptr(blocks, eight.as_pointer())

        def splat(scalar, vector):
            one = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, _I32(0))
            return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), ir.Constant(ints, [0] * 8))

        def others(row):  # eight rows a block: as many as it has boxes
            place = builder.add(first, i64(row))
            return builder.load(builder.gep(pointer, [place], inbounds=True), align=4)

        def own(vector, lane):
            return splat(builder.extract_element(vector, _I32(lane)), eight)

        inside = ir.Constant(ir.VectorType(ir.IntType(1), 8), [1] * 8)
        for lane in range(4):
            inside = builder.and_(inside, builder.fcmp_ordered("<=", own(args[0], lane), others(4 + lane)))
            inside = builder.and_(inside, builder.fcmp_ordered("<=", others(lane), own(args[1], lane)))
        bits = builder.zext(builder.bitcast(inside, ir.IntType(8)), i64)
        bits = builder.and_(bits, builder.shl(i64(255), builder.sub(begin, first)))
        left = builder.sub(end, first)
        fewer = builder.icmp_signed("<", left, i64(8))
        bits = builder.and_(bits, builder.sub(builder.shl(i64(1), builder.select(fewer, left, i64(8))), i64(1)))
        table = cgutils.global_constant(
            builder, "lanes_of_masks", ir.Constant(ir.ArrayType(i64, 256), _lanes_of_masks())
        )
        entry = builder.gep(table, [i64(0), bits], inbounds=True)
        lanes = builder.zext(builder.bitcast(builder.load(entry), bytes8), ints)
        kept = builder.add(splat(builder.trunc(first, _I32), ints), lanes)
        to = builder.gep(builder.inttoptr(out, _I32.as_pointer()), [held], inbounds=True)
        builder.store(kept, builder.bitcast(to, ints.as_pointer()), align=4)
        return builder.add(held, builder.ctpop(bits))

    return types.int64(low, high, *(types.intp,) * 5), codegen
