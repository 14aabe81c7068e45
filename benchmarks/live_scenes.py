"""Every scene of the live app, as the page starts it, for twenty seconds: do they keep their shape?

    python benchmarks/live_scenes.py [--scenes tablecloth,dress] [--seconds 20] [--json FILE] [--pictures FOLDER]

No browser: steps are made one after the other under the scene's own budget, as the physics thread makes them. Printed
are milliseconds a step, how much faster than real time that is (below 1: slow motion), the largest mean and the largest
single stretch of edges on the way, how deep vertices were inside colliders at the end beyond the thickness that keeps
them apart, edges that pierce triangles at the end, and the mean speed then. Bodies of tetrahedra stretch by what they
are made of; their figures are for comparison with themselves.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vivace.collisions.crossings import crossings
from vivace.pictures import Scenery, save_picture
from vivace.scenes import SCENES, RigidScene
from vivace.viewer.choices import Target
from vivace.viewer.running import Lost
from vivace.viewer.starting import budget_of, run_scene, warm


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
        depth, piercings = interpenetration(scene, np.asarray(view.report.positions))
    if pictures is not None and not rigid:
        q, mesh, settings = view.report.positions, scene.model.mesh, scene.model.collisions
        around = Scenery.of(settings.colliders, q.min(axis=0), q.max(axis=0)) if settings is not None else None
        save_picture(pictures / f"{name}.png", q, mesh.triangles, scenery=around)
    median = float(np.median(times)) if times else float("nan")
    shape = 100 * mean, 100 * largest, 1e3 * depth, piercings
    return Row(name, len(positions), median, 1e3 * h / median, *shape, 1e3 * speed, lost)


def interpenetration(scene: Any, positions: np.ndarray) -> tuple[float, int]:
    """How deep vertices are in colliders (m), and how many edges pierce triangles."""
    model = scene.model
    depth = 0.0
    if model.collisions is not None:
        for collider in model.collisions.colliders:
            depth = max(depth, -float(collider.distance(positions).min()))
    triangles = model.mesh.triangles
    touches = model.collisions is not None and model.collisions.itself
    pierced = len(crossings(positions, triangles)[1]) if touches and len(triangles) else 0
    return max(depth, 0.0), pierced


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", default="", help="names, with commas (default: all)")
    parser.add_argument("--seconds", type=float, default=20.0, help="simulated, of each (default 20)")
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--pictures", type=Path, help="folder for a picture of each scene's end")
    arguments = parser.parse_args()
    names = arguments.scenes.split(",") if arguments.scenes else list(SCENES)
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    heads = ("scene", "vertices", "ms a step", "real time", "stretch, mean", "largest", "in colliders", "piercings")
    print(f"| {' | '.join(heads)} | speed at the end |")
    print("|---" * (len(heads) + 1) + "|")
    rows = []
    for name in names:
        row = watched(name, {}, arguments.seconds, arguments.pictures)
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
