"""Derivatives of a density that tells its value only, by central differences of sixth order.

With steps of half a per cent truncation and rounding both leave about 1e-13 of a slope; of a curvature, with steps of
one per cent, about 1e-11. Nothing is asked of the density but to be smooth, and to have values
within three per cent of where it is asked.
"""

from __future__ import annotations

from ...backends.cpu.compiling import spliced

FIRST, SECOND = 0.005, 0.01  # steps, relative


def value(a, b, c, s):
    """Stand-in for the density."""


def gradient(a, b, c, s):
    """Stand-in for its slopes."""


@spliced
def _step(x, share):
    return share * max(abs(x), 0.1)


def gradient_by_differences(a, b, c, s):
    """Template: three slopes."""
    h = _step(a, FIRST)
    da = 45.0 * (value(a + h, b, c, s) - value(a - h, b, c, s)) - 9.0 * (
        value(a + 2.0 * h, b, c, s) - value(a - 2.0 * h, b, c, s)
    )
    da = (da + value(a + 3.0 * h, b, c, s) - value(a - 3.0 * h, b, c, s)) / (60.0 * h)
    h = _step(b, FIRST)
    db = 45.0 * (value(a, b + h, c, s) - value(a, b - h, c, s)) - 9.0 * (
        value(a, b + 2.0 * h, c, s) - value(a, b - 2.0 * h, c, s)
    )
    db = (db + value(a, b + 3.0 * h, c, s) - value(a, b - 3.0 * h, c, s)) / (60.0 * h)
    h = _step(c, FIRST)
    dc = 45.0 * (value(a, b, c + h, s) - value(a, b, c - h, s)) - 9.0 * (
        value(a, b, c + 2.0 * h, s) - value(a, b, c - 2.0 * h, s)
    )
    dc = (dc + value(a, b, c + 3.0 * h, s) - value(a, b, c - 3.0 * h, s)) / (60.0 * h)
    return da, db, dc


def hessian_by_differences(a, b, c, s):
    """Template: six curvatures, from differences of the slopes: aa, bb, cc, bc, ac, ab."""
    aa, bb, cc, bc, cb, ac, ca, ab, ba = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(3):
        weight = 0.75 if k == 0 else -0.15 if k == 1 else 1.0 / 60.0
        h = (k + 1.0) * _step(a, SECOND)
        scale = weight / _step(a, SECOND)
        up, down = gradient(a + h, b, c, s), gradient(a - h, b, c, s)
        aa, ab, ac = aa + scale * (up[0] - down[0]), ab + scale * (up[1] - down[1]), ac + scale * (up[2] - down[2])
        h = (k + 1.0) * _step(b, SECOND)
        scale = weight / _step(b, SECOND)
        up, down = gradient(a, b + h, c, s), gradient(a, b - h, c, s)
        ba, bb, bc = ba + scale * (up[0] - down[0]), bb + scale * (up[1] - down[1]), bc + scale * (up[2] - down[2])
        h = (k + 1.0) * _step(c, SECOND)
        scale = weight / _step(c, SECOND)
        up, down = gradient(a, b, c + h, s), gradient(a, b, c - h, s)
        ca, cb, cc = ca + scale * (up[0] - down[0]), cb + scale * (up[1] - down[1]), cc + scale * (up[2] - down[2])
    return aa, bb, cc, 0.5 * (bc + cb), 0.5 * (ac + ca), 0.5 * (ab + ba)
