"""Position based dynamics by Jacobi iterations, with and without Chebyshev: figure 7 of `comparison.py`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from comparison_common import RHO, Study, Values, tell
from comparison_words import listed, number, table

from vivace.bench.frozen import Frozen
from vivace.constraints import Role
from vivace.pictures import Panel, panel_grid
from vivace.scenes import Scene
from vivace.solvers import Budget

ALPHAS = {"tablecloth": (0.3, 0.25), "armadillo": (0.045, 0.0025)}  # [fratarcangeli2018, section 2.2.3]
LOST = 1e3  # times the first violation


def fig7(study: Study) -> Values:
    """Position based dynamics from the state before the frozen frames, with and without Chebyshev."""
    panels, rows, gains, lost, count = [], [], [], [], 2 * study.size.most
    shown = np.linspace(0, count, 25).round().astype(int)
    told = study.size.told[1], count
    for frozen in study.frozen():
        name, rho = frozen.scene.name, RHO[frozen.scene.name]
        large, small = ALPHAS[name]
        accelerated = f"chebyshev(pbd-jacobi:stiffness=1,alpha={{}}):rho={rho},watch=False"
        runs = {
            "larger α": (f"α = {large:g}", f"pbd-jacobi:stiffness=1,alpha={large}"),
            "smaller α": (f"α = {small:g}", f"pbd-jacobi:stiffness=1,alpha={small}"),
            "smaller α with Chebyshev": (f"α = {small:g} with Chebyshev", accelerated.format(small)),
            "larger α with Chebyshev": (f"α = {large:g} with Chebyshev", accelerated.format(large)),
            "averaged, with Chebyshev": ("`chebyshev(pbd-jacobi)` by default", "chebyshev(pbd-jacobi)"),
        }
        curves = {}
        for label, (row, solver) in runs.items():
            tell(f"{name}: position based dynamics, {label}", 0, 1)
            found = violations(frozen, solver, count)
            found = np.where(found < LOST * found[0], found, np.inf)  # not a number is lost too
            curves[label] = (shown, 1e3 * found[shown])
            lost += [] if np.isfinite(found).all() else [f"{name}, {row}"]
            rows.append([f"{name}, {row}", *(number(found[k] / found[0]) for k in told)])
        plain, fast = (curves[f"larger α{how}"][1][-1] for how in ("", " with Chebyshev"))
        gains.append(number(plain / fast if np.isfinite(fast) else None))
        panels.append(
            Panel(curves, f"{name}, α = {large:g} and {small:g}", "iterations", "RMS violation of the edges (mm)")
        )
    panel_grid(study.path("fig7"), [panels], settings=study.settings)
    return {
        "table": table(["scene", *(f"violation after {k} ÷ first" for k in told)], rows),
        "gains": listed(gains),
        "count": str(count),
        "lost": "; ".join(lost) or "none",
        "rhos": listed([f"{rho:g}" for rho in RHO.values()]),
    }


def violations(frozen: Frozen, solver: str, count: int) -> np.ndarray:
    """Root mean square of C, an edge's length less that at rest (m), after 0 to `count` iterations of a step.

    What a sweep meets is what the one before left, so that one step tells them all.
    """
    scene = of_edges(frozen.scene)
    sim = scene.simulate(solver=solver)
    sim.substeps, sim.trace = 1, True
    with np.errstate(all="ignore"):
        met = frozen.step(sim, Budget(iterations=count + 1)).residuals
    assert met[:, 0].tolist() == list(range(count + 1))
    return met[:, 1] / np.sqrt(len(scene.model.mesh.edges))


def of_edges(scene: Scene) -> Scene:
    """The scene with its pins and a spring for each edge of its mesh, and nothing else.

    One kind of constraint, whose gradients are all of one size, so that one number tells how far all are from holding.
    """
    pins = tuple(group for group in scene.model.groups if group.kind.role is Role.TARGET)
    return replace(scene, model=replace(scene.model, groups=pins).constrain("spring", scene.model.mesh.edges, 1e4))
