"""Every scene of the live app, as the page starts it, for twenty seconds: do they keep their shape?

    python benchmarks/live_scenes.py [--scenes tablecloth,dress:resolution=80] [--seconds 20] [--json FILE]
    python benchmarks/live_scenes.py --hem [--pictures FOLDER]

No browser: steps are made one after the other under the scene's own budget, as the physics thread makes them. Printed
are milliseconds a step, how much faster than real time that is (below 1: slow motion), the largest mean and the largest
single stretch of edges on the way, how deep vertices were inside colliders at the end beyond the thickness that keeps
them apart, edges that pierce triangles at the end, and the mean speed then. Bodies of tetrahedra stretch by what they
are made of; their figures are for comparison with themselves.

With --hem, the default scene alone: how high the hem of the tablecloth is after 3 s, beside two converged runs (of
different solvers; how far these are from each other is what nobody can do better than, because corners may fold to
either side), and how fast it moves after 8 s.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from moving import pierced

from vivace import Budget
from vivace.cli.arguments import parameter
from vivace.mesh import topology
from vivace.pictures import Scenery, bounds_of, save_picture
from vivace.scenes import SCENES, RigidScene
from vivace.viewer.choices import Target
from vivace.viewer.running import Lost
from vivace.viewer.starting import budget_of, run_scene, warm

CONVERGED = {"auto": 240, "newton-multigrid": 160}  # iterations a step of two substeps


@dataclass
class Row:
    """What is printed of a scene; lengths in mm, speeds in mm/s, stretch in per cent."""

    scene: str
    vertices: int
    ms: float
    pace: float
    stretch_mean: float
    stretch_largest: float
    depth: float
    piercings: int
    speed: float
    lost: str = ""


def watched(name: str, parameters: dict[str, Any], seconds: float, pictures: Path | None) -> Row:
    """A scene for so many simulated seconds."""
    scene = Target(name, parameters).load()
    sim = scene.simulate()
    warm(sim)
    running = run_scene(scene, scene.simulate(solver=sim.solver), budget_ms=budget_of(scene))
    h, times, mean, largest, lost, speed = running.settings.time_step, [], 0.0, 0.0, "", 0.0
    rigid = isinstance(scene, RigidScene)
    positions = np.zeros((0, 3))
    for _ in range(round(seconds / h)):
        try:
            (view,) = running.step()
        except Lost as why:
            lost = str(why)
            break
        times.append(view.report.ms)
        moved, positions = positions, np.array(view.vertices)
        if len(moved):
            speed = float(np.linalg.norm(positions - moved, axis=1).mean()) / h
        if not rigid:
            _, now, most = running.backdrop.strain(view.report.positions)
            mean, largest = max(mean, now), max(largest, most)
    depth, piercings = 0.0, 0
    if not rigid and len(positions):
        depth, piercings = interpenetration(scene, np.asarray(view.report.positions), running.sims[0].time)
    if not rigid:
        draw(pictures, name, scene, view.report.positions)
    median = float(np.median(times)) if times else float("nan")
    shape = 100 * mean, 100 * largest, 1e3 * depth, piercings
    return Row(name, len(positions), median, 1e3 * h / median, *shape, 1e3 * speed, lost)


def hem(pictures: Path | None) -> None:
    """The tablecloth of the default scene, beside converged runs of it."""
    scene = Target("tablecloth", {}).load()
    border = np.unique(topology.boundary_edges(scene.model.mesh.triangles))
    frames = round(3 / scene.time_step)
    exact = {}
    for solver, iterations in CONVERGED.items():
        sim = scene.simulate(solver=solver, budget=Budget(iterations=iterations), substeps=2)
        for _ in range(frames):
            sim.step()
        exact[solver] = sim.positions.copy()
        print(
            f"{solver}, {iterations} iterations a step: hem at {100 * exact[solver][border, 1].mean():.2f} cm",
            flush=True,
        )
    first, second = (q[border] for q in exact.values())
    print(f"these two, RMS: {100 * distance(first, second):.2f} cm")
    warm(scene.simulate())
    running = run_scene(scene, scene.simulate(), budget_ms=budget_of(scene))
    speeds, times = [], []
    for frame in range(1, round(10 / scene.time_step) + 1):
        before = running.sims[0].positions
        (view,) = running.step()
        times.append(view.report.ms)
        speeds.append(1e3 * np.linalg.norm(view.report.positions - before, axis=1).mean() / scene.time_step)
        if frame == frames:
            q = view.report.positions[border]
            print(f"the page's run after 3 s: hem at {100 * q[:, 1].mean():.2f} cm; RMS from the two")
            print("  " + ", ".join(f"{100 * distance(q, one):.2f} cm" for one in (first, second)))
            draw(pictures, "tablecloth-3s", scene, view.report.positions)
    shown = ", ".join(f"{speeds[round(t / scene.time_step) - 1]:.2f} after {t} s" for t in (3, 5, 8, 10))
    print(f"mean speed, mm/s: {shown}; {np.median(times):.1f} ms a step (99 %: {np.quantile(times, 0.99):.1f})")


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """RMS distance of points (m)."""
    return float(np.sqrt(((a - b) ** 2).sum(axis=1).mean()))


def draw(folder: Path | None, name: str, scene: Any, positions: np.ndarray) -> None:
    """A picture, if there is a folder for it."""
    if folder is not None:
        settings = scene.model.collisions
        around = Scenery.of(settings.colliders, *bounds_of([positions])) if settings is not None else None
        save_picture(folder / f"{name}.png", positions, scene.model.mesh.triangles, scenery=around)


def interpenetration(scene: Any, positions: np.ndarray, time: float) -> tuple[float, int]:
    """How deep vertices are in colliders (m), and how many edges pierce triangles that they are not sewn to."""
    model = scene.model
    depth = 0.0
    if model.collisions is not None:
        for collider in model.collisions.colliders:
            depth = max(depth, -float(collider.distance(positions).min()))
    touches = model.collisions is not None and model.collisions.itself
    through, itself = pierced(model, positions, time) if touches and len(model.mesh.triangles) else (0, 0)
    return max(depth, 0.0), through + itself


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", default="", help="names, with commas (default: all)")
    parser.add_argument("--seconds", type=float, default=20.0, help="simulated, of each (default 20)")
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--pictures", type=Path, help="folder for a picture of each scene's end")
    parser.add_argument("--hem", action="store_true", help="the default scene beside converged runs of it")
    arguments = parser.parse_args()
    names = arguments.scenes.split(",") if arguments.scenes else list(SCENES)
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    if arguments.hem:
        return hem(arguments.pictures)
    heads = ("scene", "vertices", "ms a step", "real time", "stretch, mean", "largest", "in colliders", "piercings")
    print(f"| {' | '.join(heads)} | speed at the end |")
    print("|---" * (len(heads) + 1) + "|")
    rows = []
    for target in names:
        name, *given = target.split(":")
        row = watched(name, dict(map(parameter, given)), arguments.seconds, arguments.pictures)
        rows.append(asdict(row))
        print(
            f"| `{row.scene}` | {row.vertices:,} | {row.ms:.1f} | {row.pace:.2g}x | {row.stretch_mean:.3f} % | "
            f"{row.stretch_largest:.1f} % | {row.depth:.2f} mm | {row.piercings} | {row.speed:.2f} mm/s |"
            + (f" {row.lost}" if row.lost else ""),
            flush=True,
        )
        if arguments.json:
            arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
