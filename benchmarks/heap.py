"""Does a heap hold? A minute of `cloth-heap` at a tenth of its size, and what has gone through what.

    python benchmarks/heap.py [--scale 0.1] [--seconds 60] [--solver NAME] [--json FILE]

Twice a second: edges that pierce a triangle (exactly, see vivace.collisions.crossings), vertices inside a collider. At
the end: what share of the vertices lies deeper in a collider than the thickness of a contact, and which crossings have
lasted for a second or longer.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from vivace import __version__
from vivace.collisions import crossings, penetration
from vivace.files import write_text
from vivace.scenes import make_scene


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scene", default="cloth-heap")
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--solver", default=None)
    parser.add_argument("--json", type=Path, default=None)
    arguments = parser.parse_args()
    scene = make_scene(arguments.scene, scale=arguments.scale)
    sim = scene.simulate(solver=arguments.solver)
    settings, triangles = scene.model.collisions, scene.model.mesh.triangles
    frames = round(arguments.seconds / scene.time_step)
    every = max(1, round(0.5 / scene.time_step))
    print(f"{scene.model!r}, thickness {1e3 * settings.thickness:.2g} mm, {frames} steps of {scene.time_step:.4g} s")
    ms, seen, lasting, rows = [], set[tuple[int, int, int]](), 0, []
    begin = time.perf_counter()
    for k in range(1, frames + 1):
        report = sim.step()
        ms.append(report.ms)
        if k % every and k != frames:
            continue
        edges, pierced = crossings(sim.positions, triangles)
        now = {(int(a), int(b), int(t)) for (a, b), t in zip(edges, pierced, strict=True)}
        lasting += len(now & seen)  # half a second apart, and still there
        seen = now
        depth = penetration(settings.colliders, sim.positions)
        speed = np.linalg.norm(sim.velocities, axis=1)
        row = {
            "time_s": sim.time,
            "finite": report.finite,
            "contacts": report.contacts,
            "colours": report.colours,
            "stuck": report.corrected,
            "crossings": len(now),
            "deepest_mm": 1e3 * float(depth.max()),
            "share_below_thickness": float(np.mean(depth <= settings.thickness)),
            "speed_p99": float(np.percentile(speed, 99)),
            "ms_median": float(np.median(ms[-every:])),
        }
        rows.append(row)
        print("  ".join(f"{name} {value:.4g}" for name, value in row.items()), flush=True)
    late = [row for row in rows if row["time_s"] >= 0.8 * arguments.seconds]
    result = {
        "version": __version__,
        "settings": {**scene.settings, "solver": sim.solver.name, "seconds": arguments.seconds},
        "finite": all(row["finite"] for row in rows),
        "crossings_most": max(row["crossings"] for row in rows),
        "crossings_that_stayed": lasting,
        "share_within_thickness_at_rest": min(row["share_below_thickness"] for row in late),
        "deepest_at_rest_mm": max(row["deepest_mm"] for row in late),
        "ms_median": float(np.median(ms)),
        "ms_p99": float(np.percentile(ms, 99)),
        "took_s": time.perf_counter() - begin,
        "rows": rows,
    }
    print(json.dumps({key: value for key, value in result.items() if key not in ("rows", "settings")}, indent=2))
    if arguments.json:
        write_text(arguments.json, json.dumps(result, default=str))


if __name__ == "__main__":
    main()
