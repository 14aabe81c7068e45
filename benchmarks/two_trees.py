"""Two versions of the package on the same work, in turn, in one run: how much slower or faster the second is.

    python benchmarks/two_trees.py OLD/src NEW/src [--rounds 9]

Each round starts a process for each tree, one after the other; a process measures every kind of work once it is warm.
What is printed is the median over rounds of new ÷ old, and its quartiles.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys

WORKER = """
import json, sys, time
import numpy as np
from vivace import Budget, Simulation
from vivace.scenes import make_scene

def best(work, times):
    took = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        took.append(time.perf_counter() - begin)
    return float(np.median(took))

out = {}
cloth, body = make_scene("tablecloth", resolution=100), make_scene("bar", resolution=8)
fold = make_scene("tablecloth", resolution=50, table=True)
heap = make_scene("cloth-heap", scale=0.05)
for name, scene, solver, iterations in (
    ("20 sweeps of vivace, 10K vertices", cloth, "vivace", 20),
    ("4 rounds of auto, 10K vertices", cloth, "auto", 4),
    ("4 rounds of newton-multigrid, 10K vertices", cloth, "newton-multigrid", 4),
    ("20 iterations of pbd-coloured, 10K vertices", cloth, "pbd-coloured", 20),
    ("8 rounds of auto, bar of tetrahedra", body, "auto", 8),
    ("a step with contacts, tablecloth on a table", fold, "auto", 4),
    ("a step with contacts, heap of cloths", heap, "pbd-coloured", 8),
):
    sim = scene.simulate(solver=solver, budget=Budget(iterations=iterations), substeps=1)
    sim.prepare(wait=True)
    for _ in range(5):
        sim.step()
    out[name] = best(sim.step, 25)
for name, solver in (("set-up of vivace, 10K vertices", "vivace"), ("set-up of auto, 10K vertices", "auto")):
    def prepare():
        cloth.simulate(solver=solver, budget=Budget(iterations=1)).prepare(wait=True)
    prepare()
    out[name] = best(prepare, 3)
print(json.dumps(out))
"""


def measure(tree: str) -> dict[str, float]:
    environment = dict(os.environ, PYTHONPATH=tree)
    done = subprocess.run([sys.executable, "-c", WORKER], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", help="folder that has `vivace` in it")
    parser.add_argument("new", help="another")
    parser.add_argument("--rounds", type=int, default=9, help="how often both are measured (default 9)")
    arguments = parser.parse_args()
    for tree in (arguments.old, arguments.new):
        measure(tree)  # compiles
    ratios: dict[str, list[float]] = {}
    times: dict[str, list[float]] = {}
    for k in range(arguments.rounds):
        order = (arguments.old, arguments.new) if k % 2 == 0 else (arguments.new, arguments.old)
        took = {tree: measure(tree) for tree in order}
        for name, old in took[arguments.old].items():
            ratios.setdefault(name, []).append(took[arguments.new][name] / old)
            times.setdefault(name, []).append(1e3 * took[arguments.new][name])
    print("| work | new, ms | new ÷ old | quartiles |\n|---|---|---|---|")
    for name, values in ratios.items():
        low, middle, high = statistics.quantiles(values, n=4)
        print(f"| {name} | {statistics.median(times[name]):.2f} | {middle:.3f} | {low:.3f} to {high:.3f} |")


if __name__ == "__main__":
    main()
