"""What a comparison leaves behind: tables for scripts, plots for people, and the settings that made them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..files import write_text
from ..pictures import Panel, error_against_time, panel_grid
from .compare import MEASURES, Curve, write_csv, write_motion, write_table
from .frozen import ACCURACY
from .statistics import median

LIVE_FILES = ("errors.csv", "errors.png", "summary.png", "settings.json")
MOTION_FILES = ("motion.csv", "motion.png")  # of a live comparison that measured it
FRAME_FILES = ("errors.csv", "convergence.csv", "convergence.png", "summary.png", "settings.json")

FLOORS = {"live": 10 * 1e-5, "frame": 10 * ACCURACY}  # finer differences of energy the references do not tell


def write_study(
    folder: Path, curves: Sequence[Curve], settings: Mapping[str, Any], *, measure: str = "energy"
) -> list[Path]:
    """Write LIVE_FILES (and MOTION_FILES) or FRAME_FILES, whichever the curves are; plots show errors by `measure`."""
    frozen = curves[0].mode == "frame"
    record = {"settings": settings, "rows": [curve.row() for curve in curves]}
    write_text(folder / "settings.json", json.dumps(record, indent=2, default=str))
    write_csv(curves, folder / "errors.csv")
    if frozen:
        write_convergence(curves, folder / "convergence.csv")
        panel_grid(folder / "convergence.png", _convergence(curves, measure), settings=settings)
    else:
        _draw_animation(folder / "errors.png", curves, measure, settings)
    moved = not frozen and any(curve.motion for curve in curves)
    if moved:
        write_motion(curves, folder / "motion.csv")
        panel_grid(folder / "motion.png", _motion(curves), marked=False, settings=settings)
    panel_grid(folder / "summary.png", _summary(curves, measure), runs=True, settings=settings)
    names = FRAME_FILES if frozen else (*LIVE_FILES, *(MOTION_FILES if moved else ()))
    return [folder / name for name in names]


def write_convergence(curves: Sequence[Curve], path: Path) -> None:
    """One line for each solver and number of sweeps on a frozen frame: medians over the repeats."""
    header = ["scene", "solver", "frame", "iterations", "sweeps_median", "ms_median", "relative_error", "gradient"]
    lines = [
        (
            *(curve.scene, curve.solver, curve.frames[0], curve.budget.iterations),
            *(median(values) for values in (curve.sweeps, curve.ms, curve.errors, curve.gradients)),
        )
        for curve in _by_sweeps(curves)
    ]
    write_table(path, header, lines)


def _convergence(curves: Sequence[Curve], measure: str) -> list[list[Panel]]:
    """A row for each scene: error against sweeps, and against the milliseconds that those took."""
    rows = []
    for scene, its in _by_scene(_by_sweeps(curves)).items():
        sweeps, ms = {}, {}
        for solver in dict.fromkeys(curve.solver for curve in its):
            line = [curve for curve in its if curve.solver == solver]
            errors = _medians(line, measure)
            sweeps[solver] = (np.array([curve.budget.iterations for curve in line]), errors)
            ms[solver] = (np.array([median(curve.ms) for curve in line]), errors)
        title = f"{scene}, frame {its[0].frames[0]}"
        label = MEASURES[measure]
        floor = _floor(its, measure)
        by_sweeps = Panel(sweeps, title, "sweeps", label, floor=floor)
        rows.append([by_sweeps, Panel(ms, title, "time for the frame (ms)", label, log_x=True, floor=floor)])
    return rows


def _summary(curves: Sequence[Curve], measure: str) -> list[list[Panel]]:
    """A row for each scene: median error against the budgets in milliseconds, and against those in sweeps.

    Of a frozen frame the second is the plot of convergence, and stands here only where it is all there is.
    """
    label = f"median {MEASURES[measure]}"
    rows = []
    for scene, its in _by_scene(curves).items():
        timed = [curve for curve in its if curve.budget.ms is not None]
        counted = [] if timed and its[0].mode == "frame" else _by_sweeps(its)
        row = []
        for part, xlabel in ((timed, "time for a frame (ms)"), (counted, "sweeps for a frame")):
            lines = {}
            for solver in dict.fromkeys(curve.solver for curve in part):
                line = sorted((curve for curve in part if curve.solver == solver), key=_size)
                lines[solver] = (np.array([_size(curve) for curve in line]), _medians(line, measure))
            row += [Panel(lines, scene, xlabel, label, floor=_floor(its, measure))] if lines else []
        rows.append(row)
    return rows


def _motion(curves: Sequence[Curve]) -> list[list[Panel]]:
    """Two rows for each scene, with a panel for each budget: distance from converged, and the lowest vertex's way."""
    rows = []
    for scene, its in _by_scene(curves).items():
        labels = dict.fromkeys(curve.label for curve in its if curve.motion)
        away, down = [], []
        for label in labels:
            apart, heights = {}, {}
            for curve in its:
                if curve.label == label and curve.motion:
                    moved = curve.motion
                    apart[curve.solver] = (moved.times[1:], 100 * moved.distance[1:])
                    heights[curve.solver] = (moved.times, moved.low)
                    heights.setdefault("reference", (moved.times, moved.reference_low))
            title = f"{scene}, {label} a frame"
            away.append(Panel(apart, title, "simulated time (s)", "RMS distance from converged (cm)"))
            ylabel = "height of the lowest vertex (m)"
            down.append(Panel(heights, title, "simulated time (s)", ylabel, linear=True, reference="reference"))
        rows += [away, down] if labels else []
    return rows


def _draw_animation(path: Path, curves: Sequence[Curve], measure: str, settings: Mapping[str, Any]) -> None:
    """A panel for each scene and budget; with several scenes, a row for each."""
    scenes = _by_scene(curves)
    panels: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
    for curve in curves:
        title = f"{curve.label} a frame" if len(scenes) == 1 else f"{curve.scene}, {curve.label} a frame"
        panels.setdefault(title, {})[curve.solver] = (curve.times, curve.measured(measure))
    across = 2 if len(scenes) == 1 else min(len(panels) // len(scenes), 4)
    floor = _floor(curves, measure)
    error_against_time(path, panels, ylabel=MEASURES[measure], floor=floor, across=across, settings=settings)


def _floor(curves: Sequence[Curve], measure: str) -> float:
    return FLOORS[curves[0].mode] if measure == "energy" else 0.0


def _by_scene(curves: Sequence[Curve]) -> dict[str, list[Curve]]:
    return {name: [c for c in curves if c.scene == name] for name in dict.fromkeys(c.scene for c in curves)}


def _by_sweeps(curves: Sequence[Curve]) -> list[Curve]:
    return [curve for curve in curves if curve.budget.iterations is not None]


def _size(curve: Curve) -> float:
    return float(curve.budget.ms if curve.budget.ms is not None else curve.budget.iterations or 0)


def _medians(curves: Sequence[Curve], measure: str) -> np.ndarray:
    return np.array([median(curve.measured(measure)) for curve in curves], float)  # None, of no errors, becomes NaN
