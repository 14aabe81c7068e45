"""The global step solved exactly: a sparse Cholesky factorisation of Y, made once [bouaziz2014].

The factorisation and its back-substitution, for three coordinates at once, are CHOLMOD's through cholespy. A new system
with other pins does not need a new one: a few pins are a low-rank update of the old factors (Woodbury's formula); with
more, the old factors precondition conjugate gradients on the new matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..checks import is_whole
from ..errors import InputError
from ..kernels.acceleration import EXACT
from ..system import System
from .base import SOLVERS
from .correcting import CorrectingSolver, Corrector
from .layout import Layout
from .ordering import morton_rank
from .pcg import conjugate_steps
from .plan import Step

REFACTOR_SHARE = 0.2  # of the vertices: with more changed pins than that, old factors are not worth keeping


@SOLVERS.register("direct")
@dataclass(eq=False)
class Direct(CorrectingSolver, Corrector):
    """Projective dynamics with a prefactored sparse Cholesky solve: exact, while the matrix stays.

    low_rank  changed pins up to which the old factors are updated exactly (a back-substitution for every three);
              beyond, they precondition conjugate gradients
    """

    low_rank: int = 12

    name = "direct"

    def __post_init__(self) -> None:
        if not is_whole(self.low_rank) or not 0 <= self.low_rank <= 1000:
            raise InputError(f"low_rank must be a whole number from 0 to 1000, not {self.low_rank!r}")

    # --- as a corrector -------------------------------------------------------------------------------------------

    def visiting_order(self, system: System, threads: int, seed: int) -> np.ndarray:
        return np.argsort(morton_rank(system.model.mesh.vertices), kind="stable")

    def correction(self, layout: Layout, r: np.ndarray, e: np.ndarray) -> Sequence[Step]:
        self._r, self._e = r, e
        self._b, self._x = (np.zeros((layout.n, 3), np.float32) for _ in range(2))
        self._factorise(layout)
        return [self._solve]

    def _factorise(self, layout: Layout) -> None:
        self._factors = Cholesky(layout.system.matrix[layout.order][:, layout.order])
        self._diagonal = layout.system.diagonal[layout.order]
        self._changed = np.zeros(0, np.int64)
        self.exact = True

    def _solve(self) -> None:
        np.copyto(self._b, self._r[:, :3])
        self._factors.solve(self._b, self._x)
        if self.exact and len(self._changed):
            self._x -= self._spread @ (self._small @ self._x[self._changed])
        self._e[:, :3] = self._x

    def adapt_correction(self, layout: Layout) -> bool:
        """Y + E Δ Eᵀ, E the columns of the changed vertices: (Y + EΔEᵀ)⁻¹ = Y⁻¹ - Z (Δ⁻¹ + EᵀZ)⁻¹ EᵀY⁻¹, Z = Y⁻¹E."""
        delta = layout.system.diagonal[layout.order] - self._diagonal
        self._changed = changed = np.flatnonzero(np.abs(delta) > 1e-9 * self._diagonal)
        if len(changed) > REFACTOR_SHARE * layout.n:
            return False
        self.exact = len(changed) <= self.low_rank
        if self.exact and len(changed):
            spread = self._factors.columns(changed)
            small = np.linalg.inv(np.diag(1.0 / delta[changed]) + spread[changed].astype(np.float64))
            self._spread, self._small = spread, small.astype(np.float32)
        return True

    def correction_note(self) -> str:
        return "" if self.exact else f"{len(self._changed)} pins changed: the old factors precondition"

    # --- as a solver of its own -----------------------------------------------------------------------------------

    def update_steps(self, layout: Layout, r: np.ndarray, e: np.ndarray) -> tuple[Sequence[Step], Sequence[Step]]:
        self._state, steps = conjugate_steps(layout, r, e)
        return [], steps

    def begin_correction(self) -> None:
        if hasattr(self, "_state"):
            self._state[EXACT] = float(self.exact)  # then the whole correction is taken, and nothing else computed


class Cholesky:
    """Factors of a symmetric positive matrix (float32 back-substitution)."""

    def __init__(self, matrix):
        from cholespy import CholeskySolverF, MatrixType

        matrix = matrix.tocsc()
        matrix.sort_indices()
        self.n = matrix.shape[0]
        arrays = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data.astype(np.float64)
        try:
            self._solver = CholeskySolverF(self.n, *arrays, MatrixType.CSC)
        except (RuntimeError, ValueError) as error:
            raise InputError(f"the system's matrix could not be factorised: {error}") from error

    def solve(self, b: np.ndarray, x: np.ndarray) -> None:
        """x = A⁻¹ b, (n, k) float32 each."""
        self._solver.solve(b, x)

    def columns(self, which: np.ndarray) -> np.ndarray:
        """Columns of the inverse (n, k)."""
        unit, x = (np.zeros((self.n, len(which)), np.float32) for _ in range(2))
        unit[which, np.arange(len(which))] = 1.0
        self.solve(unit, x)
        return x
