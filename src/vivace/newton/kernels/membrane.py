"""Singular values of a deformation gradient of three rows and two columns, and the nearest ones of area 1."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import function

ROUNDS = 20  # of Newton's method, which needs about five
SMALLEST = 1e-10  # of a singular value that has a direction


@function
def _dot(a0, a1, a2, b0, b1, b2):
    return a0 * b0 + a1 * b1 + a2 * b2


@function
def _across(x, y, z):
    """A unit vector across a unit vector."""
    if abs(x) <= min(abs(y), abs(z)):
        a, b, c = 1.0 - x * x, -x * y, -x * z
    elif abs(y) <= abs(z):
        a, b, c = -y * x, 1.0 - y * y, -y * z
    else:
        a, b, c = -z * x, -z * y, 1.0 - z * z
    size = np.sqrt(_dot(a, b, c, a, b, c))
    return a / size, b / size, c / size


@function
def decomposed(z):
    """σ₁ ≥ σ₂ of F = zᵀ, cosine and sine of the first right singular vector, and both left ones."""
    x0, x1, x2 = np.float64(z[0, 0]), np.float64(z[0, 1]), np.float64(z[0, 2])
    y0, y1, y2 = np.float64(z[1, 0]), np.float64(z[1, 1]), np.float64(z[1, 2])
    double = 2.0 * _dot(x0, x1, x2, y0, y1, y2)
    more = _dot(x0, x1, x2, x0, x1, x2) - _dot(y0, y1, y2, y0, y1, y2)
    size = np.sqrt(more * more + double * double)
    c, s = (
        np.float64(1.0),
        np.float64(0.0),
    )  # the first principal axis of FᵀF: half the angle whose tangent is double/more
    if size > SMALLEST * SMALLEST:
        if more >= 0.0:
            c = np.sqrt(0.5 + 0.5 * more / size)
            s = 0.5 * double / (size * c)
        else:
            s = np.sqrt(0.5 - 0.5 * more / size)
            c = 0.5 * double / (size * s)
    a0, a1, a2 = c * x0 + s * y0, c * x1 + s * y1, c * x2 + s * y2
    b0, b1, b2 = c * y0 - s * x0, c * y1 - s * x1, c * y2 - s * x2
    first = np.sqrt(_dot(a0, a1, a2, a0, a1, a2))
    if first > SMALLEST:
        a0, a1, a2 = a0 / first, a1 / first, a2 / first
    else:  # a point: any direction will do
        a0, a1, a2 = 1.0, 0.0, 0.0
    along = _dot(a0, a1, a2, b0, b1, b2)  # rounding
    b0, b1, b2 = b0 - along * a0, b1 - along * a1, b2 - along * a2
    second = np.sqrt(_dot(b0, b1, b2, b0, b1, b2))
    if second > SMALLEST + 1e-6 * first:
        b0, b1, b2 = b0 / second, b1 / second, b2 / second
    else:  # a line: any direction across it
        b0, b1, b2 = _across(a0, a1, a2)
    return first, second, c, s, a0, a1, a2, b0, b1, b2


@function
def composed(first, second, c, s, a0, a1, a2, b0, b1, b2, p):
    """The matrix of these singular values and vectors, transposed, in p."""
    p[0, 0], p[0, 1], p[0, 2] = (
        first * c * a0 - second * s * b0,
        first * c * a1 - second * s * b1,
        first * c * a2 - second * s * b2,
    )
    p[1, 0], p[1, 1], p[1, 2] = (
        first * s * a0 + second * c * b0,
        first * s * a1 + second * c * b1,
        first * s * a2 + second * c * b2,
    )


@function
def nearest_area(a, b):
    """x ≥ 1 such that (x, 1/x) is the nearest point to (a, b), a ≥ b ≥ 0, on the hyperbola of area 1.

    It is a root of x⁴ - a x³ + b x - 1, which is convex from there on and positive at the ends that we begin from, so
    that Newton's method comes down to it without fail.
    """
    short = 1.0 - a * b
    x = a if short <= 0.0 else a + min(1.0, short / max(a * a * a, SMALLEST))
    for _ in range(ROUNDS):
        step = (((x - a) * x * x + b) * x - 1.0) / ((4.0 * x - 3.0 * a) * x * x + b)
        x -= step
        if abs(step) <= 1e-8 * x:
            break
    return max(x, 1.0)
