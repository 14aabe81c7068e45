"""What threads outside the GIL need to work together: atomic integers, a clock, and giving way.

Numba offers none of these on the CPU. Each is a few lines of LLVM, or one call into the C library that every POSIX
process has loaded; both can be cached on disk, which a ctypes pointer cannot.
"""

from __future__ import annotations

import re
import time

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic


def clock_id() -> int:
    """What clock_gettime calls the clock behind time.perf_counter_ns, so that Python can set compiled code a deadline.

    On Linux that is CLOCK_MONOTONIC. On macOS it is mach_absolute_time, which stands still while the machine sleeps, as
    CLOCK_UPTIME_RAW does and CLOCK_MONOTONIC does not: after the first sleep the two are hours apart.
    """
    implementation = time.get_clock_info("perf_counter").implementation
    named = re.fullmatch(r"clock_gettime\((\w+)\)", implementation)
    return int(getattr(time, named[1] if named else "CLOCK_UPTIME_RAW"))


_CLOCK = clock_id()
_sched_yield = types.ExternalFunction("sched_yield", types.int32())
_INT64 = ir.IntType(64)


def _element(context, builder, array_type, array, index_type, index):
    index = context.cast(builder, index, index_type, types.intp)
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index], inbounds=True)


def _counters(array) -> bool:
    return isinstance(array, types.Array) and array.dtype == types.int64 and array.ndim == 1


@intrinsic
def atomic_load(typingctx, counters, index):
    """Read counters[index]; what the writer wrote before it is visible after."""
    if not _counters(counters):
        return None

    def codegen(context, builder, sig, args):
        pointer = _element(context, builder, sig.args[0], args[0], sig.args[1], args[1])
        return builder.load_atomic(pointer, "acquire", 8)

    return types.int64(counters, index), codegen


@intrinsic
def atomic_store(typingctx, counters, index, value):
    """Write counters[index]; what this thread wrote before is visible to who reads it."""
    if not _counters(counters):
        return None

    def codegen(context, builder, sig, args):
        pointer = _element(context, builder, sig.args[0], args[0], sig.args[1], args[1])
        value = context.cast(builder, args[2], sig.args[2], types.int64)
        builder.store_atomic(value, pointer, "release", 8)
        return context.get_dummy_value()

    return types.void(counters, index, value), codegen


@intrinsic
def atomic_add(typingctx, counters, index, value):
    """Add to counters[index] and return what was there before."""
    if not _counters(counters):
        return None

    def codegen(context, builder, sig, args):
        pointer = _element(context, builder, sig.args[0], args[0], sig.args[1], args[1])
        value = context.cast(builder, args[2], sig.args[2], types.int64)
        return builder.atomic_rmw("add", pointer, value, "acq_rel")

    return types.int64(counters, index, value), codegen


@intrinsic
def atomic_claim(typingctx, counters, index, expected, new):
    """Set counters[index] to `new` if it is `expected`; True for the one thread that did."""
    if not _counters(counters):
        return None

    def codegen(context, builder, sig, args):
        pointer = _element(context, builder, sig.args[0], args[0], sig.args[1], args[1])
        expected, new = (context.cast(builder, a, t, types.int64) for a, t in zip(args[2:], sig.args[2:], strict=True))
        return builder.extract_value(builder.cmpxchg(pointer, expected, new, "acq_rel", "monotonic"), 1)

    return types.boolean(counters, index, expected, new), codegen


@intrinsic
def clock_ns(typingctx):
    """Nanoseconds on the clock of time.perf_counter_ns."""

    def codegen(context, builder, sig, args):
        pair = cgutils.alloca_once(builder, ir.ArrayType(_INT64, 2))
        address = builder.bitcast(pair, ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32), ir.IntType(8).as_pointer()])
        function = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
        builder.call(function, [ir.IntType(32)(_CLOCK), address])
        seconds, nanoseconds = (
            builder.load(builder.gep(pair, [_INT64(0), _INT64(k)], inbounds=True)) for k in range(2)
        )
        return builder.add(builder.mul(seconds, _INT64(1_000_000_000)), nanoseconds)

    return types.int64(), codegen


@intrinsic
def call_phase(typingctx, function, arguments, begin, end, iteration):
    """Call the C function at address `function` as void(arguments, begin, end, iteration)."""
    sig = types.void(*(types.intp,) * 5)

    def codegen(context, builder, sig, args):
        kind = ir.FunctionType(ir.VoidType(), [_INT64] * 4)
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])
        return context.get_dummy_value()

    return sig, codegen


@njit(inline="always")
def relax(spins):
    """Spin briefly, then give the core away: a pure spin starves the very thread it waits for on a busy machine."""
    if spins > 2000:
        _sched_yield()
    return spins + 1
