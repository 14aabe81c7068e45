"""A column of balls that lands: how soon it comes to rest with few sweeps, by each contact solver.

    python benchmarks/ball_column.py [--layers 80] [--width 8] [--frames 140] [--solvers contact-sets@30,rescaled@15]

Balls in the hollows of those below fall a little way in a box with smooth walls, which carry nothing. Printed are the
mean speeds after some steps, the deepest overlap and the seconds, a row for each solver@iterations.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from vivace import Body, Budget, RigidSimulation
from vivace.collisions import Plane
from vivace.rigid.balls import grid_places
from vivace.rigid.bodies import Balls

RADIUS, STEP = 0.05, 1 / 160
SOLVERS = "contact-sets@15,contact-sets@30,contact-sets@400,anderson@15,rescaled@15,rescaled:every=6@30"
SHOWN = (30, 40, 50, 60, 80, 100, 140)


def make(width: int, layers: int, solver: str, iterations: int) -> RigidSimulation:
    """A rough floor, four smooth walls, and the balls."""
    places = grid_places((width, layers, width), "cannonball") * (0.5 * 2.01 * RADIUS)
    radii = np.random.default_rng(0).uniform(0.95 * RADIUS, RADIUS, len(places))
    low, high = places.min(axis=0) - RADIUS, places.max(axis=0) + RADIUS
    walls = [Plane((x, 0.0, 0.0), (way, 0.0, 0.0)) for x, way in ((low[0], 1.0), (high[0], -1.0))]
    walls += [Plane((0.0, 0.0, z), (0.0, 0.0, way)) for z, way in ((low[2], 1.0), (high[2], -1.0))]
    box = [Body(Plane(), fixed=True, friction=0.4), *(Body(wall, fixed=True, friction=0.0) for wall in walls)]
    balls = Balls(places, radii, density=500.0, friction=0.4)
    budget = Budget(iterations=iterations)
    return RigidSimulation([*box, balls], solver=solver, budget=budget, time_step=STEP, substeps=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=80)
    parser.add_argument("--width", type=int, default=8, help="balls along each side (default 8)")
    parser.add_argument("--frames", type=int, default=140)
    parser.add_argument("--solvers", default=SOLVERS, help=f"name@iterations, several with commas (default {SOLVERS})")
    given = parser.parse_args()
    shown = [k for k in SHOWN if k < given.frames] + [given.frames]
    print("| solver | iterations | " + " | ".join(map(str, shown)) + " | overlap | seconds |")
    print("|---|---|" + "---|" * (len(shown) + 2))
    for entry in given.solvers.split(","):
        solver, _, iterations = entry.rpartition("@")
        sim = make(given.width, given.layers, solver, int(iterations))
        begin, speeds = time.perf_counter(), []
        for _ in range(given.frames):
            report = sim.step()
            speeds.append(np.linalg.norm(sim.velocities[sim.bodies.movable], axis=1).mean())
        row = " | ".join(f"{speeds[k - 1]:.3f}" for k in shown)
        seconds = time.perf_counter() - begin
        print(f"| `{solver}` | {iterations} | {row} | {1e3 * report.depth:.1f} mm | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
