"""Whole-vector work of position based solvers: positions in and out, summed corrections, the violation."""

from __future__ import annotations

import numpy as np

from ....backends.cpu.arguments import doubles, floats, ints, phase_kernel, rows
from ....backends.cpu.compiling import inlined
from ....backends.cpu.simd import at, lane4, load4, make4, store4
from ....backends.cpu.vectors import xyz4
from ...kernels.vectors import record

LABEL = "constraints"  # what phases of these kernels are reported under
ZERO = np.float32(0.0)


@inlined
def weight_of(weights, iteration):
    """The weight of an iteration; the last one holds for all later iterations."""
    return weights[min(iteration, weights.shape[0] - 1)]


@phase_kernel(items="q")
def load_positions(begin, end, iteration, start: rows, inverse: floats, q: rows):
    """q = first guess, with the inverse mass in the fourth lane."""
    zero = np.float32(0.0)
    for i in range(begin, end):
        store4(q, i, xyz4(load4(start, i)) + make4(zero, zero, zero, at(inverse, i)))


@phase_kernel(items="out")
def store_positions(begin, end, iteration, q: rows, out: rows):
    """Write positions without the inverse masses in their fourth lane."""
    for i in range(begin, end):
        store4(out, i, xyz4(load4(q, i)))


@phase_kernel(items="step")
def clear_steps(begin, end, iteration, step: rows):
    """Set the sums of corrections to zero."""
    zero = np.float32(0.0)
    for i in range(begin, end):
        store4(step, i, make4(zero, zero, zero, zero))


@phase_kernel(items="step")
def gather_steps(begin, end, iteration, slot_at: ints, slots: rows, step: rows):
    """Add up the corrections in a vertex's slots."""
    for i in range(begin, end):
        total = load4(step, i)
        for s in range(at(slot_at, i), at(slot_at, i + 1)):
            total += xyz4(load4(slots, s))
        store4(step, i, total)


@phase_kernel(items="order")
def apply_steps(
    begin, end, iteration, order: ints, moved: rows, q: rows, shares: floats, squares: doubles, weights: floats
):
    """q += share · w · the sum of a vertex's corrections, which begins anew: vertices of one colour.

    The fourth lane of the sum is the vertex's part of Σ (C + α λ)².
    """
    omega = weight_of(weights, iteration)
    for place in range(begin, end):
        v = at(order, place)
        x = load4(q, v)
        step = load4(moved, v)
        store4(q, v, x + (omega * at(shares, v) * lane4(x, 3)) * xyz4(step))
        squares[v] = lane4(step, 3)
        store4(moved, v, make4(ZERO, ZERO, ZERO, ZERO))


@phase_kernel(items="sums")
def add_up(begin, end, iteration, sums: doubles, total: doubles):
    """Write the sum of `sums` to `total`."""
    total[0] = 0.0
    for i in range(begin, end):
        total[0] += sums[i]


@phase_kernel(items="totals")
def watch_violation(begin, end, iteration, totals: doubles, monitor: doubles, limits: doubles, history: doubles):
    """The monitor gets Σ (C + α λ)², and on the first iteration the threshold, if there is a tolerance."""
    total = 0.0
    for i in range(begin, end):
        total += totals[i]
    monitor[0] = total
    record(history, iteration, total)
    if iteration == 0:
        monitor[1] = limits[0] * limits[0] * total if limits[0] > 0.0 else -1.0
