"""Directions of descent by name [fratarcangeli2018, sections 3.1 and 3.2.1].

    gradient       -∇ε, in the scale of the largest diagonal entry, so that α means something
    jacobi         -diag(H)⁻¹ ∇ε
    nonlinear-cg   -P⁻¹∇ε + β Δq_before, β by Fletcher and Reeves (Eq. 32), and the exact step along it
    l-bfgs         by the last pairs of steps and gradients, P⁻¹ as the first guess of H⁻¹
    newton         -H⁻¹ ∇ε, H without negative curvature, factorised: the ground truth, and slow
    gauss-seidel   vertex by vertex, each by its own 3 x 3 block of H (`gauss_seidel`; not in the paper)

P = diag(H) everywhere. The first two and the last leave momentum to the solver, the first two their step length, too;
all others find their own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable

import numpy as np

from ...energy.hessian import Hessian
from ..projective.newton import solved
from .direction import Direction, Jacobi
from .gauss_seidel import GaussSeidel
from .momentum import Momentum
from .problem import Problem

HALVINGS = 12
PROBE = 1e-2  # of a step along a direction: how far the curvature along it is looked at


class Gradient(Jacobi):
    """Along the gradient itself."""

    def scale(self) -> np.ndarray:
        """The largest of all entries."""
        return np.full(1, self.problem.scale.max(), np.float32)


class Searching(Direction):
    """A direction, and the exact step along it for as long as ε falls."""

    @abstractmethod
    def direction(self, r: np.ndarray) -> np.ndarray:
        """Δq (n, 4) in float64."""

    def first(self, d: np.ndarray, slope: float) -> float:
        """The first step length along d that is tried."""
        return 1.0

    def step(self, length: float, momentum: Momentum) -> float:
        """Halve until ε falls; if it does not, the plain preconditioned gradient is next."""
        problem = self.problem
        r = problem.r.astype(np.float64)
        d = self.direction(r)
        slope = float(np.sum(d * r))
        if not slope > 0 or not np.isfinite(slope):
            self.begin()
            d = r / problem.scale
            slope = float(np.sum(d * r))
        alpha = self.first(d, slope)
        for _ in range(HALVINGS):
            np.copyto(problem.q, problem.old + (alpha * d).astype(np.float32))
            problem.look()
            if problem.lower():
                break
            alpha *= 0.5
        self.took(alpha * d, r)
        return 1.0

    def took(self, s: np.ndarray, r_old: np.ndarray) -> None:
        """A step s was made from where the residual was r_old."""


class NonlinearCG(Searching):
    """Conjugate gradients on the true gradient."""

    def begin(self) -> None:
        """No direction from before."""
        self._before: np.ndarray | None = None
        self._product = 1.0

    def direction(self, r: np.ndarray) -> np.ndarray:
        """Fletcher and Reeves with z = g·P⁻¹g [fratarcangeli2018, Eq. 32 and footnote 5]."""
        e = r / self.problem.scale
        product = float(np.sum(r * e))
        if self._before is not None and self._product > 0:
            e = e + (product / self._product) * self._before
        self._before, self._product = e, product
        return e

    def first(self, d: np.ndarray, slope: float) -> float:
        """Where the curvature along d, from another look at the gradient, says that ε is lowest.

        The paper takes H exactly for that [fratarcangeli2018, section 3.1].
        """
        problem = self.problem
        np.copyto(problem.q, problem.old + (PROBE * d).astype(np.float32))
        problem.look()
        curved = (slope - float(np.sum(problem.r.astype(np.float64) * d))) / PROBE
        return slope / curved if curved > 0.1 * slope else 10.0


class LBFGS(Searching):
    """Limited-memory BFGS over the diagonal of the Hessian."""

    def __init__(self, problem: Problem, history: int = 8):
        super().__init__(problem, history)
        self._pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=history)

    def begin(self) -> None:
        """No pairs from before."""
        self._pairs.clear()

    def direction(self, r: np.ndarray) -> np.ndarray:
        """The two loops; diag(H)⁻¹ is the first guess of H⁻¹ [fratarcangeli2018, section 3.2.1]."""
        d, weights = r.copy(), []
        for s, y, inverse in reversed(self._pairs):
            weights.append(inverse * float(np.sum(s * d)))
            d -= weights[-1] * y
        d /= self.problem.scale
        for (s, y, inverse), weight in zip(self._pairs, reversed(weights), strict=True):
            d += (weight - inverse * float(np.sum(y * d))) * s
        return d

    def took(self, s: np.ndarray, r_old: np.ndarray) -> None:
        """Keep the pair, if ε curves upwards along it."""
        y = r_old - self.problem.r
        product = float(np.sum(s * y))
        if product > 1e-12 * float(np.linalg.norm(s) * np.linalg.norm(y)):
            self._pairs.append((s, y, 1.0 / product))


class Newton(Searching):
    """With the Hessian of all terms, factorised anew in every iteration."""

    def __init__(self, problem: Problem, history: int = 0):
        super().__init__(problem, history)
        self._hessian = Hessian(problem.layout.system)

    def direction(self, r: np.ndarray) -> np.ndarray:
        """H d = r; contacts count by what they add to the diagonal."""
        layout = self.problem.layout
        n, q = layout.n, np.empty((layout.n, 3))
        q[layout.order] = self.problem.q[:, :3]
        b = np.empty((n, 3))
        b[layout.order] = r[:, :3]
        held = np.broadcast_to(np.asarray(layout.system.contact_weight), (n,))
        matrix = self._hessian(q)
        matrix.setdiag(matrix.diagonal() + np.repeat(held, 3))
        d = np.zeros((n, 4))
        d[:, :3] = solved(matrix, 0.0, b)[layout.order]
        return d


DIRECTIONS: dict[str, Callable[[Problem, int], Direction]] = {
    "jacobi": Jacobi,
    "gradient": Gradient,
    "nonlinear-cg": NonlinearCG,
    "l-bfgs": LBFGS,
    "newton": Newton,
    "gauss-seidel": GaussSeidel,
}
