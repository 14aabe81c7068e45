"""Four floats at a time in Numba: a `float4` value that lives in one vector register.

A position is a row of four float32 (x, y, z, 0). Reading it as one 16-byte load, instead of three scalar loads, is
what brings a Numba sweep to the speed of hand-written SSE. Numba has no vector type of its own, so this file gives it
one: a type, `load4`/`store4` on (n, 4) float32 arrays, `+ - *`, and the few reductions that the sweeps need. The code
LLVM makes of it is portable (SSE, AVX, NEON); nothing here names an instruction set.

Every operation allows contraction to a fused multiply-add and nothing else: no reassociation, so results are the
same however the work is cut into chunks.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

FLAGS = ("contract",)
_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, 4)
_I32 = ir.IntType(32)


class Float4(types.Type):
    """Numba's type of four float32 numbers in one register."""

    def __init__(self) -> None:
        super().__init__(name="float4")


float4 = Float4()


@register_model(Float4)
class _Float4Model(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, _VECTOR)


def _splat(builder, scalar):
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), scalar, _I32(0))
    return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), ir.Constant(ir.VectorType(_I32, 4), [0] * 4))


def _shuffle(builder, a, b, lanes):
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_I32, 4), list(lanes)))


# --- arithmetic -------------------------------------------------------------------------------------------------

_OPERATIONS = {
    operator.add: "fadd",
    operator.iadd: "fadd",
    operator.sub: "fsub",
    operator.isub: "fsub",
    operator.mul: "fmul",
    operator.imul: "fmul",
    operator.truediv: "fdiv",
}


def _define(function, instruction):
    @infer_global(function)
    class _Typing(AbstractTemplate):
        def generic(self, args, kws):
            if len(args) == 2 and float4 in args and all(a == float4 or a == types.float32 for a in args):
                return signature(float4, *args)
            return None

    def lower(context, builder, sig, args):
        left, right = (a if t == float4 else _splat(builder, a) for a, t in zip(args, sig.args, strict=True))
        return getattr(builder, instruction)(left, right, flags=FLAGS)

    for left, right in ((float4, float4), (float4, types.float32), (types.float32, float4)):
        lower_builtin(function, left, right)(lower)


for _function, _instruction in _OPERATIONS.items():
    _define(_function, _instruction)


# --- memory -----------------------------------------------------------------------------------------------------


def _row_pointer(context, builder, array_type, array, index):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(builder.bitcast(data, _VECTOR.as_pointer()), [index], inbounds=True)


def _is_rows(array) -> bool:
    return isinstance(array, types.Array) and array.dtype == types.float32 and array.ndim == 2 and array.layout == "C"


@intrinsic
def load4(typingctx, array, index):
    """Row `index` of a C-contiguous (n, 4) float32 array."""
    if not _is_rows(array) or not isinstance(index, types.Integer):
        return None

    def codegen(context, builder, sig, args):
        index = context.cast(builder, args[1], sig.args[1], types.intp)
        return builder.load(_row_pointer(context, builder, sig.args[0], args[0], index), align=4)

    return float4(array, index), codegen


@intrinsic
def store4(typingctx, array, index, value):
    """Write row `index` of a C-contiguous (n, 4) float32 array."""
    if not _is_rows(array) or not isinstance(index, types.Integer) or value != float4:
        return None

    def codegen(context, builder, sig, args):
        index = context.cast(builder, args[1], sig.args[1], types.intp)
        builder.store(args[2], _row_pointer(context, builder, sig.args[0], args[0], index), align=4)
        return context.get_dummy_value()

    return types.void(array, index, value), codegen


@intrinsic
def load4_flat(typingctx, array, start):
    """Four consecutive values of a contiguous float32 vector, from `start`."""
    flat = isinstance(array, types.Array) and array.dtype == types.float32 and array.ndim == 1 and array.layout == "C"
    if not flat or not isinstance(start, types.Integer):
        return None

    def codegen(context, builder, sig, args):
        start = context.cast(builder, args[1], sig.args[1], types.intp)
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        pointer = builder.bitcast(builder.gep(data, [start], inbounds=True), _VECTOR.as_pointer())
        return builder.load(pointer, align=4)

    return float4(array, start), codegen


@intrinsic
def store4_flat(typingctx, array, start, value):
    """Write four consecutive values of a contiguous float32 vector, from `start`."""
    flat = isinstance(array, types.Array) and array.dtype == types.float32 and array.ndim == 1 and array.layout == "C"
    if not flat or not isinstance(start, types.Integer) or value != float4:
        return None

    def codegen(context, builder, sig, args):
        start = context.cast(builder, args[1], sig.args[1], types.intp)
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        pointer = builder.bitcast(builder.gep(data, [start], inbounds=True), _VECTOR.as_pointer())
        builder.store(args[2], pointer, align=4)
        return context.get_dummy_value()

    return types.void(array, start, value), codegen


@intrinsic
def at(typingctx, array, index):
    """`array[index]` of a contiguous vector for an index that is never negative, without Numba's wrap-around test."""
    flat = isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C"
    if not flat or not isinstance(index, types.Integer):
        return None

    def codegen(context, builder, sig, args):
        index = context.cast(builder, args[1], sig.args[1], types.intp)
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        return builder.load(builder.gep(data, [index], inbounds=True))

    return array.dtype(array, index), codegen


# --- reductions and lanes -----------------------------------------------------------------------------------------


@intrinsic
def splat4(typingctx, value):
    """(value, value, value, value)."""
    if value != types.float32:
        return None
    return float4(value), lambda context, builder, sig, args: _splat(builder, args[0])


@intrinsic
def make4(typingctx, x, y, z, w):
    """(x, y, z, w)."""
    if any(t != types.float32 for t in (x, y, z, w)):
        return None

    def codegen(context, builder, sig, args):
        vector = ir.Constant(_VECTOR, ir.Undefined)
        for lane, value in enumerate(args):
            vector = builder.insert_element(vector, value, _I32(lane))
        return vector

    return float4(x, y, z, w), codegen


@intrinsic
def lane4(typingctx, vector, lane):
    """One component; `lane` must be a literal 0, 1, 2 or 3."""
    if vector != float4 or not isinstance(lane, types.IntegerLiteral):
        return None
    number = lane.literal_value

    def codegen(context, builder, sig, args):
        return builder.extract_element(args[0], _I32(number))

    return types.float32(vector, lane), codegen


@intrinsic
def four_of(typingctx, eight, first):
    """Four consecutive components of a register of eight (see `lanes`), from the literal `first` on, as a float4."""
    if getattr(eight, "scalar", None) != types.float32 or not isinstance(first, types.IntegerLiteral):
        return None
    lanes = range(first.literal_value, first.literal_value + 4)

    def codegen(context, builder, sig, args):
        return builder.shuffle_vector(args[0], args[0], ir.Constant(ir.VectorType(_I32, 4), list(lanes)))

    return float4(eight, first), codegen


@intrinsic
def dot4(typingctx, a, b):
    """a . b over all four lanes (rows keep their fourth lane at zero)."""
    if a != float4 or b != float4:
        return None

    def codegen(context, builder, sig, args):
        product = builder.fmul(*args, flags=FLAGS)
        pair = builder.fadd(product, _shuffle(builder, product, product, (2, 3, 0, 1)), flags=FLAGS)
        total = builder.fadd(pair, _shuffle(builder, pair, pair, (1, 0, 3, 2)), flags=FLAGS)
        return builder.extract_element(total, _I32(0))

    return types.float32(a, b), codegen


@intrinsic
def square_norms4(typingctx, a, b, c, d):
    """(|a|², |b|², |c|², |d|²): a four-by-four transpose, then three multiply-adds."""
    if any(t != float4 for t in (a, b, c, d)):
        return None

    def codegen(context, builder, sig, args):
        a, b, c, d = args
        ab_xy, cd_xy = _shuffle(builder, a, b, (0, 4, 1, 5)), _shuffle(builder, c, d, (0, 4, 1, 5))
        ab_z, cd_z = _shuffle(builder, a, b, (2, 6, 3, 7)), _shuffle(builder, c, d, (2, 6, 3, 7))
        x, y = _shuffle(builder, ab_xy, cd_xy, (0, 1, 4, 5)), _shuffle(builder, ab_xy, cd_xy, (2, 3, 6, 7))
        z = _shuffle(builder, ab_z, cd_z, (0, 1, 4, 5))
        total = builder.fmul(x, x, flags=FLAGS)
        for part in (y, z):
            total = builder.fadd(total, builder.fmul(part, part, flags=FLAGS), flags=FLAGS)
        return total

    return float4(a, b, c, d), codegen


@intrinsic
def transpose4(typingctx, a, b, c, d):
    """The four columns of the matrix whose rows are a, b, c, d."""
    if any(t != float4 for t in (a, b, c, d)):
        return None

    def codegen(context, builder, sig, args):
        a, b, c, d = args
        ab_low, cd_low = _shuffle(builder, a, b, (0, 4, 1, 5)), _shuffle(builder, c, d, (0, 4, 1, 5))
        ab_high, cd_high = _shuffle(builder, a, b, (2, 6, 3, 7)), _shuffle(builder, c, d, (2, 6, 3, 7))
        columns = [
            _shuffle(builder, ab, cd, lanes)
            for ab, cd in ((ab_low, cd_low), (ab_high, cd_high))
            for lanes in ((0, 1, 4, 5), (2, 3, 6, 7))
        ]
        return context.make_tuple(builder, sig.return_type, columns)

    return types.UniTuple(float4, 4)(a, b, c, d), codegen


@intrinsic
def fourth4(typingctx, a, b, c, d):
    """The fourth components of four rows."""
    if any(t != float4 for t in (a, b, c, d)):
        return None

    def codegen(context, builder, sig, args):
        a, b, c, d = args
        ab, cd = _shuffle(builder, a, b, (2, 6, 3, 7)), _shuffle(builder, c, d, (2, 6, 3, 7))
        return _shuffle(builder, ab, cd, (2, 3, 6, 7))

    return float4(a, b, c, d), codegen


@intrinsic
def yzx4(typingctx, a):
    """(y, z, x, w) of a = (x, y, z, w)."""
    if a != float4:
        return None
    return float4(a), lambda context, builder, sig, args: _shuffle(builder, args[0], args[0], (1, 2, 0, 3))


def _call_vector(builder, name, args):
    """LLVM's intrinsic of that name on vectors."""
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * len(args))
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v4f32"), args)


@intrinsic
def sqrt4(typingctx, a):
    """Square roots of the four lanes, correctly rounded."""
    if a != float4:
        return None
    return float4(a), lambda context, builder, sig, args: _call_vector(builder, "sqrt", args)


@intrinsic
def copysign4(typingctx, a, b):
    """Lane by lane, |a| with the sign of b."""
    if a != float4 or b != float4:
        return None
    return float4(a, b), lambda context, builder, sig, args: _call_vector(builder, "copysign", args)


@intrinsic
def any_greater4(typingctx, a, b):
    """Whether a > b in any lane, or either is not a number there."""
    if a != float4 or b != float4:
        return None

    def codegen(context, builder, sig, args):
        lanes = builder.fcmp_unordered(">", *args)
        return builder.icmp_unsigned("!=", builder.bitcast(lanes, ir.IntType(4)), ir.IntType(4)(0))

    return types.boolean(a, b), codegen


@intrinsic
def max4(typingctx, a, b):
    """Lane by lane, the larger."""
    if a != float4 or b != float4:
        return None

    def codegen(context, builder, sig, args):
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return float4(a, b), codegen


@intrinsic
def min4(typingctx, a, b):
    """Lane by lane, the smaller."""
    if a != float4 or b != float4:
        return None

    def codegen(context, builder, sig, args):
        return builder.select(builder.fcmp_ordered("<", *args), *args)

    return float4(a, b), codegen


@intrinsic
def at_most4(typingctx, a, b):
    """Four bits: in which lanes a <= b."""
    if a != float4 or b != float4:
        return None

    def codegen(context, builder, sig, args):
        lanes = builder.fcmp_ordered("<=", *args)
        return builder.zext(builder.bitcast(lanes, ir.IntType(4)), ir.IntType(64))

    return types.int64(a, b), codegen
