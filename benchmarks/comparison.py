"""docs/comparison.md and its figures: solver comparisons of [fratarcangeli2016] and [fratarcangeli2018], made again.

    python benchmarks/comparison.py [--armadillo FILE] [--out docs] [--only fig5,...] [--quick]

Writes OUT/comparison.md, OUT/figures/comparison_*.png and the numbers themselves, OUT/figures/comparison.json. The page
is put together from those: with `--only` the other sections stay as they were. Its words are in comparison.md.in beside
this file. Takes about a quarter of an hour, or with `--quick` some seconds, for tiny scenes that show nothing but that
the command works.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from comparison_common import RHO, SMALLEST, Study, Values, papers, tell
from comparison_frozen import fig5, fig6, fig10
from comparison_live import live, solved
from comparison_pictures import fig3
from comparison_position_based import fig7
from comparison_words import code, label, listed, number, page, table

from vivace.bench.compare import Curve
from vivace.bench.frozen import compare_frozen, sweep_counts
from vivace.bench.statistics import median
from vivace.bench.study import FLOORS
from vivace.energy.system import Frame, System
from vivace.files import write_text
from vivace.pictures import Panel, error_against_time, panel_grid
from vivace.scenes import Scene, make_scene
from vivace.solvers import Budget, make_solver

STIFFNESSES = (1e-4, 1e-2, 1.0, 10.0)  # κ, times the tablecloth's own


# --- the table of solvers -----------------------------------------------------------------------------------------


def choice(study: Study) -> Values:
    """What one budget leaves of the frozen frames' errors, for the table of solvers."""
    solvers = ["auto", SMALLEST, "vivace", "direct", "multigrid", study.chebyshev("jacobi"), "block-descent"]
    ms = study.size.budgets[1]
    values = {"ms": f"{ms:g}", "frame": str(study.size.frame), "repeats": str(study.size.repeat)}
    for frozen in study.frozen():
        found = compare_frozen(frozen, solvers, [ms], iterations=(), repeat=study.size.repeat, progress=tell)
        found += compare_frozen(frozen, ["newton"], [ms], iterations=(), repeat=1, progress=tell)
        for curve in found:
            key = f"{curve.solver.partition('(')[0]} {frozen.scene.name}"
            values[key] = f"{number(median(curve.errors))} ({number(median(curve.ms))} ms)"
    return values


# --- [fratarcangeli2016, figures 4 and 5] -------------------------------------------------------------------------


def vivace4(study: Study) -> Values:
    return _live(study, study.cloth, "vivace4")


def vivace5(study: Study) -> Values:
    return _live(study, study.body, "vivace5")


def _live(study: Study, scene: Scene, name: str) -> Values:
    solvers, size = ("vivace", "jacobi", papers(scene), SMALLEST), study.size
    by: dict[tuple[str, float], Curve] = {}
    for ms in size.budgets:
        for solver in solvers:
            tell(f"{scene.name}: {label(solver)}, {ms:g} ms", 0, 1)
            by[solver, ms] = live(scene, solver, ms, size.frames, size.samples)
    panels = {
        f"{ms:g} ms a frame": {label(solver): (by[solver, ms].times, by[solver, ms].errors) for solver in solvers}
        for ms in size.budgets
    }
    error_against_time(study.path(name), panels, floor=FLOORS["live"], settings=study.settings)
    largest = [by[solver, size.budgets[-1]] for solver in solvers]
    lost = {}
    for curve in by.values():
        if not curve.finite:
            lost.setdefault(code(curve.solver), []).append(f"{curve.label} (frame {curve.frames[-1]})")

    def cell(curve: Curve) -> str:
        error = number(median(curve.errors)) if curve.finite else "lost"
        return f"{error} ({median(curve.sweeps):.0f})"

    def ratio(one: Curve, other: Curve) -> str:
        pair = median(one.errors), median(other.errors)
        known = one.finite and other.finite and None not in pair and pair[1] > 0
        return number(pair[0] / pair[1] if known else None)

    return {
        "table": table(
            ["median relative error (iterations a frame)", *(f"{ms:g} ms" for ms in size.budgets)],
            [[code(solver), *(cell(by[solver, ms]) for ms in size.budgets)] for solver in solvers],
        ),
        "vivace_by_jacobi": listed([ratio(by["vivace", ms], by["jacobi", ms]) for ms in size.budgets]),
        "lbfgs_by_vivace": listed([ratio(by[SMALLEST, ms], by["vivace", ms]) for ms in size.budgets]),
        "lost": "; ".join(f"{solver} at {listed(where)}" for solver, where in lost.items()) or "none",
        "iteration": listed([f"{number(median(c.ms / c.sweeps))} ms for {code(c.solver)}" for c in largest]),
        "budgets": listed([f"{ms:g}" for ms in size.budgets]),
        "frames": str(size.frames),
        "samples": str(size.samples),
        "rho": f"{RHO[scene.name]:g}",
    }


# --- [fratarcangeli2018, figure 4] --------------------------------------------------------------------------------


def fig4(study: Study) -> Values:
    """Jacobi on the linear system of one global step against projective dynamics with one Jacobi iteration each."""
    counts = sweep_counts(2 * study.size.most)
    linear, dynamic, rows = {}, {}, []
    for factor in STIFFNESSES:
        name = f"κ x {factor:g}"
        tell(f"tablecloth, {name}", 0, 1)
        scene = make_scene("tablecloth", resolution=study.size.cloth, stretch=1e4 * factor, bend=1e-4 * factor)
        system, frame = _moving(scene, study.size.frame)
        b = system.right_hand_side(frame.start, frame)
        first = np.linalg.norm(system.matrix @ frame.start - b)  # of both: the projections are the first guess's
        held, fresh = make_solver("jacobi:refresh=1000"), make_solver("jacobi")
        for solver in (held, fresh):
            solver.prepare(system, threads=study.settings["threads"], seed=0)
        one = [np.linalg.norm(system.matrix @ solved(held, system, frame, k) - b) / first for k in counts]
        two = [np.linalg.norm(system.gradient(solved(fresh, system, frame, k), frame)) / first for k in counts]
        row = [f"{factor:g}"]
        for curves, errors in ((linear, one), (dynamic, two)):
            curves[name] = (np.array(counts), np.array(errors))
            rate = (errors[-1] / errors[-2]) ** (1 / (counts[-1] - counts[-2]))
            row += [number(errors[-1]), f"{rate:.5f}"]
        rows.append(row)
    panels = [
        Panel(curves, title, "iterations", "residual ÷ first guess's", log_x=True)
        for curves, title in ((linear, "Jacobi on one global step"), (dynamic, "projective dynamics"))
    ]
    panel_grid(study.path("fig4"), [panels], settings=study.settings)
    head = ["κ", "linear: residual left", "factor an iteration", "dynamics: residual left", "factor an iteration"]
    return {"table": table(head, rows), "most": str(counts[-1]), "before": str(counts[-2])}


def _moving(scene: Scene, frames: int) -> tuple[System, Frame]:
    """The problem of a scene's frame, after a trajectory that was solved well enough to look like one."""
    sim = scene.simulate(solver="auto", budget=Budget(iterations=30))
    for _ in range(frames):
        report = sim.step()
    return sim.system, report.frame


# --- the command --------------------------------------------------------------------------------------------------

PARTS: dict[str, Callable[[Study], Values]] = {
    part.__name__: part for part in (choice, vivace4, vivace5, fig3, fig4, fig5, fig6, fig7, fig10)
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--armadillo", metavar="FILE", help="a tetrahedral mesh (default: a generated body)")
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder for comparison.md and figures/")
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts, separated by commas: {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="tiny scenes: only shows that it works")
    given = parser.parse_args(arguments)
    chosen = given.only.split(",")
    for name in chosen:
        if name not in PARTS:
            parser.error(f"there is no part {name!r}; the parts: {', '.join(PARTS)}")
    study = Study(given.out, given.armadillo, given.quick)
    kept = given.out / "figures" / "comparison.json"
    parts = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    parts = {name: part for name, part in parts.items() if part["settings"]["quick"] == given.quick}
    begin = time.perf_counter()
    for name in chosen:
        values = PARTS[name](study)
        parts[name] = {"settings": study.settings, "values": values}
        parts = {part: parts[part] for part in PARTS if part in parts}  # in the page's order
        write_text(kept, json.dumps(parts, indent=2, ensure_ascii=False) + "\n")
        write_text(given.out / "comparison.md", page(parts))
        print(f"{name}: done after {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
    print(given.out / "comparison.md")


if __name__ == "__main__":
    main()
