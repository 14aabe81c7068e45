"""The figures that the core is held to, as ratios within one run. Prints a table; takes some minutes.

    python benchmarks/core.py [--yardstick FOLDER] [--only sweep,threads,busy,colouring,scaling,setup,cold] [--json]

`--yardstick`: a folder with limit.py, which times a hand-written C++ sweep on our arrays (needs g++).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

import vivace as vv
from vivace.bench.sweep import first_frame_s
from vivace.colouring import colour
from vivace.scenes import make_scene

Rows = list[tuple[str, str]]


def prepared(resolution: int = 100, threads: int = 1, sweeps: int = 100, refresh: int = 0) -> vv.Simulation:
    """A tablecloth, warm; by default with its springs projected inside the vertex update, as the yardstick does."""
    scene = make_scene("tablecloth", resolution=resolution)
    solver = ("vivace", {"refresh": refresh})
    sim = scene.simulate(solver=solver, budget=vv.Budget(iterations=sweeps), threads=threads)
    sim.step()
    return sim


def sweep_ms(sim: vv.Simulation, repeats: int = 15) -> np.ndarray:
    return np.array([sim.step().ms_per_sweep for _ in range(repeats)])


def spread(values: np.ndarray) -> str:
    low, middle, high = np.percentile(values, [10, 50, 90])
    return f"{middle:.4g} (10 to 90 %: {low:.4g} to {high:.4g})"


def yardstick_ms(folder: str, sim: vv.Simulation, threads: int, sweeps: int = 100, repeats: int = 5) -> float:
    """Milliseconds of the hand-written sweep on a simulation's own arrays."""
    if folder not in sys.path:
        sys.path.insert(0, folder)
    from limit import ms_per_sweep  # type: ignore[import-not-found]

    layout, pointers = sim.solver.layout, sim.solver._pointers  # type: ignore[attr-defined]
    arrays = (pointers, *layout.rows, layout.inverse, layout.constant, layout.q)
    return ms_per_sweep(*arrays, threads=threads, sweeps=sweeps, repeats=repeats)["median"]


def sweep_against_yardstick(folder: str | None) -> Rows:
    """Interleaved, so that both see the same machine."""
    if folder is None:
        return [("sweep against the yardstick", "skipped: give --yardstick")]
    rows: Rows = []
    for threads in (1, 2):
        sim = prepared(threads=threads)
        ratios, ours, theirs = [], [], []
        for _ in range(9):
            limit = yardstick_ms(folder, sim, threads)
            mine = np.median(sweep_ms(sim, 5))
            ratios.append(mine / limit)
            ours.append(mine)
            theirs.append(limit)
        text = f"{spread(np.array(ratios))}; ours {np.median(ours):.3f} ms, yardstick {np.median(theirs):.3f} ms"
        rows.append((f"sweep / yardstick, {threads} threads", text))
    return rows


def two_threads(folder: str | None) -> Rows:
    one, two = (prepared(316, threads, 20) for threads in (1, 2))
    pairs = [(sweep_ms(one, 3), sweep_ms(two, 3)) for _ in range(15)]
    ratios = np.array([np.median(b) / np.median(a) for a, b in pairs])
    best = min(b.min() for _, b in pairs) / min(a.min() for a, _ in pairs)
    return [("2 threads / 1 thread, 100K vertices", f"{spread(ratios)}; best against best {best:.3f}")]


@contextlib.contextmanager
def busy_cores(count: int) -> Iterator[None]:
    """`count` processes that compute and never rest."""
    processes = [multiprocessing.Process(target=_burn, daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    time.sleep(0.5)
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _burn() -> None:
    while True:
        pass


def busy(folder: str | None) -> Rows:
    rows: Rows = []
    for threads in (1, 2):
        sim = prepared(threads=threads)
        idle = sweep_ms(sim, 20)
        with busy_cores(2):
            loaded = sweep_ms(sim, 20)
        text = f"{np.median(loaded) / np.median(idle):.2f}; idle {spread(idle)} ms, busy {spread(loaded)} ms"
        rows.append((f"busy / idle sweep, {threads} threads, both cores taken by another program", text))
    return rows


def colouring(folder: str | None) -> Rows:
    sim = prepared(threads=2)
    graph = sim.system.graph
    results = [colour(*graph, seed=seed, threads=2) for seed in range(20)]
    ratios = []
    for _ in range(9):
        sweep = np.median(sweep_ms(sim, 3))
        spent = [_timed(lambda: colour(*graph, threads=2, check=False)) * 1e3 for _ in range(9)]
        ratios.append(np.median(spent) / sweep)
    counts, rounds = [r.count for r in results], [r.rounds for r in results]
    return [
        ("Brooks-Vizing / one sweep, 2 threads", spread(np.array(ratios))),
        ("  colours over 20 seeds", f"{min(counts)} to {max(counts)}"),
        ("  rounds over 20 seeds", f"{min(rounds)} to {max(rounds)}"),
    ]


def _timed(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def scaling(folder: str | None) -> Rows:
    sizes: list[int] = []
    times: dict[str, list[float]] = {"set-up (s)": [], "colouring (ms)": [], "sweep (ms)": []}
    if folder is not None:
        times["the yardstick's sweep (ms)"] = []
    prepared(20, 2)
    for resolution in (100, 178, 316, 562, 1000):
        sims: list[vv.Simulation] = []
        times["set-up (s)"].append(_timed(lambda sims=sims, r=resolution: sims.append(prepared(r, 2, 1))))
        sim = sims[0]
        sizes.append(sim.model.n)
        graph = sim.system.graph
        spent = [_timed(lambda g=graph: colour(*g, threads=2, check=False)) * 1e3 for _ in range(5)]
        times["colouring (ms)"].append(float(np.median(spent)))
        steps = [sim.step(vv.Budget(iterations=10)).ms_per_sweep for _ in range(5)]
        times["sweep (ms)"].append(float(np.median(steps)))
        if folder is not None:
            times["the yardstick's sweep (ms)"].append(yardstick_ms(folder, sim, 2, 10, 5))
    rows: Rows = [("vertices", ", ".join(map(str, sizes)))]
    for name, values in times.items():
        exponent = np.polyfit(np.log(sizes), np.log(values), 1)[0]
        last = (values[-1] / values[0]) / (sizes[-1] / sizes[0])
        text = f"{', '.join(f'{v:.4g}' for v in values)}; exponent {exponent:.3f}, {last:.2f} x linear from end to end"
        rows.append((name, text))
    return rows


def setup(folder: str | None) -> Rows:
    prepared(20, 2)
    spent = [_timed(lambda: prepared(316, 2, 1)) for _ in range(5)]
    return [("mesh to first step, 100K vertices, warm (s)", spread(np.array(spent)))]


def cold(folder: str | None) -> Rows:
    later = [first_frame_s("tablecloth", 2) for _ in range(5)]
    first = first_frame_s("tablecloth", 2, empty_cache=True)
    return [
        ("first frame, nothing compiled yet (s)", f"{first:.2f}"),
        ("first frame of the next process (s)", spread(np.array(later))),
    ]


MEASURES = {
    "sweep": sweep_against_yardstick,
    "threads": two_threads,
    "busy": busy,
    "colouring": colouring,
    "scaling": scaling,
    "setup": setup,
    "cold": cold,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--yardstick", metavar="FOLDER")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(MEASURES))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    everything: Rows = []
    for name in arguments.only:
        rows = MEASURES[name](arguments.yardstick)
        everything += rows
        if not arguments.json:
            for what, value in rows:
                print(f"{what:60s} {value}", flush=True)
    if arguments.json:
        print(json.dumps(dict(everything), indent=2))


if __name__ == "__main__":
    main()
