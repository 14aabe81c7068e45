"""A sweep of 200 small runs by two workers: its throughput, and whether every run is there once although workers die.

    python benchmarks/sweep_killed.py                 # plain processes, a sweep, and one whose workers are killed
    python benchmarks/sweep_killed.py --part killed   # or plain, or sweep

The plain way is what two processes would need by themselves: each is started, makes its half of the runs one after the
other, and ends. The sweep is `vivace sweep --workers 2`, from its start to its end. Killed means SIGKILL for one of the
two workers, in turn, every 5 seconds. The rows of all three must have the same figures, to the bit.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
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
RUN = ["--set", "resolution=40", "--iterations", "40", "--frames", "400", "--solver", "vivace"]
PLAIN = """
import json, sys
from vivace.sweeps import planned
from vivace.sweeps.task import run_task
from dataclasses import replace
which, seeds, count = map(int, sys.argv[1:])
settings = {"solver": "vivace", "iterations": 40, "frames": 400}
plan = planned("tablecloth", {"stretch": f"1e2:1e5:log:{count}"}, seeds=seeds, settings=settings,
               parameters={"resolution": 40})
for task in plan.tasks[which::2]:
    print(json.dumps(run_task(replace(task, threads=1)).row), flush=True)
"""


def plain(seeds: int) -> tuple[float, list[dict[str, object]]]:
    begin = time.perf_counter()
    command = [sys.executable, "-c", PLAIN]
    both = [
        subprocess.Popen([*command, str(k), str(seeds), str(COUNT)], stdout=subprocess.PIPE, text=True) for k in (0, 1)
    ]
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


def swept(folder: Path, seeds: int, every: float | None) -> tuple[float, list[dict[str, str]], int]:
    """Seconds, rows of the table, and how many workers were killed."""
    begin, kills = time.perf_counter(), 0
    vary = ["--vary", f"stretch=1e2:1e5:log:{COUNT}", "--seeds", str(seeds)]
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
    """The processes that make runs, of a sweep."""
    found = []
    for child in psutil.Process(pid).children(recursive=True):
        try:
            if "vivace.sweeps.worker" in " ".join(child.cmdline()):
                found.append(child)
        except psutil.Error:
            continue
    return sorted(found, key=lambda process: process.pid)


def figures(rows: list[dict[str, object]] | list[dict[str, str]]) -> list[tuple[float, ...]]:
    return sorted(tuple(float(row[name]) for name in SAME) for row in rows)  # type: ignore[arg-type]


def spent() -> float:
    """Seconds of processor of all processes that were waited for: on a busy machine, what can be compared."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two kills")
    parser.add_argument("--part", choices=("all", "throughput", "plain", "sweep", "killed"), default="all")
    arguments = parser.parse_args()
    seeds = max(1, arguments.runs // COUNT)
    runs, wrong = seeds * COUNT, 0
    expected = None
    with tempfile.TemporaryDirectory() as folder:
        alone = took = cpu_alone = cpu_took = 0.0
        if arguments.part in ("all", "throughput", "plain"):
            before = spent()
            alone, rows = plain(seeds)
            cpu_alone, expected = spent() - before, figures(rows)
            print(f"two plain processes: {runs} runs in {alone:.1f} s, {runs / alone:.2f} a second", flush=True)
        if arguments.part in ("all", "throughput", "sweep"):
            before = spent()
            took, found, _ = swept(Path(folder) / "sweep", seeds, None)
            cpu_took = spent() - before
            wrong += expected is not None and figures(found) != expected
            print(f"sweep, two workers:  {runs} runs in {took:.1f} s, {runs / took:.2f} a second", flush=True)
        if arguments.part in ("all", "throughput"):
            print(f"throughput of the sweep: {alone / took:.3f} of plain processes'", flush=True)
            print(f"seconds of processor: {cpu_alone:.1f} and {cpu_took:.1f}, {cpu_alone / cpu_took:.3f}", flush=True)
            wrong += alone / took < 0.9
        if arguments.part in ("all", "killed"):
            took, found, kills = swept(Path(folder) / "killed", seeds, arguments.every)
            once = sorted(int(row["run"]) for row in found) == list(range(runs))
            failed = sum(bool(row["error"]) for row in found)
            same = expected is None or figures(found) == expected
            wrong += not once or failed > 0 or not same
            print(
                f"one killed every {arguments.every:g} s: {runs} runs in {took:.1f} s, {runs / took:.2f} a second, "
                f"{kills} kills; every row {'once' if once else 'NOT once'}, {failed} failed, figures "
                f"{'not compared' if expected is None else 'the same' if same else 'DIFFERENT'}"
            )
    print(f"{wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
