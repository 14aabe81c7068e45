"""Vertices in contact that hardly move stay where they are."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import compiled


@compiled
def fall_asleep(q, x, walls, pairs, held, limit):
    """Vertices in contact that a step would move by less than their `limit` (n,), and that nobody holds, stay at q."""
    touching = np.zeros(len(x), np.bool_)
    for v in walls:
        touching[v] = True
    for c in range(pairs.shape[0]):
        for k in range(4):
            touching[pairs[c, k]] = True
    for v in range(len(x)):
        if touching[v] and not held[v]:
            square = np.float32(0.0)
            for axis in range(3):
                moved = x[v, axis] - q[v, axis]
                square += moved * moved
            if square < limit[v] * limit[v]:
                for lane in range(4):
                    x[v, lane] = q[v, lane]
