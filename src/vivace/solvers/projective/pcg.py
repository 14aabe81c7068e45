"""Nonlinear preconditioned conjugate gradients for projective dynamics [fratarcangeli2018, Alg. 2].

As printed, α and the update of the iterate (there called x instead of q) stand in the branch for k > 0; the first
iteration needs them as well. α is the minimum along p of the quadratic with the projections at q, which lies above ε
and touches it there: no step raises the energy, whatever β is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...backends.cpu.arguments import Phase
from ..base import SOLVERS
from .correcting import Accelerated, blocks_of
from .kernels.acceleration import (
    BLOCK,
    STATE_SIZE,
    conjugate_direction,
    conjugate_length,
    conjugate_products,
    conjugate_step,
    conjugate_weight,
    product_blocks,
)
from .layout import Layout


def conjugate_steps(layout: Layout, r: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, list[Phase]]:
    """The state, and what is made of a correction e. With state[EXACT] set, q += e and nothing else."""
    n = layout.n
    p, state = np.zeros((n, 4), np.float32), np.zeros(STATE_SIZE)
    one, two = blocks_of(n), blocks_of(n, 2)
    matrix = conjugate_products.select(layout.matrix._asdict())
    return state, [
        product_blocks.over(0, n, x=e, y=r, partial=one, state=state, grain=BLOCK),
        conjugate_weight.over(0, 1, partial=one, state=state, serial=True),
        conjugate_direction.over(0, n, e=e, p=p, state=state),
        conjugate_products.over(0, n, tie=layout.tie, r=r, p=p, partial=two, state=state, grain=BLOCK, **matrix),
        conjugate_length.over(0, 1, partial=two, state=state, serial=True),
        conjugate_step.over(0, n, q=layout.q, p=p, state=state),
    ]


@SOLVERS.register("pcg")
@dataclass(eq=False)
class PCG(Accelerated):
    """Preconditioned conjugate gradients: pcg (Jacobi inside), pcg(direct), pcg(multigrid), ...

    Attributes:
        inner: the preconditioner: a solver whose corrections are linear and symmetric.

    Limitations: no constraints known by their value, no energy terms of a model's own, no contacts over `direct`;
    solved well it hovers: cloth that should turn and fall stays behind; over `jacobi`, its default, contacts are
    springs without memory, so that heaps creep.
    """

    inner: str = "jacobi"

    wrapper = "pcg"
    weighs = True

    def __post_init__(self) -> None:
        self._adopt(self.inner)

    def update_steps(self, layout: Layout, r: np.ndarray, e: np.ndarray) -> tuple[Sequence[Phase], Sequence[Phase]]:
        """A step of conjugate gradients along each correction."""
        return [], conjugate_steps(layout, r, e)[1]
