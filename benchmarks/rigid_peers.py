"""Rigid bodies beside what people use: PyBullet, MuJoCo and pinocchio on the same ramp, stack, grid and pile of balls.

    pip install "vivace[peers]"
    python benchmarks/rigid_peers.py [--seconds 5] [--step 0.004166] [--only tables|friction] [--engines vivace,MuJoCo]

Each engine has its own defaults for everything but the time step; pinocchio has no time step of its own, so that its
two contact solvers work in ours. Friction error: of the coefficient that a sliding box shows,
μ' = tan θ - a ÷ (g cos θ), against the one it was given. Depth: the deepest that bodies are inside each other, from
their poses. Drift: of the sum of kinetic and potential energy over the run, in m g r of all bodies; of what should rest
it is zero, of a pile it is what it has lost. Milliseconds are medians of single steps. The second table varies what
makes each engine more exact or faster, and compares friction errors at equal time.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from typing import Any

import numpy as np
from peers.rigid_engines import ENGINES, MU, SETTINGS, Engine, World
from scipy.spatial import cKDTree

from vivace.scenes import make_scene

G = 9.81
HALF = 0.1  # m: of boxes, and the radius of balls
DOWN = np.array([0.0, -G, 0.0])
STACK = 1 << 28  # bytes: pinocchio copies matrices to the stack


def run(engine: Engine, steps: int, patience: float = 60.0) -> np.ndarray:
    """Milliseconds of each step, without the first ten, which compile and warm up; fewer where patience ends."""
    took, begin = [], time.perf_counter()
    for _ in range(steps):
        clock = time.perf_counter()
        engine.step()
        took.append(1e3 * (time.perf_counter() - clock))
        if time.perf_counter() - begin > patience:
            break
    return np.array(took[min(10, len(took) // 2) :])


def sloping(angle: float) -> World:
    """A box on a ramp: gravity is tilted instead of the ground."""
    return World(
        "box", np.array([[0.0, HALF, 0.0]]), np.array([HALF]), G * np.array([np.sin(angle), -np.cos(angle), 0])
    )


def slides(make: Any, h: float, seconds: float = 0.5, **settings: Any) -> tuple[float, float]:
    """Relative error of the coefficient that a sliding box shows, and milliseconds a step."""
    angle = np.arctan(1.2 * MU)
    engine, steps = make(sloping(angle), h, **settings), round(seconds / h)
    run(engine, steps)
    before = engine.velocities()[0, 0]
    took = run(engine, steps)
    acceleration = (engine.velocities()[0, 0] - before) / (steps * h)
    shown = np.tan(angle) - acceleration / (G * np.cos(angle))
    return abs(shown - MU) / MU, float(np.median(took))


def rest(make: Any, h: float) -> str:
    """At 0.95 of the angle: how fast it creeps."""
    engine, steps = make(sloping(0.95 * np.arctan(MU)), h), round(1.0 / h)
    run(engine, steps)
    before = engine.positions()[0, 0]
    run(engine, steps)
    return f"{1e3 * abs(engine.positions()[0, 0] - before):.3f} mm/s"


def energy(world: World, engine: Engine) -> float:
    """Kinetic and potential, in m g r of all bodies."""
    q, v = engine.positions(), engine.velocities()
    share = 2.0 / 3.0 if world.kind == "box" else 0.4  # of m r²
    kinetic = 0.5 * world.masses * ((v[:, :3] ** 2).sum(axis=1) + share * world.sizes**2 * (v[:, 3:] ** 2).sum(axis=1))
    return float((kinetic - world.masses * (q @ world.gravity)).sum() / (world.masses * G * world.sizes).sum())


def deepest(world: World, engine: Engine) -> float:
    """Of balls, and of bodies in floor and walls, in m."""
    q = engine.positions()
    found = [float((s - (q - p) @ np.array(n)).max()) for p, n in world.planes for s in (world.sizes,)]
    if world.kind == "ball":
        pairs = cKDTree(q).query_pairs(2 * world.sizes.max(), output_type="ndarray")
        i, j = pairs.T
        found.append(float((world.sizes[i] + world.sizes[j] - np.linalg.norm(q[i] - q[j], axis=1)).max(initial=0.0)))
    else:
        found.append(float((2 * HALF - np.diff(np.sort(q[:, 1]))).max()))
    return max(0.0, *found)


def scene(make: Any, world: World, h: float, seconds: float) -> str:
    engine = make(world, h)
    begin = energy(world, engine)
    steps = round(seconds / h)
    took = run(engine, steps)
    made = "" if len(took) + 10 >= steps else f" ({len(took) + 10} steps of {steps})"
    moved = engine.positions()[-1] - world.places[-1]
    if world.kind == "box" and np.abs(moved).max() > HALF:
        return f"{np.median(took):.2f} ms{made}, fell over"
    left = f"depth {1e3 * deepest(world, engine):.2f} mm, drift {energy(world, engine) - begin:+.1e}"
    speed = np.linalg.norm(engine.velocities()[:, :3], axis=1).mean()
    return f"{np.median(took):.2f} ms{made}, {left}, mean speed {speed:.0e} m/s"


def worlds(size: int) -> dict[str, World]:
    """What should rest: a stack, a grid; and a pile that comes to rest."""
    stack = np.array([(0.0, HALF * (2 * k + 1), 0.0) for k in range(20)])
    y, z, x = np.indices((size,) * 3).reshape(3, -1)
    grid = HALF * (2 * np.column_stack([x, y, z]) + np.array([0, 1, 0]))
    bodies: Any = make_scene("ball-pile", size=4, radius=HALF).bodies[5:]
    places, radii = np.array([b.shape.centre for b in bodies]), np.array([b.shape.radius for b in bodies])
    return {
        "stack of 20 boxes": World("box", stack, np.full(20, HALF), DOWN),
        f"grid of {size}³ balls": World("ball", grid, np.full(len(grid), HALF), DOWN),
        "pile of 4³ balls": World("ball", places, radii, DOWN, wall=0.5 * 2.5 * HALF * 4),
    }


def tables(names: list[str], h: float, seconds: float, size: int) -> None:
    found = worlds(size)
    lasting = dict(zip(found, (seconds, 0.25, 2.0), strict=True))
    print(f"| engine | ramp: friction error | ms | creep at 0.95 of the angle | {' | '.join(found)} |")
    print("|---" * (4 + len(found)) + "|")
    for name in names:
        try:
            error, ms = slides(ENGINES[name], h)
            cells = [f"{error:.3%}", f"{ms:.3f}", rest(ENGINES[name], h)]
            for title, world in found.items():
                print(f"{name}: {title}", file=sys.stderr, flush=True)
                cells.append(scene(ENGINES[name], world, h, lasting[title]))
        except ImportError:
            cells = ['pip install "vivace[peers]"']
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def friction(names: list[str], h: float) -> None:
    """Each engine as exact as its settings make it, and who is ahead if all may take as long as we do."""
    rows: list[tuple[str, str, float, float]] = []
    print("\n| engine | setting | ms a step | friction error |\n|---|---|---|---|")
    for name in names:
        for settings in SETTINGS[name]:
            told = ", ".join(f"{key} {value:g}" for key, value in settings.items()) or "defaults"
            try:
                error, ms = slides(ENGINES[name], h, **settings)
            except ImportError:
                continue
            rows.append((name, told, ms, error))
            print(f"| {name} | {told} | {ms:.3f} | {error:.1e} |", flush=True)
    print("\n| may take | engine | setting | friction error |\n|---|---|---|---|")
    for limit in sorted({ms for name, _, ms, _ in rows if name == "vivace"})[-1:]:
        for name in names:
            best = min(
                (row for row in rows if row[0] == name and row[2] <= limit), key=lambda row: row[3], default=None
            )
            told = f"{best[1]} | {best[3]:.1e}" if best else "none as fast | "
            print(f"| {limit:.3f} ms | {name} | {told} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="that the stack stands (default 5)")
    parser.add_argument("--step", type=float, default=1 / 240, help="time step of all (default 1/240 s)")
    parser.add_argument("--size", type=int, default=5, help="balls along each side of the grid (default 5)")
    parser.add_argument("--only", choices=("tables", "friction"), default=None)
    parser.add_argument("--engines", default=",".join(ENGINES), help="names, with commas (default: all)")
    arguments = parser.parse_args()
    names = arguments.engines.split(",")

    def work() -> None:
        if arguments.only != "friction":
            tables(names, arguments.step, arguments.seconds, arguments.size)
        if arguments.only != "tables":
            friction(names, arguments.step)

    threading.stack_size(STACK)
    worker = threading.Thread(target=work)
    worker.start()
    worker.join()


if __name__ == "__main__":
    main()
