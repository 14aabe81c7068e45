"""Stretches that may be compressed to nothing and beyond: conversion of any density to that of projective dynamics.

`hyperelastic/inversion.py` has the equations. The constants of a converted density are those of the density, and then
low, high and stiffness: s[COUNT], s[COUNT + 1], s[COUNT + 2].
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import compiled, spliced
from .svd import svd3

COUNT = 0  # stand-ins


def value(x, y, z, s):
    """Density."""


def gradient(x, y, z, s):
    """Its three slopes."""


def hessian(x, y, z, s):
    """Its six curvatures."""


@spliced
def share(stretch, low, high):
    """l: 0 above `high`, 1 below `low`, a cubic between them whose slope is zero at both ends."""
    t = (high - stretch) / (high - low)
    t = min(max(t, 0.0), 1.0)
    return t * t * (3.0 - 2.0 * t)


@spliced
def limited(stretch, low, high):
    """φ, with φ' = 1 - l; and Σ/k, the integral of 2 l (σ - 1), which is what the other density stores."""
    if stretch >= high:
        return stretch, 0.0
    width = high - low
    t = min((high - stretch) / width, 1.0)
    c = t * t * t
    stored = 2.0 * width * ((1.0 - high) * c * (1.0 - 0.5 * t) + width * c * t * (0.75 - 0.4 * t))
    if stretch < low:
        stored += (stretch - 1.0) ** 2 - (low - 1.0) ** 2
    return high - width * (t - c * (1.0 - 0.5 * t)), stored


@spliced
def _steepness(stretch, low, high):
    """-dl/dσ."""
    t = min(max((high - stretch) / (high - low), 0.0), 1.0)
    return 6.0 * t * (1.0 - t) / (high - low)


def converted_value(x, y, z, s):
    """Template: W(φ(σ)) + k Σ ∫ 2 l (σ - 1)."""
    low, high, k = s[COUNT], s[COUNT + 1], s[COUNT + 2]
    x, px = limited(x, low, high)
    y, py = limited(y, low, high)
    z, pz = limited(z, low, high)
    return value(x, y, z, s) + k * (px + py + pz)


def converted_gradient(x, y, z, s):
    """Template: (1 - lᵢ) Wᵢ(φ(σ)) + lᵢ 2 k (σᵢ - 1)."""
    low, high, k = s[COUNT], s[COUNT + 1], 2.0 * s[COUNT + 2]
    gx, gy, gz = gradient(limited(x, low, high)[0], limited(y, low, high)[0], limited(z, low, high)[0], s)
    lx, ly, lz = share(x, low, high), share(y, low, high), share(z, low, high)
    return (
        (1.0 - lx) * gx + lx * k * (x - 1.0),
        (1.0 - ly) * gy + ly * k * (y - 1.0),
        (1.0 - lz) * gz + lz * k * (z - 1.0),
    )


def converted_hessian(x, y, z, s):
    """Template: the derivatives of `converted_gradient`: xx, yy, zz, yz, xz, xy."""
    low, high, k = s[COUNT], s[COUNT + 1], 2.0 * s[COUNT + 2]
    at_x, at_y, at_z = limited(x, low, high)[0], limited(y, low, high)[0], limited(z, low, high)[0]
    gx, gy, gz = gradient(at_x, at_y, at_z, s)
    hxx, hyy, hzz, hyz, hxz, hxy = hessian(at_x, at_y, at_z, s)
    lx, ly, lz = share(x, low, high), share(y, low, high), share(z, low, high)
    px, py, pz = 1.0 - lx, 1.0 - ly, 1.0 - lz
    return (
        px * px * hxx + _steepness(x, low, high) * (gx - k * (x - 1.0)) + lx * k,
        py * py * hyy + _steepness(y, low, high) * (gy - k * (y - 1.0)) + ly * k,
        pz * pz * hzz + _steepness(z, low, high) * (gz - k * (z - 1.0)) + lz * k,
        py * pz * hyz,
        px * pz * hxz,
        px * py * hxy,
    )


@compiled
def principal_stretches(begin, end, q, vertices, inverse, stretches):
    """σ (m, 3) of tetrahedra [begin, end)."""
    for t in range(begin, end):
        d = svd3(*deformation(t, q, vertices, inverse))
        for k in range(3):
            stretches[t, k] = d[9 + k]


@spliced
def deformation(t, q, vertices, inverse):
    """F of tetrahedron t, nine scalars row by row, in float64; `vertices` and `inverse` are flat.

    `float` would leave a float32 as it is: Numba takes it for a number that is real already.
    """
    i, a, b, c = vertices[4 * t], vertices[4 * t + 1], vertices[4 * t + 2], vertices[4 * t + 3]
    at = 9 * t
    x, y, z = np.float64(q[a, 0] - q[i, 0]), np.float64(q[b, 0] - q[i, 0]), np.float64(q[c, 0] - q[i, 0])
    f00 = x * inverse[at] + y * inverse[at + 3] + z * inverse[at + 6]
    f01 = x * inverse[at + 1] + y * inverse[at + 4] + z * inverse[at + 7]
    f02 = x * inverse[at + 2] + y * inverse[at + 5] + z * inverse[at + 8]
    x, y, z = np.float64(q[a, 1] - q[i, 1]), np.float64(q[b, 1] - q[i, 1]), np.float64(q[c, 1] - q[i, 1])
    f10 = x * inverse[at] + y * inverse[at + 3] + z * inverse[at + 6]
    f11 = x * inverse[at + 1] + y * inverse[at + 4] + z * inverse[at + 7]
    f12 = x * inverse[at + 2] + y * inverse[at + 5] + z * inverse[at + 8]
    x, y, z = np.float64(q[a, 2] - q[i, 2]), np.float64(q[b, 2] - q[i, 2]), np.float64(q[c, 2] - q[i, 2])
    f20 = x * inverse[at] + y * inverse[at + 3] + z * inverse[at + 6]
    f21 = x * inverse[at + 1] + y * inverse[at + 4] + z * inverse[at + 7]
    f22 = x * inverse[at + 2] + y * inverse[at + 5] + z * inverse[at + 8]
    return f00, f01, f02, f10, f11, f12, f20, f21, f22
