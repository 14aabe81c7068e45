"""Jacobi: every vertex at once from the last iterate [fratarcangeli2018, section 1.2.1]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...backends.cpu.arguments import Phase
from ...energy.system import System
from ..base import SOLVERS
from ..kernels.vectors import copy_rows
from .correcting import Corrector
from .kernels.linear import scale_rows
from .kernels.sweep import sweep_jacobi
from .layout import Layout
from .ordering import morton_rank
from .sweeping import SweepingSolver, check_omega, check_refresh

POWER_ITERATIONS = 30


@SOLVERS.register("jacobi")
@dataclass(eq=False)
class Jacobi(SweepingSolver, Corrector):
    """Parallel Jacobi, the baseline of the papers.

    Attributes:
        omega: under-relaxation, (0, 1]. At 1 it may diverge on tetrahedra, whose matrix is not diagonally dominant
            [fratarcangeli2018, section 2.2.2].
        refresh: sweeps for which projections are kept; 0: computed anew for every one.

    Limitations: no constraints known by their value, no energy terms of a model's own; it may diverge on tetrahedra;
    few sweeps leave cloth stretched and brake its motion; contacts are springs without memory, so that heaps
    creep.
    """

    omega: float = 1.0
    refresh: int = 0

    name = "jacobi"

    def __post_init__(self) -> None:
        check_omega(self.omega, 1.0)
        check_refresh(self.refresh)

    def visiting_order(self, system: System, threads: int, seed: int) -> np.ndarray:
        """Neighbours in space stand near each other in memory."""
        return np.argsort(morton_rank(system.model.mesh.vertices))

    def sweep_phases(self, layout: Layout) -> Sequence[Phase]:
        """All vertices from the same positions, then the new positions take their place."""
        new = np.zeros_like(layout.q)
        omega = np.array([self.omega], np.float32)
        sweep = sweep_jacobi.over(0, layout.n, omega=omega, new=new, **layout.swept)
        return [sweep, copy_rows.over(0, layout.n, a=new, to=layout.q)]

    def overshoot(self, layout: Layout) -> float:
        """The largest eigenvalue of ω D⁻¹Y, by power iteration: below 2 for springs, above for most tetrahedra."""
        matrix, inverse = layout.system.matrix, self.omega / layout.system.diagonal
        x, largest = np.random.default_rng(0).standard_normal(layout.n), 0.0
        for _ in range(POWER_ITERATIONS):
            x *= 1.0 / np.linalg.norm(x)
            y = inverse * (matrix @ x)
            largest, x = float(np.linalg.norm(y)), y
        return largest

    def correction(self, layout: Layout, r: np.ndarray, e: np.ndarray) -> Sequence[Phase]:
        """Divide by the diagonal."""
        omega = np.array([self.omega], np.float32)
        return [scale_rows.over(0, layout.n, inverse=layout.inverse, r=r, e=e, omega=omega)]
