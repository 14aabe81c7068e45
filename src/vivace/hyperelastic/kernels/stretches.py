"""Densities as functions of the principal stretches σ, and the curvature of F that follows from them.

With ψ(σ₁, σ₂, σ₃) = W(U diag(σ) Vᵀ) the second derivative of W by F is diagonal but for one 3 x 3 block, in directions
that only U and V decide [smith2019]:

    scale   uᵢ vᵢᵀ                       the 3 x 3 Hessian of ψ
    flip    (uᵢ vⱼᵀ + uⱼ vᵢᵀ)/√2         (ψᵢ - ψⱼ)/(σᵢ - σⱼ)
    twist   (uᵢ vⱼᵀ - uⱼ vᵢᵀ)/√2         (ψᵢ + ψⱼ)/(σᵢ + σⱼ)

so that setting negative eigenvalues to zero costs one 3 x 3 matrix and six comparisons. Of functions of the invariants
the quotients have closed forms without a denominator. Pairs and mixed derivatives are in the order 23, 13, 12.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import function, spliced

NEAR = 1e-5  # stretches that are closer than this, relative, have their quotient as a derivative


# Stand-ins for what `specialised_with` puts into copies of the templates.
def value(a, b, c, s):
    """Density."""


def gradient(a, b, c, s):
    """Its three slopes."""


def hessian(a, b, c, s):
    """Its six curvatures."""


# --- of invariants ----------------------------------------------------------------------------------------------------


@spliced
def invariants(x, y, z):
    """I1, I2 and J of stretches."""
    a, b, c = x * x, y * y, z * z
    return a + b + c, a * b + b * c + c * a, x * y * z


def invariant_value(x, y, z, s):
    """Template: ψ(σ) of a density of the invariants."""
    i1, i2, j = invariants(x, y, z)
    return value(i1, i2, j, s)


def invariant_gradient(x, y, z, s):
    """Template: its slopes by σ."""
    i1, i2, j = invariants(x, y, z)
    d1, d2, dj = gradient(i1, i2, j, s)
    a, b, c = x * x, y * y, z * z
    return (
        2.0 * x * (d1 + d2 * (b + c)) + dj * y * z,
        2.0 * y * (d1 + d2 * (a + c)) + dj * x * z,
        2.0 * z * (d1 + d2 * (a + b)) + dj * x * y,
    )


def invariant_hessian(x, y, z, s):
    """Template: its curvatures by σ: xx, yy, zz, yz, xz, xy."""
    i1, i2, j = invariants(x, y, z)
    d1, d2, dj = gradient(i1, i2, j, s)
    h11, h22, hjj, h2j, h1j, h12 = hessian(i1, i2, j, s)
    a, b, c = x * x, y * y, z * z
    # rows of the Jacobian: how I1, I2 and J change with each stretch
    x1, x2, xj = 2.0 * x, 2.0 * x * (b + c), y * z
    y1, y2, yj = 2.0 * y, 2.0 * y * (a + c), x * z
    z1, z2, zj = 2.0 * z, 2.0 * z * (a + b), x * y
    return (
        _form(x1, x2, xj, x1, x2, xj, h11, h22, hjj, h2j, h1j, h12) + 2.0 * (d1 + d2 * (b + c)),
        _form(y1, y2, yj, y1, y2, yj, h11, h22, hjj, h2j, h1j, h12) + 2.0 * (d1 + d2 * (a + c)),
        _form(z1, z2, zj, z1, z2, zj, h11, h22, hjj, h2j, h1j, h12) + 2.0 * (d1 + d2 * (a + b)),
        _form(y1, y2, yj, z1, z2, zj, h11, h22, hjj, h2j, h1j, h12) + 4.0 * d2 * y * z + dj * x,
        _form(x1, x2, xj, z1, z2, zj, h11, h22, hjj, h2j, h1j, h12) + 4.0 * d2 * x * z + dj * y,
        _form(x1, x2, xj, y1, y2, yj, h11, h22, hjj, h2j, h1j, h12) + 4.0 * d2 * x * y + dj * z,
    )


@spliced
def _form(a1, a2, a3, b1, b2, b3, h11, h22, h33, h23, h13, h12):
    """aᵀ H b for a symmetric H."""
    return (
        a1 * (h11 * b1 + h12 * b2 + h13 * b3)
        + a2 * (h12 * b1 + h22 * b2 + h23 * b3)
        + a3 * (h13 * b1 + h23 * b2 + h33 * b3)
    )


def invariant_pairs(x, y, z, s):
    """Template: the flips and twists, in closed form: σᵢ - σⱼ and σᵢ + σⱼ divide what is above them."""
    i1, i2, j = invariants(x, y, z)
    d1, d2, dj = gradient(i1, i2, j, s)
    a, b, c = x * x, y * y, z * z
    return (
        2.0 * (d1 + d2 * (a - y * z)) - dj * x,
        2.0 * (d1 + d2 * (b - x * z)) - dj * y,
        2.0 * (d1 + d2 * (c - x * y)) - dj * z,
        2.0 * (d1 + d2 * (a + y * z)) + dj * x,
        2.0 * (d1 + d2 * (b + x * z)) + dj * y,
        2.0 * (d1 + d2 * (c + x * y)) + dj * z,
    )


# --- of stretches -----------------------------------------------------------------------------------------------------


def stretch_pairs(x, y, z, s):
    """Template: the flips and twists of any density of the stretches, as quotients."""
    gx, gy, gz = gradient(x, y, z, s)
    hxx, hyy, hzz, hyz, hxz, hxy = hessian(x, y, z, s)
    return (
        _flip(y, z, gy, gz, hyy, hzz, hyz),
        _flip(x, z, gx, gz, hxx, hzz, hxz),
        _flip(x, y, gx, gy, hxx, hyy, hxy),
        _twist(y, z, gy, gz),
        _twist(x, z, gx, gz),
        _twist(x, y, gx, gy),
    )


@spliced
def _flip(a, b, ga, gb, haa, hbb, hab):
    """(gₐ - g_b)/(a - b). Its limit for a = b, averaged over both ends, is off by their distance squared."""
    if abs(a - b) <= NEAR * (abs(a) + abs(b)):
        return 0.5 * (haa + hbb) - hab
    return (ga - gb) / (a - b)


@spliced
def _twist(a, b, ga, gb):
    """(gₐ + g_b)/(a + b); large, and not infinite, where an inverted element passes through a + b = 0."""
    total = a + b
    least = 1e-9 * (abs(a) + abs(b)) + 1e-30
    if abs(total) < least:
        total = least
    return (ga + gb) / total


# --- positive semidefinite --------------------------------------------------------------------------------------------


@function
def clamped3(xx, yy, zz, yz, xz, xy):
    """The positive semidefinite matrix nearest to a symmetric one, by Jacobi's method; six entries in and out."""
    if yz * yz + xz * xz + xy * xy <= 1e-32 * (xx * xx + yy * yy + zz * zz):
        return max(xx, 0.0), max(yy, 0.0), max(zz, 0.0), 0.0, 0.0, 0.0
    minor = xx * yy - xy * xy
    least = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz)
    if xx > 0.0 and minor > 0.0 and least > 0.0:
        return xx, yy, zz, yz, xz, xy
    a, b, c, d, e, f = xx, yy, zz, yz, xz, xy
    v00, v01, v02, v10, v11, v12, v20, v21, v22 = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0
    for _ in range(12):
        if d * d + e * e + f * f <= 1e-32 * (a * a + b * b + c * c):
            break
        if f != 0.0:
            k, t, n = _jacobi(a, b, f)
            a, b, f, e, d = a - t * f, b + t * f, 0.0, k * e - n * d, n * e + k * d
            v00, v01, v10, v11 = k * v00 - n * v01, n * v00 + k * v01, k * v10 - n * v11, n * v10 + k * v11
            v20, v21 = k * v20 - n * v21, n * v20 + k * v21
        if e != 0.0:
            k, t, n = _jacobi(a, c, e)
            a, c, e, f, d = a - t * e, c + t * e, 0.0, k * f - n * d, n * f + k * d
            v00, v02, v10, v12 = k * v00 - n * v02, n * v00 + k * v02, k * v10 - n * v12, n * v10 + k * v12
            v20, v22 = k * v20 - n * v22, n * v20 + k * v22
        if d != 0.0:
            k, t, n = _jacobi(b, c, d)
            b, c, d, f, e = b - t * d, c + t * d, 0.0, k * f - n * e, n * f + k * e
            v01, v02, v11, v12 = k * v01 - n * v02, n * v01 + k * v02, k * v11 - n * v12, n * v11 + k * v12
            v21, v22 = k * v21 - n * v22, n * v21 + k * v22
    a, b, c = max(a, 0.0), max(b, 0.0), max(c, 0.0)
    return (
        a * v00 * v00 + b * v01 * v01 + c * v02 * v02,
        a * v10 * v10 + b * v11 * v11 + c * v12 * v12,
        a * v20 * v20 + b * v21 * v21 + c * v22 * v22,
        a * v10 * v20 + b * v11 * v21 + c * v12 * v22,
        a * v00 * v20 + b * v01 * v21 + c * v02 * v22,
        a * v00 * v10 + b * v01 * v11 + c * v02 * v12,
    )


@spliced
def _jacobi(p, q, g):
    """Cosine, tangent and sine of the turn that takes away the entry g between diagonal entries p and q."""
    theta = (q - p) / (2.0 * g)
    t = 1.0 / (abs(theta) + np.sqrt(theta * theta + 1.0))
    if theta < 0.0:
        t = -t
    c = 1.0 / np.sqrt(t * t + 1.0)
    return c, t, c * t
