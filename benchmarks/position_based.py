"""The figures of position based dynamics. Prints a table; takes about ten minutes.

    python benchmarks/position_based.py [--only table,passes,falling-cube,recolouring,stages,chebyshev] [--scale X]
                                        [--frames N] [--threads T] [--out FOLDER] [--json]

table         Table 1 of [fratarcangeli2013]: what `vivace bench pbd` shows
passes        one pass over each type of constraint ÷ a copy of what it reads and writes
falling-cube  Gauss-Seidel against averaged Jacobi, 5 ms a frame [fratarcangeli2013, Fig. 4 and 5]
recolouring   colours kept from frame to frame ÷ colours from scratch, 5 % of the constraints changed
stages        milliseconds of each stage once things touch [fratarcangeli2016, Fig. 8 and 9]
chebyshev     Jacobi with and without Chebyshev's method, a cloth and a body of tetrahedra [fratarcangeli2018, Fig. 7]

`--out`: a folder for figures, such as docs/figures. `--scale`: share of the papers' constraints.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from position_based_common import Found, Options, Rows, told
from position_based_recolouring import recolouring

from vivace.backends.cpu.executor import default_threads
from vivace.bench.motion import Stretch, stretch
from vivace.bench.pbd import COLOURED, PRINTED, spread, table_1, time_passes
from vivace.bench.run import settle
from vivace.errors import InputError
from vivace.pictures import Panel, panel_grid
from vivace.pictures.stages import stacked_stages, timelines
from vivace.scenes import Scene, make_scene
from vivace.solvers import Budget

# --- Table 1, and passes against copies -------------------------------------------------------------------------------


def table(options: Options) -> Found:
    rows: Rows = []
    numbers = sorted({1, options.threads})
    found = table_1(scale=options.scale, frames=options.frames or 60, threads=numbers, cold=True)
    for measured in found:
        name, printed = measured.scene.name, PRINTED[measured.scene.name]
        sizes = (f"{kind} {len(g)}/{measured.colourings[kind].count}" for kind, g in measured.groups.items())
        text = f"{measured.scene.model.n} particles, {', '.join(sizes)}, {measured.iterations} iterations"
        rows.append((f"{name}: constraints / colours", text))
        for timed in measured.runs:
            ms = f"{told(timed.ms)} ms; with collisions {told(timed.ms_with_collisions)} ms"
            rows.append(
                (f"{name}, {timed.solver}, {timed.threads} threads", f"{1e3 / np.median(timed.ms):.1f} fps, {ms}")
            )
        rows.append((f"{name}, the paper's 1 core, 12 cores, GPU", f"{', '.join(f'{f:g}' for f in printed.fps)} fps"))
        rows.append((f"{name}: first frame of a new process", f"{measured.cold_start_s:.1f} s"))
    return rows, {"scenes": [measured.row() for measured in found]}


def passes(options: Options) -> Found:
    rows: Rows = []
    found = []
    for name in PRINTED:
        scene = make_scene(name, scale=options.scale)
        for one in time_passes(scene, sorted({1, options.threads})):
            found.append(one.row())
            ratios = f"{told(one.ms / one.copy_ms)}; rows once {told(one.ms / one.copy_once_ms)}"
            text = f"{ratios}; {told(one.ms)} ms, {one.constraints} constraints, {one.colours} colours"
            rows.append((f"{name}, {one.kind}, {one.threads} threads: pass ÷ copy", text))
    return rows, {"passes": found}


# --- the falling cube -------------------------------------------------------------------------------------------------

CUBE_MS, CUBE_FRAMES = 5.0, 210  # 3.5 s, as in Fig. 5


CUBE_SOLVERS = {"Gauss-Seidel": (COLOURED, 8), "averaged Jacobi": ("pbd-jacobi", 24)}  # iterations: the paper's
CUBE_CASES = {  # options, and whether time is the budget
    "stiffness 1, 5 ms": (":stiffness=1", True),
    "stiffness 1, 8 and 24 iterations": (":stiffness=1", False),
    "compliance of the model, 5 ms": ("", True),
}


def drawn(scene: Scene, q: np.ndarray) -> Stretch:
    """|length ÷ rest length - 1| of a model's springs."""
    found = stretch(scene.model, q)
    assert found is not None
    return found


def deformation(rest: np.ndarray, q: np.ndarray) -> float:
    """Root mean square distance of the vertices from where the best rigid motion takes them, ÷ the body's size."""
    a, b = rest - rest.mean(axis=0), q.astype(np.float64) - q.mean(axis=0)
    u, _, v = np.linalg.svd(a.T @ b)
    u[:, -1] *= np.sign(np.linalg.det(u @ v))
    return float(np.sqrt(np.mean(np.sum((a @ (u @ v) - b) ** 2, axis=1))) / np.ptp(rest, axis=0).max())


def falling_cube(options: Options) -> Found:
    scene = make_scene("falling-cube", scale=options.scale)
    frames = options.frames or CUBE_FRAMES
    rest, tets = scene.model.mesh.vertices, scene.model.mesh.tets
    rows: Rows = [("falling cube", f"{sum(map(len, scene.model.groups))} constraints, {frames} frames")]
    found: list[dict[str, object]] = []
    errors: dict[str, dict] = {}
    shapes: dict[str, dict] = {}
    for case, (option, by_time) in CUBE_CASES.items():
        for name, (solver, iterations) in CUBE_SOLVERS.items():
            budget = Budget(ms=CUBE_MS) if by_time else Budget(iterations=iterations)
            sim = scene.simulate(solver=solver + option, budget=budget, threads=options.threads)
            sim.prepare(wait=True)
            settle()
            reports = [sim.step() for _ in range(frames)]
            series = {
                "residual_rms": [drawn(scene, report.positions).rms for report in reports],
                "residual_mean": [drawn(scene, report.positions).mean for report in reports],
                "deformation": [deformation(rest, report.positions) for report in reports],
                "height": [float(np.ptp(report.positions[:, 1])) for report in reports],
                "volume": [_volume(report.positions, tets) / _volume(rest, tets) for report in reports],
                "sweeps": [report.sweeps for report in reports],
                "ms": [report.ms for report in reports],
            }
            time_ms = 1e3 * scene.time_step * np.arange(1, frames + 1)
            errors.setdefault(case, {})[name] = (time_ms, series["residual_rms"])
            shapes.setdefault(case, {})[name] = (time_ms, series["deformation"])
            found.append({"solver": solver + option, "name": name, "case": case, **series})
            text = (
                f"{told(series['sweeps'])} iterations, {told(series['ms'])} ms; RMS of C ÷ rest length: mean "
                f"{np.mean(series['residual_rms']):.3g}, largest {np.max(series['residual_rms']):.3g}, last "
                f"{series['residual_rms'][-1]:.3g}; deformation: largest {np.max(series['deformation']):.3g}; "
                f"lowest height {np.min(series['height']):.3g} m, volume {np.min(series['volume']):.3g}"
            )
            rows.append((f"{case}, {name}", text))
    if options.out is not None:
        settings = options.settings(scene="falling-cube", budget_ms=CUBE_MS, frames=frames)
        top = [Panel(curves, title, "time (ms)", "RMS of C ÷ rest length") for title, curves in errors.items()]
        low = [Panel(curves, "", "time (ms)", "RMS deformation ÷ size") for curves in shapes.values()]
        timelines(options.out / "falling-cube.png", [top, low], settings=settings)
    return rows, {"budget_ms": CUBE_MS, "frames": frames, "time_step": scene.time_step, "runs": found}


def _volume(q: np.ndarray, tets: np.ndarray) -> float:
    corners = q.astype(np.float64)[tets]
    return float(np.linalg.det(corners[:, 1:] - corners[:, :1]).sum() / 6.0)


# --- stages -----------------------------------------------------------------------------------------------------------

STAGED, STAGED_FRAMES, FLIGHT = ("noodles", "cloth-heap"), 120, 240


def stages(options: Options) -> Found:
    """Milliseconds of each stage in the frames after the first contact."""
    rows: Rows = []
    found: dict[str, object] = {}
    areas, budget_ms = {}, 0.0
    frames = options.frames or STAGED_FRAMES
    for name in STAGED:
        scene = make_scene(name, scale=options.scale)
        budget_ms = 1e3 * scene.time_step
        sim = scene.simulate(threads=options.threads)
        sim.prepare(wait=True)
        settle()
        flight = 1
        while sim.step().contacts == 0 and flight < FLIGHT:
            flight += 1
        reports = [sim.step() for _ in range(frames)]
        ms = {stage: [report.stages[stage] for report in reports] for stage in reports[0].stages}
        whole, contacts = [report.ms for report in reports], [report.contacts for report in reports]
        colours = [report.colours or 0 for report in reports]
        late = np.mean(np.array(whole) > budget_ms)
        title = (
            f"{name}: {sum(map(len, scene.model.groups)) / 1e3:.0f}K constraints, {max(contacts) / 1e3:.1f}K contacts"
        )
        areas[title] = ms
        rows.append((f"{title}, first contact", f"frame {flight}; {sim.solver.name}, {options.threads} threads"))
        rows += [(f"{name}, {stage}", f"{told(values)} ms") for stage, values in ms.items()]
        rows.append((f"{name}, whole step", f"{told(whole)} ms; {100 * late:.0f} % take more than {budget_ms:.1f} ms"))
        rows.append((f"{name}, contacts", told(contacts)))
        rows.append((f"{name}, colours", told(colours)))
        share = np.array(ms["colour"]) / np.array(whole)
        rows.append((f"{name}, recolouring: share of a step", f"{100 * np.median(share):.1f} %"))
        found[name] = {
            "vertices": scene.model.n,
            "constraints": {group.kind.name: len(group) for group in scene.model.groups},
            "solver": sim.solver.name,
            "first_contact": flight,
            "budget_ms": budget_ms,
            "finite": all(report.finite for report in reports),
            "ms": {stage: {**spread("ms", values), "frames": values} for stage, values in ms.items()},
            "whole": {**spread("ms", whole), "late": float(late)},
            "contacts": contacts,
            "colours": colours,
        }
    if options.out is not None:
        labels = {"budget_ms": budget_ms, "xlabel": "frame after the first contact"}
        settings = options.settings(scenes=STAGED, frames=frames)
        stacked_stages(options.out / "stages.png", areas, **labels, settings=settings)  # type: ignore[arg-type]
    return rows, {"frames": frames, "scenes": found}


# --- Chebyshev --------------------------------------------------------------------------------------------------------

COUNTS = (1, 2, 3, 5, 8, 10, 12, 15, 20, 30, 45, 60, 90, 120, 200)


# The course's α and ρ for cloth and for tetrahedra; how the body is stretched at the start.
BODIES = {"s0": (0.3, 0.9999, (1.2, 1.2, 1.2)), "falling-cube": (0.045, 0.9992, (1.0, 0.7, 1.0))}


def chebyshev(options: Options) -> Found:
    """The violation that is left in one step, after so many iterations: a cloth let go stretched, a pressed body."""
    rows: Rows = []
    found: dict[str, object] = {}
    panels = []
    for name, (alpha, rho, stretched) in BODIES.items():
        scene = make_scene(name, scale=options.scale, **({"bend": 0.0} if name == "s0" else {}))
        scene = replace(scene, model=replace(scene.model, collisions=None))
        rest = scene.model.mesh.vertices
        start = rest.mean(axis=0) + stretched * (rest - rest.mean(axis=0))
        inner = f"pbd-jacobi:stiffness=1,alpha={alpha}"
        solvers = {
            "averaged": "pbd-jacobi:stiffness=1",
            "relaxed by α": inner,
            "averaged, with Chebyshev": "chebyshev(pbd-jacobi:stiffness=1):rho=auto",
            "relaxed by α, with Chebyshev": f"chebyshev({inner}):rho={rho},watch=false",
        }
        first, curves = drawn(scene, start).rms, {}
        for label, solver in solvers.items():
            sim = scene.simulate(solver=solver, threads=options.threads)
            left = []
            for count in COUNTS:
                sim.positions, sim.velocities = start, np.zeros_like(start)
                left.append(drawn(scene, sim.step(Budget(iterations=count)).positions).rms / first)
            curves[label] = (np.array(COUNTS), np.where(np.isfinite(left), left, np.inf))
            shown = ", ".join(f"{left[COUNTS.index(count)]:.3g} after {count}" for count in (10, 30, 60, 200))
            rows.append((f"{name}, {label}: RMS of C ÷ first", shown))
        panels.append(Panel(curves, f"{name}, α = {alpha:g}, ρ = {rho:g}", "iterations", "RMS strain ÷ first"))
        found[name] = {"alpha": alpha, "rho": rho, "iterations": COUNTS, "violation": _plain(curves)}
    if options.out is not None:
        panel_grid(options.out / "chebyshev-pbd.png", [panels], settings=options.settings(scenes=list(BODIES)))
    return rows, found


def _plain(curves: dict[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, list[float | None]]:
    return {name: [float(y) if np.isfinite(y) else None for y in values] for name, (_, values) in curves.items()}


# --- the command ------------------------------------------------------------------------------------------------------

PARTS: dict[str, Callable[[Options], Found]] = {
    "table": table,
    "passes": passes,
    "falling-cube": falling_cube,
    "recolouring": recolouring,
    "stages": stages,
    "chebyshev": chebyshev,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the papers' constraints (default 1)")
    parser.add_argument("--frames", type=int, help="of each part (default: its own)")
    parser.add_argument("--threads", type=int, default=default_threads(), help="default: one for each core")
    parser.add_argument("--out", type=Path, help="folder for figures, such as docs/figures")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    given = parser.parse_args(arguments)
    chosen = given.only.split(",")
    for name in chosen:
        if name not in PARTS:
            parser.error(f"there is no part {name!r}; the parts: {', '.join(PARTS)}")
    try:
        options = Options(given.scale, given.frames, given.threads, given.out)
    except InputError as error:
        parser.error(str(error))
    everything: dict[str, object] = {"settings": options.settings(frames=options.frames)}
    for name in chosen:
        rows, everything[name] = PARTS[name](options)
        for what, value in rows if not given.json else ():
            print(f"{what:60s} {value}", flush=True)
    if given.json:
        print(json.dumps(everything, indent=2, ensure_ascii=False, default=_number))


def _number(value: object) -> object:
    """NumPy's numbers as JSON has them."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no part of the results")


if __name__ == "__main__":
    main()
