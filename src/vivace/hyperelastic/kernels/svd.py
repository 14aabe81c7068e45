"""F = U diag(σ) Vᵀ of 3 x 3 matrices, with rotations U and V: the form that invertible elements need.

Singular values are σ₁ ≥ σ₂ ≥ |σ₃|, and σ₃ has the sign of det F [irving2004]. With the stretches of an inverted element
told apart by that sign, its energy knows the way back.

The method is Hestenes' one-sided Jacobi iteration: columns of B = F V are turned against each other until they are
orthogonal, then σᵢ = |bᵢ|. [fratarcangeli2018, section 3.4] takes [mcadams2011] instead, which turns FᵀF: that squares
the condition, and a flat element loses half of its digits. Here every singular value keeps its own, however small it is
beside the others, and the last axes are made by the right-hand rule, so that U and V are rotations for flat, line-like
and zero matrices too. float32 and float64 alike; matrices are nine scalars, row by row, and nothing is allocated.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import compiled, function, spliced
from ...backends.cpu.vectors import like

SWEEPS = 30  # a bound for what is not a number; four or five are usual


@spliced
def _angle(a, b, g):
    """Cosine and sine of the turn that makes columns of squares a and b and product g orthogonal."""
    one = like(a, 1.0)
    zeta = (b - a) / (g + g)
    t = one / (abs(zeta) + np.sqrt(one + zeta * zeta))
    if zeta < like(a, 0.0):
        t = -t
    c = one / np.sqrt(one + t * t)
    return c, c * t


@spliced
def _turn(c, s, x, y, z, p, q, r):
    """Columns (x, y, z) and (p, q, r) after the turn."""
    return c * x - s * p, c * y - s * q, c * z - s * r, s * x + c * p, s * y + c * q, s * z + c * r


@spliced
def _across(x, y, z, p, q, r):
    """A unit vector across the unit vector (x, y, z): what of (p, q, r) is, which must not be along it."""
    along = x * p + y * q + z * r
    p, q, r = p - along * x, q - along * y, r - along * z
    size = np.sqrt(p * p + q * q + r * r)
    return p / size, q / size, r / size


@function
def svd3(f00, f01, f02, f10, f11, f12, f20, f21, f22):
    """U (nine scalars, row by row), σ (three) and V (nine) of F, as one tuple of 21."""
    zero, one = like(f00, 0.0), like(f00, 1.0)
    double = one + like(f00, 1e-9) != one
    # squares of relative cosines below which columns are orthogonal, and of lengths below which one has no direction
    tolerance = like(f00, 1e-30) if double else like(f00, 3e-14)
    vanishing = like(f00, 1e-290) if double else like(f00, 1e-35)
    largest = max(abs(f00), abs(f01), abs(f02), abs(f10), abs(f11), abs(f12), abs(f20), abs(f21), abs(f22))
    scale = one
    if (largest > like(f00, 16.0) or largest < like(f00, 0.0625)) and largest > zero:
        scale = largest  # so that squares neither overflow nor vanish
        f00, f01, f02 = f00 / scale, f01 / scale, f02 / scale
        f10, f11, f12 = f10 / scale, f11 / scale, f12 / scale
        f20, f21, f22 = f20 / scale, f21 / scale, f22 / scale
    v00, v01, v02, v10, v11, v12, v20, v21, v22 = one, zero, zero, zero, one, zero, zero, zero, one
    for _ in range(SWEEPS):
        settled = True
        a, b = f00 * f00 + f10 * f10 + f20 * f20, f01 * f01 + f11 * f11 + f21 * f21
        g = f00 * f01 + f10 * f11 + f20 * f21
        if g * g > tolerance * a * b:
            settled = False
            c, s = _angle(a, b, g)
            f00, f10, f20, f01, f11, f21 = _turn(c, s, f00, f10, f20, f01, f11, f21)
            v00, v10, v20, v01, v11, v21 = _turn(c, s, v00, v10, v20, v01, v11, v21)
        a, b = f00 * f00 + f10 * f10 + f20 * f20, f02 * f02 + f12 * f12 + f22 * f22
        g = f00 * f02 + f10 * f12 + f20 * f22
        if g * g > tolerance * a * b:
            settled = False
            c, s = _angle(a, b, g)
            f00, f10, f20, f02, f12, f22 = _turn(c, s, f00, f10, f20, f02, f12, f22)
            v00, v10, v20, v02, v12, v22 = _turn(c, s, v00, v10, v20, v02, v12, v22)
        a, b = f01 * f01 + f11 * f11 + f21 * f21, f02 * f02 + f12 * f12 + f22 * f22
        g = f01 * f02 + f11 * f12 + f21 * f22
        if g * g > tolerance * a * b:
            settled = False
            c, s = _angle(a, b, g)
            f01, f11, f21, f02, f12, f22 = _turn(c, s, f01, f11, f21, f02, f12, f22)
            v01, v11, v21, v02, v12, v22 = _turn(c, s, v01, v11, v21, v02, v12, v22)
        if settled:
            break
    # the longest column first; one of two that change places is turned round, so that V stays a rotation
    a, b = f00 * f00 + f10 * f10 + f20 * f20, f01 * f01 + f11 * f11 + f21 * f21
    g = f02 * f02 + f12 * f12 + f22 * f22
    if a < b:
        f00, f10, f20, f01, f11, f21, a, b = f01, f11, f21, -f00, -f10, -f20, b, a
        v00, v10, v20, v01, v11, v21 = v01, v11, v21, -v00, -v10, -v20
    if a < g:
        f00, f10, f20, f02, f12, f22, a, g = f02, f12, f22, -f00, -f10, -f20, g, a
        v00, v10, v20, v02, v12, v22 = v02, v12, v22, -v00, -v10, -v20
    if b < g:
        f01, f11, f21, f02, f12, f22, b, g = f02, f12, f22, -f01, -f11, -f21, g, b
        v01, v11, v21, v02, v12, v22 = v02, v12, v22, -v01, -v11, -v21
    first, second = np.sqrt(a), np.sqrt(b)
    u00, u10, u20 = v00, v10, v20  # where F is zero, U = V: of all rotations the one that turns nothing
    if first > zero:
        u00, u10, u20 = f00 / first, f10 / first, f20 / first
    if b > vanishing:
        u01, u11, u21 = _across(u00, u10, u20, f01, f11, f21)
    elif abs(u00 * v01 + u10 * v11 + u20 * v21) < like(f00, 0.75):  # a line: any direction across it will do
        u01, u11, u21 = _across(u00, u10, u20, v01, v11, v21)
    else:
        u01, u11, u21 = _across(u00, u10, u20, v02, v12, v22)
    u02, u12, u22 = u10 * u21 - u20 * u11, u20 * u01 - u00 * u21, u00 * u11 - u10 * u01
    third = u02 * f02 + u12 * f12 + u22 * f22
    third = max(min(third, second), -second)  # which rounding may make it exceed, by a unit
    return (
        u00, u01, u02, u10, u11, u12, u20, u21, u22,
        scale * first, scale * second, scale * third,
        v00, v01, v02, v10, v11, v12, v20, v21, v22,
    )  # fmt: skip


@function
def polar3(f00, f01, f02, f10, f11, f12, f20, f21, f22):
    """The rotation R = U Vᵀ nearest to F, nine scalars row by row."""
    d = svd3(f00, f01, f02, f10, f11, f12, f20, f21, f22)
    return (
        d[0] * d[12] + d[1] * d[13] + d[2] * d[14],
        d[0] * d[15] + d[1] * d[16] + d[2] * d[17],
        d[0] * d[18] + d[1] * d[19] + d[2] * d[20],
        d[3] * d[12] + d[4] * d[13] + d[5] * d[14],
        d[3] * d[15] + d[4] * d[16] + d[5] * d[17],
        d[3] * d[18] + d[4] * d[19] + d[5] * d[20],
        d[6] * d[12] + d[7] * d[13] + d[8] * d[14],
        d[6] * d[15] + d[7] * d[16] + d[8] * d[17],
        d[6] * d[18] + d[7] * d[19] + d[8] * d[20],
    )


@compiled
def svd_all(f, u, sigma, v):
    """`svd3` of every matrix of f (m, 9), into u (m, 9), sigma (m, 3) and v (m, 9)."""
    for e in range(f.shape[0]):
        d = svd3(f[e, 0], f[e, 1], f[e, 2], f[e, 3], f[e, 4], f[e, 5], f[e, 6], f[e, 7], f[e, 8])
        for k in range(9):
            u[e, k] = d[k]
            v[e, k] = d[12 + k]
        for k in range(3):
            sigma[e, k] = d[9 + k]


@compiled
def polar_all(f, r):
    """`polar3` of every matrix of f (m, 9), into r (m, 9)."""
    for e in range(f.shape[0]):
        d = polar3(f[e, 0], f[e, 1], f[e, 2], f[e, 3], f[e, 4], f[e, 5], f[e, 6], f[e, 7], f[e, 8])
        for k in range(9):
            r[e, k] = d[k]
