"""Corrections as steps that are judged: L-BFGS over any corrector, or, with no memory, the plain corrections."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.executor import Phase
from .kernels.acceleration import BLOCK
from .kernels.quasi_newton import (
    PRODUCTS,
    STATE_SIZE,
    judge,
    judge_blocks,
    pair_products,
    quasi_newton_step,
    recursion,
    take_back,
)
from .layout import Layout


def judged_steps(
    layout: Layout,
    r: np.ndarray,
    e: np.ndarray,
    *,
    memory: int,
    trouble: np.ndarray,
    keep: bool = False,
    longest: float = 1.0,
) -> tuple[np.ndarray, list[Phase], list[Phase]]:
    """The state, what comes between residual and correction, and what follows the correction.

    `trouble[0]` is set when a plain correction has raised the energy. `keep`: pairs are kept from step to step.
    `longest`: the share of a plain correction to take.
    """
    n, blocks = layout.n, -(-layout.n // BLOCK)
    q_old, r_old, e_old = (np.zeros((n, 4), np.float32) for _ in range(3))
    room = max(memory, 1)
    s, y, u = (np.zeros((room * n if memory else 1, 4), np.float32) for _ in range(3))
    state, settings = np.zeros(STATE_SIZE), np.array([float(keep), longest])
    judged, products = np.zeros(2 * blocks), np.zeros(blocks * PRODUCTS * room)
    sy, yu, weights = np.zeros(room * room), np.zeros(room * room), np.zeros(2 * room)
    before = [
        Phase(judge_blocks, (layout.q, q_old, r, r_old, judged), 0, n, grain=BLOCK),
        Phase(judge, (judged, state, settings, trouble), 0, 1, serial=True),
        Phase(take_back, (layout.q, q_old, r, r_old, state), 0, n),
    ]
    after = []
    if memory:
        pairs = (layout.q, q_old, r, r_old, e, e_old, s, y, u, products, state, layout.pressing)
        after += [
            Phase(pair_products, pairs, 0, n, grain=BLOCK),
            Phase(recursion, (products, state, sy, yu, weights, layout.pressing), 0, 1, serial=True),
        ]
    step = (layout.q, q_old, r, r_old, e, e_old, s, u, state, weights)
    return state, before, [*after, Phase(quasi_newton_step, step, 0, n, grain=BLOCK)]
