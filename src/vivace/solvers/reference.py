"""The converged answer to a step, in float64. Slow; only used to measure how far the others are from it.

L-BFGS on the energy ε of the step with the factorised Y as its first guess of the Hessian [liu2017], and Armijo's rule
for the step length. It descends from the best state known, so ε(q*) exceeds no energy it is compared with. Where there
is more to minimise than Y knows (constraints by value, a model's own terms), its Hessian at the start is added to Y.

How converged is converged: it stops when ten iterations together lower ε by less than `accuracy` times what has been
gained since the first guess. Relative errors are then right to about ten times `accuracy`.

Positions are another matter: ε is flat at its minimum, and flattest along the motions that people see, so they are
still far from settled when the energy is. `polish` goes on by Newton's method until they are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl
from cholespy import CholeskySolverD, MatrixType

from ..energy.hessian import Hessian
from ..energy.system import Frame, System
from .projective.line_search import backtrack
from .projective.newton import ROUNDING

MEMORY = 12  # pairs that L-BFGS keeps
WINDOW = 10  # iterations over which progress is judged
TIGHT = 1e-7  # of Newton's equation, relative: its error squares, down to that
PATIENCE = 20  # conjugate gradients that cost as much as new factors

Solve = Callable[[np.ndarray], np.ndarray]
Pairs = deque[tuple[np.ndarray, np.ndarray, float]]  # s, y and 1/(s·y)


@dataclass(frozen=True, eq=False)
class Reference:
    """The minimum found: positions (n, 3), its energy (J), the gradient's norm relative to the start's, iterations."""

    q: np.ndarray
    energy: float
    gradient: float
    iterations: int
    converged: bool


def minimise(
    system: System, frame: Frame, start: np.ndarray | None = None, *, accuracy: float = 1e-5, most: int = 1000
) -> Reference:
    """Minimise ε from `start` (default: the step's first guess)."""
    q = np.array(frame.start if start is None else start, np.float64)
    solve = _preconditioner(system, frame, q)
    scale = float(np.linalg.norm(system.gradient(frame.start, frame))) or 1.0

    def evaluate(x: np.ndarray) -> tuple[float, np.ndarray]:
        return system.evaluate(x, frame)

    energy, gradient = evaluate(q)
    pairs: Pairs = deque(maxlen=MEMORY)
    initial = max(system.energy(frame.start, frame), energy)
    history = [energy]
    k = 0
    for k in range(most):
        size = float(np.linalg.norm(gradient)) / scale
        stalled = k >= WINDOW and history[-WINDOW - 1] - energy <= accuracy * (initial - energy)
        if stalled or size <= 1e-12:
            return Reference(q, energy, size, k, True)
        direction = -_apply(pairs, solve, gradient)
        slope = float(np.sum(direction * gradient))
        if slope >= 0:  # cannot happen in exact arithmetic
            pairs.clear()
            direction = -solve(gradient)
            slope = float(np.sum(direction * gradient))
        found = backtrack(evaluate, q, direction, energy, slope)
        if found is None:  # rounding: the energy cannot fall any further
            return Reference(q, energy, size, k, True)
        trial, value, new_gradient = found.q, found.energy, found.rest
        s, y = trial - q, new_gradient - gradient
        curvature = float(np.sum(s * y))
        if curvature > 1e-12 * float(np.linalg.norm(s) * np.linalg.norm(y)):
            pairs.append((s, y, 1.0 / curvature))
        q, energy, gradient = trial, value, new_gradient
        history.append(energy)
    return Reference(q, energy, float(np.linalg.norm(gradient)) / scale, k + 1, False)


def polish(
    system: System, frame: Frame, start: np.ndarray | None = None, *, within: float = 1e-6, most: int = 60
) -> Reference:
    """Newton's method from `start` (default: the prediction) until the minimum is `within` so many metres (RMS).

    Where constraints had negative curvature left out, a step is a share r < 1 of the one before; what is still to come
    is then r/(1 - r) times the last one.
    """
    q = np.array(frame.s if start is None else start, np.float64)
    scale = float(np.linalg.norm(system.gradient(frame.start, frame))) or 1.0

    def evaluate(x: np.ndarray) -> tuple[float, np.ndarray]:
        return system.evaluate(x, frame)

    energy, gradient = evaluate(q)
    first, before, converged, k = energy, np.inf, False, 0
    while not converged and k < most and np.isfinite(energy):
        direction = _newton(system)(q, gradient, frame)
        slack = ROUNDING * (abs(first) + abs(energy - first))
        found = backtrack(evaluate, q, direction, energy, float(np.sum(direction * gradient)), slack=slack)
        size, k = rms(direction), k + 1
        share = size / before if before > 0 else 0.0  # 0 at first: nothing is known of r yet
        converged = size <= within and share < 1 and size * share <= within * (1 - share)
        if found is None:  # rounding: the energy cannot be seen to fall
            converged = size <= within
            break
        q, energy, gradient, before = found.q, found.energy, found.rest, size
    return Reference(q, energy, float(np.linalg.norm(gradient)) / scale, k, converged)


class _Newton:
    """Newton's direction d, H d = -∇ε, by conjugate gradients over factors of an earlier H.

    Factorising takes a hundred times as long as solving, and from step to step H changes little: new factors are made
    when conjugate gradients take too long with the old ones.
    """

    def __init__(self, system: System):
        self._system, self.hessian = system, Hessian(system)
        self._factors: CholeskySolverD | None = None

    def __call__(self, q: np.ndarray, gradient: np.ndarray, frame: Frame) -> np.ndarray:
        if not gradient.any():
            return np.zeros_like(gradient)
        matrix, b = self.hessian(q, frame), -gradient.ravel()
        x = self._conjugate(matrix, b) if self._factors is not None else None
        if x is None:
            try:
                self._factors = CholeskySolverD(len(b), matrix.indptr, matrix.indices, matrix.data, MatrixType.CSR)
                x = self._solve(b)
            except ValueError:  # not positive definite to rounding
                self._factors = None
        if x is None or not x @ b > 0:
            return -factorised(self._system)(gradient)  # Y is positive definite: down
        return x.reshape(gradient.shape)

    def _solve(self, b: np.ndarray) -> np.ndarray:
        assert self._factors is not None
        x = np.empty_like(b)
        self._factors.solve(b, x)
        return x

    def _conjugate(self, matrix: sp.csr_matrix, b: np.ndarray) -> np.ndarray | None:
        """x of matrix x = b to TIGHT; None where that takes, or seems to take, more than PATIENCE iterations."""
        x, r = np.zeros_like(b), b.copy()
        z = self._solve(r)
        p, rz = z.copy(), float(r @ z)
        size = float(np.linalg.norm(b))
        for k in range(1, PATIENCE + 1):
            through = matrix @ p
            step = rz / float(p @ through)
            x += step * p
            r -= step * through
            left = float(np.linalg.norm(r))
            if left <= TIGHT * size:
                return x
            if not left <= TIGHT ** ((k - 3) / PATIENCE) * size:  # the first three may be slow, or not yet downhill
                return None
            z = self._solve(r)
            rz, last = float(r @ z), rz
            p = z + rz / last * p
        return None


def relative_error(system: System, frame: Frame, q: np.ndarray, reference: Reference | None = None) -> float:
    """(ε(q) - ε(q*)) / (ε(q⁰) - ε(q*)): 1 is the first guess q⁰, 0 the minimum. Infinite when q is not finite.

    NaN where there is nothing to tell: the first guess is as good as float32 positions can be, or the reference did not
    converge.
    """
    if not np.isfinite(q).all():
        return float("inf")
    energy, first = system.energy(q, frame), system.energy(frame.start, frame)
    reference = minimise_from(system, frame, q) if reference is None else reference
    gap = first - reference.energy
    return float((energy - reference.energy) / gap) if telling(system, frame, reference) else float("nan")


def position_error(system: System, frame: Frame, q: np.ndarray, reference: Reference | None = None) -> float:
    """RMS distance (m) of the vertices from the minimum; infinite and NaN as `relative_error`.

    `reference`: polished; the energy alone leaves positions unsettled.
    """
    if not np.isfinite(q).all():
        return float("inf")
    if reference is None:
        reference = polish(system, frame, minimise_from(system, frame, q).q)
    return rms(q - reference.q) if telling(system, frame, reference) else float("nan")


def minimise_from(system: System, frame: Frame, q: np.ndarray) -> Reference:
    """The minimum, from `q` or the first guess, whichever is lower: no energy it is compared with lies below it."""
    lower = np.isfinite(q).all() and system.energy(q, frame) < system.energy(frame.start, frame)
    return minimise(system, frame, start=q if lower else frame.start)


def telling(system: System, frame: Frame, reference: Reference) -> bool:
    """Whether there is an error to tell: the reference has converged, and is below what float32 makes of the start."""
    gap = system.energy(frame.start, frame) - reference.energy
    rounding = float(system.diagonal @ (2.0**-24 * np.abs(frame.start).max(axis=1)) ** 2)
    return bool(gap > 10 * rounding and reference.converged)


def rms(offsets: np.ndarray) -> float:
    """Root of the mean squared length of the rows (n, 3)."""
    return float(np.sqrt(np.mean(np.sum(np.square(offsets), axis=1))))


def factorised(system: System) -> Solve:
    """A function that solves Y x = b for b (n, 3); the factors stay with the system."""
    if not hasattr(system, "_factors"):
        matrix = system.matrix.tocsc()
        system._factors = spl.splu(matrix, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})  # type: ignore
    solve: Solve = system._factors.solve  # type: ignore[attr-defined]
    return solve


def _preconditioner(system: System, frame: Frame, q: np.ndarray) -> Solve:
    """What `minimise` takes for the inverse of the Hessian: that of Y, and what Y does not know as it is at q."""
    if not system.positional and not system.model.terms:
        return factorised(system)
    matrix = sp.kron(system.matrix, sp.identity(3), format="csr") + _newton(system).hessian.others(q, frame)
    try:
        factors = CholeskySolverD(3 * system.n, matrix.indptr, matrix.indices, matrix.data, MatrixType.CSR)
    except ValueError:  # a term's own matrix was not positive semidefinite
        return factorised(system)

    def solve(b: np.ndarray) -> np.ndarray:
        x = np.empty(b.size)
        factors.solve(np.ascontiguousarray(b).ravel(), x)
        return x.reshape(b.shape)

    return solve


def _newton(system: System) -> _Newton:
    """Its factors stay with the system."""
    if not hasattr(system, "_polisher"):
        system._polisher = _Newton(system)  # type: ignore[attr-defined]
    polisher: _Newton = system._polisher  # type: ignore[attr-defined]
    return polisher


def _apply(pairs: Pairs, solve: Solve, gradient: np.ndarray) -> np.ndarray:
    """The two-loop recursion: H⁻¹ times the gradient, with Y⁻¹ in its middle."""
    x = gradient.copy()
    back = []
    for s, y, inverse in reversed(pairs):
        a = inverse * float(np.sum(s * x))
        x -= a * y
        back.append(a)
    x = solve(x)
    for (s, y, inverse), a in zip(pairs, reversed(back), strict=True):
        x += (a - inverse * float(np.sum(y * x))) * s
    return x
