"""What the tests of corrections share: a correction as a matrix, and its eigenvalues."""

from __future__ import annotations

import numpy as np

from vivace import Solver, System
from vivace.backends.cpu.executor import Plan
from vivace.solvers import make_solver

EPS32 = float(np.finfo(np.float32).eps)


def prepared(name: str | Solver, system: System, *, threads: int = 1, seed: int = 0):
    """A solver that is ready for `system`, its background work included."""
    solver = make_solver(name)
    solver.prepare(system, threads=threads, seed=seed)
    solver.wait()
    return solver


def operator_of(solver) -> np.ndarray:
    """H of e = H r in the order of the mesh, column by column: four at once, one a lane."""
    layout, n = solver.layout, solver.layout.n
    r, e = np.zeros((2, n, 4), np.float32)
    plan = Plan(solver.corrector.correction(layout, r, e), 1)
    columns = np.zeros((n, n))
    for first in range(0, n, 4):
        count = min(4, n - first)
        r[:] = 0
        r[np.arange(first, first + count), np.arange(count)] = 1
        plan.run()
        columns[:, first : first + count] = e[:, :count]
    back = np.empty_like(columns)
    back[np.ix_(layout.order, layout.order)] = columns
    return back


def spectrum(h: np.ndarray, system: System) -> np.ndarray:
    """Eigenvalues of HY, which are those of CᵀHC for Y = CCᵀ: 1 where a correction is exact, 0 where it is nothing."""
    c = np.linalg.cholesky(system.matrix.toarray())
    return np.linalg.eigvalsh(c.T @ (0.5 * (h + h.T)) @ c)


def contraction(solver, system: System, iterations: int = 30) -> float:
    """The spectral radius of I - HY from below: what iteration leaves of a random error, in the norm of Y.

    Without any dense matrix, so for larger systems.
    """
    layout = solver.layout
    r, e = np.zeros((2, layout.n, 4), np.float32)
    plan = Plan(solver.corrector.correction(layout, r, e), 1)
    matrix = system.matrix[layout.order][:, layout.order]
    x = np.random.default_rng(0).standard_normal((layout.n, 4))
    ratio = 0.0
    for _ in range(iterations):
        residual = matrix @ x
        size = float(np.sum(x * residual))
        x /= np.sqrt(size)
        r[:] = residual / np.sqrt(size)
        plan.run()
        x -= e
        ratio = float(np.sqrt(np.sum(x * (matrix @ x))))
    return ratio
