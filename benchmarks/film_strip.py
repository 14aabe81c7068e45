"""Two films frame by frame, one above the other: a scene under a budget, and the same scene converged.

    python benchmarks/film_strip.py [--scene tablecloth] [--budget-ms 8] [--out docs/figures/motion-strip.png]

The lower row is made of the same substeps by many rounds each (`vivace.bench.converged.many_rounds`; for scenes with
contacts, thirty times the iterations of the run). A third row shows `--beside`, another solver under the same budget.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from vivace.bench.converged import itself, many_rounds
from vivace.bench.motion import distance
from vivace.bench.run import run
from vivace.cli.arguments import parameter
from vivace.pictures import Camera, Scenery, bounds_of, open_renderer, save_figure
from vivace.pictures.opening import ground_under
from vivace.scenes import make_scene
from vivace.solvers import Budget

SIZE = 360, 330


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scene", default="tablecloth")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="parameters")
    parser.add_argument("--budget-ms", type=float, default=8.0)
    parser.add_argument("--beside", default="", metavar="SOLVER", help="one more row: another solver, the same budget")
    parser.add_argument("--times", type=float, nargs="+", default=[0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0], metavar="S")
    parser.add_argument("--out", type=Path, default=Path("docs/figures/motion-strip.png"))
    options = parser.parse_args()
    scene = make_scene(options.scene, **dict(map(parameter, options.parameters)))
    frames = [round(time / scene.time_step) for time in options.times]
    budget, given = Budget(ms=options.budget_ms), {"frames": max(frames), "error_samples": 0, "record": True}
    mine = run(scene, budget=budget, **given)  # type: ignore[arg-type]
    films = {f"{mine.sim.solver.used}\n{np.median(mine.ms):.1f} ms a frame": mine.trajectory()}
    if options.beside:
        other = run(scene, budget=budget, solver=options.beside, **given)  # type: ignore[arg-type]
        films[f"{options.beside}\n{np.median(other.ms):.1f} ms a frame"] = other.trajectory()
    if scene.model.collisions is None:
        exact = many_rounds(scene, max(frames), steps=mine.substeps)
    else:
        exact = itself(scene, "auto", round(float(np.median(mine.sweeps))), max(frames), substeps=mine.substeps)
    films["converged"] = exact
    draw(scene, films, exact, frames, options.out)


def draw(scene, films, exact, frames, out: Path) -> None:
    from matplotlib.figure import Figure

    settings = scene.model.collisions
    low, high = bounds_of(exact.positions[k] for k in frames)
    scenery = Scenery.of(settings.colliders, low, high) if settings is not None else None
    camera = Camera.framing(low, high, scene.view, aspect=SIZE[0] / SIZE[1])
    figure = Figure(figsize=(1.75 * len(frames), 1.85 * len(films)), layout="constrained", facecolor="white")
    grid = figure.subplots(len(films), len(frames), squeeze=False)
    pins = scene.model.pinned
    ground = ground_under(low, high, camera, scenery) if scenery is not None else None
    with open_renderer(
        scene.model.mesh.triangles, camera, points=pins, size=SIZE, ground=ground, scenery=scenery
    ) as paint:
        for row, (name, film) in zip(grid, films.items(), strict=True):
            away = 100 * distance(film, exact)
            row[0].set_ylabel(name, fontsize=8)
            for axes, k in zip(row, frames, strict=True):
                axes.imshow(paint.draw(film.positions[k]))
                axes.set_xticks([]), axes.set_yticks([])
                axes.set_frame_on(False)
                axes.set_title("" if film is exact else f"{away[k]:.1f} cm", fontsize=8)
                axes.set_xlabel(f"{k * scene.time_step:.2f} s" if film is exact else "", fontsize=8)
    save_figure(figure, out, {"scene": scene.name, **scene.settings})
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
