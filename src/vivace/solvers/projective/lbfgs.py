"""L-BFGS over the corrections of any solver: the quasi-Newton method of [liu2017], whatever solver is inside.

Projective dynamics takes every constraint to be as stiff across its direction as along it, and so advances slowly where
cloth folds or a body turns. The last few steps and residuals tell where. They cost no further projection, no parameter
has to be tuned, and with any inner solver that is symmetric and positive the direction descends.

When the time left is too short for another iteration with new projections (which are most of its cost for tetrahedra),
it is spent on iterations over the last ones. The energy stays below their quadratic, which they lower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...backends.cpu.arguments import Phase
from ...checks import is_whole
from ...errors import InputError
from ..base import SOLVERS
from .correcting import Accelerated, first_share
from .kernels.quasi_newton import FAR, LEAP, REJECTIONS
from .layout import Layout
from .safeguarded import safeguarded_steps


@SOLVERS.register("lbfgs")
@dataclass(eq=False)
class LBFGS(Accelerated):
    """Quasi-Newton steps over another solver's corrections: lbfgs(multigrid), lbfgs(direct), lbfgs(jacobi), ...

    Attributes:
        inner: the solver that makes the corrections.
        memory: steps that are remembered, 1 to 20.
        keep: remember them from one time step to the next.

    Limitations: no constraints known by their value, no energy terms of a model's own, no contacts over `direct`;
    solved well it hovers: cloth that should turn and fall stays behind; over `multigrid` contacts between surfaces do
    not remember their forces, so that heaps creep.
    """

    inner: str = "multigrid"
    memory: int = 3
    keep: bool = False

    wrapper = "lbfgs"
    presses = True
    uses_leftover = True

    def __post_init__(self) -> None:
        if not is_whole(self.memory) or not 1 <= self.memory <= 20:
            raise InputError(f"memory must be a whole number from 1 to 20, not {self.memory!r}")
        self._adopt(self.inner)

    def update_steps(self, layout: Layout, r: np.ndarray, e: np.ndarray) -> tuple[Sequence[Phase], Sequence[Phase]]:
        """A step of L-BFGS that is taken back, and shortened, where it raises the energy."""
        rejected = self.corrector.rejected
        longest = first_share(self.corrector.overshoot(layout))
        self._state, before, after, self._last = safeguarded_steps(
            *(layout, r, e), memory=self.memory, rejected=rejected, keep=self.keep, longest=longest
        )
        return before, after

    def last_steps(self, residual: Sequence[Phase]) -> Sequence[Phase]:
        """The residual where the last step has led, and what judges the step by it."""
        return [*residual, *self._last]

    def wants_last_steps(self) -> bool:
        """Whether it was much longer than a plain correction."""
        return bool(self._state[LEAP] > FAR)

    def note(self) -> str:
        """What a user should know: steps that were taken back, and what the corrections tell."""
        taken_back = int(self._state[REJECTIONS])
        own = f"{taken_back} steps taken back" if taken_back else ""
        return "; ".join(part for part in (own, self.corrector.correction_note()) if part)
