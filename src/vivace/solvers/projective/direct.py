"""The global step solved exactly: a sparse factorisation of Y, made once [bouaziz2014].

SuperLU (SciPy's) orders and factorises, Y = L D Lᵀ; the back-substitution, which is what a frame pays for, is our own:
float32, three coordinates at once, rows stored as runs, subtrees of the elimination tree for different threads
(`kernels.triangular`), and compiled phases like everything else. docs/measurements.md compares it with others.

A new system with other pins does not need a new factorisation: a few pins are a low-rank update of the old factors
(Woodbury's formula); with more, the old factors precondition conjugate gradients on the new matrix. L-BFGS and
Chebyshev take corrections at their full length, for which old factors are no good: then it is factorised anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from ...backends.cpu.arguments import Phase
from ...backends.cpu.executor import Plan
from ...checks import is_whole
from ...energy.system import System
from ...errors import InputError
from ..base import SOLVERS
from .correcting import CorrectingSolver, Corrector
from .kernels.acceleration import EXACT
from .kernels.triangular import (
    elimination_tree,
    low_rank_subtract,
    low_rank_weights,
    runs_of,
    scale_by,
    substitute_backward,
    substitute_forward,
    subtree_tasks,
)
from .layout import Layout
from .pcg import conjugate_steps

REFACTOR_SHARE = 0.2  # of the vertices: with more changed pins than that, old factors are not worth keeping
DROWNED = 1e-3  # of a diagonal entry: less than that under a pin is lost in its rounding


@SOLVERS.register("direct")
@dataclass(eq=False)
class Direct(CorrectingSolver, Corrector):
    """Projective dynamics with a prefactored sparse solve: exact, while the matrix stays.

    Attributes:
        low_rank: changed pins up to which the old factors are updated exactly (a back-substitution for every four);
            beyond, they precondition conjugate gradients, or, inside lbfgs and chebyshev, are made anew.

    Limitations: no constraints known by their value, no energy terms of a model's own, no contacts; solved well it
    hovers: cloth that should turn and fall stays behind; it factorises before the first step, never in the background,
    and factors grow faster than the mesh.
    """

    low_rank: int = 12

    name = "direct"
    whole = True
    follows_contacts = False
    weighs = True

    def __post_init__(self) -> None:
        if not is_whole(self.low_rank) or not 0 <= self.low_rank <= 1000:
            raise InputError(f"low_rank must be a whole number from 0 to 1000, not {self.low_rank!r}")

    # --- as a corrector -------------------------------------------------------------------------------------------

    def visiting_order(self, system: System, threads: int, seed: int) -> np.ndarray:
        """The factors' own order, so that nothing has to be permuted between projections and substitution."""
        self._factors = Factors(system.matrix, threads)
        return self._factors.order

    def correction(self, layout: Layout, r: np.ndarray, e: np.ndarray) -> Sequence[Phase]:
        """Back-substitution, then the update of low rank for pins that have changed."""
        room, n = max(1, self.low_rank), layout.n
        self._diagonal = layout.system.diagonal[layout.order]
        self._rank, self._changed = np.zeros(1, np.int64), np.zeros(room, np.int32)
        self._small, self._spread = np.zeros(room * room, np.float32), np.zeros(n * room, np.float32)
        weights = np.zeros((room, 4), np.float32)
        self.exact, self._others = True, 0
        rank = {"rank": self._rank, "x": e, "weights": weights}
        return [
            *self._factors.substitution(r, e),
            low_rank_weights.over(0, 1, changed=self._changed, small=self._small, serial=True, **rank),
            low_rank_subtract.over(0, n, spread=self._spread, **rank),
        ]

    def adapt_correction(self, layout: Layout, *, weighed: bool) -> bool:
        """Y + E Δ Eᵀ, E the columns of the changed vertices: (Y + EΔEᵀ)⁻¹ = Y⁻¹ - Z (Δ⁻¹ + EᵀZ)⁻¹ EᵀY⁻¹, Z = Y⁻¹E."""
        diagonal = layout.system.diagonal[layout.order]
        if (diagonal < DROWNED * self._diagonal).any():
            return False  # float32 factors do not know what was under such a pin
        delta = diagonal - self._diagonal
        changed = np.flatnonzero(np.abs(delta) > 1e-9 * self._diagonal)
        # Old factors overshoot at a new pin by its stiffness over that of what was there: a step must be weighed.
        if len(changed) > (REFACTOR_SHARE * layout.n if weighed else self.low_rank):
            return False
        self._others = k = len(changed)
        self.exact = k <= self.low_rank
        self._rank[0] = k if self.exact else 0
        if self.exact and k:
            spread = self._factors.columns(changed)
            small = np.linalg.inv(np.diag(1.0 / delta[changed]) + spread[changed].astype(np.float64))
            self._changed[:k] = changed
            self._spread[: layout.n * k], self._small[: k * k] = spread.ravel(), small.ravel()
        return True

    def correction_note(self) -> str:
        """What a user should know: whether the factors are still exact."""
        return "" if self.exact else f"{self._others} pins changed: the old factors precondition"

    # --- as a solver of its own -----------------------------------------------------------------------------------

    def update_steps(self, layout: Layout, r: np.ndarray, e: np.ndarray) -> tuple[Sequence[Phase], Sequence[Phase]]:
        """Conjugate gradients, which exact factors end after one step."""
        self._state, steps = conjugate_steps(layout, r, e)
        return [], steps

    def begin_correction(self) -> None:
        """Tell conjugate gradients whether the factors are exact."""
        if hasattr(self, "_state"):
            self._state[EXACT] = float(self.exact)  # then the whole correction is taken, and nothing else computed


SHARES = (1.0, 0.5, 0.35, 0.25, 0.15, 0.08)  # of the work, at most, in a subtree that is one thread's task


class Factors:
    """L and D of a symmetric positive matrix, in an order that keeps them sparse: `order[i]` is the i-th row."""

    def __init__(self, matrix: sp.csr_matrix, threads: int = 1):
        self.threads = threads
        try:
            options = {"SymmetricMode": True}
            lu = spl.splu(matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
        except RuntimeError as error:
            raise InputError(f"the system's matrix could not be factorised: {error}") from error
        if not np.array_equal(lu.perm_r, lu.perm_c):
            raise InputError("the system's matrix is not positive definite: its factorisation had to pivot")
        lower = sp.csc_array(sp.tril(lu.L, -1))
        lower.sort_indices()
        inner = self._cut(lower)
        lower = sp.csc_array(lower[inner][:, inner])
        self.order: np.ndarray = np.argsort(lu.perm_c)[inner].astype(np.int32)
        self.n, self.entries = len(self.order), lower.nnz
        self._inverse = (1.0 / lu.U.diagonal()[inner]).astype(np.float32)
        self._rows = _as_runs(sp.csr_array(lower))

    def _cut(self, lower: sp.csc_array) -> np.ndarray:
        """Cut the elimination tree into tasks, as two threads would be through with them first; returns their order."""
        parent = elimination_tree(lower.indptr, lower.indices)
        work = np.diff(lower.indptr) + np.bincount(lower.indices, minlength=lower.shape[0]) + 4.0
        found: np.ndarray
        best = np.inf
        for share in SHARES:
            order, task_at = subtree_tasks(parent, work, share)
            sums = np.add.reduceat(np.append(work[order], 0.0), task_at[:-1]) * (np.diff(task_at) > 0)
            took = max(sums[:-1].sum() / 2, sums[:-1].max(initial=0.0)) + sums[-1]
            if took < best:
                best, found, self._task_at = took, order, task_at
        return found

    def substitution(self, b: np.ndarray, x: np.ndarray) -> list[Phase]:
        """Phases that write x = A⁻¹ b, both (n, 4) in `order`."""
        tasks = len(self._task_at) - 2
        upward = {**self._rows._asdict(), "x": x, "task_at": self._task_at}
        down = {**upward, "b": b}
        return [
            Phase(substitute_forward, down, 0, tasks, chunks=tasks),
            Phase(substitute_forward, down, tasks, tasks + 1),
            scale_by.over(0, self.n, inverse=self._inverse, x=x),
            Phase(substitute_backward, upward, tasks, tasks + 1),
            Phase(substitute_backward, upward, 0, tasks, chunks=tasks),
        ]

    def solve(self, b: np.ndarray, x: np.ndarray) -> None:
        """x = A⁻¹ b, (n, 4) float32 in `order`."""
        Plan(self.substitution(b, x), self.threads).run()

    def columns(self, which: np.ndarray) -> np.ndarray:
        """Columns of the inverse (n, k), four at a time."""
        found = np.zeros((self.n, len(which)), np.float32)
        for first in range(0, len(which), 4):
            some = which[first : first + 4]
            unit, x = (np.zeros((self.n, 4), np.float32) for _ in range(2))
            unit[some, np.arange(len(some))] = 1.0
            self.solve(unit, x)
            found[:, first : first + 4] = x[:, : len(some)]
        return found


class Runs(NamedTuple):
    """A sparse matrix by rows whose columns are given as runs of consecutive ones (`kernels.triangular`)."""

    row_at: np.ndarray
    columns: np.ndarray
    lengths: np.ndarray
    value_at: np.ndarray
    values: np.ndarray


def _as_runs(matrix: sp.csr_array | sp.csc_array) -> Runs:
    matrix.sort_indices()
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    row_at, columns, lengths = runs_of(indptr, indices)
    return Runs(row_at, columns, lengths, indptr, matrix.data.astype(np.float32))
