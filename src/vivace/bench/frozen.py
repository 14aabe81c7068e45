"""Solvers against each other on one frame, all from the same state: what `vivace compare --frame` does.

In a live comparison every solver makes its own trajectory, and a soft one soon meets other problems than a stiff one.
Here the problem is fixed: frame K of a converged trajectory. What is measured is `Simulation.step` from that state:
what a user gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..checks import is_whole
from ..energy.system import Frame, System
from ..errors import InputError
from ..scenes import Scene
from ..simulation.report import Report
from ..simulation.simulation import Simulation
from ..solvers import Budget, Reference, minimise, relative_error
from .compare import Curve, check_comparison
from .run import Progress, settle

SWEEPS = (1, 2, 3, 5, 8, 12, 20, 30, 45, 60)
TRAJECTORY_ACCURACY = 1e-5  # of the frames before the frozen one: their errors only choose the state
ACCURACY = 1e-7  # of the frozen frame's own minimum: relative errors are right to about ten times that
MOST = 3000


@dataclass(eq=False)
class Frozen:
    """A frame to be solved over and over: the state before it, and its problem in float64.

    `reference` is its minimum as far as it is known: `lower` replaces it when somebody finds a lower one.
    """

    scene: Scene
    number: int
    positions: np.ndarray  # (n, 3) float32, as a simulation holds them
    velocities: np.ndarray
    system: System
    frame: Frame
    reference: Reference

    def step(self, sim: Simulation, budget: Budget) -> Report:
        """The frame by a simulation of the scene, whatever that did before."""
        sim.positions, sim.velocities = self.positions, self.velocities
        return sim.step(budget)

    def lower(self, q: np.ndarray) -> None:
        """Start the reference again from `q`, if that is lower."""
        if self.system.energy(q, self.frame) < self.reference.energy:
            self.reference = minimise(self.system, self.frame, q, accuracy=ACCURACY, most=MOST)

    @property
    def telling(self) -> bool:
        """Whether there is a relative error: the reference has converged, and the first guess is not the answer."""
        return not np.isnan(relative_error(self.system, self.frame, self.frame.start, self.reference))

    def errors(self, energies: np.ndarray) -> np.ndarray:
        """Relative errors of states with these energies: `relative_error` without evaluating each energy again."""
        best, first = self.reference.energy, self.system.energy(self.frame.start, self.frame)
        errors = (energies - best) / (first - best) if self.telling else np.full(energies.shape, np.nan)
        return np.where(np.isfinite(energies), errors, np.inf)


def freeze(scene: Scene, frame: int, *, progress: Progress | None = None) -> Frozen:
    """The state before a frame (the first is 1), every frame up to there minimised; and the frame's own minimum."""
    if not is_whole(frame) or frame < 1:
        raise InputError(f"frames are counted from 1; there is no frame {frame!r}")
    if any(group.kind.flow is not None for group in scene.model.groups):
        raise InputError(f"{scene.name} creases as it moves, and a frozen frame would crease anew in every repetition")
    tell = progress or (lambda what, done, total: None)
    sim = scene.simulate(solver="descent" if scene.model.terms else "jacobi")
    sim.substeps = 1  # a frozen frame is one problem
    positions, velocities = sim.positions.astype(np.float64), sim.velocities
    for done in range(frame):
        sim.positions, sim.velocities = positions, velocities
        start = sim.positions, sim.velocities
        problem = sim.step(Budget(iterations=1)).frame  # posed by the simulation; how it is solved does not matter
        if done < frame - 1:
            tell(f"{scene.name}: converged frames before {frame}", done, frame - 1)
            new = minimise(sim.system, problem, accuracy=TRAJECTORY_ACCURACY).q
            positions, velocities = new, (new - positions) / scene.time_step
            tell(f"{scene.name}: converged frames before {frame}", done + 1, frame - 1)
    tell(f"{scene.name}: reference", 0, 1)
    reference = minimise(sim.system, problem, accuracy=ACCURACY, most=MOST)
    tell(f"{scene.name}: reference", 1, 1)
    return Frozen(scene, int(frame), *start, sim.system, problem, reference)


def sweep_counts(most: int = SWEEPS[-1]) -> list[int]:
    """Numbers of sweeps that show a curve, up to `most` and `most` itself; beyond 60 they double."""
    counts = list(SWEEPS)
    while counts[-1] < most:
        counts.append(2 * counts[-1])
    return [*(count for count in counts if count < most), most]


def compare_frozen(
    frozen: Frozen,
    solvers: Sequence[str],
    budgets_ms: Sequence[float] = (),
    *,
    iterations: Sequence[int] = SWEEPS,
    repeat: int = 5,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Curve]:
    """The frame solved by every solver under every budget, `repeat` times each, warm, always from the same state.

    All solvers are in memory at once.
    """
    budgets = check_comparison(solvers, budgets_ms, iterations)
    if not is_whole(repeat) or repeat < 1:
        raise InputError(f"a step is repeated a whole number of times, at least once, not repeat={repeat!r}")
    tell = progress or (lambda what, done, total: None)
    name = f"{frozen.scene.name}, frame {frozen.number}"
    sims = _prepared(frozen, solvers, threads, seed, name, tell)
    steps = _timed(frozen, sims, budgets, repeat, name, tell)
    judge = _Judge(frozen)
    tell(f"{name}: judging", 0, len(steps))
    judged: list[list[_Judged]] = []
    for repeats in steps.values():
        judged.append([judge(step) for step in repeats])
        tell(f"{name}: judging", len(judged), len(steps))
    if judge.best is not None:
        frozen.lower(judge.best)
    errors = frozen.errors(np.array([[step.energy for step in repeats] for repeats in judged]))
    return [_curve(frozen, *key, *found) for key, *found in zip(steps, judged, errors, strict=True)]


class _Step(NamedTuple):
    q: np.ndarray
    sweeps: int
    ms: float
    finite: bool


class _Judged(NamedTuple):
    energy: float
    gradient: float
    sweeps: int
    ms: float
    finite: bool


def _prepared(
    frozen: Frozen, solvers: Sequence[str], threads: int | None, seed: int, name: str, tell: Progress
) -> dict[str, Simulation]:
    sims = {}
    for done, solver in enumerate(solvers):
        tell(f"{name}: preparing solvers", done, len(solvers))
        sims[solver] = frozen.scene.simulate(solver=solver, threads=threads, seed=seed)
        sims[solver].substeps = 1
        sims[solver].prepare(wait=True)
        tell(f"{name}: preparing solvers", done + 1, len(solvers))
    return sims


def _timed(
    frozen: Frozen, sims: dict[str, Simulation], budgets: Sequence[Budget], repeat: int, name: str, tell: Progress
) -> dict[tuple[str, Budget], list[_Step]]:
    """Solvers take turns, so that what else the machine does meets all of them alike; each turn starts warm."""
    steps: dict[tuple[str, Budget], list[_Step]] = {(solver, budget): [] for solver in sims for budget in budgets}
    for turn in range(repeat):
        for number, (solver, sim) in enumerate(sims.items()):
            tell(f"{name}: solving", turn * len(sims) + number, repeat * len(sims))
            frozen.step(sim, budgets[-1])
            settle()
            reports = [frozen.step(sim, budget) for budget in budgets]
            for budget, report in zip(budgets, reports, strict=True):
                before, q = steps[solver, budget], report.positions
                if before and np.array_equal(q, before[-1].q):  # repeats often have the same bits: keep them once
                    q = before[-1].q
                before.append(_Step(q, report.sweeps, report.ms, report.finite))
    tell(f"{name}: solving", repeat * len(sims), repeat * len(sims))
    return steps


class _Judge:
    """Energy and gradient of results, in float64; remembers the best."""

    def __init__(self, frozen: Frozen):
        self.frozen = frozen
        self.best: np.ndarray | None = None
        self._lowest = np.inf
        self._scale = float(np.linalg.norm(frozen.system.gradient(frozen.frame.start, frozen.frame))) or np.nan
        self._last: tuple[np.ndarray | None, float, float] = (None, np.inf, np.inf)

    def __call__(self, step: _Step) -> _Judged:
        if step.q is not self._last[0]:
            self._last = (step.q, *self._evaluate(step.q.astype(np.float64)))
        return _Judged(*self._last[1:], step.sweeps, step.ms, step.finite)

    def _evaluate(self, q: np.ndarray) -> tuple[float, float]:
        if not np.isfinite(q).all():
            return float("inf"), float("inf")
        energy, gradient = self.frozen.system.evaluate(q, self.frozen.frame)
        if energy < self._lowest:
            self.best, self._lowest = q, energy
        return energy, float(np.linalg.norm(gradient)) / self._scale


def _curve(frozen: Frozen, name: str, budget: Budget, steps: Sequence[_Judged], errors: np.ndarray) -> Curve:
    _, gradients, sweeps, ms, finite = (np.array(column) for column in zip(*steps, strict=True))
    return Curve(
        *(frozen.scene.name, name, "frame", budget, frozen.scene.time_step),
        *(np.full(len(steps), frozen.number), errors, gradients, sweeps, ms),
        finite=bool(finite.all()),
    )
