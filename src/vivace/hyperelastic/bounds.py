"""What a body stores at most, found in a fraction of the time that its energy takes.

Near rest W <= c κ ‖FᵀF - I‖² for every density, with a c that a few hundred values of it show. Elements that are
farther from rest are evaluated as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from .kernels.bounds import near_rest

NEAR = 0.5  # ‖FᵀF - I‖: squared stretches from 0.5 to 1.5
SAMPLES = 4  # on either side of 1, along each axis
SAFE = 1.5  # times the largest c that the samples show
ROWS = 64  # different constants that are worth it
SPARSE = 0.25  # of the elements, beyond which the energy itself is sooner there

Energies = Callable[..., np.ndarray]


def steepest(energies: Energies, rows: int, stiffness: np.ndarray) -> np.ndarray:
    """c κ of each row of constants (rows,), J/m³; `energies(q, vertices, inverse, volumes, which)` is a density's pass.

    `stiffness`: κ of each row, which bounds c from below.
    """
    axis = NEAR * np.arange(-SAMPLES, SAMPLES + 1) / SAMPLES
    strains = np.array([x for x in product(axis, repeat=3) if 0 < np.linalg.norm(x) <= NEAR and sorted(x) == list(x)])
    m = len(strains)
    q = np.zeros((m, 4, 3))
    q[:, [1, 2, 3], [0, 1, 2]] = np.sqrt(1.0 + strains)
    vertices, inverse = np.arange(4 * m, dtype=np.int32), np.tile(np.eye(3).ravel(), m)
    found = np.empty(rows)
    for row in range(rows):
        stored = energies(q.reshape(-1, 3), vertices, inverse, np.ones(m), np.full(m, row, np.int32))
        found[row] = max(float((stored / np.square(strains).sum(axis=1)).max()), 0.05 * float(stiffness[row]))
    return SAFE * found


def bound(q: np.ndarray, arrays: tuple[np.ndarray, ...], weights: np.ndarray, energies: Energies) -> float | None:
    """An upper bound of what a body stores at q (J); None where it is sooner evaluated.

    `arrays`: vertices, inverse, volumes and `which` of its elements; `weights`: c κ volume of each.
    """
    beyond = np.empty(len(weights), np.int32)
    total, count = near_rest(q, arrays[0], arrays[1], weights, NEAR * NEAR, beyond)
    if count > SPARSE * len(weights):
        return None
    if count:
        some = beyond[:count]
        vertices, inverse = arrays[0].reshape(-1, 4)[some].ravel(), arrays[1].reshape(-1, 9)[some].ravel()
        total += float(np.sum(energies(q, vertices, inverse, arrays[2][some], arrays[3][some])))
    return float(total)
