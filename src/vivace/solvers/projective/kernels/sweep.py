"""One vertex update of projective dynamics, and the sweeps that are made of it.

Row i of the system Y q = b [fratarcangeli2016, Eq. 1], with the projections of its springs taken at the newest
positions, leaves the residual

    r_i = k_i (c_i - q_i) + Σ_e (w_e l_e / |d_e| - a_e) d_e + Σ_j a_j (q_j - q_i),      d_e = q_i - q_j(e)

where e runs over the springs at i (rest length l, stiffness w), a = -Y_ij, k_i = Y_ii - Σ a is what ties the vertex to
the world (inertia and pins), and k_i c_i collects everything constant during a sweep. It is written in differences of
positions: Σ a q_j - Y_ii q_i would cancel to rounding noise far from the origin, in float32 first of all.
The update is q_i ← q_i + ω r_i / Y_ii.

Springs come first in a row because only they need a square root; four are done at once. Where projections are kept for
some sweeps, `project_springs` puts theirs into the constant part and rows have no springs at all.
"""

from __future__ import annotations

import numpy as np

from ....backends.cpu.arguments import floats, ints, phase_kernel, rows, scalar
from ....backends.cpu.compiling import inlined
from ....backends.cpu.simd import (
    at,
    dot4,
    lane4,
    load4,
    load4_flat,
    splat4,
    square_norms4,
    store4,
)
from ....constraints.spring import length_of

LABEL = "sweeps"  # what phases of these kernels are reported under


@inlined
def add_springs(acc, i, qi, spring_at, spring_j, spring_a, spring_wl, q):
    """acc + Σ_e (w_e l_e / |d_e| - a_e) d_e over the springs at i."""
    e = at(spring_at, i)
    last = at(spring_at, i + 1)
    while e + 4 <= last:
        d0 = qi - load4(q, at(spring_j, e))
        d1 = qi - load4(q, at(spring_j, e + 1))
        d2 = qi - load4(q, at(spring_j, e + 2))
        d3 = qi - load4(q, at(spring_j, e + 3))
        g = load4_flat(spring_wl, e) / length_of(square_norms4(d0, d1, d2, d3)) - load4_flat(spring_a, e)
        acc += lane4(g, 0) * d0
        acc += lane4(g, 1) * d1
        acc += lane4(g, 2) * d2
        acc += lane4(g, 3) * d3
        e += 4
    if e < last:  # one to three are left: read them as a group of four that repeats the last
        d0 = qi - load4(q, at(spring_j, e))
        d1 = qi - load4(q, at(spring_j, min(e + 1, last - 1)))
        d2 = qi - load4(q, at(spring_j, min(e + 2, last - 1)))
        g = load4_flat(spring_wl, e) / length_of(square_norms4(d0, d1, d2, d2)) - load4_flat(spring_a, e)
        acc += lane4(g, 0) * d0
        if e + 1 < last:
            acc += lane4(g, 1) * d1
        if e + 2 < last:
            acc += lane4(g, 2) * d2
    return acc


@inlined
def residual(i, qi, spring_at, spring_j, spring_a, spring_wl, other_at, other_j, other_a, tie, base, q):
    """r_i as above; `base` is k_i c_i."""
    acc = load4(base, i) - at(tie, i) * qi
    acc = add_springs(acc, i, qi, spring_at, spring_j, spring_a, spring_wl, q)
    r = at(other_at, i)
    last = at(other_at, i + 1)
    second = splat4(np.float32(0.0))  # two sums, so that one addition need not wait for the other
    while r + 2 <= last:
        acc += at(other_a, r) * (load4(q, at(other_j, r)) - qi)
        second += at(other_a, r + 1) * (load4(q, at(other_j, r + 1)) - qi)
        r += 2
    if r < last:
        acc += at(other_a, r) * (load4(q, at(other_j, r)) - qi)
    return acc + second


@phase_kernel(items="base", label="local passes")
def project_springs(
    begin, end, iteration, spring_at: ints, spring_j: ints, zeros: floats, spring_wl: floats, q: rows, constant: rows,
    base: rows,
):  # fmt: skip
    """base_i = constant_i + Σ_e w_e l_e d_e/|d_e|: the springs' projections at q, to be kept for some sweeps."""
    for i in range(begin, end):
        store4(base, i, add_springs(load4(constant, i), i, load4(q, i), spring_at, spring_j, zeros, spring_wl, q))


@phase_kernel(items="q")
def sweep_sor(
    begin, end, iteration, spring_at: ints, spring_j: ints, spring_a: floats, spring_wl: floats, other_at: ints,
    other_j: ints, other_a: floats, tie: floats, inverse: floats, base: rows, q: rows, square: floats, weights: floats,
):  # fmt: skip
    """Gauss-Seidel over [begin, end) with relaxation from q^k: q ← q + ω_k r / Y_ii. Records |r|² as it goes.

    The last weight holds for all later sweeps.
    """
    omega = weights[min(iteration, weights.shape[0] - 1)]
    for i in range(begin, end):
        qi = load4(q, i)
        r = residual(i, qi, spring_at, spring_j, spring_a, spring_wl, other_at, other_j, other_a, tie, base, q)
        square[i] = dot4(r, r)
        store4(q, i, qi + (omega * at(inverse, i)) * r)


@phase_kernel(items="q")
def sweep_printed(
    begin, end, iteration, spring_at: ints, spring_j: ints, spring_a: floats, spring_wl: floats, other_at: ints,
    other_j: ints, other_a: floats, tie: floats, inverse: floats, base: rows, q: rows, square: floats, omega: scalar,
    older: rows,
):  # fmt: skip
    """Gauss-Seidel with [fratarcangeli2016, Alg. 1, l. 7] to the letter: q^(k+1) ← ω (q̂ - q^(k-1)) + q^(k-1)."""
    for i in range(begin, end):
        qi = load4(q, i)
        before = qi if iteration == 0 else load4(older, i)  # there is no q^(-1): the first sweep relaxes from q^0
        r = residual(i, qi, spring_at, spring_j, spring_a, spring_wl, other_at, other_j, other_a, tie, base, q)
        square[i] = dot4(r, r)
        store4(older, i, qi)
        store4(q, i, before + omega * (qi + at(inverse, i) * r - before))


@phase_kernel(items="square")
def sweep_jacobi(
    begin, end, iteration, spring_at: ints, spring_j: ints, spring_a: floats, spring_wl: floats, other_at: ints,
    other_j: ints, other_a: floats, tie: floats, inverse: floats, base: rows, q: rows, square: floats, omega: scalar,
    new: rows,
):  # fmt: skip
    """Jacobi: every vertex from the last iterate, into another array."""
    for i in range(begin, end):
        qi = load4(q, i)
        r = residual(i, qi, spring_at, spring_j, spring_a, spring_wl, other_at, other_j, other_a, tie, base, q)
        square[i] = dot4(r, r)
        store4(new, i, qi + (omega * at(inverse, i)) * r)


@phase_kernel(items="square", label="residual")
def store_residual(
    begin, end, iteration, spring_at: ints, spring_j: ints, spring_a: floats, spring_wl: floats, other_at: ints,
    other_j: ints, other_a: floats, tie: floats, base: rows, q: rows, square: floats, out: rows,
):  # fmt: skip
    """r_i, to be solved for; also |r_i|²."""
    for i in range(begin, end):
        qi = load4(q, i)
        r = residual(i, qi, spring_at, spring_j, spring_a, spring_wl, other_at, other_j, other_a, tie, base, q)
        square[i] = dot4(r, r)
        store4(out, i, r)
