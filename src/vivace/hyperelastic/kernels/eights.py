"""Eight tetrahedra at once: what `phases` does with one of a density of the invariants that is not converted.

Each function is tried on eight elements with the same constants and says whether it has done them; if one of them is
flattened, or a density needs singular values, it has not, and they are done one by one. Forces and curvature are
float32: positions are, so that more digits of F would be digits of their rounding. What the trapezium rule makes too
much is a small difference of energies and stays float64.

`packed` has the inverses of rest edges as registers are: nine times eight numbers for every eight elements.
"""

from __future__ import annotations

from ...backends.cpu.compiling import spliced
from ...backends.cpu.lanes import (
    all_positive8,
    differences8,
    larger8,
    load8,
    root8,
    scatter8,
    smaller8,
    splat8,
    spread8,
    sum8,
    where_negative8,
    widened,
)
from .phases import FLATTEST, plain_block
from .points import BARRIER, FREE, SMOOTH, cofactor_of, piola, square_of

COUNT, GUARD = 0, 0  # stand-ins, as in `phases`


def value(a, b, c, s):
    """Density of the invariants."""


def gradient(a, b, c, s):
    """Its slopes."""


def hessian(a, b, c, s):
    """Its curvatures."""


# --- deformation ------------------------------------------------------------------------------------------------------


@spliced
def _edges(t, q, vertices):
    x1, y1, z1 = differences8(q, vertices, t, 1)
    x2, y2, z2 = differences8(q, vertices, t, 2)
    x3, y3, z3 = differences8(q, vertices, t, 3)
    return x1, x2, x3, y1, y2, y3, z1, z2, z3


@spliced
def _inverse(t, packed):
    k = 9 * t
    return (
        load8(packed, k), load8(packed, k + 8), load8(packed, k + 16),
        load8(packed, k + 24), load8(packed, k + 32), load8(packed, k + 40),
        load8(packed, k + 48), load8(packed, k + 56), load8(packed, k + 64),
    )  # fmt: skip


@spliced
def _product(e, b):
    """F, nine scalars row by row."""
    return (
        e[0] * b[0] + e[1] * b[3] + e[2] * b[6],
        e[0] * b[1] + e[1] * b[4] + e[2] * b[7],
        e[0] * b[2] + e[1] * b[5] + e[2] * b[8],
        e[3] * b[0] + e[4] * b[3] + e[5] * b[6],
        e[3] * b[1] + e[4] * b[4] + e[5] * b[7],
        e[3] * b[2] + e[4] * b[5] + e[5] * b[8],
        e[6] * b[0] + e[7] * b[3] + e[8] * b[6],
        e[6] * b[1] + e[7] * b[4] + e[8] * b[7],
        e[6] * b[2] + e[7] * b[5] + e[8] * b[8],
    )


@spliced
def _wide(a):
    return (
        widened(a[0]), widened(a[1]), widened(a[2]), widened(a[3]), widened(a[4]), widened(a[5]),
        widened(a[6]), widened(a[7]), widened(a[8]),
    )  # fmt: skip


@spliced
def _invariants(f):
    c = cofactor_of(f)
    return c, square_of(f), square_of(c), f[0] * c[0] + f[1] * c[1] + f[2] * c[2]


@spliced
def _all_beyond(i1, i2, j, stretch):
    """`points.beyond` of all eight."""
    q = stretch * stretch
    first = smaller8(i1 - 3.0 * q, i2 - 2.0 * q * i1 + 3.0 * q * q)
    return all_positive8(smaller8(first, smaller8(j, j * j - q * (i2 - q * (i1 - q)))))


def are_plain(i1, i2, j, s):
    """Template: whether the density may be taken as it is, in all eight."""
    if GUARD == SMOOTH:
        return _all_beyond(i1, i2, j, s[COUNT + 1])
    if GUARD == BARRIER:
        return all_positive8(j)
    return GUARD == FREE


# --- forces and energies ----------------------------------------------------------------------------------------------


@spliced
def _along(p, b, k):
    """P b with b a row of the inverse."""
    x, y, z = b[k], b[k + 1], b[k + 2]
    return p[0] * x + p[1] * y + p[2] * z, p[3] * x + p[4] * y + p[5] * z, p[6] * x + p[7] * y + p[8] * z


def local8(t, s, vertices, packed, volumes, stiff, slots, q, out):
    """Template: shares of the corners of tetrahedra [t, t + 8), as `phases.local`."""
    b = _inverse(t, packed)
    f = _product(_edges(t, q, vertices), b)
    c, i1, i2, j = _invariants(f)
    if not are_plain(i1, i2, j, s):
        return False
    d1, d2, dj = gradient(i1, i2, j, s)
    p = piola(f, c, i1, d1, d2, dj)
    v, k = load8(volumes, t), load8(stiff, t)
    r = (
        v * (k * f[0] - p[0]), v * (k * f[1] - p[1]), v * (k * f[2] - p[2]),
        v * (k * f[3] - p[3]), v * (k * f[4] - p[4]), v * (k * f[5] - p[5]),
        v * (k * f[6] - p[6]), v * (k * f[7] - p[7]), v * (k * f[8] - p[8]),
    )  # fmt: skip
    x1, y1, z1 = _along(r, b, 0)
    x2, y2, z2 = _along(r, b, 3)
    x3, y3, z3 = _along(r, b, 6)
    scatter8(out, slots, 4 * t, 4, 0, -(x1 + x2 + x3), -(y1 + y2 + y3), -(z1 + z2 + z3))
    scatter8(out, slots, 4 * t + 1, 4, 0, x1, y1, z1)
    scatter8(out, slots, 4 * t + 2, 4, 0, x2, y2, z2)
    scatter8(out, slots, 4 * t + 3, 4, 0, x3, y3, z3)
    return True


@spliced
def _inner(a, b):
    low = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    return low + a[4] * b[4] + a[5] * b[5] + a[6] * b[6] + a[7] * b[7] + a[8] * b[8]


def missed8(t, s, vertices, packed, volumes, q, q_old):
    """Template: what `phases.missed` adds up of tetrahedra [t, t + 8) (J), in float64."""
    b = _wide(_inverse(t, packed))
    f, g = _product(_wide(_edges(t, q, vertices)), b), _product(_wide(_edges(t, q_old, vertices)), b)
    c, i1, i2, j = _invariants(f)
    oc, o1, o2, oj = _invariants(g)
    if not (are_plain(i1, i2, j, s) and are_plain(o1, o2, oj, s)):
        return False, 0.0
    d1, d2, dj = gradient(i1, i2, j, s)
    p = piola(f, c, i1, d1, d2, dj)
    e1, e2, ej = gradient(o1, o2, oj, s)
    o = piola(g, oc, o1, e1, e2, ej)
    moved = (
        f[0] - g[0], f[1] - g[1], f[2] - g[2], f[3] - g[3], f[4] - g[4], f[5] - g[5], f[6] - g[6], f[7] - g[7],
        f[8] - g[8],
    )  # fmt: skip
    work = 0.5 * (_inner(p, moved) + _inner(o, moved))
    return True, sum8(widened(load8(volumes, t)) * (work - (value(i1, i2, j, s) - value(o1, o2, oj, s))))


def stored8(t, s, vertices, packed, volumes, q):
    """Template: what tetrahedra [t, t + 8) store (J), in float64."""
    f = _product(_wide(_edges(t, q, vertices)), _wide(_inverse(t, packed)))
    _, i1, i2, j = _invariants(f)
    if not are_plain(i1, i2, j, s):
        return False, 0.0
    return True, sum8(widened(load8(volumes, t)) * value(i1, i2, j, s))


# --- curvature --------------------------------------------------------------------------------------------------------


@spliced
def _modes(i1, i2, j, d1, dj, h11, hjj, h1j):
    """`phases.plain_modes` of eight. The largest stretch is found by Newton's method, from above and never below it."""
    zero = splat8(i1, 0.0)
    third = i1 * (1.0 / 3.0)
    p = larger8(third * third - i2 * (1.0 / 3.0), zero)
    root = root8(p)
    r = third * third * third - i1 * i2 * (1.0 / 6.0) + 0.5 * j * j
    one = splat8(i1, 1.0)
    turn = smaller8(larger8(r / (p * root + 1e-30), -one), one)
    y = splat8(i1, 2.0)  # y³ - 3 y = 2 cos: the largest eigenvalue of C is I1/3 + y √p
    for _ in range(4):
        y = y - (y * y * y - 3.0 * y - 2.0 * turn) / (3.0 * y * y - 3.0 + 1e-6)
    largest = root8(third + root * larger8(y, one))
    own = 2.0 * larger8(d1 + zero, zero)
    most = own / largest
    a, b, c = 4.0 * h11 + zero, 2.0 * h1j + zero, hjj + zero
    mean, apart = 0.5 * (a + c), root8(0.25 * (a - c) * (a - c) + b * b)
    high = larger8(mean + apart, zero)
    x, z = b, high - a
    scale = high / (x * x + z * z + 1e-30)
    low = mean - apart
    a, b = where_negative8(low, scale * x * x, a), where_negative8(low, scale * x * z, b)
    c = where_negative8(low, scale * z * z, c)
    return own, smaller8(larger8(dj + zero, -most), most), a, b, c


@spliced
def _corners(b):
    """`phases.corners` of eight."""
    b1, b2, b3 = (b[0], b[1], b[2]), (b[3], b[4], b[5]), (b[6], b[7], b[8])
    return (-(b1[0] + b2[0] + b3[0]), -(b1[1] + b2[1] + b3[1]), -(b1[2] + b2[2] + b3[2])), b1, b2, b3


def curvature8(t, s, vertices, packed, q):
    """Template: whether eight elements go without stretches; then F, cof F, rows of their corners and modes."""
    b = _inverse(t, packed)
    f = _product(_edges(t, q, vertices), b)
    c, i1, i2, j = _invariants(f)
    d1, _, dj = gradient(i1, i2, j, s)
    h11, _, hjj, _, h1j, _ = hessian(i1, i2, j, s)
    modes = _modes(i1, i2, j, d1, dj, h11, hjj, h1j)
    return _all_beyond(i1, i2, j, max(FLATTEST, s[COUNT + 1])), f, c, _corners(b), modes


@spliced
def _put_own(straight, mixed, slots, at, x, v):
    scatter8(straight, slots, at, 4, 0, v * x[0], v * x[4], v * x[8])
    scatter8(mixed, slots, at, 4, 0, v * x[5], v * x[2], v * x[1])


def diagonal8(t, s, vertices, packed, volumes, slots, q, straight, mixed):
    """Template: `phases.diagonal` of tetrahedra [t, t + 8)."""
    done, f, c, b, modes = curvature8(t, s, vertices, packed, q)
    if done:
        v = load8(volumes, t)
        _put_own(straight, mixed, slots, 4 * t, plain_block(f, c, modes, b[0], b[0]), v)
        _put_own(straight, mixed, slots, 4 * t + 1, plain_block(f, c, modes, b[1], b[1]), v)
        _put_own(straight, mixed, slots, 4 * t + 2, plain_block(f, c, modes, b[2], b[2]), v)
        _put_own(straight, mixed, slots, 4 * t + 3, plain_block(f, c, modes, b[3], b[3]), v)
    return done


@spliced
def _put_first(out, to, x, v):
    spread8(out, to, 9, v * x[0], v * x[4], v * x[8])
    spread8(out, to + 1, 9, v * x[1], v * x[5], v * x[6])
    spread8(out, to + 2, 9, v * x[2], v * x[3], v * x[7])


@spliced
def _put_other(out, places, t, further, x, v):
    scatter8(out, places, t, 1, further, v * x[0], v * x[4], v * x[8])
    scatter8(out, places, t, 1, further + 1, v * x[1], v * x[5], v * x[6])
    scatter8(out, places, t, 1, further + 2, v * x[2], v * x[3], v * x[7])


def pairs8(t, s, vertices, packed, volumes, second, third, q, out):
    """Template: `phases.pairs` of tetrahedra [t, t + 8)."""
    done, f, c, b, modes = curvature8(t, s, vertices, packed, q)
    if done:
        v = load8(volumes, t)
        _put_first(out, 9 * t, plain_block(f, c, modes, b[0], b[1]), v)
        _put_first(out, 9 * t + 3, plain_block(f, c, modes, b[0], b[2]), v)
        _put_first(out, 9 * t + 6, plain_block(f, c, modes, b[0], b[3]), v)
        _put_other(out, second, t, 0, plain_block(f, c, modes, b[1], b[2]), v)
        _put_other(out, second, t, 3, plain_block(f, c, modes, b[1], b[3]), v)
        _put_other(out, third, t, 0, plain_block(f, c, modes, b[2], b[3]), v)
    return done
