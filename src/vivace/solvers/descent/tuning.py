"""Phases of Chebyshev's weights without a human [fratarcangeli2018, section 3.2.3].

The paper divides a step's iterations into P phases, each with its own ρ and each begun anew, and tunes them in a
pre-simulation: change the length or the ρ of one phase,

    ρ_new = 1 - (1 ± ε) (1 - ρ),    ε = 0.05                                                                   (Eq. 37)

take the change with which the error falls most, and go on until there is none. Here the scene falls from rest; the
error is that of some of its frames, each of which the solver makes from the same state over and over. Changes are large
at first, so that fewer are tried, and the paper's at last; a phase gives to its neighbour what it loses in length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...checks import is_whole
from ...energy.system import Frame, System
from ...errors import InputError
from ..base import Budget, Deadline
from .descent import Descent
from .momentum import largest_rho

FRAMES = 6  # of the pre-simulation
JUDGED = (2, 5)  # those that errors are of, counted from 0
STEPS = (0.6, 0.3, 0.1, 0.05)  # ε, in turn
LENGTHS = (8, 16, 32, 64)  # parts of all iterations that a length changes by, in turn
MOST_TRIALS = 60  # for each phase
LEAST_GAIN = 1e-6  # of what a step gains: less is float32's rounding
LARGEST = 1.0 - 1e-6


@dataclass(frozen=True)
class Phases:
    """ρ and length of each phase; as text it is what `descent:rho=` takes."""

    rhos: tuple[float, ...]
    lengths: tuple[int, ...]

    def __str__(self) -> str:
        parts = zip(self.rhos, self.lengths, strict=True)
        return f"{self.rhos[0]:.6g}" if len(self.rhos) == 1 else ";".join(f"{rho:.6g}*{k}" for rho, k in parts)

    def changed(self, size: float, length: int) -> list[Phases]:
        """All phases in which one ρ, or the place where two phases meet, is another."""
        found = []
        for p, rho in enumerate(self.rhos):
            for sign in (-1, 1):
                new = min(max(1.0 - (1.0 + sign * size) * (1.0 - rho), 0.0), LARGEST)
                found.append(Phases((*self.rhos[:p], new, *self.rhos[p + 1 :]), self.lengths))
        for p in range(len(self.lengths) - 1):
            for more in (-length, length):
                two = self.lengths[p] + more, self.lengths[p + 1] - more
                if min(two) >= 1:
                    found.append(Phases(self.rhos, (*self.lengths[:p], *two, *self.lengths[p + 2 :])))
        return found


def tuned_phases(
    solver: Descent, system: System, *, phases: int = 1, iterations: int = 96, most: int = MOST_TRIALS
) -> str:
    """The ρ of `phases` phases with which so many iterations reach the lowest energy: what `descent:rho=` takes.

    `solver` must be prepared for `system`, and goes on with the ρ it had. `most`: trials for each phase.
    """
    check_phases(solver, phases, iterations)
    before, rho = solver.remembered(), solver.rho
    try:
        judge = _Judge(solver, system, iterations, most)
        found = judge.best(Phases((largest_rho(iterations),), (iterations,)))
        if phases > 1:
            lengths = tuple(map(len, np.array_split(np.arange(iterations), phases)))
            found = judge.best(Phases(found.rhos * phases, lengths))
        return str(found)
    finally:
        solver.use_rho(rho)
        solver.forget()
        solver.recall(before)


def check_phases(solver: Descent, phases: int, iterations: int) -> None:
    """Complain before anything is made."""
    if not is_whole(phases) or not 1 <= phases <= 16:
        raise InputError(f"phases must be a whole number from 1 to 16, not {phases!r}")
    if not is_whole(iterations) or iterations < 2 * phases:
        raise InputError(f"{phases} phases need at least {2 * phases} iterations a step, not {iterations!r}")
    if solver.direction != "jacobi" or solver.momentum != "chebyshev":
        raise InputError('phases are those of descent with direction "jacobi" and momentum "chebyshev"')


class _Judge:
    """What a choice of phases leaves of the frames of a fall from rest."""

    def __init__(self, solver: Descent, system: System, iterations: int, most: int):
        self._solver, self._system, self._iterations, self._most = solver, system, iterations, most
        solver.use_rho("auto")
        self._frames = self._fall()
        scale = []
        for frame in self._frames:  # what ρ that is found by itself leaves
            left = system.energy(self._solved(frame), frame)
            scale.append((left, max(system.energy(frame.s, frame) - left, np.finfo(float).tiny)))
        self._scale = scale
        self._tried: dict[Phases, float] = {}

    def __call__(self, phases: Phases) -> float:
        """Mean of the energies that are left, 0 for those of "auto" and 1 for those of the prediction."""
        if phases not in self._tried:
            self._solver.use_rho(str(phases))
            with np.errstate(over="ignore", invalid="ignore"):
                errors = [
                    (self._system.energy(self._solved(frame), frame) - left) / gap
                    for frame, (left, gap) in zip(self._frames, self._scale, strict=True)
                ]
            self._tried[phases] = float(np.mean(errors)) if np.isfinite(errors).all() else np.inf
        return self._tried[phases]

    def best(self, phases: Phases) -> Phases:
        """Change one thing after the other for as long as that helps."""
        last = len(self._tried) + self._most * len(phases.rhos)
        for size, parts in zip(STEPS, LENGTHS, strict=True):
            length = max(1, self._iterations // parts)
            while len(self._tried) < last:
                found = min(phases.changed(size, length), key=self)
                if not self(found) < self(phases) - LEAST_GAIN:
                    break
                phases = found
        return phases

    def _fall(self) -> list[Frame]:
        system, model = self._system, self._system.model
        q, v = model.mesh.vertices.astype(np.float64), np.zeros((model.n, 3))
        gravity, kept = np.tile(model.gravity, (model.n, 1)), []
        for number in range(FRAMES):
            frame = system.frame(q, v, gravity, model.targets)
            if number in JUDGED:
                kept.append(frame)
            new = self._solved(frame)
            q, v = new, (new - q) / system.h
        return kept

    def _solved(self, frame: Frame) -> np.ndarray:
        """Where the iterations end, from the prediction, by a solver that remembers nothing."""
        rows = [np.zeros((self._system.n, 4), np.float32) for _ in range(3)]
        rows[0][:, :3], rows[1][:, :3] = frame.s, self._system.constant(frame)
        self._solver.forget()
        if self._system.model.terms:
            self._solver.see(frame)
        self._solver.solve(rows[0], rows[1], rows[2], Deadline.of(Budget(iterations=self._iterations)))
        return rows[2][:, :3].astype(np.float64)
