"""Whole-vector work around the sweeps: predict, reorder, update, add up."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.arguments import doubles, floats, ints, phase_kernel, rows
from ...backends.cpu.compiling import inlined
from ...backends.cpu.simd import at, load4, store4

LABEL = "copies"  # what phases of these kernels are reported under


@phase_kernel(items="values")
def clear(begin, end, iteration, values: doubles):
    """Numbers to zero."""
    for i in range(begin, end):
        values[i] = 0.0


@phase_kernel(items="to_a")
def load_rows(begin, end, iteration, order: ints, a: rows, b: rows, to_a: rows, to_b: rows):
    """Two vectors into visiting order."""
    for i in range(begin, end):
        o = at(order, i)
        store4(to_a, i, load4(a, o))
        store4(to_b, i, load4(b, o))


@phase_kernel(items="order")
def store_rows(begin, end, iteration, order: ints, a: rows, to: rows):
    """One vector back from visiting order."""
    for i in range(begin, end):
        store4(to, at(order, i), load4(a, i))


@phase_kernel(items="to")
def copy_rows(begin, end, iteration, a: rows, to: rows):
    """to = a."""
    for i in range(begin, end):
        store4(to, i, load4(a, i))


OFF = -1.0  # in the place of a history's count: nothing is recorded


@inlined
def record(history, iteration, value):
    """Append (iteration, value) to a history: its count, then pairs as long as there is room."""
    count = history[0]
    place = 1 + 2 * int(count)
    if count >= 0.0 and place + 1 < history.shape[0]:
        history[place] = iteration
        history[place + 1] = value
        history[0] = count + 1.0


@phase_kernel(items="square")
def watch(begin, end, iteration, square: floats, monitor: doubles, limits: doubles, history: doubles):
    """Add up |residual|² in a fixed order; the first sweep sets what later ones are compared with.

    Nothing is asked for below the square of what float32 positions resolve (`limits[1]`), and nothing at all without a
    tolerance (`limits[0]`).
    """
    total = 0.0
    for i in range(begin, end):
        total += np.float64(square[i])
    monitor[0] = total
    record(history, iteration, total)
    if iteration == 0:  # an infinite residual must not pass for a small one
        asked = limits[0] > 0.0 and np.isfinite(total)
        monitor[1] = max(limits[0] * limits[0] * total, limits[1]) if asked else -1.0
