"""Milliseconds of a round on the tablecloth: membranes and plates beside springs and hinges, in turns.

python benchmarks/sheet_rounds.py [--resolution 100] [--steps 12]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import vivace as vv

SOLVERS = ("vivace", "lattice(multigrid):cells=10", "newton-multigrid")
ROUNDS = 8


def main() -> None:
    """Step all simulations in turns, so that what else the machine does is shared."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--resolution", type=int, default=100)
    parser.add_argument("--steps", type=int, default=12)
    options = parser.parse_args()
    sims = {}
    for kind in ("cloth", "sheet"):
        scene = vv.make_scene("tablecloth", resolution=options.resolution, material=kind)
        for solver in SOLVERS:
            settings = {"budget": vv.Budget(iterations=ROUNDS), "time_step": scene.time_step, "substeps": 1}
            sims[kind, solver] = vv.Simulation(scene.model, solver=solver, **settings)
    took = {key: list[float]() for key in sims}
    for number in range(options.steps + 2):
        for key, sim in sims.items():
            begin = time.perf_counter()
            sim.step()
            if number >= 2:
                took[key].append(1e3 * (time.perf_counter() - begin) / ROUNDS)
    for solver in SOLVERS:
        cloth, sheet = (float(np.median(took[kind, solver])) for kind in ("cloth", "sheet"))
        print(f"{solver:<30} springs {cloth:6.3f} ms, sheet {sheet:6.3f} ms a round: {sheet / cloth:.2f} times")


if __name__ == "__main__":
    main()
