"""Passes over tetrahedra as phases of a plan: templates that a density makes kernels of.

Positions are float32 rows, in any order of the vertices; the arithmetic of an element is float64. `local` is the local
pass of a quasi-Newton method [liu2017]: with the constant matrix κ volume AᵀA of an element in Y, its share of the
right-hand side is κ volume Aᵀ(F - P/κ), so that Y q - b is the gradient of the true energy, whatever κ is.
"""

from __future__ import annotations

import math

import numpy as np

from ...backends.cpu.arguments import doubles, floats, ints, rows
from ...backends.cpu.compiling import spliced
from ...backends.cpu.lanes import EIGHT
from ...backends.cpu.simd import at
from .elements import pair_block, turned_rows
from .inversion import deformation
from .points import beyond, cofactor_of, square_of
from .svd import svd3

LABEL = "local passes"
BLOCK = 512  # elements whose energies are added up together
COUNT, ROW, PLAIN = 0, 3, 0  # stand-ins, as in `elements`; PLAIN: a density of I1 and J that may go without stretches
FLATTEST = 0.3  # stretch down to which it does


def energy_at(f, s, held):
    """W."""


def stress_at(f, s, held):
    """W and P."""


def curvature_at(f, s, held, positive):
    """U, σ, V and the modes."""


def gradient(a, b, c, s):
    """Slopes of a density of the invariants."""


def hessian(a, b, c, s):
    """Its curvatures."""


@spliced
def local8(t, s, vertices, packed, volumes, stiff, slots, q, out):
    """Whether eight elements were done at once: stand-ins of those of `eights`, for densities that have none."""
    return False


@spliced
def missed8(t, s, vertices, packed, volumes, q, q_old):
    """The same."""
    return False, 0.0


@spliced
def stored8(t, s, vertices, packed, volumes, q):
    """The same."""
    return False, 0.0


@spliced
def diagonal8(t, s, vertices, packed, volumes, slots, q, straight, mixed):
    """The same."""
    return False


@spliced
def pairs8(t, s, vertices, packed, volumes, second, third, q, out):
    """The same."""
    return False


@spliced
def constants_of(t, which, constants, row):
    """What the density's functions take of element t."""
    return constants[which[t] * row : (which[t] + 1) * row]


@spliced
def _corner(p, inverse, at):
    """P b with b a row of the inverse."""
    x, y, z = inverse[at], inverse[at + 1], inverse[at + 2]
    return p[0] * x + p[1] * y + p[2] * z, p[3] * x + p[4] * y + p[5] * z, p[6] * x + p[7] * y + p[8] * z


@spliced
def _put(out, i, x, y, z):
    out[i, 0], out[i, 1], out[i, 2], out[i, 3] = x, y, z, 0.0


def local(
    begin, end, iteration, vertices: ints, inverse: floats, volumes: floats, which: ints, alike: ints, packed: floats,
    constants: doubles, held: doubles, stiff: floats, slots: ints, q: rows, out: rows,
):  # fmt: skip
    """Template: shares of the corners of tetrahedra [begin, end); `stiff` is κ of each."""
    for first in range(begin, end, EIGHT):
        if at(alike, first // EIGHT) == 1 and local8(
            first, constants_of(first, which, constants, COUNT + ROW), vertices, packed, volumes, stiff, slots, q, out
        ):
            continue
        for t in range(first, min(first + EIGHT, end)):
            s = constants_of(t, which, constants, COUNT + ROW)
            f = deformation(t, q, vertices, inverse)
            _, p = stress_at(f, s, held[t])
            v, k = np.float64(volumes[t]), np.float64(stiff[t])
            r = (
                v * (k * f[0] - p[0]), v * (k * f[1] - p[1]), v * (k * f[2] - p[2]),
                v * (k * f[3] - p[3]), v * (k * f[4] - p[4]), v * (k * f[5] - p[5]),
                v * (k * f[6] - p[6]), v * (k * f[7] - p[7]), v * (k * f[8] - p[8]),
            )  # fmt: skip
            ax, ay, az = _corner(r, inverse, 9 * t)
            bx, by, bz = _corner(r, inverse, 9 * t + 3)
            cx, cy, cz = _corner(r, inverse, 9 * t + 6)
            _put(out, slots[4 * t], -(ax + bx + cx), -(ay + by + cy), -(az + bz + cz))
            _put(out, slots[4 * t + 1], ax, ay, az)
            _put(out, slots[4 * t + 2], bx, by, bz)
            _put(out, slots[4 * t + 3], cx, cy, cz)


def missed(
    begin, end, iteration, vertices: ints, inverse: floats, volumes: floats, which: ints, alike: ints, packed: floats,
    constants: doubles, held: doubles, q: rows, q_old: rows, partial: doubles,
):  # fmt: skip
    """Template: what the trapezium rule makes too much of the elements' energy from q_old to q, in blocks (J)."""
    for block in range(begin, end, BLOCK):
        total = 0.0
        for first in range(block, min(block + BLOCK, end), EIGHT):
            if at(alike, first // EIGHT) == 1:
                s = constants_of(first, which, constants, COUNT + ROW)
                done, part = missed8(first, s, vertices, packed, volumes, q, q_old)
                total += part
                if done:
                    continue
            for t in range(first, min(first + EIGHT, end)):
                s = constants_of(t, which, constants, COUNT + ROW)
                f, g = deformation(t, q, vertices, inverse), deformation(t, q_old, vertices, inverse)
                w, p = stress_at(f, s, held[t])
                old, o = stress_at(g, s, held[t])
                work = (p[0] + o[0]) * (f[0] - g[0]) + (p[1] + o[1]) * (f[1] - g[1]) + (p[2] + o[2]) * (f[2] - g[2])
                work += (p[3] + o[3]) * (f[3] - g[3]) + (p[4] + o[4]) * (f[4] - g[4]) + (p[5] + o[5]) * (f[5] - g[5])
                work += (p[6] + o[6]) * (f[6] - g[6]) + (p[7] + o[7]) * (f[7] - g[7]) + (p[8] + o[8]) * (f[8] - g[8])
                total += volumes[t] * (0.5 * work - (w - old))
        partial[block // BLOCK] = total


def stored(
    begin, end, iteration, vertices: ints, inverse: floats, volumes: floats, which: ints, alike: ints, packed: floats,
    constants: doubles, held: doubles, q: rows, partial: doubles,
):  # fmt: skip
    """Template: what the elements store, in blocks (J)."""
    for block in range(begin, end, BLOCK):
        total = 0.0
        for first in range(block, min(block + BLOCK, end), EIGHT):
            if at(alike, first // EIGHT) == 1:
                s = constants_of(first, which, constants, COUNT + ROW)
                done, part = stored8(first, s, vertices, packed, volumes, q)
                total += part
                if done:
                    continue
            for t in range(first, min(first + EIGHT, end)):
                s = constants_of(t, which, constants, COUNT + ROW)
                total += volumes[t] * energy_at(deformation(t, q, vertices, inverse), s, held[t])
        partial[block // BLOCK] = total


@spliced
def _plain_modes(i1, i2, j, d1, dj, h11, hjj, h1j):
    """Curvature of W(I1, J) by F as 2 W₁ I + w ∂cof F + [F cof F] M [F cof F]ᵀ: 2 W₁, w, and M's 11, 1J, JJ.

    No singular values are needed, and what makes it indefinite is taken away here, as far as it can be told apart: M's
    negative eigenvalue, and what of w = W_J would turn the flips and twists 2 W₁ ± w σ over, σ being the largest
    stretch. Near rest little of it changes; `tests/hyperelastic/test_phases.py` says how little.
    """
    third = i1 / 3.0
    p = max(third * third - i2 / 3.0, 0.0)
    root = math.sqrt(p)
    r = third * third * third - i1 * i2 / 6.0 + 0.5 * j * j
    cosine = min(1.0, max(-1.0, r / (p * root))) if p > 0.0 else 1.0
    largest = math.sqrt(third + 2.0 * root * math.cos(math.acos(cosine) / 3.0))
    own = 2.0 * max(d1, 0.0)
    most = own / largest
    a, b, c = 4.0 * h11, 2.0 * h1j, hjj
    mean, apart = 0.5 * (a + c), math.sqrt(0.25 * (a - c) * (a - c) + b * b)
    if mean - apart < 0.0:
        high = max(mean + apart, 0.0)
        x, y = b, high - a
        size = x * x + y * y
        scale = high / size if size > 0.0 else 0.0
        a, b, c = scale * x * x, scale * x * y, scale * y * y
    return own, min(max(dj, -most), most), a, b, c


@spliced
def _times(f, b):
    return (
        f[0] * b[0] + f[1] * b[1] + f[2] * b[2],
        f[3] * b[0] + f[4] * b[1] + f[5] * b[2],
        f[6] * b[0] + f[7] * b[1] + f[8] * b[2],
    )


@spliced
def corners(inverse, at):
    """b of the four corners: three rows of the inverse, and before them minus their sum."""
    b1 = np.float64(inverse[at]), np.float64(inverse[at + 1]), np.float64(inverse[at + 2])
    b2 = np.float64(inverse[at + 3]), np.float64(inverse[at + 4]), np.float64(inverse[at + 5])
    b3 = np.float64(inverse[at + 6]), np.float64(inverse[at + 7]), np.float64(inverse[at + 8])
    return (-b1[0] - b2[0] - b3[0], -b1[1] - b2[1] - b3[1], -b1[2] - b2[2] - b3[2]), b1, b2, b3


@spliced
def plain_block(f, c, modes, a, b):
    """Second derivative by corners with rows a and b: nine scalars row by row."""
    own, w, m11, m1j, mjj = modes
    fa, fb, ca, cb = _times(f, a), _times(f, b), _times(c, a), _times(c, b)
    u = m11 * fb[0] + m1j * cb[0], m11 * fb[1] + m1j * cb[1], m11 * fb[2] + m1j * cb[2]
    v = m1j * fb[0] + mjj * cb[0], m1j * fb[1] + mjj * cb[1], m1j * fb[2] + mjj * cb[2]
    x, y, z = _times(f, (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]))
    even = own * (a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
    return (
        fa[0] * u[0] + ca[0] * v[0] + even, fa[0] * u[1] + ca[0] * v[1] + w * z, fa[0] * u[2] + ca[0] * v[2] - w * y,
        fa[1] * u[0] + ca[1] * v[0] - w * z, fa[1] * u[1] + ca[1] * v[1] + even, fa[1] * u[2] + ca[1] * v[2] + w * x,
        fa[2] * u[0] + ca[2] * v[0] + w * y, fa[2] * u[1] + ca[2] * v[1] - w * x, fa[2] * u[2] + ca[2] * v[2] + even,
    )  # fmt: skip


def plain_at(f, s, held):
    """Template: whether an element goes without stretches; then cof F and its modes."""
    cofactor = cofactor_of(f)
    modes = 0.0, 0.0, 0.0, 0.0, 0.0
    if PLAIN == 0 or held != 0.0:
        return False, cofactor, modes
    i1, i2, j = square_of(f), square_of(cofactor), f[0] * cofactor[0] + f[1] * cofactor[1] + f[2] * cofactor[2]
    if not beyond(i1, i2, j, max(FLATTEST, s[COUNT + 1])):
        return False, cofactor, modes
    d1, _, dj = gradient(i1, i2, j, s)
    h11, _, hjj, _, h1j, _ = hessian(i1, i2, j, s)
    return True, cofactor, _plain_modes(i1, i2, j, d1, dj, h11, hjj, h1j)


def diagonal(
    begin, end, iteration, vertices: ints, inverse: floats, volumes: floats, which: ints, alike: ints, packed: floats,
    constants: doubles, held: doubles, slots: ints, q: rows, straight: rows, mixed: rows,
):  # fmt: skip
    """Template: each corner's own second derivative without negative eigenvalues, xx yy zz and yz xz xy by slots."""
    for first in range(begin, end, EIGHT):
        if at(alike, first // EIGHT) == 1 and diagonal8(
            first,
            constants_of(first, which, constants, COUNT + ROW),
            vertices,
            packed,
            volumes,
            slots,
            q,
            straight,
            mixed,
        ):
            continue
        for t in range(first, min(first + EIGHT, end)):
            s = constants_of(t, which, constants, COUNT + ROW)
            f, v = deformation(t, q, vertices, inverse), np.float64(volumes[t])
            plain, c, modes = plain_at(f, s, held[t])
            if plain:
                b = corners(inverse, 9 * t)
                for k in range(4):
                    _put_own(straight, mixed, slots[4 * t + k], plain_block(f, c, modes, b[k], b[k]), v)
            else:
                d, m = curvature_at(f, s, held[t], True)
                b = turned_rows(d, inverse, 9 * t)
                for k in range(4):
                    _put_own(straight, mixed, slots[4 * t + k], pair_block(d, m, b[k], b[k], 1.0), v)


@spliced
def _put_own(straight, mixed, i, x, v):
    _put(straight, i, v * x[0], v * x[4], v * x[8])
    _put(mixed, i, v * x[5], v * x[2], v * x[1])


def pairs(
    begin, end, iteration, vertices: ints, inverse: floats, volumes: floats, which: ints, alike: ints, packed: floats,
    constants: doubles, held: doubles, second: ints, third: ints, q: rows, out: rows,
):  # fmt: skip
    """Template: second derivatives by corners 01, 02, 03, 12, 13, 23, without negative eigenvalues: three rows each.

    A row has the entries that multiply (x, y, z), (y, z, x) and (z, x, y) of a vector. Those of corner 0 stand together
    in the order of the elements; `second` says where those of 1 begin and `third` that of 2, so that who adds them up,
    vertex by vertex, finds them in a row, too.
    """
    for first in range(begin, end, EIGHT):
        if at(alike, first // EIGHT) == 1 and pairs8(
            first, constants_of(first, which, constants, COUNT + ROW), vertices, packed, volumes, second, third, q, out
        ):
            continue
        for t in range(first, min(first + EIGHT, end)):
            s = constants_of(t, which, constants, COUNT + ROW)
            f, v = deformation(t, q, vertices, inverse), np.float64(volumes[t])
            to = 9 * t, 9 * t + 3, 9 * t + 6, np.int64(second[t]), second[t] + 3, np.int64(third[t])
            plain, c, modes = plain_at(f, s, held[t])
            if plain:
                b, pair = corners(inverse, 9 * t), 0
                for i in range(3):
                    for k in range(i + 1, 4):
                        _put_pair(out, to[pair], plain_block(f, c, modes, b[i], b[k]), v)
                        pair += 1
            else:
                d, m = curvature_at(f, s, held[t], True)
                b, pair = turned_rows(d, inverse, 9 * t), 0
                for i in range(3):
                    for k in range(i + 1, 4):
                        _put_pair(out, to[pair], pair_block(d, m, b[i], b[k], 1.0), v)
                        pair += 1


@spliced
def _put_pair(out, i, x, v):
    _put(out, i, v * x[0], v * x[4], v * x[8])
    _put(out, i + 1, v * x[1], v * x[5], v * x[6])
    _put(out, i + 2, v * x[2], v * x[3], v * x[7])


def hold(
    begin, end, iteration, vertices: ints, inverse: floats, which: ints, constants: doubles, memory: doubles, q: rows,
    held: doubles,
):  # fmt: skip
    """Template: interpolants of the next iteration [fratarcangeli2018, Eq. 45]; `memory` is L."""
    for t in range(begin, end):
        low, high = constants[which[t] * (COUNT + ROW) + COUNT], constants[which[t] * (COUNT + ROW) + COUNT + 1]
        f = deformation(t, q, vertices, inverse)
        least = svd3(f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8])[11]
        held[t] = min(1.0, max(0.0, held[t] - memory[0], (high - least) / (high - low)))
