"""Soft and rigid bodies frame by frame: a run with few iterations above the converged one, of two scenes.

    python benchmarks/soft_and_rigid_strip.py [--out docs/figures/soft-and-rigid-strip.png]

A box falls on a soft cube; a ball of a third of an edge falls on a coarse cloth held at its corners. Substeps are the
same in both rows, eight turns between soft and rigid bodies in each; what differs is the iterations of a turn.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import vivace as vv
from vivace.collisions import Sphere
from vivace.pictures import Camera, bounds_of, open_renderer, save_figure
from vivace.pictures.bodies import film_of_model
from vivace.pictures.opening import ground_under
from vivace.simulation.rigid_part import TURNS

SIZE = 260, 240
FEW, MANY = 2, 100  # iterations a turn
TIMES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.8)  # s
SUBSTEPS = 2  # of 1/60 s


def jelly() -> tuple[vv.Model, tuple[float, float, float]]:
    """A box over a soft cube."""
    scene = vv.make_scene("box-on-jelly")
    return scene.model, scene.view


def net() -> tuple[vv.Model, tuple[float, float, float]]:
    """A small ball over a coarse cloth."""
    cloth = vv.mesh.cloth(6, 6, width=0.6, height=0.6, plane="horizontal")
    model = vv.Model.of(cloth, vv.Cloth(density=0.2, stretch=1e3, bend=1e-4), air=0.2).pin("corners")
    ball = vv.Body(Sphere((0.02, 0.2, 0.01), 0.04), mass=0.05)
    return model.collide([ball], thickness=0.005, itself=False), (0.6, 0.5, 1.0)


SCENES = {"a box on a soft cube": jelly, "a ball on a coarse cloth": net}


def run(model: vv.Model, iterations: int, frames: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices, and positions and orientations of bodies, of every frame from the first on."""
    budget = vv.Budget(iterations=iterations * TURNS * SUBSTEPS)
    sim = vv.Simulation(model, time_step=1 / 60, substeps=SUBSTEPS, budget=budget)
    assert sim.bodies is not None
    soft, where, turned = [sim.positions], [sim.bodies.positions], [sim.bodies.orientations]
    for _ in range(frames):
        sim.step()
        soft.append(sim.positions)
        where.append(sim.bodies.positions)
        turned.append(sim.bodies.orientations)
    return np.array(soft), np.array(where), np.array(turned)


def main() -> None:
    """Run, print how far apart the runs are, and draw both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("docs/figures/soft-and-rigid-strip.png"))
    options = parser.parse_args()
    from matplotlib.figure import Figure

    frames = [round(60 * time) for time in TIMES]
    figure = Figure(figsize=(1.28 * len(frames), 1.34 * 2 * len(SCENES)), layout="constrained", facecolor="white")
    grid = figure.subplots(2 * len(SCENES), len(frames), squeeze=False)
    for k, (name, make) in enumerate(SCENES.items()):
        model, view = make()
        runs = {iterations: run(model, iterations, max(frames)) for iterations in (FEW, MANY)}
        soft = 100 * np.sqrt(np.square(runs[FEW][0] - runs[MANY][0]).sum(axis=2).mean(axis=1))
        rigid = 100 * np.linalg.norm(runs[FEW][1] - runs[MANY][1], axis=2).max(axis=1)
        print(f"{name}: {FEW} iterations a turn from {MANY}, in cm, vertices (RMS) and body")
        for time, frame in zip(TIMES, frames, strict=True):
            print(f"  {time:.1f} s  {soft[frame]:5.2f}  {rigid[frame]:5.2f}")
        rows = zip((FEW, MANY), grid[2 * k : 2 * k + 2], strict=True)
        for iterations, row in rows:
            draw(model, view, runs[iterations], runs[MANY], frames, row)
            row[0].set_ylabel(f"{name}\n{iterations} iterations a turn", fontsize=7)
            for axes, frame, time in zip(row, frames, TIMES, strict=True):
                away = f"{soft[frame]:.1f} cm, body {rigid[frame]:.1f} cm"
                axes.set_title("" if iterations == MANY else away, fontsize=7)
                axes.set_xlabel(f"{time:.1f} s" if iterations == MANY else "", fontsize=7)
    save_figure(figure, options.out, {"iterations": [FEW, MANY], "substeps": SUBSTEPS})
    print(f"wrote {options.out}")


def draw(model, view, made, exact, frames, row) -> None:
    """The frames of a run, seen by the camera that the converged run fits into."""
    chosen = [film_of_model(model, s[frames], 1 / 60, poses=(p[frames], o[frames]), view=view, settings={})
              for s, p, o in (made, exact)]  # fmt: skip
    film, other = chosen
    low, high = other.bodies.frame(*bounds_of(other.frames))
    camera = Camera.framing(low, high, view, aspect=SIZE[0] / SIZE[1])
    pictures, triangles = film.drawn()
    soft = np.tile([0.30, 0.53, 0.75], (model.n, 1)) if film.colours is None else film.colours
    colours = np.concatenate([soft, film.bodies.colours])
    ground = ground_under(low, high, camera, film.scenery)
    with open_renderer(
        triangles, camera, points=film.points, size=SIZE,
        ground=ground, scenery=film.scenery,
    ) as paint:  # fmt: skip
        for axes, picture in zip(row, pictures, strict=True):
            axes.imshow(paint.draw(picture, colours))
            axes.set_xticks([]), axes.set_yticks([])
            axes.set_frame_on(False)


if __name__ == "__main__":
    main()
