"""ρ without a human: what [fratarcangeli2018, section 2.2.1] does by hand, done by a pre-simulation.

The course runs the plain iteration, takes ρ = ‖e^(K)‖ / ‖e^(K-1)‖, and then adjusts it by hand until oscillation shows.
Here the scene falls from rest for a few steps; on the last of them ρ is moved by [fratarcangeli2018, Eq. 37],
1 - ρ ← (1 ± ε)(1 - ρ), first in large steps and then in the course's of 5 %, as long as K iterations end at a lower
energy. ρ depends on K: the more iterations, the larger it may be.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ...energy.system import Frame, System
from ..base import Budget, Deadline, Outcome


class Tunable(Protocol):
    """A prepared solver with a ρ."""

    horizon: int
    used_rho: float
    watching: bool

    def solve(self, start: np.ndarray, constant: np.ndarray, out: np.ndarray, deadline: Deadline) -> Outcome:
        """As `Solver.solve`."""


FRAMES = 5  # of the pre-simulation
STEPS = (0.6, 0.3, 0.1, 0.05)  # ε of Eq. 37, in turn
MOST_TRIALS = 40
LARGEST = 1.0 - 1e-6  # float32 weights know nothing beyond


def tuned_rho(solver: Tunable, system: System, *, iterations: int | None = None) -> float:
    """The ρ that brings `iterations` (default: the solver's horizon) iterations to the lowest energy.

    `solver` must be prepared for `system`; its settings are as before afterwards.
    """
    k = solver.horizon if iterations is None else iterations
    rho, watch = solver.used_rho, solver.watching
    solver.used_rho, solver.watching = 0.0, False
    try:
        frame = _moving(solver, system, k)
        sizes = [_solved(solver, system, frame, count)[1] for count in (k - 1, k)] if k > 1 else [1.0, 0.5]
        ratio = sizes[1] / sizes[0] if sizes[0] > 0 and np.isfinite(sizes).all() else 0.0
        return _climb(solver, system, frame, k, min(max(ratio, 0.5), LARGEST))
    finally:
        solver.used_rho, solver.watching = rho, watch


def _climb(solver: Tunable, system: System, frame: Frame, k: int, rho: float) -> float:
    tried: dict[float, float] = {}

    def energy(candidate: float) -> float:
        if candidate not in tried:
            solver.used_rho = candidate
            q, _ = _solved(solver, system, frame, k)
            with np.errstate(over="ignore", invalid="ignore"):
                value = system.energy(q, frame) if np.isfinite(q).all() else np.inf
            tried[candidate] = value if np.isfinite(value) else np.inf
        return tried[candidate]

    best = rho if energy(rho) < energy(0.0) else 0.5
    for size in STEPS:
        while len(tried) < MOST_TRIALS:
            moves = [min(1.0 - (1.0 + sign * size) * (1.0 - best), LARGEST) for sign in (-1, 1)]
            moves = [max(move, 0.0) for move in moves]
            found = min(moves, key=energy)
            if energy(found) >= energy(best):
                break
            best = found
    return best if energy(best) < energy(0.0) else 0.0


def _moving(solver: Tunable, system: System, k: int) -> Frame:
    """The last step of a fall from rest, each step solved as the solver would without acceleration."""
    model = system.model
    q, v = model.mesh.vertices.astype(np.float64), np.zeros((model.n, 3))
    gravity = np.tile(model.gravity, (model.n, 1))
    for _ in range(FRAMES - 1):
        frame = system.frame(q, v, gravity, model.targets)
        new, _ = _solved(solver, system, frame, k)
        if not np.isfinite(new).all():
            break
        q, v = new, (new - q) / system.h
    return system.frame(q, v, gravity, model.targets)


def _solved(solver: Tunable, system: System, frame: Frame, k: int) -> tuple[np.ndarray, float]:
    """Where k iterations end, and the residual that the last one met."""
    rows = [np.zeros((system.n, 4), np.float32) for _ in range(3)]
    rows[0][:, :3], rows[1][:, :3] = frame.start, system.constant(frame)
    outcome = solver.solve(rows[0], rows[1], rows[2], Deadline.of(Budget(iterations=k)))
    return rows[2][:, :3].astype(np.float64), outcome.residual
