"""Two versions of the package on the same work, in turn, in one run: how much slower or faster the second is.

    python benchmarks/two_trees.py OLD/src NEW/src [--turns 60] [--threads 1]

A process for each tree prepares all kinds of work and warms up; then they take turns at each kind, one step after the
other, so that whatever else the machine does meets both alike. What is printed is the median over turns of new ÷ old,
its quartiles, and how far the median itself may be off (1.25 quartile ranges ÷ √turns, 95 %).
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
from vivace import Budget
from vivace.scenes import make_scene

threads = int(sys.argv[1])
cloth, body = make_scene("tablecloth", resolution=100), make_scene("bar", resolution=8)
fold = make_scene("tablecloth", resolution=50, table=True)
heap = make_scene("cloth-heap", scale=0.05)
work = {}
for name, scene, solver, iterations in (
    ("20 sweeps of vivace, 10K vertices", cloth, "vivace", 20),
    ("4 rounds of auto, 10K vertices", cloth, "auto", 4),
    ("4 rounds of newton-multigrid, 10K vertices", cloth, "newton-multigrid", 4),
    ("20 iterations of pbd-coloured, 10K vertices", cloth, "pbd-coloured", 20),
    ("8 rounds of auto, bar of tetrahedra", body, "auto", 8),
    ("a step with contacts, tablecloth on a table", fold, "auto", 4),
    ("a step with contacts, heap of cloths", heap, "pbd-coloured", 8),
):
    sim = scene.simulate(solver=solver, budget=Budget(iterations=iterations), substeps=1, threads=threads)
    sim.prepare(wait=True)
    for _ in range(5):
        sim.step()
    work[name] = sim.step

def prepare(solver):
    return lambda: cloth.simulate(solver=solver, budget=Budget(iterations=1), threads=threads).prepare(wait=True)

work["set-up of vivace, 10K vertices"] = prepare("vivace")
work["set-up of auto, 10K vertices"] = prepare("auto")
for again in list(work)[-2:]:
    work[again]()
print(json.dumps(list(work)), flush=True)
for line in sys.stdin:
    begin = time.perf_counter()
    work[line.rstrip("\\n")]()
    print(time.perf_counter() - begin, flush=True)
"""


class Worker:
    """A process that does one kind of work when it is told to, and says how long it took."""

    def __init__(self, tree: str, threads: int):
        environment = dict(os.environ, PYTHONPATH=tree)
        command = [sys.executable, "-c", WORKER, str(threads)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)
        self.kinds = json.loads(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a worker has stopped: run its tree by itself to see why")
        return line

    def measure(self, kind: str) -> float:
        assert self._process.stdin is not None
        print(kind, file=self._process.stdin, flush=True)
        return float(self._answer())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", help="folder that has `vivace` in it")
    parser.add_argument("new", help="another")
    parser.add_argument("--turns", type=int, default=60, help="how often both are measured (default 60)")
    parser.add_argument("--threads", type=int, default=1, help="of each, while the other waits (default 1)")
    arguments = parser.parse_args()
    old, new = (Worker(tree, arguments.threads) for tree in (arguments.old, arguments.new))
    print("| work | new, ms | new ÷ old | quartiles | ± |\n|---|---|---|---|---|")
    for kind in new.kinds:
        ratios, times = [], []
        for turn in range(arguments.turns):
            if turn % 2:
                before, after = old.measure(kind), new.measure(kind)
            else:
                after, before = new.measure(kind), old.measure(kind)
            ratios.append(after / before)
            times.append(1e3 * after)
        low, middle, high = statistics.quantiles(ratios, n=4)
        off = 1.25 * (high - low) / arguments.turns**0.5
        print(
            f"| {kind} | {statistics.median(times):.2f} | {middle:.3f} | {low:.3f} to {high:.3f} | {off:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
