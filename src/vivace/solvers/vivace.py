"""Parallel Gauss-Seidel over the colours of the constraint graph [fratarcangeli2016, Alg. 1].

Relaxation, by name:

    sor      q ← q^k + ω (q̂ - q^k). Each vertex update minimises, over its vertex, a quadratic that lies above the energy
             ε and touches it (the projections are nearest points), and ω scales the step: ε falls by at least
             ω (2 - ω) Y_ii/2 |q̂ - q|². So no sweep raises ε for 0 < ω < 2, whatever the colours, the step or the state.
    printed  line 7 of Algorithm 1 to the letter, q ← ω (q̂ - q^(k-1)) + q^(k-1). That is Chebyshev's recurrence with its
             weight held fixed; it needs real eigenvalues, and a forward sweep over colours has complex ones. It diverges
             on the tablecloth from ω of about 1.75 on (docs/relaxation.md), where the paper uses 1.9 and calls it SOR.
    none     ω = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..colouring import COLOURINGS, balanced, colour
from ..errors import InputError, UnknownNameError
from ..kernels.sweep import sweep_printed, sweep_sor
from ..kernels.team import Phase
from ..system import System
from .base import SOLVERS
from .layout import Layout
from .ordering import morton_rank
from .sweeping import SweepingSolver, check_omega

RELAXATIONS = ("sor", "printed", "none")


@SOLVERS.register("vivace")
@dataclass(eq=False)
class Vivace(SweepingSolver):
    """Coloured parallel Gauss-Seidel with over-relaxation: the default.

    relaxation  "sor" (default, never raises the energy), "printed" (Algorithm 1 as printed), "none"
    omega       relaxation factor: (0, 2) for sor, (0, 2] for printed
    colouring_algorithm  name of a colouring (see `vivace list colourings`)
    balance     even out the colours' sizes after colouring
    """

    relaxation: str = "sor"
    omega: float = 1.9
    colouring_algorithm: str = "brooks-vizing"
    balance: bool = False

    name = "vivace"

    def __post_init__(self) -> None:
        if self.relaxation not in RELAXATIONS:
            raise UnknownNameError("relaxation", str(self.relaxation), RELAXATIONS)
        check_omega(self.omega, 2.0)
        if self.relaxation == "sor" and self.omega >= 2.0:
            raise InputError("sor converges for omega below 2 only (Ostrowski-Reich)")
        COLOURINGS[self.colouring_algorithm]

    def visiting_order(self, system: System, threads: int, seed: int) -> np.ndarray:
        graph = system.graph
        result = colour(*graph, self.colouring_algorithm, seed=seed, threads=threads, check=False)
        if self.balance:
            result = balanced(*graph, result)
        self.colouring = result
        order, self._pointers = result.order(morton_rank(system.model.mesh.vertices))
        return order

    def sweep_phases(self, layout: Layout) -> Sequence[Phase]:
        omega = np.array([1.0 if self.relaxation == "none" else self.omega], np.float32)
        arrays = (*layout.rows, layout.tie, layout.inverse, layout.base, layout.q, layout.square, omega)
        kernel = sweep_sor
        if self.relaxation == "printed":
            kernel, arrays = sweep_printed, (*arrays, np.zeros_like(layout.q))
        colours = zip(self._pointers[:-1], self._pointers[1:], strict=True)
        return [Phase(kernel, arrays, int(begin), int(end)) for begin, end in colours]
