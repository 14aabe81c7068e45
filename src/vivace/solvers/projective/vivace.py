"""Parallel Gauss-Seidel over the colours of the constraint graph [fratarcangeli2016, Alg. 1].

Relaxation, by name:

    sor      q ← q^k + ω_k (q̂ - q^k). Each vertex update minimises, over its vertex, a quadratic that lies above the
             energy ε and touches it (the projections are nearest points), and ω scales the step: ε falls by at least
             ω (2 - ω) Y_ii/2 |q̂ - q|². So no sweep raises ε for 0 < ω < 2, whatever the colours, step or state.
    printed  line 7 of Algorithm 1 to the letter, q ← ω (q̂ - q^(k-1)) + q^(k-1). That is Chebyshev's recurrence with
             its weight held fixed; it needs real eigenvalues, and a forward sweep over colours has complex ones. On
             the tablecloth it diverges from ω of about 1.5 on (docs/relaxation.md); the paper takes 1.9, as SOR.
    none     ω = 1.

Descent within a step is not yet stability from step to step. What K sweeps leave of the roughest modes, (1 - ω)^K,
comes back through the velocity: a mode that a step multiplies by μ evolves as q_(n+1) = μ (2 q_n - q_(n-1)), which
grows for μ < -1/3. At ω = 1.9 that is every odd K below 11, and in fact every K up to ten diverges. So ω_k ramps up,

    ω_k = 1 + (ω - 1) k / (k + ramp),     k = 0, 1, 2, ...

whose first, plain sweep removes those modes, and which keeps the map from frame to frame contracting for every K
(docs/relaxation.md has the spectral radii). ramp = 0 is the constant ω of the textbooks.

Projections are kept for `refresh` sweeps. Taken from the newest positions inside every vertex update (refresh = 0),
a spring's projection follows whatever its vertex does and gives way to it: the update forgets the direction in which
over-relaxation carries it. Sweeps over kept projections solve a linear system, cost half as much, and reach half the
error in as many sweeps (docs/relaxation.md). Between two refreshes the quadratic majorant falls, and ε stays below it:
no sweep ends above the energy at the last refresh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...backends.cpu.arguments import Phase
from ...checks import is_number
from ...colouring import COLOURINGS, balanced, colour
from ...energy.system import System
from ...errors import InputError, UnknownNameError
from ..base import SOLVERS
from .correcting import Corrector, symmetric_sweep
from .kernels.sweep import sweep_printed, sweep_sor
from .layout import Layout
from .ordering import morton_rank
from .sweeping import SweepingSolver, check_omega, check_refresh

RELAXATIONS = ("sor", "printed", "none")
RAMP_LENGTH = 1000  # sweeps after which the ramp is taken to have arrived


@SOLVERS.register("vivace")
@dataclass(eq=False)
class Vivace(SweepingSolver, Corrector):
    """Coloured parallel Gauss-Seidel with over-relaxation.

    Attributes:
        relaxation: "sor" (never above the last refresh's energy), "printed" (Algorithm 1 as printed) or "none".
        omega: relaxation factor: (0, 2) for sor, (0, 2] for printed.
        ramp: sweeps over which sor reaches half its over-relaxation; 0: constant omega from the first sweep.
        refresh: sweeps for which projections are kept; 0: springs from the newest positions, at every vertex.
        colouring_algorithm: name of a colouring (see `vivace list colourings`).
        balance: even out the colours' sizes after colouring.

    Limitations: no constraints known by their value, no energy terms of a model's own; few sweeps leave cloth stretched
    and brake its motion, the more vertices the more; contacts are springs without memory, so that heaps
    creep.
    """

    relaxation: str = "sor"
    omega: float = 1.95
    ramp: float = 2.0
    refresh: int = 4
    colouring_algorithm: str = "greedy-smallest-last"
    balance: bool = False

    name = "vivace"

    def __post_init__(self) -> None:
        if self.relaxation not in RELAXATIONS:
            raise UnknownNameError("relaxation", str(self.relaxation), RELAXATIONS)
        check_omega(self.omega, 2.0)
        if self.relaxation == "sor" and self.omega >= 2.0:
            raise InputError("sor converges for omega below 2 only (Ostrowski-Reich)")
        if not is_number(self.ramp) or self.ramp < 0:
            raise InputError(f"ramp must be a number of sweeps, zero or more, not {self.ramp!r}")
        check_refresh(self.refresh)
        COLOURINGS[self.colouring_algorithm]

    def visiting_order(self, system: System, threads: int, seed: int) -> np.ndarray:
        """Colour by colour; within a colour, neighbours in space stand near each other."""
        graph = system.graph
        result = colour(*graph, self.colouring_algorithm, seed=seed, threads=threads, check=False)
        if self.balance:
            result = balanced(*graph, result)
        self.colouring = result
        order, self._pointers = result.order(morton_rank(system.model.mesh.vertices))
        return order

    def sweep_phases(self, layout: Layout) -> Sequence[Phase]:
        """A phase for each colour, whose vertices move in parallel."""
        weights = self.weights()
        kernel, arrays = sweep_sor, {**layout.swept, "weights": weights}
        if self.relaxation == "printed":
            kernel, arrays = sweep_printed, {**layout.swept, "omega": weights, "older": np.zeros_like(layout.q)}
        colours = zip(self._pointers[:-1], self._pointers[1:], strict=True)
        return [Phase(kernel, arrays, int(begin), int(end)) for begin, end in colours]

    def correction(self, layout: Layout, r: np.ndarray, e: np.ndarray) -> Sequence[Phase]:
        """A plain forward and a plain backward sweep over the colours, whatever the relaxation."""
        return symmetric_sweep(layout, self._pointers, r, e)

    def weights(self) -> np.ndarray:
        """ω_k of the sweeps in turn; the last holds for all later ones."""
        if self.relaxation == "none":
            return np.ones(1, np.float32)
        if self.relaxation == "printed" or self.ramp == 0:
            return np.array([self.omega], np.float32)
        k = np.arange(RAMP_LENGTH)
        return (1.0 + (self.omega - 1.0) * k / (k + self.ramp)).astype(np.float32)
