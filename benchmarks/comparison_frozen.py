"""Gradients of frozen frames against iterations and milliseconds: figures 5, 6 and 10 of `comparison.py`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from comparison_common import RHO, Names, Study, Values, papers, tell
from comparison_words import code, label, listed, number, table

from vivace.bench.compare import Curve
from vivace.bench.frozen import compare_frozen
from vivace.bench.statistics import median
from vivace.pictures import Panel, panel_grid
from vivace.solvers import make_solver

GRADIENT = "gradient norm ÷ first guess's"
ENOUGH = 0.01  # of the first guess's gradient


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
