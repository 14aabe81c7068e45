"""Jacobi with a weight below one, which converges where Jacobi itself need not [fratarcangeli2018, section 2.2.2]."""

from __future__ import annotations

from dataclasses import dataclass

from ..base import SOLVERS
from .jacobi import Jacobi


@SOLVERS.register("weighted-jacobi")
@dataclass(eq=False)
class WeightedJacobi(Jacobi):
    """Jacobi, every step shortened by omega.

    Attributes:
        omega: the weight, (0, 1]. 2/3 damps rough errors best on a Laplacian.
        refresh: sweeps for which projections are kept; 0: computed anew for every one.

    Limitations: no constraints known by their value, no energy terms of a model's own; few sweeps leave cloth stretched
    and brake its motion, more than those of `jacobi`; contacts are springs without memory, so that heaps
    creep.
    """

    omega: float = 2 / 3

    name = "weighted-jacobi"
