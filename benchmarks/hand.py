"""The hand on the tablecloth of the live app: what pulling does to it, and whether it comes back to rest.

    python benchmarks/hand.py [--only drag,fling,lift,through] [--times 10] [--rest 8] [--solver NAME] [--json FILE]

Each script grabs the cloth as the page does, at a place that a seed chooses, moves the pointer along a path, lets go
and waits. The scene, its budget, the radius of the patch and the force of the hand are those with which `vivace view`
starts. Printed for each script, over all its runs: the largest of the mean stretch and the largest stretch of an edge
while the pointer pulls and after it, both as shares of the rest length; the speed `--rest` seconds after letting go, as
a mean and the largest of a vertex; how often the hand slipped; how many edges of the cloth pierce the table, counted
exactly in every fourth step, and how deep a vertex is inside anything.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from vivace.collisions.collider_contacts import penetration
from vivace.collisions.colliders import Plane
from vivace.collisions.crossings import crossings
from vivace.files import write_text
from vivace.solvers import Budget
from vivace.viewer import Target
from vivace.viewer import messages as m
from vivace.viewer.edges import Edges
from vivace.viewer.running_scene import RunningScene
from vivace.viewer.starting import budget_of, run_scene

KEY = ("benchmark", 0)
SETTLE = 3.0  # s that the cloth falls before it is touched
LOOK = 4  # steps between two counts of crossings
MEAN, LARGEST, STILL = 0.02, 0.30, 1e-3  # what must hold: stretch, and m/s at rest

Path3 = Callable[[float], np.ndarray]  # from seconds to where the pointer is, from where it grabbed


@dataclass
class Run:
    """What one script did in one run."""

    script: str
    seed: int
    mean: float
    largest: float
    mean_after: float
    largest_after: float
    speed: float
    fastest: float
    slipped: bool
    crossings: int
    depth: float


def straight(way: np.ndarray, seconds: float) -> Path3:
    """Along a line in so many seconds, and staying at its end."""
    return lambda t: way * min(t / seconds, 1.0)


def drag_hard(rng: np.random.Generator) -> tuple[str, Path3, float]:
    """Away from the table at 3 m/s, as if to tear it off, and held there."""
    angle = rng.uniform(0, 2 * np.pi)
    return "anywhere", straight(1.2 * np.array([np.cos(angle), 0.2, np.sin(angle)]), 0.4), 1.4


def fling(rng: np.random.Generator) -> tuple[str, Path3, float]:
    """Up and aside, let go in motion."""
    angle = rng.uniform(0, 2 * np.pi)
    return "anywhere", straight(np.array([0.6 * np.cos(angle), 0.6, 0.6 * np.sin(angle)]), 0.3), 0.25


def lift_and_drop(rng: np.random.Generator) -> tuple[str, Path3, float]:
    """Half a metre up, held for a moment, let go."""
    return "above", straight(np.array([0.0, 0.5, 0.0]), 0.7), 1.2


def pull_through(rng: np.random.Generator) -> tuple[str, Path3, float]:
    """Down through the table top, to the floor."""
    aside = rng.uniform(-0.1, 0.1, 2)
    return "above", straight(np.array([aside[0], -0.6, aside[1]]), 0.5), 1.5


SCRIPTS = {"drag": drag_hard, "fling": fling, "lift": lift_and_drop, "through": pull_through}


class Bench:
    """A running scene, settled, from which every run starts."""

    def __init__(self, parameters: dict[str, object], solver: str | None, budget: Budget | None = None):
        self.scene = Target("tablecloth", parameters).load()
        sim = self.scene.simulate(solver=solver)
        self.running: RunningScene = run_scene(self.scene, sim, budget_ms=budget_of(self.scene))
        sim.budget = budget or sim.budget
        self.mesh = self.scene.model.mesh
        self.edges = Edges(self.mesh)
        self.colliders = self.scene.model.collisions.colliders
        surfaces = [c.surface() for c in self.colliders if not isinstance(c, Plane)]
        counts = np.cumsum([self.mesh.n_vertices, *(len(s.vertices) for s in surfaces)])
        self.scenery = np.concatenate([s.vertices for s in surfaces])
        shifted = [s.triangles + first for s, first in zip(surfaces, counts, strict=False)]
        self.triangles = np.concatenate([self.mesh.triangles, *shifted])
        for _ in range(round(SETTLE / self.scene.time_step)):
            self.running.step()
        self.settled = self.running.sims[0].state

    def pierced(self, positions: np.ndarray) -> int:
        """Pairs of an edge and a triangle, one of the cloth and one of what stands there, that cross."""
        edges, triangles = crossings(np.concatenate([positions, self.scenery]), self.triangles)
        cloth = edges[:, 0] < self.mesh.n_vertices
        return int(np.count_nonzero(cloth != (triangles < len(self.mesh.triangles))))

    def choose(self, where: str, rng: np.random.Generator) -> int:
        """A vertex; "above": of those over the table top."""
        rest = self.mesh.vertices
        inner = np.abs(rest[:, [0, 2]] - rest[:, [0, 2]].mean(axis=0)).max(axis=1) < 0.2 * np.ptp(rest[:, 0])
        return int(rng.choice(np.flatnonzero(inner) if where == "above" else len(rest)))

    def run(self, name: str, seed: int, rest: float) -> Run:
        """One script, once."""
        rng = np.random.default_rng(seed)
        running, sim, h = self.running, self.running.sims[0], self.scene.time_step
        running.pointers.release_all(running.sims)
        sim.state = self.settled
        where, path, seconds = SCRIPTS[name](rng)
        vertex = self.choose(where, rng)
        start = sim.positions[vertex].astype(float)
        number = running.backdrop.number
        running.grab(KEY, m.Grab(0, vertex, start.tolist(), number, 0))
        rows: list[tuple[float, float]] = []
        slipped, pierced, depth = False, 0, 0.0
        steps, held = round((seconds + rest) / h), round(seconds / h)
        for k in range(steps):
            if k < held:
                running.pointers.drag(running.sims, KEY, start + path((k + 1) * h))
            elif k == held:
                running.pointers.release(running.sims, KEY)
            running.step()
            slipped |= bool(running.slipped)
            q = sim.positions
            rows.append(self.edges.strain(q)[1:])
            depth = max(depth, float(penetration(self.colliders, q.astype(float)).max()))
            if k % LOOK == 0 or k == steps - 1:
                pierced = max(pierced, self.pierced(q))
        during, after = np.array(rows[:held]), np.array(rows[held:])
        speeds = np.linalg.norm(sim.velocities, axis=1)
        return Run(
            *(name, seed, float(during[:, 0].max()), float(during[:, 1].max())),
            *(float(after[:, 0].max()), float(after[:, 1].max())),
            *(float(speeds.mean()), float(speeds.max()), slipped, pierced, depth),
        )


def show(name: str, runs: list[Run]) -> None:
    """A row of the table."""
    most = {key: max(getattr(run, key) for run in runs) for key in asdict(runs[0]) if key not in ("script", "seed")}
    met = (
        most["mean"] <= MEAN and most["largest"] <= LARGEST and most["mean_after"] <= MEAN
        and most["largest_after"] <= LARGEST and most["crossings"] == 0 and most["speed"] <= STILL
    )  # fmt: skip
    print(
        f"{name:8} {len(runs):3d}   {100 * most['mean']:6.2f} {100 * most['largest']:7.1f}   "
        f"{100 * most['mean_after']:6.2f} {100 * most['largest_after']:7.1f}   {1e3 * most['speed']:7.2f} "
        f"{1e3 * most['fastest']:7.1f}   {sum(run.slipped for run in runs):4d}   {most['crossings']:5d} "
        f"{1e3 * most['depth']:7.2f}   {'yes' if met else 'no'}",
        flush=True,
    )


def main() -> None:
    """Run the scripts and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(SCRIPTS))
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--rest", type=float, default=8.0, help="seconds after letting go")
    parser.add_argument("--resolution", type=int, default=100)
    parser.add_argument("--solver", default=None)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    bench = Bench({"resolution": given.resolution}, given.solver)
    now = bench.running.settings
    print(f"{now.solver}, {now.budget_ms:g} ms, patch {100 * now.grab_radius:g} cm, hand {now.hand_force:g} N")
    print("              stretch pulled, %  stretch after, %    speed, mm/s              piercings depth   met")
    print("script  runs     mean largest     mean largest      mean largest   slips                  mm")
    found: list[Run] = []
    for name in given.only.split(","):
        runs = [bench.run(name, seed, given.rest) for seed in range(given.times)]
        show(name, runs)
        found += runs
    if given.json:
        write_text(given.json, json.dumps([asdict(run) for run in found], indent=1))


if __name__ == "__main__":
    main()
