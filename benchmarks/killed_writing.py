"""kill -9 while caches and sweeps are written: nothing with a name of its own is half, and --resume finishes.

    python benchmarks/killed_writing.py caches --times 50    # every format in turn, of a run with checkpoints
    python benchmarks/killed_writing.py sweeps --times 50    # a sweep with two workers: the process that leads it

`benchmarks/survival.py kill` does the same to films, tables and checkpoints. The exit code is how many were wrong.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from vivace import caches
from vivace.errors import VivaceError

RUN = ["run", "cloth-heap", "--set", "scale=0.01", "--iterations", "4", "--frames", "30", "--error-samples", "0"]
SWEEP = ["sweep", "tablecloth", "--set", "resolution=12", "--vary", "stretch=1e2:1e5:log:30", "--iterations", "8"]
FORMATS = (".usdc", ".glb", ".pc2", ".mdd", ".abc", ".usda", ".xdmf", ".npz")
MOST_KILLS = 6  # of one run, before it may finish
FIGURES = ("run", "stretch", "stretch_mean", "stretch_rms", "stretch_max")


def until_done(command: list[str], took: list[float], rng: random.Random, look) -> tuple[int, int, int]:
    """Start a command again and again, killed at random moments; its exit code, kills, and what was half after one.

    `took`: seconds that it takes alone, which one that was not killed may make fewer: the machine may have been busy.
    """
    kills = half = 0
    while True:
        begin = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-m", "vivace", *command], stdout=subprocess.DEVNULL)
        try:
            code = process.wait(None if kills >= MOST_KILLS else took[0] * rng.uniform(0.4, 1.05))
            if kills == 0:
                took[0] = min(took[0], time.perf_counter() - begin)
            return code, kills, half
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
            half += look()


def timed(command: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", "vivace", *command], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def positions(path: Path) -> np.ndarray:
    return caches.read(path).positions


def half_cache(path: Path) -> int:
    """Whether there is a cache that cannot be read, or has fewer frames than a whole one."""
    try:
        return int(path.exists() and len(positions(path)) != 31 and path.suffix != ".npz")
    except VivaceError as error:
        print(f"not whole: {path.name}: {error}")
        return 1


def caches_killed(arguments: argparse.Namespace) -> int:
    rng, wrong, kills = random.Random(arguments.seed), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        formats = [suffix for suffix in FORMATS if usable(suffix)]
        whole = {suffix: Path(folder) / "whole" / f"run{suffix}" for suffix in formats}
        took = {suffix: [timed([*RUN, "--quiet", "--out", str(path)])] for suffix, path in whole.items()}
        number = 0
        while kills < arguments.times:
            suffix = formats[number % len(formats)]
            number += 1
            out = Path(folder) / f"killed{number}" / f"run{suffix}"
            command = [*RUN, "--quiet", "--out", str(out), "--checkpoint-every", "3", "--resume"]
            code, more, half = until_done(command, took[suffix], rng, lambda out=out: half_cache(out))
            kills += more
            same = code == 0 and np.array_equal(positions(out), positions(whole[suffix]))
            left = [path.name for path in out.parent.iterdir() if path.name.startswith(".")]
            wrong += half + (not same) + bool(left)
            print(f"{suffix}: {kills} kills so far; {'same positions' if same else 'WRONG'}, left {left}", flush=True)
    print(f"caches: {kills} kills, {number} runs that finished, {wrong} wrong")
    return wrong


def usable(suffix: str) -> bool:
    try:
        caches.check_cache(Path(f"x{suffix}"), "m", "y")
    except VivaceError:
        return False
    return True


def half_sweep(folder: Path) -> int:
    """How many files of a sweep are not whole; the last line of its journal may be cut off, and no other."""
    bad, journal = 0, folder / "runs.jsonl"
    if journal.exists():
        lines = journal.read_bytes().split(b"\n")[:-1]
        keys = [json.loads(line)["key"] for line in lines]
        bad += len(set(keys)) != len(keys)
    for path in folder.glob("pictures/[!.]*"):
        bad += not path.read_bytes().endswith(b"IEND\xaeB`\x82")
    if (folder / "sweep.json").exists():
        json.loads((folder / "sweep.json").read_text())
    return bad


def table(folder: Path) -> list[list[str]]:
    with (folder / "runs.csv").open() as file:
        return [[row[name] for name in FIGURES] for row in csv.DictReader(file)]


def sweeps_killed(arguments: argparse.Namespace) -> int:
    rng, wrong, kills, number = random.Random(arguments.seed), 0, 0, 0
    more = ["--frames", "10", "--quiet", "--pictures", "--workers", "2"]
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole"
        took = [timed([*SWEEP, *more, "--out", str(whole)])]
        while kills < arguments.times:
            number += 1
            out = Path(folder) / f"killed{number}"
            command = [*SWEEP, *more, "--out", str(out), "--resume"]
            code, new, half = until_done(command, took, rng, lambda out=out: half_sweep(out))
            kills += new
            same = code == 0 and table(out) == table(whole) and len(list(out.glob("pictures/[!.]*"))) == 30
            lines = len((out / "runs.jsonl").read_text().splitlines())
            wrong += half + (not same) + (lines != 30)
            print(f"sweep: {kills} kills so far; {'same rows' if same else 'WRONG'}, {lines} lines", flush=True)
    print(f"sweeps: {kills} kills, {number} that finished, {wrong} wrong")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("caches", "sweeps"))
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    return min((caches_killed if arguments.what == "caches" else sweeps_killed)(arguments), 100)


if __name__ == "__main__":
    sys.exit(main())
