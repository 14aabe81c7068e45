"""Gauss-Seidel in the natural order, one vertex after the other [fratarcangeli2018, section 1.2.2]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...backends.cpu.arguments import Phase
from ...energy.system import System
from ..base import SOLVERS
from .correcting import Corrector, symmetric_sweep
from .kernels.sweep import sweep_sor
from .layout import Layout
from .sweeping import SweepingSolver, check_omega, check_refresh


@SOLVERS.register("gauss-seidel")
@dataclass(eq=False)
class GaussSeidel(SweepingSolver, Corrector):
    """Serial Gauss-Seidel in the order of the mesh's vertices.

    Attributes:
        omega: relaxation, (0, 2); 1 is plain Gauss-Seidel.
        refresh: sweeps for which projections are kept; 0: springs from the newest positions, at every vertex.

    Limitations: no constraints known by their value, no energy terms of a model's own; one thread does all; few
    sweeps leave cloth stretched and brake its motion; contacts are springs without memory, so that heaps creep.
    """

    omega: float = 1.0
    refresh: int = 0

    name = "gauss-seidel"

    def __post_init__(self) -> None:
        check_omega(self.omega, 1.999999)
        check_refresh(self.refresh)

    def visiting_order(self, system: System, threads: int, seed: int) -> np.ndarray:
        """The order of the mesh."""
        return np.arange(system.n)

    def sweep_phases(self, layout: Layout) -> Sequence[Phase]:
        """One serial phase over all vertices."""
        omega = np.array([self.omega], np.float32)
        return [sweep_sor.over(0, layout.n, weights=omega, serial=True, **layout.swept)]

    def correction(self, layout: Layout, r: np.ndarray, e: np.ndarray) -> Sequence[Phase]:
        """A plain forward and a plain backward sweep, whatever omega is."""
        return symmetric_sweep(layout, None, r, e)
