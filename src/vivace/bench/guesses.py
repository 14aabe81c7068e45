"""First guesses on the frames of a precomputed sequence [fratarcangeli2018, section 3.2.4, figure 15].

The sequence is a converged run. Before each of its frames `descent` is given its state, and makes the frame from every
guess with so many iterations: errors of single frames, which do not add up. What does, motion, is beside them: each
guess on its own for as long, in centimetres from the converged run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..scenes import Scene
from ..simulation.guesses import GUESSES
from ..simulation.simulation import Simulation
from ..solvers import Budget
from .run import Progress

CONVERGED = "newton-multigrid", Budget(iterations=48)
PAPER = 'the paper: "acceleration" is the best in most frames, and "optimised" does not outperform it'


@dataclass(eq=False)
class Guessed:
    """What a guess leaves.

    Attributes:
        name: of the guess.
        errors: (frames, counts): (ε - ε*)/(ε(s) - ε*) after each number of iterations, s being the prediction.
        away: (frames,) mean distance from the converged run (m) when every frame begins with this guess.
    """

    name: str
    errors: np.ndarray
    away: np.ndarray


def compare_guesses(
    scene: Scene,
    frames: int,
    counts: Sequence[int],
    *,
    solver: str = "descent",
    guesses: Sequence[str] = GUESSES,
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[Guessed]:
    """Every guess on every frame of a converged run of the scene, after every number of iterations."""
    tell = progress or (lambda what, done, total: None)

    def sim_of(solver: str, guess: str, budget: Budget) -> Simulation:
        options = {"threads": threads, "time_step": scene.time_step, "substeps": 1}
        return Simulation(scene.model, solver=solver, guess=guess, budget=budget, **options)  # type: ignore[arg-type]

    leader = sim_of(CONVERGED[0], "inertia", CONVERGED[1])
    tried = {name: sim_of(solver, name, Budget(iterations=max(counts))) for name in guesses}
    free = {name: sim_of(solver, name, Budget(iterations=max(counts))) for name in guesses}
    energies, scale = np.zeros((len(guesses), frames, len(counts))), np.zeros((frames, 2))
    away = np.zeros((len(guesses), frames))
    for frame in range(frames):
        tell(f"{scene.name}: first guesses", frame, frames)
        state = leader.state
        report = leader.step()
        problem, system = report.frame, report.system
        scale[frame] = system.energy(problem.s, problem), system.energy(as_double(leader.positions), problem)
        for g, name in enumerate(guesses):
            for k, count in enumerate(counts):
                tried[name].state = state
                found = as_double(tried[name].step(Budget(iterations=count)).positions)
                energies[g, frame, k] = system.energy(found, problem)
            free[name].step()
            apart = as_double(free[name].positions) - as_double(leader.positions)
            away[g, frame] = np.linalg.norm(apart, axis=1).mean()
    tell(f"{scene.name}: first guesses", frames, frames)
    best = np.minimum(scale[:, 1], energies.min(axis=(0, 2)))  # whatever is lower than the converged run counts
    errors = (energies - best[None, :, None]) / (scale[:, 0] - best)[None, :, None]
    return [Guessed(name, errors[g], away[g]) for g, name in enumerate(guesses)]


def as_double(points: np.ndarray) -> np.ndarray:
    """Positions in float64."""
    return points.astype(np.float64)


def guess_rows(found: Sequence[Guessed], counts: Sequence[int]) -> list[dict[str, object]]:
    """Medians over the frames, in how many frames each is the best, and centimetres, under names for scripts."""
    last = np.array([one.errors[:, -1] for one in found])
    wins = np.bincount(last.argmin(axis=0), minlength=len(found))
    return [
        {
            "guess": one.name,
            "frames": one.errors.shape[0],
            "iterations": list(counts),
            "relative_error_median": np.median(one.errors, axis=0).tolist(),
            "relative_error_by_frame": one.errors[:, -1].tolist(),
            "best_in_frames": int(won),
            "away_cm": (100 * one.away).tolist(),
        }
        for one, won in zip(found, wins, strict=True)
    ]
