"""Prediction and update of a step: whole-vector work before and after the solver."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.arguments import floats, ints, phase_kernel, rows, scalar
from ...backends.cpu.simd import at, dot4, load4, store4

LABEL = "prediction and update"  # what phases of these kernels are reported under


@phase_kernel(items="s")
def predict(
    begin, end, iteration, q: rows, v: rows, acceleration: rows, inertia: floats, pin: floats, target: rows, s: rows,
    start: rows, constant: rows, travel: floats,
):  # fmt: skip
    """s = q + f (h v + h² a), f what air leaves, and the part of b that stays [fratarcangeli2016, Alg. 1, l. 1].

    The first guess is s. For solvers of projective dynamics pinned vertices begin at their targets (`snap`): their free
    flight would only have to be undone, from a first guess whose energy is nearly all in the pins.
    """
    reach, delay = travel[0], travel[1]  # air_factor h and h; for v h in the place of v: air_factor and h²
    snap = travel[2] > 0
    for i in range(begin, end):
        qi = load4(q, i)
        si = qi + reach * (load4(v, i) + delay * load4(acceleration, i))
        store4(s, i, si)
        store4(start, i, load4(target, i) if snap and at(pin, i) > 0 else si)
        store4(constant, i, at(inertia, i) * si + at(pin, i) * load4(target, i))


@phase_kernel(items="start")
def hold_back(
    begin, end, iteration, v: rows, before: rows, acceleration: rows, start: rows, pin: floats, shares: floats,
    pressed: floats, fall_off: floats,
):  # fmt: skip
    """Take from the first guess what late steps did not let through of a vertex's external acceleration a.

    start -= air_factor h² (1 - α) a with α = (v - v_before)/h · a/|a|², between 0 and 1 [chen2024, section 3.7]. As it
    stands there, α passes on every tremor of the velocity: here it is the mean of this and of what it was before.
    `pressed`: the share of a that is left to a vertex all the same.
    """
    rate, fall = fall_off[0], fall_off[1]  # 1/h for velocities, 1/h² for displacements; air_factor h²
    for i in range(begin, end):
        a = load4(acceleration, i)
        square = dot4(a, a)
        if at(pin, i) > 0 or square == 0:
            continue
        share = rate * dot4(load4(v, i) - load4(before, i), a) / square
        shares[i] = 0.5 * (shares[i] + min(max(share, 0.0), 1.0))
        back = fall * (1.0 - shares[i]) * (1.0 - at(pressed, i))
        store4(start, i, load4(start, i) - np.float32(back) * a)


@phase_kernel(items="constant")
def add_viscous(
    begin, end, iteration, indptr: ints, indices: ints, off: floats, tie: floats, q: rows, constant: rows,
    factor: scalar,
):  # fmt: skip
    """constant += factor K q, K given by off-diagonals and row sums: (K q)_i = tie_i q_i + Σ_j K_ij (q_j - q_i)."""
    for i in range(begin, end):
        qi = load4(q, i)
        total = load4(constant, i) + (factor * at(tie, i)) * qi
        for k in range(at(indptr, i), at(indptr, i + 1)):
            total += (factor * at(off, k)) * (load4(q, at(indices, k)) - qi)
        store4(constant, i, total)


@phase_kernel(items="constant")
def add_load(begin, end, iteration, acceleration: rows, mass: floats, constant: rows):
    """constant += m a: external forces of a step without inertia, whose prediction is where it began."""
    for i in range(begin, end):
        store4(constant, i, load4(constant, i) + at(mass, i) * load4(acceleration, i))


@phase_kernel(items="q")
def update(begin, end, iteration, new: rows, q: rows, v: rows, rate: scalar):
    """v = (new - q) / h and q = new [fratarcangeli2016, Alg. 1, l. 8 and 9]."""
    for i in range(begin, end):
        ni = load4(new, i)
        store4(v, i, rate * (ni - load4(q, i)))
        store4(q, i, ni)


@phase_kernel(items="vertices")
def aim(begin, end, iteration, vertices: ints, first: rows, last: rows, target: rows, parts: scalar):
    """Targets of pins in one of the equal parts of a frame, from where they were to where they are to be."""
    share = np.float32(iteration + 1) / parts
    for p in range(begin, end):
        old, new = load4(first, p), load4(last, p)
        store4(target, at(vertices, p), new if share == np.float32(1.0) else old + share * (new - old))
