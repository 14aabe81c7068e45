"""How far edges are from their rest lengths: the one place where that is computed."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import compiled


@compiled
def edge_strain(positions, edges, lengths, worst):
    """Mean, root of the mean square, and largest |l/l₀ - 1|; `worst` (n,) gets the largest at each vertex.

    Absolute values: in a mean with signs, what is pressed together hides what is drawn out. Edges without length are
    left out. Not a number where some position is none.
    """
    total, squares, largest, count = 0.0, 0.0, 0.0, 0
    for e in range(edges.shape[0]):
        if lengths[e] <= 0:
            continue
        i, j = edges[e, 0], edges[e, 1]
        x = positions[i, 0] - positions[j, 0]
        y = positions[i, 1] - positions[j, 1]
        z = positions[i, 2] - positions[j, 2]
        strain = abs(np.sqrt(x * x + y * y + z * z) / lengths[e] - 1.0)
        total += strain
        squares += strain * strain
        largest = max(largest, strain)
        count += 1
        worst[i] = max(worst[i], strain)
        worst[j] = max(worst[j], strain)
    if np.isnan(total):
        largest = total
    return total / max(count, 1), np.sqrt(squares / max(count, 1)), largest
