"""The arithmetic in which a constraint's maths is written once, whatever it is compiled for.

    number   a float32 or float64; or a float4, the same quantity of four constraints
    vector   a float4 whose fourth lane is zero; or three numbers in a tuple

Solvers hand over rows in vector registers, or four constraints at once; the float64 reference hands over tuples. What a
function makes of its arguments is decided by their types when it is compiled, so that a formula costs in each what it
would cost if it were written out there. Each of them runs in plain Python, too, but for float4.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from .compiling import inlined
from .simd import at, dot4, float4, make4, max4, splat4, sqrt4, yzx4


@inlined
def xyz4(row):
    """The row without its fourth lane."""
    return row * make4(np.float32(1.0), np.float32(1.0), np.float32(1.0), np.float32(0.0))


# --- numbers ----------------------------------------------------------------------------------------------------------


def like(number, value):
    """A constant in the precision of a number."""
    return type(number)(value)


@overload(like, inline="always")
def _like(number, value):
    return (lambda number, value: np.float32(value)) if number == types.float32 else (lambda number, value: value)


def larger(a, b):
    """The larger of two numbers; of four, lane by lane, and then `b` may be one number for all of them."""
    return max(a, b)


@overload(larger, inline="always")
def _larger(a, b):
    if a == float4:
        return (lambda a, b: max4(a, b)) if b == float4 else (lambda a, b: max4(a, splat4(b)))
    return larger


def root(a):
    """The square root."""
    return np.sqrt(a)


@overload(root, inline="always")
def _root(a):
    return (lambda a: sqrt4(a)) if a == float4 else root


# --- vectors ----------------------------------------------------------------------------------------------------------


def dot(a, b):
    """a · b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@overload(dot, inline="always")
def _dot(a, b):
    return (lambda a, b: dot4(a, b)) if a == float4 else dot


def cross(a, b):
    """a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@overload(cross, inline="always")
def _cross(a, b):
    return (lambda a, b: yzx4(a * yzx4(b) - yzx4(a) * b)) if a == float4 else cross


def plus(a, b):
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@overload(plus, inline="always")
def _plus(a, b):
    return (lambda a, b: a + b) if a == float4 else plus


def times(scale, a):
    """scale · a; the scale is in the precision of a (see `like`)."""
    return scale * a[0], scale * a[1], scale * a[2]


@overload(times, inline="always")
def _times(scale, a):
    return (lambda scale, a: scale * a) if a == float4 else times


# --- from arrays and to them ------------------------------------------------------------------------------------------


@inlined
def entry(numbers, c):
    """numbers[c] for a c that is never negative."""
    return at(numbers, c)


@inlined
def edge(x, k):
    """From the first corner of x (k, 3) to corner k, as a vector."""
    return x[k, 0] - x[0, 0], x[k, 1] - x[0, 1], x[k, 2] - x[0, 2]


@inlined
def put4(gradient, g0, g1, g2, g3):
    """Write four vectors to the rows of gradient (4, 3)."""
    for c in range(3):
        gradient[0, c], gradient[1, c], gradient[2, c], gradient[3, c] = g0[c], g1[c], g2[c], g3[c]
