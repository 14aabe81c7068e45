"""Corrections as steps that are judged: L-BFGS over any corrector, or, with no memory, the plain corrections."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...backends.cpu.arguments import Phase
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

# By how much of its slope a step may raise the energy, twice over: what rounding does, and, of the last, what leaves it
# better than taken back where contacts push.
ROUNDING, WILD = 1e-3, 1.0


class Safeguarded(NamedTuple):
    """The state, what comes between residual and correction, what follows the correction, and what judges the last."""

    state: np.ndarray
    before: list[Phase]
    after: list[Phase]
    last: list[Phase]


def safeguarded_steps(
    layout: Layout,
    r: np.ndarray,
    e: np.ndarray,
    *,
    memory: int,
    rejected: np.ndarray,
    keep: bool = False,
    longest: float = 1.0,
) -> Safeguarded:
    """Corrections of `layout` as steps.

    `rejected[0]` is set when a plain correction has raised the energy. `keep`: pairs are kept from step to step.
    `longest`: the share of a plain correction to take.
    """
    n, blocks = layout.n, -(-layout.n // BLOCK)
    q_old, r_old, e_old = (np.zeros((n, 4), np.float32) for _ in range(3))
    room = max(memory, 1)
    s, y, u = (np.zeros((room * n if memory else 1, 4), np.float32) for _ in range(3))
    state = np.zeros(STATE_SIZE)
    judged, products = np.zeros(2 * blocks), np.zeros(blocks * (PRODUCTS * room + 1))
    sy, yu, weights = np.zeros(room * room), np.zeros(room * room), np.zeros(2 * room)
    old = {"q": layout.q, "q_old": q_old, "r": r, "r_old": r_old}
    before, last = (
        [
            judge_blocks.over(0, n, partial=judged, grain=BLOCK, **old),
            judge.over(0, 1, partial=judged, state=state, settings=settings, rejected=rejected, serial=True),
            take_back.over(0, n, state=state, **old),
        ]
        for settings in (np.array([float(keep), longest, rise]) for rise in (ROUNDING, WILD))
    )
    after = []
    old |= {"e": e, "e_old": e_old, "s": s, "u": u, "state": state}
    if memory:
        sums = {"partial": products, "state": state, "pressing": layout.pressing}
        after += [
            pair_products.over(0, n, y=y, grain=BLOCK, **{**old, **sums}),
            recursion.over(0, 1, sy=sy, yu=yu, weights=weights, serial=True, **sums),
        ]
    after.append(quasi_newton_step.over(0, n, weights=weights, grain=BLOCK, **old))
    return Safeguarded(state, before, after, last)
