"""Does it stay finite, frame after frame, on any budget? 300 frames at h = 33 ms with few sweeps and many.

python benchmarks/stability.py [--armadillo FILE] [--frames 300] [--sweeps 1,2,5,40]
"""

from __future__ import annotations

import argparse

import numpy as np

import vivace as vv
from vivace.scenes import make_scene


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--armadillo", default="")
    parser.add_argument("--frames", type=int, default=300)
    parser.add_argument("--sweeps", type=lambda text: [int(k) for k in text.split(",")], default=[1, 2, 5, 40])
    parser.add_argument("--solver", default="vivace")
    arguments = parser.parse_args()
    for scene in (make_scene("tablecloth"), make_scene("armadillo", path=arguments.armadillo)):
        for sweeps in arguments.sweeps:
            sim = scene.simulate(solver=arguments.solver, budget=vv.Budget(iterations=sweeps))
            lowest, fastest, finite = 0.0, 0.0, True
            for _ in range(arguments.frames):
                finite = finite and sim.step().finite
                lowest = min(lowest, float(sim.positions[:, 1].min()))
                fastest = max(fastest, float(np.linalg.norm(sim.velocities, axis=1).max()))
            end = float(np.linalg.norm(sim.velocities, axis=1).max())
            print(
                f"{scene.name:12s} {sim.model.n} vertices, {sweeps:3d} sweeps a frame, {arguments.frames} frames: "
                f"finite {finite}, lowest point {lowest:.2f} m, fastest {fastest:.1f} m/s, at the end {end:.1f} m/s",
                flush=True,
            )


if __name__ == "__main__":
    main()
