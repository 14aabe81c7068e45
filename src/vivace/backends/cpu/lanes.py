"""Eight numbers at a time in Numba: the same quantity of eight elements, in float32 (`float8`) or float64 (`double8`).

Where `simd` has a row in a register, x, y, z and nothing, here a register has one scalar of each of eight elements. A
formula that is written for one element, `+ - * /` and the functions below, then does eight without being written
again: what a function makes of its arguments is decided by their types when it is compiled. Numbers that are the same
for all eight stay single ones. LLVM cuts the eight into what the processor has (AVX-512, AVX, SSE, NEON).

As in `simd`, operations may be contracted to a fused multiply-add and nothing else, so that results are the same on any
number of threads. `np.cbrt` is to within 2 ulp, `np.exp`, `np.expm1` and `np.log` are taken lane by lane.
"""

from __future__ import annotations

import operator

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, overload, register_model

from .compiling import spliced
from .simd import FLAGS, at, float4, four_of, load4, store4, transpose4

EIGHT = 8
_I32, _I64 = ir.IntType(32), ir.IntType(64)
_KINDS = {types.float32: ir.FloatType(), types.float64: ir.DoubleType()}
_SINGLE = (types.float32, types.float64, types.int64)  # what may stand beside eight


class Lanes(types.Type):
    """Numba's type of eight numbers."""

    def __init__(self, scalar: types.Float) -> None:
        self.scalar, self.vector = scalar, ir.VectorType(_KINDS[scalar], EIGHT)
        super().__init__(name=f"eight({scalar})")


float8, double8 = Lanes(types.float32), Lanes(types.float64)


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, fe_type.vector)


def _splat(builder, vector, scalar):
    none = ir.Constant(vector, ir.Undefined)
    return builder.shuffle_vector(
        builder.insert_element(none, scalar, _I32(0)), none, ir.Constant(ir.VectorType(_I32, EIGHT), [0] * EIGHT)
    )


def _constant(lanes, value):
    return ir.Constant(lanes.vector, [value] * EIGHT)


# --- arithmetic -------------------------------------------------------------------------------------------------------

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
            found = {a for a in args if isinstance(a, Lanes)}
            if len(args) == 2 and len(found) == 1 and all(a in found or a in _SINGLE for a in args):
                return signature(found.pop(), *args)
            return None

    def lower(context, builder, sig, args):
        lanes = sig.return_type
        left, right = (
            a if t == lanes else _splat(builder, lanes.vector, context.cast(builder, a, t, lanes.scalar))
            for a, t in zip(args, sig.args, strict=True)
        )
        return getattr(builder, instruction)(left, right, flags=FLAGS)

    for lanes in (float8, double8):
        lower_builtin(function, lanes, lanes)(lower)
        for single in _SINGLE:
            lower_builtin(function, lanes, single)(lower)
            lower_builtin(function, single, lanes)(lower)


for _function, _instruction in _OPERATIONS.items():
    _define(_function, _instruction)


@infer_global(operator.neg)
class _Negative(AbstractTemplate):
    def generic(self, args, kws):
        return signature(args[0], *args) if len(args) == 1 and isinstance(args[0], Lanes) else None


@infer_global(operator.ne)
class _Differs(AbstractTemplate):
    """Whether any of eight differs from a number: what a formula asks before it leaves something out."""

    def generic(self, args, kws):
        if len(args) == 2 and isinstance(args[0], Lanes) and args[1] == types.float64:
            return signature(types.boolean, *args)
        return None


def _negative(context, builder, sig, args):
    return builder.fneg(args[0])


def _differs(context, builder, sig, args):
    lanes = sig.args[0]
    other = _splat(builder, lanes.vector, context.cast(builder, args[1], sig.args[1], lanes.scalar))
    apart = builder.bitcast(builder.fcmp_unordered("!=", args[0], other), ir.IntType(8))
    return builder.icmp_unsigned("!=", apart, ir.IntType(8)(0))


for _kind in (float8, double8):
    lower_builtin(operator.neg, _kind)(_negative)
    lower_builtin(operator.ne, _kind, types.float64)(_differs)


def _call(builder, lanes, name, args):
    """LLVM's intrinsic of that name on eight."""
    kind = ir.FunctionType(lanes.vector, [lanes.vector] * len(args))
    suffix = "f32" if lanes == float8 else "f64"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v8{suffix}"), args)


@intrinsic
def larger8(typingctx, a, b):
    """Lane by lane, the larger."""
    if not isinstance(a, Lanes) or a != b:
        return None
    return a(a, b), lambda context, builder, sig, args: builder.select(builder.fcmp_ordered(">", *args), *args)


@intrinsic
def smaller8(typingctx, a, b):
    """Lane by lane, the smaller."""
    if not isinstance(a, Lanes) or a != b:
        return None
    return a(a, b), lambda context, builder, sig, args: builder.select(builder.fcmp_ordered("<", *args), *args)


@intrinsic
def where_negative8(typingctx, decides, yes, no):
    """Lane by lane, `yes` where `decides` < 0, else `no`."""
    if not isinstance(decides, Lanes) or not decides == yes == no:
        return None

    def codegen(context, builder, sig, args):
        zero = _constant(sig.args[0], 0.0)
        return builder.select(builder.fcmp_ordered("<", args[0], zero), args[1], args[2])

    return decides(decides, yes, no), codegen


@intrinsic
def all_positive8(typingctx, a):
    """Whether a > 0 in all lanes; not if one is no number."""
    if not isinstance(a, Lanes):
        return None

    def codegen(context, builder, sig, args):
        above = builder.fcmp_ordered(">", args[0], _constant(sig.args[0], 0.0))
        return builder.icmp_unsigned("==", builder.bitcast(above, ir.IntType(8)), ir.IntType(8)(255))

    return types.boolean(a), codegen


@intrinsic
def root8(typingctx, a):
    """Square roots, correctly rounded."""
    if not isinstance(a, Lanes):
        return None
    return a(a), lambda context, builder, sig, args: _call(builder, sig.args[0], "sqrt", args)


@intrinsic
def sum8(typingctx, a):
    """The sum of the eight, in pairs."""
    if not isinstance(a, Lanes):
        return None

    def codegen(context, builder, sig, args):
        parts = [builder.extract_element(args[0], _I32(k)) for k in range(EIGHT)]
        while len(parts) > 1:
            parts = [builder.fadd(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        return parts[0]

    return a.scalar(a), codegen


# --- memory and conversion --------------------------------------------------------------------------------------------


@intrinsic
def load8(typingctx, array, start):
    """Eight consecutive values of a contiguous float32 vector, from `start`."""
    flat = isinstance(array, types.Array) and array.dtype == types.float32 and array.ndim == 1 and array.layout == "C"
    if not flat or not isinstance(start, types.Integer):
        return None

    def codegen(context, builder, sig, args):
        start = context.cast(builder, args[1], sig.args[1], types.intp)
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        pointer = builder.bitcast(builder.gep(data, [start], inbounds=True), float8.vector.as_pointer())
        return builder.load(pointer, align=4)

    return float8(array, start), codegen


@intrinsic
def widened(typingctx, a):
    """The same numbers in float64."""
    if a != float8:
        return None
    return double8(a), lambda context, builder, sig, args: builder.fpext(args[0], double8.vector)


@intrinsic
def _narrowed(typingctx, a):
    if a != double8:
        return None
    return float8(a), lambda context, builder, sig, args: builder.fptrunc(args[0], float8.vector)


@intrinsic
def _joined(typingctx, low, high):
    """Two float4 in a row."""
    if low != float4 or high != float4:
        return None

    def codegen(context, builder, sig, args):
        return builder.shuffle_vector(*args, ir.Constant(ir.VectorType(_I32, EIGHT), list(range(EIGHT))))

    return float8(low, high), codegen


@intrinsic
def splat8(typingctx, like, value):
    """Eight times `value`, in the precision of `like`."""
    if not isinstance(like, Lanes) or value not in _SINGLE:
        return None

    def codegen(context, builder, sig, args):
        lanes = sig.args[0]
        return _splat(builder, lanes.vector, context.cast(builder, args[1], sig.args[1], lanes.scalar))

    return like(like, value), codegen


@spliced
def differences8(q, vertices, first, corner):
    """x, y and z of corner `corner` less corner 0, of the eight elements from `first` on, four vertices each."""
    at0 = 4 * first
    x0, y0, z0, _ = transpose4(
        load4(q, at(vertices, at0 + corner)) - load4(q, at(vertices, at0)),
        load4(q, at(vertices, at0 + 4 + corner)) - load4(q, at(vertices, at0 + 4)),
        load4(q, at(vertices, at0 + 8 + corner)) - load4(q, at(vertices, at0 + 8)),
        load4(q, at(vertices, at0 + 12 + corner)) - load4(q, at(vertices, at0 + 12)),
    )
    x1, y1, z1, _ = transpose4(
        load4(q, at(vertices, at0 + 16 + corner)) - load4(q, at(vertices, at0 + 16)),
        load4(q, at(vertices, at0 + 20 + corner)) - load4(q, at(vertices, at0 + 20)),
        load4(q, at(vertices, at0 + 24 + corner)) - load4(q, at(vertices, at0 + 24)),
        load4(q, at(vertices, at0 + 28 + corner)) - load4(q, at(vertices, at0 + 28)),
    )
    return _joined(x0, x1), _joined(y0, y1), _joined(z0, z1)


@spliced
def rows8(x, y, z):
    """The eight rows (x, y, z, 0) of eight elements, of float8."""
    zero = splat8(x, 0.0)
    a, b, c, d = transpose4(four_of(x, 0), four_of(y, 0), four_of(z, 0), four_of(zero, 0))
    e, f, g, h = transpose4(four_of(x, 4), four_of(y, 4), four_of(z, 4), four_of(zero, 4))
    return a, b, c, d, e, f, g, h


@spliced
def scatter8(out, places, first, step, further, x, y, z):
    """Write the rows (x, y, z, 0) of eight elements to out[places[first + step k] + further]."""
    for k, row in enumerate(rows8(x, y, z)):
        store4(out, at(places, first + step * k) + further, row)


@spliced
def spread8(out, first, step, x, y, z):
    """Write the rows (x, y, z, 0) of eight elements to out[first + step k]."""
    for k, row in enumerate(rows8(x, y, z)):
        store4(out, first + step * k, row)


# --- functions --------------------------------------------------------------------------------------------------------


@intrinsic
def _near_cube_root(typingctx, a):
    """About |a|^⅓ by a third of the exponent, with the sign of a: to 6 %."""
    if a != float8:
        return None

    def codegen(context, builder, sig, args):
        whole = ir.VectorType(_I32, EIGHT)
        bits = builder.bitcast(args[0], whole)
        size = builder.and_(bits, ir.Constant(whole, [0x7FFFFFFF] * EIGHT))
        # i/3 through float32: integers have no vector division, and the guess needs no more than its digits
        third = builder.fmul(builder.uitofp(size, float8.vector), _constant(float8, 1.0 / 3.0))
        near = builder.add(builder.fptoui(third, whole), ir.Constant(whole, [709921077] * EIGHT))
        sign = builder.and_(bits, ir.Constant(whole, [0x80000000] * EIGHT))
        return builder.bitcast(builder.or_(near, sign), float8.vector)

    return float8(a), codegen


@spliced
def _halley(x, y):
    """A better cube root y of x: the number of right digits becomes three times as many."""
    cube = y * y * y
    return y * (cube + 2.0 * x) / (2.0 * cube + x)


@spliced
def _cube_root(x):
    return _halley(x, _halley(x, _near_cube_root(x)))


@overload(np.cbrt, jit_options={"forceinline": True, "error_model": "numpy"})
def _cbrt(x):
    if x == float8:
        return lambda x: _cube_root(x)
    if x == double8:
        return lambda x: _halley(x, widened(_cube_root(_narrowed(x))))
    return None


@intrinsic
def _lane(typingctx, a, lane):
    if not isinstance(lane, types.IntegerLiteral):
        return None
    number = lane.literal_value
    return a.scalar(a, lane), lambda context, builder, sig, args: builder.extract_element(args[0], _I32(number))


@intrinsic
def _with_lane(typingctx, a, lane, value):
    if not isinstance(lane, types.IntegerLiteral):
        return None
    number = lane.literal_value

    def codegen(context, builder, sig, args):
        scalar = context.cast(builder, args[2], sig.args[2], sig.args[0].scalar)
        return builder.insert_element(args[0], scalar, _I32(number))

    return a(a, lane, value), codegen


def _lane_by_lane(function):
    @overload(function, jit_options={"error_model": "numpy"})
    def _eight(x):
        if not isinstance(x, Lanes):
            return None

        def each(x):
            y = _with_lane(x, 0, function(_lane(x, 0)))
            y = _with_lane(y, 1, function(_lane(x, 1)))
            y = _with_lane(y, 2, function(_lane(x, 2)))
            y = _with_lane(y, 3, function(_lane(x, 3)))
            y = _with_lane(y, 4, function(_lane(x, 4)))
            y = _with_lane(y, 5, function(_lane(x, 5)))
            y = _with_lane(y, 6, function(_lane(x, 6)))
            return _with_lane(y, 7, function(_lane(x, 7)))

        return each


for _function in (np.exp, np.expm1, np.log):
    _lane_by_lane(_function)
