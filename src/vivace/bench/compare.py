"""Solvers against each other, each living its own simulation: what `vivace compare` does unless a frame is frozen."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..files import write_text
from ..interrupts import keeping
from ..scenes import Scene
from ..solvers import Budget, make_solver
from .converged import References
from .motion import TIMES, Motion
from .run import Progress, run, sampled_frames
from .statistics import finite_or_none, median, percentile

LARGEST_FOR_MOTION = 20_000  # vertices up to which a converged trajectory takes minutes
LARGEST_FOR_FINE = 1_000  # likewise, of a second in steps of 1 ms
MEASURES = {"energy": "relative error", "gradient": "gradient norm ÷ first guess's"}


@dataclass(frozen=True, eq=False)
class Curve:
    """One solver under one budget: how far from the minimum it stopped.

    Attributes:
        mode: "live": its own simulation, measured at some frames; "frame": one frame, from the same state each time.
        frames: the frame of each error; the same one over and over in mode "frame".
        errors: relative error of the energy; infinite where the state was not finite, NaN where there is nothing to
            tell.
        gradients: norm of ∇ε relative to that at the first guess.
        sweeps: of every step, measured or not.
        ms: likewise.
    """

    scene: str
    solver: str
    mode: str
    budget: Budget
    time_step: float
    frames: np.ndarray
    errors: np.ndarray
    gradients: np.ndarray
    sweeps: np.ndarray
    ms: np.ndarray
    finite: bool
    motion: Motion | None = None  # live runs only, where it was measured

    @property
    def label(self) -> str:
        """The budget in words."""
        return budget_label(self.budget)

    @property
    def times(self) -> np.ndarray:
        """Simulated seconds of the frames."""
        return self.frames * self.time_step

    def measured(self, measure: str) -> np.ndarray:
        """The errors by "energy" or by "gradient"."""
        return self.errors if measure == "energy" else self.gradients

    def row(self) -> dict[str, object]:
        """The figures under the names that scripts rely on; of budget_ms and iterations, one is None."""
        return {
            "scene": self.scene,
            "solver": self.solver,
            "mode": self.mode,
            "budget_ms": self.budget.ms,
            "iterations": self.budget.iterations,
            "relative_error_median": finite_or_none(median(self.errors)),
            "relative_error_max": finite_or_none(percentile(self.errors, 100)),
            "gradient_median": finite_or_none(median(self.gradients)),
            "sweeps_per_frame_median": median(self.sweeps),
            "ms_per_frame_median": median(self.ms),
            "ms_per_frame_p99": percentile(self.ms, 99),
            "finite": self.finite,
            **(self.motion.row() if self.motion else {}),
        }


def compare(
    scene: Scene,
    solvers: Sequence[str],
    budgets_ms: Sequence[float] = (),
    *,
    frames: int,
    iterations: Sequence[int] = (),
    samples: int = 8,
    threads: int | None = None,
    seed: int = 0,
    motion: bool | None = None,
    fine: bool | None = None,
    times: Sequence[float] = TIMES,
    progress: Progress | None = None,
) -> list[Curve]:
    """Every solver under every budget from the same start; errors at `samples` frames spread over the animation.

    `motion`: measure it, against converged trajectories (default: up to LARGEST_FOR_MOTION vertices); `fine`: against
    one of small steps too (default: up to LARGEST_FOR_FINE); `times` (s): when distances are told.
    """
    budgets = check_comparison(solvers, budgets_ms, iterations)
    references = references_for(scene, frames, motion, fine, times, progress)
    curves: list[Curve] = []
    total = len(solvers) * len(budgets)
    with keeping(curves):
        for name, budget in product(solvers, budgets):
            label = f"{scene.name}, {name}, {budget_label(budget)} ({len(curves) + 1}/{total})"
            result = run(
                *(scene,),
                solver=name,
                budget=budget,
                frames=frames,
                threads=threads,
                seed=seed,
                error_samples=samples,
                record=references is not None,
                progress=_prefixed(label, progress),
            )
            chosen = np.array([k for k in sampled_frames(frames, samples) if k in result.errors], int)
            errors, gradients = (np.array([found[k] for k in chosen]) for found in (result.errors, result.gradients))
            curves.append(
                Curve(
                    *(scene.name, name, "live", budget, scene.time_step),
                    *(chosen, errors, gradients, result.sweeps, result.ms),
                    finite=result.finite,
                    motion=references.motion(result, name, threads=threads, seed=seed) if references else None,
                )
            )
    return curves


def references_for(
    scene: Scene,
    frames: int,
    motion: bool | None = None,
    fine: bool | None = None,
    times: Sequence[float] = TIMES,
    progress: Progress | None = None,
) -> References | None:
    """What motion is measured against; None where it is not, because nobody would wait for it without being asked."""
    n = scene.model.n
    if not (n <= LARGEST_FOR_MOTION if motion is None else motion):
        return None
    small = n <= LARGEST_FOR_FINE if fine is None else fine
    return References(scene, frames, fine=small, times=times, progress=progress)


def check_comparison(
    solvers: Sequence[str], budgets_ms: Sequence[float], iterations: Sequence[int] = ()
) -> list[Budget]:
    """The budgets; complains about names and numbers before anything runs."""
    if not len(solvers) or not (len(budgets_ms) or len(iterations)):
        raise InputError("a comparison needs at least one solver and one budget")
    for what, values in (("solver", solvers), ("budget", budgets_ms), ("number of iterations", iterations)):
        for value in values:
            if list(values).count(value) > 1:
                raise InputError(f"the {what} {value!r} is there twice; leave one out")
    for name in solvers:
        make_solver(name)
    return [*(Budget(ms=ms) for ms in budgets_ms), *(Budget(iterations=count) for count in iterations)]


def budget_label(budget: Budget) -> str:
    """A budget in words, for tables and plots."""
    return f"{budget.ms:g} ms" if budget.ms is not None else f"{budget.iterations} sweeps"


def write_csv(curves: Sequence[Curve], path: Path) -> None:
    """One line for each error: solver, budget and frame (or repeat of the one frame)."""
    header = ["scene", "solver", "mode", "budget_ms", "iterations", "frame", "time_s", "relative_error", "gradient"]
    lines = []
    for curve in curves:
        first = (curve.scene, curve.solver, curve.mode, curve.budget.ms, curve.budget.iterations)
        sweeps = median(curve.sweeps)
        for frame, time, *errors in zip(curve.frames, curve.times, curve.errors, curve.gradients, strict=True):
            lines.append((*first, frame, round(time, 6), *errors, sweeps))
    write_table(path, [*header, "sweeps_per_frame_median"], lines)


def write_motion(curves: Sequence[Curve], path: Path) -> None:
    """One line for each frame of each run: how far from its references it was; metres and joules."""
    header = ["scene", "solver", "budget_ms", "iterations", "substeps", "reference", "frame", "time_s", "distance_m"]
    header += ["fine_distance_m", "lowest_m", "reference_lowest_m", "energy_j", "reference_energy_j"]
    lines: list[tuple[object, ...]] = []
    for curve in curves:
        if curve.motion is None:
            continue
        moved = curve.motion
        first = (curve.scene, curve.solver, curve.budget.ms, curve.budget.iterations, moved.substeps, moved.reference)
        fine = np.full(len(moved.times), np.nan)
        if moved.fine is not None:
            fine[: len(moved.fine)] = moved.fine
        columns = (moved.distance, fine, moved.low, moved.reference_low, moved.energy, moved.reference_energy)
        for k, values in enumerate(zip(*columns, strict=True)):
            told = (None if np.isnan(value) else value for value in values)
            lines.append((*first, k, round(float(moved.times[k]), 6), *told))
    write_table(path, header, lines)


def write_table(path: Path, header: Sequence[str], lines: Sequence[Sequence[object]]) -> None:
    """A CSV file, whole or not at all; None is an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(lines)
    write_text(path, text.getvalue())


def _prefixed(label: str, progress: Progress | None) -> Progress | None:
    if progress is None:
        return None
    return lambda what, done, total: progress(f"{label}: {what}", done, total)
