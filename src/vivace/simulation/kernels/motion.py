"""Prediction and update of a step: whole-vector work before and after the solver."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.executor import floats, ints, phase_kernel, rows
from ...backends.cpu.simd import at, dot4, load4, store4


@phase_kernel
def predict(table, begin, end, iteration):
    """s = q + glide (h v + h² a), and the part of b that stays: inertia s + pins [fratarcangeli2016, Alg. 1, l. 1].

    The first guess is s. For solvers of projective dynamics pinned vertices begin at their targets (`snap`): their free
    flight would only have to be undone, from a first guess whose energy is nearly all in the pins.
    """
    q, v, acceleration, inertia, pin = (
        rows(table, 0),
        rows(table, 1),
        rows(table, 2),
        floats(table, 3),
        floats(table, 4),
    )
    target, s, start, constant = rows(table, 5), rows(table, 6), rows(table, 7), rows(table, 8)
    reach, delay = floats(table, 9)[0], floats(table, 9)[1]  # glide h and h; for v h in the place of v: glide and h²
    snap = floats(table, 9)[2] > 0
    for i in range(begin, end):
        qi = load4(q, i)
        si = qi + reach * (load4(v, i) + delay * load4(acceleration, i))
        store4(s, i, si)
        store4(start, i, load4(target, i) if snap and at(pin, i) > 0 else si)
        store4(constant, i, at(inertia, i) * si + at(pin, i) * load4(target, i))


@phase_kernel
def hold_back(table, begin, end, iteration):
    """Take from the first guess what late steps did not let through of a vertex's external acceleration a.

    start -= glide h² (1 - α) a with α = (v - v_before)/h · a/|a|², between 0 and 1 [chen2024, section 3.7]. As it
    stands there, α passes on every tremor of the velocity: here it is the mean of this and of what it was before.
    `pressed`: the share of a that is left to a vertex all the same.
    """
    v, before, acceleration, start = rows(table, 0), rows(table, 1), rows(table, 2), rows(table, 3)
    pin, shares, pressed = floats(table, 4), floats(table, 5), floats(table, 6)
    rate, fall = floats(table, 7)[0], floats(table, 7)[1]  # 1/h for velocities, 1/h² for displacements; glide h²
    for i in range(begin, end):
        a = load4(acceleration, i)
        square = dot4(a, a)
        if at(pin, i) > 0 or square == 0:
            continue
        share = rate * dot4(load4(v, i) - load4(before, i), a) / square
        shares[i] = 0.5 * (shares[i] + min(max(share, 0.0), 1.0))
        back = fall * (1.0 - shares[i]) * (1.0 - at(pressed, i))
        store4(start, i, load4(start, i) - np.float32(back) * a)


@phase_kernel
def add_viscous(table, begin, end, iteration):
    """constant += factor K q, K given by off-diagonals and row sums: (K q)_i = tie_i q_i + Σ_j K_ij (q_j - q_i)."""
    indptr, indices, off, tie = ints(table, 0), ints(table, 1), floats(table, 2), floats(table, 3)
    q, constant = rows(table, 4), rows(table, 5)
    factor = floats(table, 6)[0]
    for i in range(begin, end):
        qi = load4(q, i)
        total = load4(constant, i) + (factor * at(tie, i)) * qi
        for k in range(at(indptr, i), at(indptr, i + 1)):
            total += (factor * at(off, k)) * (load4(q, at(indices, k)) - qi)
        store4(constant, i, total)


@phase_kernel
def update(table, begin, end, iteration):
    """v = (new - q) / h and q = new [fratarcangeli2016, Alg. 1, l. 8 and 9]."""
    new, q, v, rate = rows(table, 0), rows(table, 1), rows(table, 2), floats(table, 3)[0]
    for i in range(begin, end):
        ni = load4(new, i)
        store4(v, i, rate * (ni - load4(q, i)))
        store4(q, i, ni)


@phase_kernel
def aim(table, begin, end, iteration):
    """Targets of pins in one of the equal parts of a frame, from where they were to where they are to be."""
    vertices, first, last, target, parts = (
        ints(table, 0),
        rows(table, 1),
        rows(table, 2),
        rows(table, 3),
        floats(table, 4),
    )
    share = np.float32(iteration + 1) / parts[0]
    for p in range(begin, end):
        old, new = load4(first, p), load4(last, p)
        store4(target, at(vertices, p), new if share == np.float32(1.0) else old + share * (new - old))
