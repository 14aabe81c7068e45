"""Solvers against each other on one scene, each living its own simulation: what `vivace compare` does."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..files import write_text
from ..scenes import Scene
from ..solvers import Budget, make_solver
from .run import Progress, run, sampled_frames
from .statistics import median, percentile


@dataclass(frozen=True, eq=False)
class Curve:
    """One solver under one budget: relative error at the sampled frames."""

    solver: str
    budget_ms: float
    frames: np.ndarray
    errors: np.ndarray  # inf where the state was not finite
    sweeps_per_frame_median: float
    ms_per_frame_p99: float
    finite: bool

    def row(self) -> dict[str, object]:
        return {
            "solver": self.solver,
            "budget_ms": self.budget_ms,
            "relative_error_median": _number(median(self.errors)),
            "relative_error_max": _number(percentile(self.errors, 100)),
            "sweeps_per_frame_median": self.sweeps_per_frame_median,
            "ms_per_frame_p99": self.ms_per_frame_p99,
            "finite": self.finite,
        }


def compare(
    scene: Scene,
    solvers: Sequence[str],
    budgets_ms: Sequence[float],
    *,
    frames: int,
    samples: int = 8,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Curve]:
    """Every solver under every budget from the same start; errors at `samples` frames spread over the animation."""
    for name in solvers:
        make_solver(name)  # complain about names before anything runs
    for ms in budgets_ms:
        Budget(ms=ms)
    curves: list[Curve] = []
    total = len(solvers) * len(budgets_ms)
    for name in solvers:
        for ms in budgets_ms:
            label = f"{name}, {ms:g} ms ({len(curves) + 1}/{total})"
            result = run(
                *(scene,),
                solver=name,
                budget=Budget(ms=ms),
                frames=frames,
                threads=threads,
                seed=seed,
                error_samples=samples,
                progress=_prefixed(label, progress),
            )
            chosen = np.array(sampled_frames(frames, samples))
            chosen = chosen[[int(k) in result.errors for k in chosen]]
            errors = np.array([result.errors[int(k)] for k in chosen])
            curves.append(
                Curve(
                    *(name, float(ms), chosen, errors, float(median(result.sweeps) or 0)),
                    *(float(percentile(result.ms, 99) or 0), result.finite),
                )
            )
    return curves


def write_csv(curves: Sequence[Curve], path: Path, time_step: float) -> None:
    """One line a solver, budget and sampled frame."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["solver", "budget_ms", "frame", "time_s", "relative_error", "sweeps_per_frame_median"])
    for curve in curves:
        for frame, error in zip(curve.frames, curve.errors, strict=True):
            row = (
                curve.solver,
                curve.budget_ms,
                frame,
                round(frame * time_step, 6),
                error,
                curve.sweeps_per_frame_median,
            )
            writer.writerow(row)
    write_text(path, text.getvalue())


def _prefixed(label: str, progress: Progress | None) -> Progress | None:
    if progress is None:
        return None
    return lambda what, done, total: progress(f"{label}: {what}", done, total)


def _number(value: float | None) -> float | None:
    """JSON has no infinity: a diverged run's error is null, and its `finite` says why."""
    return value if value is not None and np.isfinite(value) else None
