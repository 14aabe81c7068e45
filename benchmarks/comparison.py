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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from comparison_live import live, solved
from comparison_position_based import PositionBased
from comparison_words import code, label, listed, number, page, table

import vivace as vv
from vivace.bench.compare import Curve
from vivace.bench.frozen import Frozen, compare_frozen, freeze, sweep_counts
from vivace.bench.statistics import median
from vivace.bench.study import FLOORS
from vivace.energy.system import Frame, System
from vivace.files import write_text
from vivace.pictures import (
    Camera,
    Panel,
    bounds_of,
    error_against_time,
    open_renderer,
    panel_grid,
    save_figure,
)
from vivace.scenes import Scene, make_scene
from vivace.solvers import Budget, make_solver

SMALLEST = "lbfgs(multigrid)"  # the smallest energy errors of those that solve a step by projective dynamics
RHO = {"tablecloth": 0.9999, "armadillo": 0.9992}  # [fratarcangeli2018, Table 1]
STIFFNESSES = (1e-4, 1e-2, 1.0, 10.0)  # κ, times the tablecloth's own
ALPHAS = {"tablecloth": (0.3, 0.25), "armadillo": (0.045, 0.0025)}  # [fratarcangeli2018, section 2.2.3]
GRADIENT = "gradient norm ÷ first guess's"
ENOUGH = 0.01  # of the first guess's gradient
Names = Mapping[str, str]
Values = dict[str, str]


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    cloth: int = 100  # vertices a side
    newton_cloth: int = 50
    body: int = 43
    frame: int = 15  # the frozen one
    budgets: tuple[float, ...] = (4.0, 8.0, 15.0, 25.0)
    frames: int = 60
    samples: int = 5
    most: int = 240  # iterations
    newton: tuple[int, ...] = (1, 2, 4, 8)
    repeat: int = 3
    tuned: str = ""  # options of a Chebyshev solver that tunes its ρ
    picture: tuple[int, int] = (640, 600)
    renderer: str = "auto"

    @property
    def told(self) -> tuple[int, int, int]:
        """Numbers of iterations that the tables show."""
        return self.most // 24, self.most // 4, self.most

    @property
    def counts(self) -> list[int]:
        """Numbers of iterations that the plots show."""
        return sorted({*sweep_counts(self.most), *self.told})


QUICK = Size(
    *(8, 6, 16, 2, (1.0, 2.0), 4, 2, 24, (1, 2), 1),
    tuned=":horizon=4",
    picture=(160, 150),
    renderer="painter",
)


class Study:
    """What the parts share: the two scenes, their frozen frames, and where things go."""

    def __init__(self, folder: Path, armadillo: str | None, quick: bool):
        self.folder, self.quick, self.size = folder, quick, QUICK if quick else Size()
        self.cloth = make_scene("tablecloth", resolution=self.size.cloth)
        own = {"path": armadillo} if armadillo else {"resolution": self.size.body}
        self.body = make_scene("armadillo", **own)
        kind = "from the file given" if armadillo else "generated stand-in"
        cloth, body = self.cloth.model, self.body.model
        self.settings = {
            "version": vv.__version__,
            "threads": self.cloth.simulate(solver="jacobi").threads,
            "tablecloth": f"{cloth.n:,} vertices, {len(cloth.mesh.triangles):,} triangles",
            "armadillo": f"{kind}, {body.n:,} vertices, {len(body.mesh.tets):,} tetrahedra",
            "quick": quick,
        }

    @cached_property
    def frozen_cloth(self) -> Frozen:
        return freeze(self.cloth, self.size.frame, progress=tell)

    @cached_property
    def frozen_body(self) -> Frozen:
        return freeze(self.body, self.size.frame, progress=tell)

    def frozen(self) -> tuple[Frozen, Frozen]:
        return self.frozen_cloth, self.frozen_body

    def path(self, name: str) -> Path:
        return self.folder / "figures" / f"comparison_{name}.png"

    def chebyshev(self, inner: str) -> str:
        """Chebyshev over `inner`, its ρ tuned when it is prepared."""
        return f"chebyshev({inner}){self.size.tuned}"

    def solve(self, frozen: Frozen, solvers: Sequence[str], counts: Sequence[int] | None = None) -> list[Curve]:
        """The frozen frame after growing numbers of iterations."""
        counts = self.size.counts if counts is None else counts
        return compare_frozen(frozen, solvers, iterations=counts, repeat=self.size.repeat, progress=tell)


def papers(scene: Scene, options: str = "") -> str:
    """Chebyshev over Jacobi with the course's ρ, and nothing that saves it from diverging."""
    return f"chebyshev(jacobi):rho={RHO[scene.name]},watch=False{options}"


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


# --- [fratarcangeli2018, figure 3] --------------------------------------------------------------------------------


def fig3(study: Study) -> Values:
    """The tablecloth after the same time by several solvers, beside the converged trajectory."""
    size, exact = study.size, study.frozen_cloth.reference.q
    small = make_scene("tablecloth", resolution=size.newton_cloth)
    runs: list[tuple[str, Scene, str, Budget]] = [
        ("direct, 10 iterations", study.cloth, "direct", Budget(iterations=10)),
        ("direct, 100 iterations", study.cloth, "direct", Budget(iterations=100)),
        ("jacobi, 10 iterations", study.cloth, "jacobi", Budget(iterations=10)),
        ("jacobi, 400 iterations", study.cloth, "jacobi", Budget(iterations=400)),
        ("chebyshev(jacobi), 400 iterations", study.cloth, papers(study.cloth), Budget(iterations=400)),
        (f"{SMALLEST}, {size.budgets[1]:g} ms", study.cloth, SMALLEST, Budget(ms=size.budgets[1])),
        (f"auto, {size.budgets[1]:g} ms", study.cloth, "auto", Budget(ms=size.budgets[1])),
        (f"newton, {small.model.n:,} vertices", small, "newton", Budget(tolerance=1e-4, iterations=20)),
    ]
    pictures, rows = [], []
    for title, scene, solver, budget in runs:
        q, ms = _after(scene, solver, budget, size.frame)
        finite = bool(np.isfinite(q).all())
        pictures.append((f"{title}\n{number(ms)} ms a frame", scene, q))
        away = 100 * np.sqrt(np.mean(np.sum((q - exact) ** 2, axis=1))) if scene is study.cloth and finite else None
        rows.append([title, number(ms), number(away), number(100 * _stretch(scene, q) if finite else np.inf)])
    pictures.insert(7, ("converged in float64", study.cloth, exact))
    rows.append(["converged in float64", "–", "0", number(100 * _stretch(study.cloth, exact))])
    _contact_sheet(study, pictures)
    head = [
        "solver",
        "ms a frame",
        "RMS distance from converged (cm)",
        "stretch of the edges, mean of absolute values (%)",
    ]
    return {
        "table": table(head, rows),
        "seconds": f"{size.frame * study.cloth.time_step:.2f}",
        "newton": f"{small.model.n:,}",
        "rho": f"{RHO['tablecloth']:g}",
    }


def _after(scene: Scene, solver: str, budget: Budget, frames: int) -> tuple[np.ndarray, float]:
    """Positions after so many frames, and the median milliseconds of one."""
    sim = scene.simulate(solver=solver, budget=budget)
    sim.prepare(wait=True)
    spent = []
    for k in range(frames):
        tell(f"{scene.name}, {scene.model.n} vertices: {label(solver)}", k, frames)
        spent.append(sim.step().ms)
    return sim.positions.astype(np.float64), float(np.median(spent))


def _stretch(scene: Scene, q: np.ndarray) -> float:
    body = PositionBased(scene)
    return float(np.abs(body.lengths(q) / body.rest - 1).mean())


def _contact_sheet(study: Study, pictures: Sequence[tuple[str, Scene, np.ndarray]]) -> None:
    from matplotlib.figure import Figure

    camera = _camera(study, [q for _, _, q in pictures])
    across = 5
    down = -(-len(pictures) // across)
    figure = Figure(figsize=(3.0 * across, 3.3 * down), layout="constrained", facecolor="white")
    for axes in figure.subplots(down, across, squeeze=False).flat:
        axes.set_axis_off()
    for axes, (title, scene, q) in zip(figure.axes, pictures, strict=False):
        mesh = scene.model.mesh
        options = {"points": scene.model.pinned, "size": study.size.picture, "backend": study.size.renderer}
        with open_renderer(mesh.triangles, camera, **options) as renderer:
            axes.imshow(renderer.draw(q))
        axes.set_title(title, fontsize=9.5)
    save_figure(figure, study.path("fig3"), study.settings)


def _camera(study: Study, states: Sequence[np.ndarray]) -> Camera:
    """One view for all, wide enough for those that have not gone far; the rest may leave it."""
    rest = study.cloth.model.mesh.vertices
    low, high = rest.min(axis=0), rest.max(axis=0)
    reach = 1.5 * float(np.max(high - low))
    inside = [np.clip(np.where(np.isfinite(q), q, low), low - reach, high + reach) for q in states]
    aspect = study.size.picture[0] / study.size.picture[1]
    return Camera.framing(*bounds_of(inside), direction=study.cloth.view, aspect=aspect)


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


# --- [fratarcangeli2018, figures 5, 6 and 10] ---------------------------------------------------------------------


def fig5(study: Study) -> Values:
    """Gradient norm against iterations and milliseconds, without acceleration and with."""
    plain = ["direct", "gauss-seidel", "jacobi", "vivace"]
    fast = [study.chebyshev(inner) for inner in ("direct", "gauss-seidel", "jacobi", "multigrid")]
    fast = [papers(study.cloth), *fast, "lbfgs(multigrid)"]
    frozen = study.frozen_cloth
    curves = study.solve(frozen, [*plain, *fast])
    newton = compare_frozen(frozen, ["newton"], iterations=study.size.newton, repeat=1, progress=tell)
    rows = [panels_of([*(c for c in curves if c.solver in plain), *newton], "as they are")]
    rows.append(panels_of([c for c in curves if c.solver in fast], "accelerated"))
    panel_grid(study.path("fig5"), rows, settings=study.settings)
    return {
        "table": convergence_table(study, [*curves, *newton], energy=True),
        "frame": str(study.size.frame),
        "rho": f"{RHO['tablecloth']:g}",
        "quickest": quickest([*curves, *newton]),
    }


def fig6(study: Study) -> Values:
    """Under-relaxation of Chebyshev over Jacobi on the armadillo."""
    solvers = [papers(study.body, f",gamma={gamma}") for gamma in (1.0, 0.9, 0.75)]
    curves = study.solve(study.frozen_body, [*solvers, "jacobi"])
    panel_grid(study.path("fig6"), [panels_of(curves, "armadillo")], settings=study.settings)
    left = [number(median(c.gradients)) for c in curves[:-1] if c.budget.iterations == study.size.told[1]]
    sim = study.body.simulate(solver="jacobi")
    sim.prepare()
    return {
        "table": convergence_table(study, curves),
        "rho": f"{RHO['armadillo']:g}",
        "overshoot": f"{sim.solver.overshoot(sim.solver.layout):.2f}",
        "told": str(study.size.told[1]),
        "left": listed(left[:3]),
    }


def fig10(study: Study) -> Values:
    """Conjugate gradients against Chebyshev, with Jacobi and with a factorisation inside, on both frames."""
    rows, tables = [], []
    for frozen in study.frozen():
        scene = frozen.scene.name
        theirs, ours = papers(frozen.scene), study.chebyshev("jacobi")
        names = {theirs: "chebyshev(jacobi) with the course's ρ", ours: "chebyshev(jacobi) with a tuned ρ"}
        jacobi, direct = ["pcg", theirs, ours], ["pcg(direct)", study.chebyshev("direct")]
        curves = study.solve(frozen, [*jacobi, *direct])
        first = panels_of([c for c in curves if c.solver in jacobi], f"{scene}, Jacobi inside", names)[0]
        second = panels_of([c for c in curves if c.solver in direct], f"{scene}, a factorisation inside", names)[0]
        rows.append([first, second])
        tables.append(convergence_table(study, curves, names).replace("solver", scene, 1))
    panel_grid(study.path("fig10"), rows, settings=study.settings)
    return {
        "tables": "\n\n".join(tables),
        "rhos": listed([f"{rho:g}" for rho in RHO.values()]),
        "horizon": str(make_solver(study.chebyshev("jacobi")).horizon),
    }


def panels_of(curves: Sequence[Curve], title: str, names: Names | None = None) -> list[Panel]:
    """Gradient norms against iterations, and against milliseconds."""
    by_count, by_ms = {}, {}
    for solver, its in by_solver(curves).items():
        gradients = np.array([median(c.gradients) for c in its])
        name = (names or {}).get(solver, label(solver))
        by_count[name] = (np.array([c.budget.iterations for c in its]), gradients)
        by_ms[name] = (np.array([median(c.ms) for c in its]), gradients)
    return [
        Panel(by_count, title, "iterations", GRADIENT, log_x=True),
        Panel(by_ms, title, "time for the frame (ms)", GRADIENT, log_x=True),
    ]


def convergence_table(
    study: Study, curves: Sequence[Curve], names: Names | None = None, *, energy: bool = False
) -> str:
    """Of each solver: what an iteration takes, and what some numbers of them leave of the gradient and the energy."""
    told, rows = study.size.told, []
    for solver, its in by_solver(curves).items():
        found = {c.budget.iterations: c for c in its}
        row = [code((names or {}).get(solver, solver)), number(median(its[-1].ms / its[-1].sweeps))]
        row += [number(median(found[k].gradients)) if k in found else "–" for k in told]
        if energy:
            row += [number(median(found[k].errors)) if k in found else "–" for k in told]
            row += [number(ms_to_enough(its))]
        rows.append(row)
    head = ["solver", "ms an iteration", *(f"gradient after {k}" for k in told)]
    head += [*(f"energy error after {k}" for k in told), f"ms to a gradient of {ENOUGH:g}"] if energy else []
    return table(head, rows)


def ms_to_enough(its: Sequence[Curve]) -> float | None:
    """Milliseconds of one solver's first number of iterations that leaves a small gradient."""
    return next((median(c.ms) for c in its if median(c.gradients) <= ENOUGH), None)


def quickest(curves: Sequence[Curve]) -> str:
    """Solvers by their milliseconds to a small gradient, those that get there."""
    times = {solver: ms_to_enough(its) for solver, its in by_solver(curves).items()}
    there = sorted((ms, solver) for solver, ms in times.items() if ms is not None)
    return ", ".join(f"{code(solver)} {number(ms)} ms" for ms, solver in there) or "none"


def by_solver(curves: Sequence[Curve]) -> dict[str, list[Curve]]:
    return {name: [c for c in curves if c.solver == name] for name in dict.fromkeys(c.solver for c in curves)}


# --- [fratarcangeli2018, figure 7] --------------------------------------------------------------------------------


def fig7(study: Study) -> Values:
    """Position based dynamics from the frozen frames' predictions, with and without Chebyshev."""
    panels, rows, count = [], [], 2 * study.size.most
    shown = np.linspace(0, count, 25).round().astype(int)
    for frozen in study.frozen():
        scene, start, body = frozen.scene, frozen.frame.start, PositionBased(frozen.scene)
        large, small = ALPHAS[scene.name]
        first, curves = body.violation(start), {}
        for name, alpha, rho in (
            ("larger α", large, 0.0),
            ("smaller α", small, 0.0),
            ("smaller α with Chebyshev", small, RHO[scene.name]),
            ("larger α with Chebyshev", large, RHO[scene.name]),
        ):
            tell(f"{scene.name}: position based dynamics, {name}", 0, 1)
            begin = time.perf_counter()
            with np.errstate(all="ignore"):
                found = np.array([first, *body.violations(start, alpha, count, rho)])
            ms = 1e3 * (time.perf_counter() - begin) / count
            found = np.where(found < 1e3 * first, found, np.inf)  # NaN is lost too
            curves[name] = (shown, 1e3 * found[shown])
            left = [number(found[k] / first) for k in (study.size.told[1], count)]
            rows.append([f"{scene.name}, α = {alpha:g}{' with Chebyshev' if rho else ''}", number(ms), *left])
        title = f"{scene.name}, α = {large:g} and {small:g}"
        panels.append(Panel(curves, title, "iterations", "RMS violation of the edges (mm)"))
    panel_grid(study.path("fig7"), [panels], settings=study.settings)
    head = [f"violation after {k} ÷ first" for k in (study.size.told[1], count)]
    return {
        "table": table(["scene", "ms an iteration", *head], rows),
        "rhos": listed([f"{rho:g}" for rho in RHO.values()]),
    }


# --- the command --------------------------------------------------------------------------------------------------

PARTS: dict[str, Callable[[Study], Values]] = {
    part.__name__: part for part in (choice, vivace4, vivace5, fig3, fig4, fig5, fig6, fig7, fig10)
}


def tell(what: str, done: int, total: int) -> None:
    """Progress: a line on standard error whenever something else begins."""
    if what != tell.last:  # type: ignore[attr-defined]
        print(what, file=sys.stderr, flush=True)
        tell.last = what  # type: ignore[attr-defined]


tell.last = ""  # type: ignore[attr-defined]


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
