"""The wind on a surface: a force for each triangle, then a third of it to each of its corners (see `wind`)."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.arguments import floats, ints, phase_kernel, rows
from ...backends.cpu.simd import at, dot4, load4, make4, store4, yzx4

LABEL = "prediction and update"  # what phases of these kernels are reported under

TINY, ZERO = np.float32(1e-30), np.float32(0.0)


@phase_kernel(items="force")
def press(begin, end, iteration, triangles: ints, q: rows, v: rows, lag: floats, settings: floats, force: rows):
    """F = (u·n) n / (1/k + lag), k = ½ρC A |u·n|: the drag of a plate, less what would turn u·n round in a step.

    The settings are the wind (m/s), what `v` holds for each m/s, and ¼ρC (kg/m³). With c = 2A n, k = ¼ρC |u·c|.
    """
    wind = make4(settings[0], settings[1], settings[2], ZERO)
    third, drag = np.float32(1.0 / 3.0) / settings[3], settings[4]
    for t in range(begin, end):
        i, j, k = at(triangles, 3 * t), at(triangles, 3 * t + 1), at(triangles, 3 * t + 2)
        x = load4(q, i)
        a, b = load4(q, j) - x, load4(q, k) - x
        c = yzx4(a * yzx4(b) - yzx4(a) * b)
        through = dot4(wind - third * (load4(v, i) + load4(v, j) + load4(v, k)), c)
        square = dot4(c, c)
        heavy = drag * abs(through)
        size = ZERO
        if square > TINY and heavy > ZERO:
            size = through / (square * (np.float32(1.0) / heavy + at(lag, t)))
        store4(force, t, size * c)


@phase_kernel(items="total")
def blow(
    begin, end, iteration, starts: ints, incident: ints, force: rows, share: floats, acceleration: rows, total: rows
):
    """total = acceleration + Σ F/3 over the triangles at a vertex, divided by its mass."""
    for i in range(begin, end):
        pull = make4(ZERO, ZERO, ZERO, ZERO)
        for k in range(at(starts, i), at(starts, i + 1)):
            pull += load4(force, at(incident, k))
        store4(total, i, load4(acceleration, i) + at(share, i) * pull)
