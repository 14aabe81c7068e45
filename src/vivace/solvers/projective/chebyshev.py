"""Chebyshev's method over linear corrections: `solvers.chebyshev` has its equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...backends.cpu.arguments import Phase
from ...energy.system import System
from ..base import SOLVERS, Deadline, Outcome
from ..chebyshev import AUTO, ChebyshevMethod
from .correcting import Accelerated, first_share
from .layout import Layout
from .tuning import tuned_rho


@SOLVERS.register("chebyshev")
@dataclass(eq=False)
class Chebyshev(ChebyshevMethod, Accelerated):
    """Chebyshev acceleration of another solver: chebyshev(jacobi), chebyshev(direct), chebyshev(pbd-jacobi), ...

    Attributes:
        inner: the solver that makes the corrections; sweeping solvers make a forward and a backward sweep of them.
        rho: estimate of the spectral radius, [0, 1), or "auto": tuned in a pre-simulation when the solver is prepared.
        delay: iterations before acceleration begins (S).
        gamma: under-relaxation, (0, 1].
        watch: begin anew with a smaller rho when the residual exceeds what it was at the start, shorten corrections
            that would overshoot, and take no larger rho than a step's iterations allow (always, with rho="auto").
        horizon: iterations a step that "auto" tunes rho for.

    Limitations: no constraints known by their value, no energy terms of a model's own, no contacts over `direct`; a
    fixed rho that is too large for the iterations diverges, and "auto" is tuned when it is prepared, never in the
    background; over `jacobi`, its default, few iterations leave cloth stretched; over
    `direct` or `multigrid` it hovers: cloth that should turn and fall stays behind.
    """

    wrapper = "chebyshev"

    def __post_init__(self) -> None:
        self.check_options()
        self._adopt(self.inner)

    def update_steps(self, layout: Layout, r: np.ndarray, e: np.ndarray) -> tuple[Sequence[Phase], Sequence[Phase]]:
        """Chebyshev's weights over the corrections, shortened where these would overshoot."""
        watch = self.watch or self.rho == AUTO
        first = later = self.gamma
        if watch:
            overshoot = self.corrector.overshoot(layout)
            first = min(first, first_share(overshoot))
            later = min(later, 1.9 / overshoot)
        return [], self.weigh(layout.q, e, r, first=first, later=later, watch=watch)

    def prepare(self, system: System, *, threads: int, seed: int) -> None:
        """Prepare the solver inside; with "auto", find ρ in a pre-simulation."""
        self.begin_method()
        super().prepare(system, threads=threads, seed=seed)
        if self.rho == AUTO:
            self.wait()  # ρ is that of the corrections that the steps will be made of
            self.used_rho = tuned_rho(self, system)
        self._expected = self.horizon

    def solve(self, start: np.ndarray, constant: np.ndarray, out: np.ndarray, deadline: Deadline) -> Outcome:
        """Iterate, with no larger ρ than as many iterations as last time allow."""
        if self.system is not None:
            self.begin_step()
        outcome = super().solve(start, constant, out, deadline)
        self.end_step(outcome.sweeps)
        return outcome

    def remembered(self) -> dict[str, np.ndarray]:
        """What the method has learnt, and what contacts remember."""
        return {} if self.system is None else {**self.learnt(), **super().remembered()}

    def recall(self, memory: dict[str, np.ndarray]) -> None:
        """Go on with what `remembered` gave."""
        self.learn(memory)
        super().recall(memory)

    def note(self) -> str:
        """What a user should know: ρ that was reduced, and what the corrections tell."""
        return "; ".join(part for part in (self.method_note(), self.corrector.correction_note()) if part)
