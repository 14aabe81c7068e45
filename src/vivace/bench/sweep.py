"""How long one sweep takes, and how long until the first frame: what `vivace bench sweep` does."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

import numpy as np

from ..errors import VivaceError
from ..interrupts import keeping
from ..scenes import Scene, load_scene, soft
from ..solvers import Budget
from .run import Progress

FIRST_FRAME = """
import sys
from vivace.scenes import load_scene
load_scene(sys.argv[1]).simulate(threads=int(sys.argv[2]), solver=sys.argv[3]).step()
"""


def time_sweeps(
    target: str,
    threads: Sequence[int],
    *,
    solver: str = "vivace",
    sweeps: int = 100,
    repeats: int = 15,
    cold: bool = True,
    progress: Progress | None = None,
) -> list[dict[str, object]]:
    """For each number of threads: best and median milliseconds of a sweep, and seconds to the first frame."""
    scene = soft(load_scene(target))
    rows: list[dict[str, object]] = []
    with keeping(rows):
        for number, count in enumerate(threads):
            if progress:
                progress(f"{count} threads", number, len(threads))
            spent = sweep_ms(scene, count, solver=solver, sweeps=sweeps, repeats=repeats)
            row: dict[str, object] = {
                "threads": count,
                "ms_per_sweep_best": float(np.min(spent)),
                "ms_per_sweep_median": float(np.median(spent)),
                "ms_per_sweep_p90": float(np.percentile(spent, 90)),
                "cold_start_s": None,
            }
            if cold:
                row["cold_start_s"] = first_frame_s(target, count, solver=solver)
            rows.append(row)
        if cold and rows:
            if progress:
                progress("first start, nothing compiled", len(threads), len(threads) + 1)
            rows[0]["first_start_s"] = first_frame_s(target, threads[0], solver=solver, empty_cache=True)
    if progress:
        progress("sweeps", 1, 1)
    return rows


def sweep_ms(scene: Scene, threads: int, *, solver: str = "vivace", sweeps: int = 100, repeats: int = 15) -> np.ndarray:
    """Milliseconds of a sweep, `repeats` times over `sweeps` sweeps, after a warm-up."""
    sim = scene.simulate(solver=solver, budget=Budget(iterations=sweeps), threads=threads)
    sim.step()
    return np.array([sim.step().ms_per_sweep for _ in range(repeats)])


def first_frame_s(target: str, threads: int, *, solver: str = "vivace", empty_cache: bool = False) -> float:
    """Seconds from the start of a new Python process to the end of the first step; with nothing compiled if asked."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, **({"NUMBA_CACHE_DIR": folder} if empty_cache else {}))
        begin = time.perf_counter()
        process = subprocess.run(
            [sys.executable, "-c", FIRST_FRAME, target, str(threads), solver],
            capture_output=True,
            text=True,
            env=environment,
        )
        if process.returncode:
            raise VivaceError(f"the first frame of {target!r} failed in a new process:\n{process.stderr}")
        return time.perf_counter() - begin
