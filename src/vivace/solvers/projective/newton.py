"""Newton's method on a step's true energy, in float64: the ground truth of [fratarcangeli2018, sections 1.3.4, 3.2].

    H(q) d = -∇ε(q),     q ← q + α d

H is the Hessian of all terms without their negative curvature (`hessian`), so that d descends, and α is found by
backtracking, so that ε never rises. Where nothing had to be left out, the error squares in every iteration; elsewhere
it falls by a factor. Constraints known by their value and terms of a model's own are terms like all others.
[fratarcangeli2018, Eq. 11] is this iteration with α = 1, except that it prints q^(k) for q_t in the inertia.

ε is not convex. On crumpled cloth two methods may end in neighbouring minima, with energies that differ by some 1e-6
of what there was to gain: relative errors there have no more digits than that.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from cholespy import CholeskySolverD, MatrixType

from ...energy.hessian import Hessian
from ...energy.system import Frame, System
from ...errors import InputError
from ..base import SOLVERS, Deadline, Outcome, Solver
from .line_search import backtrack

SHIFTS = (0.0, 1e-10, 1e-6, 1e-2)  # of the diagonal, in turn, until the factors exist and lead down
ROUNDING = 2.0**-50  # of an energy, relative: a few units for each of its sums


@SOLVERS.register("newton")
@dataclass(eq=False)
class Newton(Solver):
    """Newton's method with a sparse Cholesky factorisation, in float64: slow, and right.

    An iteration counts as a sweep. It has no options; a tolerance makes it stop when it has arrived.

    Limitations: no contacts; it takes seconds for a step of 10,000 vertices, and factorises in every iteration; its
    minimum may be one of several where cloth crumples.
    """

    name = "newton"
    takes_terms = True
    takes_valued = True
    _frame: Frame | None = field(default=None, init=False, repr=False)

    def prepare(self, system: System, *, threads: int, seed: int) -> None:
        """Make what of the Hessian does not depend on the positions, and stack the operators."""
        self._hessian, self._frame = Hessian(system), None
        system.potential(system.model.mesh.vertices)  # operators are stacked now, not inside the first step's budget
        self.system = system

    def see(self, frame: Frame) -> None:
        """Keep the step's problem for the terms of the model's own."""
        self._frame = frame

    def solve(self, start: np.ndarray, constant: np.ndarray, out: np.ndarray, deadline: Deadline) -> Outcome:
        """Newton steps with a line search, in float64, until a limit is met."""
        if self.system is None:
            raise InputError(f"solver {self.name!r} has not been prepared for a system")
        budget = deadline.budget
        # In float32, `constant` rounds as if the prediction had moved by about an ulp: no more than the result will.
        q = start[:, :3].astype(np.float64)
        evaluate = self.system.around(q, constant[:, :3].astype(np.float64), self._frame)
        energy, gradient = evaluate(q)
        first, limit = energy, self._limit(gradient, q, budget.tolerance)
        iterations, stopped, stuck, note, residuals = 0, "", False, "", list[tuple[int, float]]()
        while not stopped:
            began = time.perf_counter_ns()
            met = float(np.linalg.norm(gradient))
            if deadline.trace:
                residuals.append((iterations, met))
            if met > 0:
                direction, slope, trouble = self._direction(q, gradient)
                note = trouble or note
                slack = ROUNDING * (abs(first) + abs(energy - first))
                found = backtrack(evaluate, q, direction, energy, slope, slack=slack)
                if found is not None:
                    q, energy, gradient = found.q, found.energy, found.rest
                stuck = found is None
            iterations += 1
            now = time.perf_counter_ns()
            if met <= limit:
                stopped = "tolerance"
            elif iterations >= budget.most_iterations:
                stopped = "iterations"
            elif stuck:  # all that are left would be this one again
                stopped = "time" if budget.iterations is None and budget.ms is not None else "iterations"
                iterations = budget.iterations or iterations
                note = "; ".join(filter(None, (note, "no step lowers the energy")))
            elif deadline.at_ns is not None and 2 * now - began > deadline.at_ns:  # the next will take as long
                stopped = "time"
        out[:, :3] = q
        out[:, 3:] = 0.0
        return Outcome(iterations, met, stopped, now, note, np.reshape(residuals, (-1, 2)))

    def _limit(self, gradient: np.ndarray, q: np.ndarray, tolerance: float | None) -> float:
        """The gradient's norm (N) to stop at: relative to the first, not below what rounding leaves, 2⁻⁵³ Y_ii |q|.

        Of H_ii where there is more to it than Y knows.
        """
        assert self.system is not None
        size = float(np.linalg.norm(gradient))
        if tolerance is None or not np.isfinite(size):
            return -1.0
        diagonal = self.system.diagonal[:, None]
        if self.system.positional or self.system.model.terms:
            diagonal = diagonal + self._hessian.others(q, self._frame).diagonal().reshape(-1, 3)
        rounding = 4.0 * 2.0**-53 * float(np.linalg.norm(diagonal * q))
        return max(tolerance * size, rounding)

    def _direction(self, q: np.ndarray, gradient: np.ndarray) -> tuple[np.ndarray, float, str]:
        """d with H d = -∇ε, its slope d·∇ε < 0, and what had to be done for it."""
        assert self.system is not None
        hessian = self._hessian(q, self._frame)
        for shift in SHIFTS:
            direction = solved(hessian, shift, -gradient)
            slope = float(np.sum(direction * gradient))
            if slope < 0:  # and a number
                return direction, slope, f"the Hessian's diagonal was raised by {shift:g}" if shift else ""
        direction = -gradient / self.system.diagonal[:, None]
        return direction, float(np.sum(direction * gradient)), "the Hessian could not be factorised: a Jacobi step"


def solved(matrix: sp.csr_matrix, shift: float, b: np.ndarray) -> np.ndarray:
    """x of (matrix + shift diag(matrix)) x = b; NaN where it is not positive definite to rounding."""
    if shift:
        matrix = (matrix + sp.diags(shift * matrix.diagonal())).tocsr()
    x = np.full(b.size, np.nan)
    try:
        factors = CholeskySolverD(len(x), matrix.indptr, matrix.indices, matrix.data, MatrixType.CSR)
    except ValueError:
        return x.reshape(b.shape)
    factors.solve(np.ascontiguousarray(b).ravel(), x)
    return x.reshape(b.shape)
