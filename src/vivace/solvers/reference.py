"""The converged answer to a step, in float64. Slow; only used to measure how far the others are from it.

L-BFGS on the energy ε of the step with the factorised Y as its first guess of the Hessian [liu2017], and Armijo's rule
for the step length. It descends from the best state known, so ε(q*) exceeds no energy it is compared with.

How converged is converged: it stops when ten iterations together lower ε by less than `accuracy` times what has been
gained since the first guess. Relative errors are then right to about ten times `accuracy`.

Positions are another matter: ε is flat at its minimum, and flattest along the motions that people see, so they are
still far from settled when the energy is. `polish` goes on by Newton's method until they are.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import scipy.sparse.linalg as spl

from ..system import Frame, System
from .base import Budget, Deadline
from .line_search import backtrack
from .newton import Newton

MEMORY = 12  # pairs that L-BFGS keeps
WINDOW = 10  # iterations over which progress is judged


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
    solve = factorised(system)
    q = np.array(frame.start if start is None else start, np.float64)
    scale = float(np.linalg.norm(system.gradient(frame.start, frame))) or 1.0

    def evaluate(x: np.ndarray) -> tuple[float, np.ndarray]:
        return system.evaluate(x, frame)

    energy, gradient = evaluate(q)
    pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=MEMORY)
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

    Where constraints had negative curvature left out, an iteration moves positions by a share r < 1 of what the one
    before did; what is still to come is then r/(1 - r) times the last move.
    """
    newton = _newton(system)
    q = np.array(frame.s if start is None else start, np.float64)
    constant = _rows(system.constant(frame))
    out = np.empty((system.n, 4))
    scale = float(np.linalg.norm(system.gradient(frame.start, frame))) or 1.0
    before, converged, k = np.inf, False, 0
    while not converged and k < most and np.isfinite(q).all():
        newton.solve(_rows(q), constant, out, Deadline.of(Budget(iterations=1)))
        moved = rms(out[:, :3] - q)
        q, k = out[:, :3].copy(), k + 1
        share = moved / before if before > 0 else 0.0  # 0 after the first: nothing is known of r yet
        converged = moved <= within and share < 1 and moved * share <= within * (1 - share)
        before = moved
    energy, gradient = system.evaluate(q, frame)
    return Reference(q, energy, float(np.linalg.norm(gradient)) / scale, k, converged)


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


def factorised(system: System):
    """A function that solves Y x = b for b (n, 3); the factors stay with the system."""
    if not hasattr(system, "_factors"):
        matrix = system.matrix.tocsc()
        system._factors = spl.splu(matrix, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})  # type: ignore
    return system._factors.solve  # type: ignore[attr-defined]


def _newton(system: System) -> Newton:
    """Newton's method, prepared; it stays with the system."""
    if not hasattr(system, "_polisher"):
        newton = Newton()
        newton.prepare(system, threads=1, seed=0)
        system._polisher = newton  # type: ignore[attr-defined]
    return system._polisher  # type: ignore[attr-defined]


def _rows(points: np.ndarray) -> np.ndarray:
    """(n, 3) as solvers take them, in float64."""
    return np.column_stack([points, np.zeros(len(points))])


def _apply(pairs, solve, gradient: np.ndarray) -> np.ndarray:
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
