"""Passes over tetrahedra as phases of a plan: templates that a density makes kernels of.

Positions are float32 rows, in any order of the vertices; the arithmetic of an element is float64. `local` is the local
pass of a quasi-Newton method [liu2017]: with the constant matrix κ volume AᵀA of an element in Y, its share of the
right-hand side is κ volume Aᵀ(F - P/κ), so that Y q - b is the gradient of the true energy, whatever κ is.
"""

from __future__ import annotations

from ...backends.cpu.arguments import doubles, floats, ints, rows
from ...backends.cpu.compiling import spliced
from .elements import pair_block, turned_rows
from .inversion import deformation
from .svd import svd3

LABEL = "local passes"
BLOCK = 512  # elements whose energies are added up together
COUNT, ROW = 0, 3  # stand-ins, as in `elements`


def stress_at(f, s, held):
    """W and P."""


def curvature_at(f, s, held, positive):
    """U, σ, V and the modes."""


@spliced
def _corner(p, inverse, at):
    """P b with b a row of the inverse."""
    x, y, z = inverse[at], inverse[at + 1], inverse[at + 2]
    return p[0] * x + p[1] * y + p[2] * z, p[3] * x + p[4] * y + p[5] * z, p[6] * x + p[7] * y + p[8] * z


@spliced
def _put(out, i, x, y, z):
    out[i, 0], out[i, 1], out[i, 2], out[i, 3] = x, y, z, 0.0


def local(
    begin, end, iteration, vertices: ints, inverse: floats, volumes: floats, which: ints, constants: doubles,
    held: doubles, stiff: floats, slots: ints, q: rows, out: rows,
):  # fmt: skip
    """Template: shares of the corners of tetrahedra [begin, end); `stiff` is κ of each."""
    for t in range(begin, end):
        s = constants[which[t] * (COUNT + ROW) : (which[t] + 1) * (COUNT + ROW)]
        f = deformation(t, q, vertices, inverse)
        _, p = stress_at(f, s, held[t])
        v, k = float(volumes[t]), float(stiff[t])
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
    begin, end, iteration, vertices: ints, inverse: floats, volumes: floats, which: ints, constants: doubles,
    held: doubles, q: rows, q_old: rows, partial: doubles,
):  # fmt: skip
    """Template: what the trapezium rule makes too much of the elements' energy from q_old to q, in blocks (J)."""
    for block in range(begin, end, BLOCK):
        total = 0.0
        for t in range(block, min(block + BLOCK, end)):
            s = constants[which[t] * (COUNT + ROW) : (which[t] + 1) * (COUNT + ROW)]
            f, g = deformation(t, q, vertices, inverse), deformation(t, q_old, vertices, inverse)
            w, p = stress_at(f, s, held[t])
            old, o = stress_at(g, s, held[t])
            work = (p[0] + o[0]) * (f[0] - g[0]) + (p[1] + o[1]) * (f[1] - g[1]) + (p[2] + o[2]) * (f[2] - g[2])
            work += (p[3] + o[3]) * (f[3] - g[3]) + (p[4] + o[4]) * (f[4] - g[4]) + (p[5] + o[5]) * (f[5] - g[5])
            work += (p[6] + o[6]) * (f[6] - g[6]) + (p[7] + o[7]) * (f[7] - g[7]) + (p[8] + o[8]) * (f[8] - g[8])
            total += volumes[t] * (0.5 * work - (w - old))
        partial[block // BLOCK] = total


def diagonal(
    begin, end, iteration, vertices: ints, inverse: floats, volumes: floats, which: ints, constants: doubles,
    held: doubles, slots: ints, q: rows, straight: rows, mixed: rows,
):  # fmt: skip
    """Template: each corner's own second derivative without negative eigenvalues, xx yy zz and yz xz xy by slots."""
    for t in range(begin, end):
        s = constants[which[t] * (COUNT + ROW) : (which[t] + 1) * (COUNT + ROW)]
        d, m = curvature_at(deformation(t, q, vertices, inverse), s, held[t], True)
        b = turned_rows(d, inverse, 9 * t)
        for k in range(4):
            x = pair_block(d, m, b[k], b[k], float(volumes[t]))
            _put(straight, slots[4 * t + k], x[0], x[4], x[8])
            _put(mixed, slots[4 * t + k], x[5], x[2], x[1])


def pairs(
    begin, end, iteration, vertices: ints, inverse: floats, volumes: floats, which: ints, constants: doubles,
    held: doubles, q: rows, out: rows,
):  # fmt: skip
    """Template: second derivatives by corners 01, 02, 03, 12, 13, 23, without negative eigenvalues: three rows each.

    A row has the entries that multiply (x, y, z), (y, z, x) and (z, x, y) of a vector.
    """
    for t in range(begin, end):
        s = constants[which[t] * (COUNT + ROW) : (which[t] + 1) * (COUNT + ROW)]
        d, m = curvature_at(deformation(t, q, vertices, inverse), s, held[t], True)
        b, at = turned_rows(d, inverse, 9 * t), 18 * t
        for i in range(3):
            for k in range(i + 1, 4):
                x = pair_block(d, m, b[i], b[k], float(volumes[t]))
                _put(out, at, x[0], x[4], x[8])
                _put(out, at + 1, x[1], x[5], x[6])
                _put(out, at + 2, x[2], x[3], x[7])
                at += 3


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
