"""The tablecloth by several solvers, in pictures: figure 3 of `comparison.py`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from comparison_common import RHO, SMALLEST, Study, Values, papers, tell
from comparison_words import label, number, table

from vivace.bench.motion import stretch
from vivace.pictures import Camera, bounds_of, open_renderer, save_figure
from vivace.scenes import Scene, make_scene
from vivace.solvers import Budget


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
    drawn = stretch(scene.model, q)
    assert drawn is not None
    return drawn.mean


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
