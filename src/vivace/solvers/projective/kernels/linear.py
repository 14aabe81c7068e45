"""The global step in the form of a correction: given the residual r, find e with Y e ≈ r.

All matrices here are symmetric and stored by rows without their diagonal: row pointers `at`, columns `j` in rising
order, a = -Y_ij, and `middle`, where a row's columns pass its own number. In the order of colours the columns before
`middle` are exactly those that a forward sweep has visited. That halves a sweep which starts at e = 0 and gives what it
leaves of the residual for the other half:

    forward from zero   (D + L) e = r     e_i = (r_i + Σ_{j<i} a_ij e_j) / Y_ii
    what it leaves      r - Y e = -U e    r'_i = Σ_{j>i} a_ij e_j

The first slots of a table are always at, middle, j, a, 1/Y_ii.
"""

from __future__ import annotations

import numpy as np

from ....backends.cpu.arguments import double, floats, ints, phase_kernel, rows, scalar
from ....backends.cpu.compiling import inlined
from ....backends.cpu.simd import at, load4, splat4, store4

LABEL = "sweeps"  # what phases of these kernels are reported under


@inlined
def add_row(total, begin, end, j, a, x):
    """total + Σ a_k x_j(k) over entries [begin, end)."""
    second = splat4(np.float32(0.0))  # two sums, so that one addition need not wait for the other
    k = begin
    while k + 2 <= end:
        total += at(a, k) * load4(x, at(j, k))
        second += at(a, k + 1) * load4(x, at(j, k + 1))
        k += 2
    if k < end:
        total += at(a, k) * load4(x, at(j, k))
    return total + second


@phase_kernel(items="e")
def scale_rows(begin, end, iteration, inverse: floats, r: rows, e: rows, omega: scalar):
    """e_i = ω r_i / Y_ii: one Jacobi iteration from zero."""
    for i in range(begin, end):
        store4(e, i, (omega * at(inverse, i)) * load4(r, i))


@phase_kernel(items="e")
def forward_from_zero(
    begin, end, iteration, row_at: ints, middle: ints, j: ints, a: floats, inverse: floats, r: rows, e: rows
):
    """e_i = (r_i + Σ_{j<i} a e_j) / Y_ii."""
    for i in range(begin, end):
        store4(e, i, at(inverse, i) * add_row(load4(r, i), at(row_at, i), at(middle, i), j, a, e))


@phase_kernel(items="left")
def left_by_forward(begin, end, iteration, row_at: ints, middle: ints, j: ints, a: floats, e: rows, left: rows):
    """r'_i = Σ_{j>i} a e_j: the residual after a forward sweep from zero."""
    for i in range(begin, end):
        store4(left, i, add_row(splat4(np.float32(0.0)), at(middle, i), at(row_at, i + 1), j, a, e))


@phase_kernel(items="e")
def backward_sweep(begin, end, iteration, row_at: ints, j: ints, a: floats, inverse: floats, r: rows, e: rows):
    """e_i = (r_i + Σ_j a e_j) / Y_ii, from the last row of [begin, end) to the first."""
    for back in range(end - begin):
        i = end - 1 - back
        store4(e, i, at(inverse, i) * add_row(load4(r, i), at(row_at, i), at(row_at, i + 1), j, a, e))


@phase_kernel(items="to", label="coarse levels")
def restrict_rows(begin, end, iteration, row_at: ints, j: ints, a: floats, source: rows, to: rows):
    """to_i = Σ R_ik from_k, R = Pᵀ."""
    for i in range(begin, end):
        store4(to, i, add_row(splat4(np.float32(0.0)), at(row_at, i), at(row_at, i + 1), j, a, source))


@phase_kernel(items="to", label="coarse levels")
def add_prolonged(begin, end, iteration, row_at: ints, j: ints, a: floats, source: rows, to: rows):
    """to_i += Σ P_ij from_j."""
    for i in range(begin, end):
        store4(to, i, add_row(load4(to, i), at(row_at, i), at(row_at, i + 1), j, a, source))


@phase_kernel(items="e", label="coarse levels")
def apply_dense(begin, end, iteration, inverse: floats, r: rows, e: rows):
    """e = A⁻¹ r with the dense inverse of the coarsest level."""
    n = r.shape[0]
    for i in range(begin, end):
        total = splat4(np.float32(0.0))
        second = splat4(np.float32(0.0))
        for k in range(0, n - 1, 2):
            total += at(inverse, i * n + k) * load4(r, k)
            second += at(inverse, i * n + k + 1) * load4(r, k + 1)
        if n % 2 == 1:
            total += at(inverse, i * n + n - 1) * load4(r, n - 1)
        store4(e, i, total + second)


@phase_kernel(items="to", label="coarse levels")
def add_prolonged_unless(
    begin, end, iteration, row_at: ints, j: ints, a: floats, source: rows, to: rows, rejected: double
):
    """As `add_prolonged`, but nothing while rejected[0] is set."""
    if rejected != 0.0:
        return
    for i in range(begin, end):
        store4(to, i, add_row(load4(to, i), at(row_at, i), at(row_at, i + 1), j, a, source))


@phase_kernel(items="left", label="residual")
def residual_of(begin, end, iteration, row_at: ints, j: ints, a: floats, tie: floats, r: rows, e: rows, left: rows):
    """left = r - Y e, in differences: (Y e)_i = tie_i e_i + Σ a (e_i - e_j)."""
    for i in range(begin, end):
        ei = load4(e, i)
        total = load4(r, i) - at(tie, i) * ei
        for k in range(at(row_at, i), at(row_at, i + 1)):
            total += at(a, k) * (load4(e, at(j, k)) - ei)
        store4(left, i, total)
