"""Schemes with a matrix: each contact reads the impulses of all that it depends on, and no body [thesis2010, 3.3, 3.4].

The matrix has blocks of 4 x 4 in compressed rows. It is A, with R beside it (figure 3.5), or T = 1 - R A, which has R
inside (3.12).
"""

from __future__ import annotations

import numpy as np

from ....backends.cpu.arguments import doubles, ints, phase_kernel
from ....backends.cpu.compiling import function
from ....rigid.kernels.proximal import project_friction
from .factorised import larger_of

LABEL = "contact sweeps"
LAW = 4  # coefficients of friction along s and t and of spin, and the kind of set


@function
def times_row(starts, columns, matrix, impulses, k):
    """Row k of the matrix times all impulses."""
    n = s = t = r = 0.0
    for e in range(starts[k], starts[k + 1]):
        o, at = 16 * e, 4 * columns[e]
        x, y, z, u = impulses[at], impulses[at + 1], impulses[at + 2], impulses[at + 3]
        n += matrix[o] * x + matrix[o + 1] * y + matrix[o + 2] * z + matrix[o + 3] * u
        s += matrix[o + 4] * x + matrix[o + 5] * y + matrix[o + 6] * z + matrix[o + 7] * u
        t += matrix[o + 8] * x + matrix[o + 9] * y + matrix[o + 10] * z + matrix[o + 11] * u
        r += matrix[o + 12] * x + matrix[o + 13] * y + matrix[o + 14] * z + matrix[o + 15] * u
    return n, s, t, r


@function
def project(laws, k, n, s, t, r):
    """Onto the legal impulses of contact k."""
    n = max(n, 0.0)
    o = LAW * k
    s, t, r = project_friction(np.int64(laws[o + 3]), n, s, t, r, laws[o], laws[o + 1], laws[o + 2])
    return n, s, t, r


@function
def replace(out, previous, read, k, n, s, t, r):
    """Write a contact's new impulse, keep the old one, and return how far they are apart."""
    at = 4 * k
    previous[at], previous[at + 1] = read[at], read[at + 1]
    previous[at + 2], previous[at + 3] = read[at + 2], read[at + 3]
    apart = larger_of(n - read[at], s - read[at + 1], t - read[at + 2], r - read[at + 3])
    out[at], out[at + 1], out[at + 2], out[at + 3] = n, s, t, r
    return apart


@phase_kernel(items="starts-1")
def naive(
    begin, end, iteration, starts: ints, columns: ints, matrix: doubles, b: doubles, rates: doubles, laws: doubles,
    read: doubles, out: doubles, previous: doubles, change: doubles,
):  # fmt: skip
    """z = λ - R (A λ + b). Gauss-Seidel where `read` and `out` are one array, Jacobi where they are two."""
    largest = 0.0
    for k in range(begin, end):
        at = 4 * k
        n, s, t, r = times_row(starts, columns, matrix, read, k)
        n = read[at] - rates[at] * (n + b[at])
        s = read[at + 1] - rates[at + 1] * (s + b[at + 1])
        t = read[at + 2] - rates[at + 2] * (t + b[at + 2])
        r = read[at + 3] - rates[at + 3] * (r + b[at + 3])
        n, s, t, r = project(laws, k, n, s, t, r)
        largest = max(largest, replace(out, previous, read, k, n, s, t, r))
    change[begin] = largest


@phase_kernel(items="starts-1")
def t_scheme(
    begin, end, iteration, starts: ints, columns: ints, matrix: doubles, constant: doubles, laws: doubles,
    read: doubles, out: doubles, previous: doubles, change: doubles,
):  # fmt: skip
    """z = T λ + c. The thesis writes c = + R b in (3.10) to (3.12); with T = 1 - R A it is - R b, as (3.9) says."""
    largest = 0.0
    for k in range(begin, end):
        at = 4 * k
        n, s, t, r = times_row(starts, columns, matrix, read, k)
        n, s, t, r = n + constant[at], s + constant[at + 1], t + constant[at + 2], r + constant[at + 3]
        n, s, t, r = project(laws, k, n, s, t, r)
        largest = max(largest, replace(out, previous, read, k, n, s, t, r))
    change[begin] = largest


@phase_kernel(items="from_array")
def copy(begin, end, iteration, from_array: doubles, to_array: doubles):
    """What Jacobi found becomes what the next iteration reads."""
    for at in range(begin, end):
        to_array[at] = from_array[at]
