"""Energy, stress and curvature at one deformation gradient F: templates that a density makes functions of.

A density of the invariants needs no singular values: with cof F = ∂J/∂F,

    P = 2 W₁ F + 2 W₂ (I1 F - F FᵀF) + W_J cof F

They are found only where an element is so compressed that its density is converted, which the invariants can tell
without them (`beyond`), and for curvature, where they show which eigenvalues are negative.

What is done with an F that a density is not made for is its GUARD:

    FREE       nothing: it is made for every F
    BARRIER    infinite energy, and no stress, unless det F > 0
    SMOOTH     its stretches are converted one by one, by a function of each alone
    HELD       (1 - l) W + l k Σ (σᵢ - 1)² with an l that is given [fratarcangeli2018, Eq. 46]
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import spliced
from .stretches import clamped3
from .svd import svd3

FREE, BARRIER, SMOOTH, HELD = range(4)
COUNT = GUARD = INVARIANT = POSITIVE = 0  # stand-ins for numbers, and below for functions


def value(a, b, c, s):
    """Density of the invariants, if it is one."""


def gradient(a, b, c, s):
    """Its slopes."""


def slow_value(x, y, z, s):
    """Density of the stretches, converted if it is to be."""


def slow_gradient(x, y, z, s):
    """Its slopes."""


def slow_hessian(x, y, z, s):
    """Its curvatures."""


def slow_pairs(x, y, z, s):
    """Its flips and twists."""


@spliced
def beyond(i1, i2, j, stretch):
    """Whether all principal stretches are greater than `stretch`, exactly: the eigenvalues of C - σ² I are positive.

    They are if, and only if, their elementary symmetric functions are.
    """
    q = stretch * stretch
    above = i1 > 3.0 * q and i2 - 2.0 * q * i1 + 3.0 * q * q > 0.0
    return above and j > 0.0 and j * j - q * (i2 - q * (i1 - q)) > 0.0


@spliced
def cofactor_of(f):
    """cof F of nine scalars."""
    return (
        f[4] * f[8] - f[5] * f[7], f[5] * f[6] - f[3] * f[8], f[3] * f[7] - f[4] * f[6],
        f[7] * f[2] - f[8] * f[1], f[8] * f[0] - f[6] * f[2], f[6] * f[1] - f[7] * f[0],
        f[1] * f[5] - f[2] * f[4], f[2] * f[3] - f[0] * f[5], f[0] * f[4] - f[1] * f[3],
    )  # fmt: skip


@spliced
def square_of(f):
    """‖F‖² of nine scalars."""
    low = f[0] * f[0] + f[1] * f[1] + f[2] * f[2] + f[3] * f[3]
    return low + f[4] * f[4] + f[5] * f[5] + f[6] * f[6] + f[7] * f[7] + f[8] * f[8]


def is_plain(i1, i2, j, s, held):
    """Template: whether a density of the invariants may be taken as it is."""
    if GUARD == SMOOTH:
        return beyond(i1, i2, j, s[COUNT + 1])
    if GUARD == HELD:
        return held == 0.0 and (POSITIVE == 0 or j > 0.0)
    return GUARD == FREE or j > 0.0


def energy_at(f, s, held):
    """Template: W(F)."""
    if INVARIANT == 1:
        cofactor = cofactor_of(f)
        i1, i2, j = square_of(f), square_of(cofactor), f[0] * cofactor[0] + f[1] * cofactor[1] + f[2] * cofactor[2]
        if is_plain(i1, i2, j, s, held):
            return value(i1, i2, j, s)
    d = svd3(f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8])
    return energy_of(d[9], d[10], d[11], s, held)


def energy_of(x, y, z, s, held):
    """Template: W(σ)."""
    whole = 0.0
    if GUARD != HELD or held < 1.0:
        whole = slow_value(x, y, z, s)
        if (GUARD == BARRIER or (GUARD == HELD and POSITIVE == 1)) and z <= 0.0:
            whole = np.inf
    if GUARD == HELD and held > 0.0:
        projective = s[COUNT + 2] * ((x - 1.0) ** 2 + (y - 1.0) ** 2 + (z - 1.0) ** 2)
        whole = held * projective + ((1.0 - held) * whole if held < 1.0 else 0.0)
    return whole


def slopes_of(x, y, z, s, held):
    """Template: ∂W/∂σ."""
    gx, gy, gz = 0.0, 0.0, 0.0
    if not ((GUARD == BARRIER or (GUARD == HELD and POSITIVE == 1)) and z <= 0.0) and (GUARD != HELD or held < 1.0):
        gx, gy, gz = slow_gradient(x, y, z, s)
    if GUARD == HELD and held > 0.0:
        k, rest = 2.0 * held * s[COUNT + 2], 1.0 - held
        gx, gy, gz = rest * gx + k * (x - 1.0), rest * gy + k * (y - 1.0), rest * gz + k * (z - 1.0)
    return gx, gy, gz


def stress_at(f, s, held):
    """Template: W and the first Piola-Kirchhoff stress P = ∂W/∂F, nine scalars row by row."""
    if INVARIANT == 1:
        cofactor = cofactor_of(f)
        i1, i2, j = square_of(f), square_of(cofactor), f[0] * cofactor[0] + f[1] * cofactor[1] + f[2] * cofactor[2]
        if is_plain(i1, i2, j, s, held):
            d1, d2, dj = gradient(i1, i2, j, s)
            return value(i1, i2, j, s), piola(f, cofactor, i1, d1, d2, dj)
    d = svd3(f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8])
    x, y, z = d[9], d[10], d[11]
    gx, gy, gz = slopes_of(x, y, z, s, held)
    return energy_of(x, y, z, s, held), (
        d[0] * d[12] * gx + d[1] * d[13] * gy + d[2] * d[14] * gz,
        d[0] * d[15] * gx + d[1] * d[16] * gy + d[2] * d[17] * gz,
        d[0] * d[18] * gx + d[1] * d[19] * gy + d[2] * d[20] * gz,
        d[3] * d[12] * gx + d[4] * d[13] * gy + d[5] * d[14] * gz,
        d[3] * d[15] * gx + d[4] * d[16] * gy + d[5] * d[17] * gz,
        d[3] * d[18] * gx + d[4] * d[19] * gy + d[5] * d[20] * gz,
        d[6] * d[12] * gx + d[7] * d[13] * gy + d[8] * d[14] * gz,
        d[6] * d[15] * gx + d[7] * d[16] * gy + d[8] * d[17] * gz,
        d[6] * d[18] * gx + d[7] * d[19] * gy + d[8] * d[20] * gz,
    )


@spliced
def piola(f, cofactor, i1, d1, d2, dj):
    """P of the slopes of a density of the invariants: 2 W₁ F + 2 W₂ (I1 F - F FᵀF) + W_J cof F."""
    own = 2.0 * (d1 + d2 * i1)
    p0, p1, p2 = own * f[0] + dj * cofactor[0], own * f[1] + dj * cofactor[1], own * f[2] + dj * cofactor[2]
    p3, p4, p5 = own * f[3] + dj * cofactor[3], own * f[4] + dj * cofactor[4], own * f[5] + dj * cofactor[5]
    p6, p7, p8 = own * f[6] + dj * cofactor[6], own * f[7] + dj * cofactor[7], own * f[8] + dj * cofactor[8]
    if d2 != 0.0:
        c = -2.0 * d2
        c00, c01 = c * (f[0] * f[0] + f[3] * f[3] + f[6] * f[6]), c * (f[0] * f[1] + f[3] * f[4] + f[6] * f[7])
        c11, c02 = c * (f[1] * f[1] + f[4] * f[4] + f[7] * f[7]), c * (f[0] * f[2] + f[3] * f[5] + f[6] * f[8])
        c22, c12 = c * (f[2] * f[2] + f[5] * f[5] + f[8] * f[8]), c * (f[1] * f[2] + f[4] * f[5] + f[7] * f[8])
        p0, p1 = p0 + f[0] * c00 + f[1] * c01 + f[2] * c02, p1 + f[0] * c01 + f[1] * c11 + f[2] * c12
        p2, p3 = p2 + f[0] * c02 + f[1] * c12 + f[2] * c22, p3 + f[3] * c00 + f[4] * c01 + f[5] * c02
        p4, p5 = p4 + f[3] * c01 + f[4] * c11 + f[5] * c12, p5 + f[3] * c02 + f[4] * c12 + f[5] * c22
        p6, p7 = p6 + f[6] * c00 + f[7] * c01 + f[8] * c02, p7 + f[6] * c01 + f[7] * c11 + f[8] * c12
        p8 = p8 + f[6] * c02 + f[7] * c12 + f[8] * c22
    return p0, p1, p2, p3, p4, p5, p6, p7, p8


def curvature_at(f, s, held, positive):
    """Template: the 21 scalars of `svd3`, then six of scales, three of flips and three of twists.

    `positive`: without negative eigenvalues. Then what projective dynamics has a share in is its constant matrix, which
    is more than its Hessian [fratarcangeli2018, Eq. 47]; there the factor 2 of ∂²/∂σ² (σ - 1)² is missing.
    """
    d = svd3(f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8])
    x, y, z = d[9], d[10], d[11]
    xx, yy, zz, yz, xz, xy, fyz, fxz, fxy, tyz, txz, txy = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if not ((GUARD == BARRIER or (GUARD == HELD and POSITIVE == 1)) and z <= 0.0) and (GUARD != HELD or held < 1.0):
        xx, yy, zz, yz, xz, xy = slow_hessian(x, y, z, s)
        fyz, fxz, fxy, tyz, txz, txy = slow_pairs(x, y, z, s)
    if positive:
        xx, yy, zz, yz, xz, xy = clamped3(xx, yy, zz, yz, xz, xy)
        fyz, fxz, fxy = max(fyz, 0.0), max(fxz, 0.0), max(fxy, 0.0)
        tyz, txz, txy = max(tyz, 0.0), max(txz, 0.0), max(txy, 0.0)
    if GUARD == HELD and held > 0.0:
        k, rest = 2.0 * held * s[COUNT + 2], 1.0 - held
        xx, yy, zz, yz, xz, xy = rest * xx + k, rest * yy + k, rest * zz + k, rest * yz, rest * xz, rest * xy
        fyz, fxz, fxy = rest * fyz + k, rest * fxz + k, rest * fxy + k
        ky, kz, kx = k, k, k
        if not positive:
            kx, ky, kz = k * _twisted(y, z), k * _twisted(x, z), k * _twisted(x, y)
        tyz, txz, txy = rest * tyz + kx, rest * txz + ky, rest * txy + kz
    return d, (xx, yy, zz, yz, xz, xy, fyz, fxz, fxy, tyz, txz, txy)


@spliced
def _twisted(a, b):
    """(a - 1 + b - 1)/(a + b), as `stretches` has it of every density."""
    total = a + b
    least = 1e-9 * (abs(a) + abs(b)) + 1e-30
    if abs(total) < least:
        total = least
    return (a + b - 2.0) / total
