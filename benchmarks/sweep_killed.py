"""A sweep of 200 small runs by two workers: its throughput, and whether every run is there once although workers die.

    python benchmarks/sweep_killed.py                 # plain processes, a sweep, and one whose workers are killed
    python benchmarks/sweep_killed.py --frames 60     # runs of a tenth of a second
    python benchmarks/sweep_killed.py --part killed   # or plain, or sweep

What two cores can do is measured by two plain processes: each is started, makes its half of the runs one after the
other, and ends; nobody leads them, and nothing of theirs is written to a disk. The sweep is `vivace sweep --workers 2`,
from its start to its end, table included. Killed means SIGKILL for one of the two workers, in turn, every 5 seconds.
Throughput is the plain processes' time over that of the sweep. Beside it stands the share of two cores that the runs
themselves had: the sum of their seconds in the plain processes, over twice the time, which counts every start as lost.
The rows of all three must have the same figures, to the bit.
"""

from __future__ import annotations

import argparse
import csv
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

COUNT = 20  # values of the stiffness; the rest are seeds
SAME = ("run", "stretch", "seed", "stretch_mean", "stretch_rms", "stretch_max")
RUN = ["--set", "resolution=40", "--iterations", "40", "--solver", "vivace"]
LEAST = 0.9  # of what plain processes do
PLAIN = """
import json, sys
from vivace.sweeps import planned
from vivace.sweeps.task import run_task
from dataclasses import replace
which, seeds, count, frames = map(int, sys.argv[1:])
settings = {"solver": "vivace", "iterations": 40, "frames": frames}
plan = planned("tablecloth", {"stretch": f"1e2:1e5:log:{count}"}, seeds=seeds, settings=settings,
               parameters={"resolution": 40})
for task in plan.tasks[which::2]:
    print(json.dumps(run_task(replace(task, threads=1)).row), flush=True)
"""


def plain(seeds: int, frames: int) -> tuple[float, list[dict[str, object]]]:
    begin = time.perf_counter()
    command = [sys.executable, "-c", PLAIN]
    numbers = [str(seeds), str(COUNT), str(frames)]
    both = [subprocess.Popen([*command, str(k), *numbers], stdout=subprocess.PIPE, text=True) for k in (0, 1)]
    rows: list[dict[str, object]] = []
    readers = [
        threading.Thread(target=lambda p=p: rows.extend(json.loads(line) for line in p.stdout or ())) for p in both
    ]
    for reader in readers:
        reader.start()
    for reader, process in zip(readers, both, strict=True):
        reader.join()
        if process.wait():
            raise SystemExit("a plain process failed")
    return time.perf_counter() - begin, rows


def swept(folder: Path, seeds: int, frames: int, every: float | None) -> tuple[float, list[dict[str, str]], int]:
    """Seconds, rows of the table, and how many workers were killed."""
    begin, kills = time.perf_counter(), 0
    vary = ["--vary", f"stretch=1e2:1e5:log:{COUNT}", "--seeds", str(seeds), "--frames", str(frames)]
    command = [sys.executable, "-m", "vivace", "sweep", "tablecloth", *RUN, *vary, "--workers", "2", "--quiet"]
    process = subprocess.Popen([*command, "--out", str(folder)], stdout=subprocess.DEVNULL)
    next_kill = begin + (every or 0)
    while process.poll() is None:
        if every is not None and time.perf_counter() >= next_kill:
            next_kill += every
            workers = workers_of(process.pid)
            if workers:
                workers[kills % len(workers)].send_signal(signal.SIGKILL)
                kills += 1
        time.sleep(0.05)
    took = time.perf_counter() - begin
    if process.returncode:
        raise SystemExit(f"the sweep ended with {process.returncode}")
    with (folder / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    keys = [json.loads(line)["key"] for line in (folder / "runs.jsonl").read_text().splitlines()]
    if len(set(keys)) != len(keys):
        raise SystemExit("a run was finished twice")
    return took, rows, kills


def workers_of(pid: int) -> list[psutil.Process]:
    """The processes that make runs, of a sweep: those that its fork server has forked."""
    found = []
    for server in psutil.Process(pid).children():
        try:
            if "vivace.forking" in server.cmdline():
                found += server.children()
        except psutil.Error:
            continue
    return sorted(found, key=lambda process: process.pid)


def figures(rows: list[dict[str, object]] | list[dict[str, str]]) -> list[tuple[float, ...]]:
    return sorted(tuple(float(row[name]) for name in SAME) for row in rows)  # type: ignore[arg-type]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two kills")
    parser.add_argument("--part", choices=("all", "plain", "sweep", "killed"), default="all")
    parser.add_argument("--frames", type=int, default=400, help="of each run")
    arguments = parser.parse_args()
    seeds = max(1, arguments.runs // COUNT)
    runs, wrong = seeds * COUNT, 0
    expected = None
    alone = inside = 0.0

    def told(what: str, took: float, more: str = "") -> None:
        share = f"; {alone / took:.3f} of plain processes, runs {inside / 2 / took:.3f} of two cores" if alone else ""
        print(f"{what}: {runs} runs in {took:.2f} s, {runs / took:.2f} a second{share}{more}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        if arguments.part in ("all", "plain"):
            alone, rows = plain(seeds, arguments.frames)
            expected, inside = figures(rows), sum(float(row["seconds"]) for row in rows)  # type: ignore[arg-type]
            told("two plain processes", alone)
        if arguments.part in ("all", "sweep"):
            took, found, _ = swept(Path(folder) / "sweep", seeds, arguments.frames, None)
            wrong += expected is not None and (figures(found) != expected or alone / took < LEAST)
            told("sweep, two workers", took)
        if arguments.part in ("all", "killed"):
            took, found, kills = swept(Path(folder) / "killed", seeds, arguments.frames, arguments.every)
            once = sorted(int(row["run"]) for row in found) == list(range(runs))
            failed = sum(bool(row["error"]) for row in found)
            same = expected is None or figures(found) == expected
            wrong += not once or failed > 0 or not same or (expected is not None and alone / took < LEAST)
            rest = f"{kills} kills; every row {'once' if once else 'NOT once'}, {failed} failed, figures "
            rest += "not compared" if expected is None else "the same" if same else "DIFFERENT"
            told(f"one killed every {arguments.every:g} s", took, f"; {rest}")
    print(f"{wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
