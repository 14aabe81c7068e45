"""Colour a scene's constraint graph by every algorithm, time it and check it: what `vivace colour` does."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from ..colouring import Colouring, colour, is_valid
from ..energy.system import System
from ..interrupts import keeping
from ..scenes import Scene
from .run import Progress
from .statistics import median, percentile


@dataclass(frozen=True, eq=False)
class Timing:
    """How long an algorithm took over a graph, each time it ran, and whether its colouring is valid."""

    colouring: Colouring
    ms: list[float]
    valid: bool

    def row(self) -> dict[str, object]:
        """What tables and files show of it, by name."""
        c = self.colouring
        return {
            "algorithm": c.algorithm,
            "colours": c.count,
            "rounds": c.rounds,
            "ms_median": median(self.ms),
            "ms_p10": percentile(self.ms, 10),
            "ms_p90": percentile(self.ms, 90),
            "largest": c.largest,
            "smallest": c.smallest,
            "balance": c.balance,
            "valid": self.valid,
        }


def colour_scene(
    scene: Scene,
    algorithms: Sequence[str],
    *,
    seed: int = 0,
    repeat: int = 10,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[System, list[Timing]]:
    """Time each algorithm `repeat` times, warm, on the graph of the scene's matrix Y."""
    system = System(scene.model, scene.time_step)
    graph = system.graph
    timings: list[Timing] = []
    with keeping(timings, lambda: (system, timings)):
        for number, name in enumerate(algorithms):
            if progress:
                progress(f"colouring by {name}", number, len(algorithms))
            result = colour(*graph, name, seed=seed, threads=threads)  # checks the graph, and compiles
            spent = []
            for _ in range(repeat):
                begin = time.perf_counter()
                colour(*graph, name, seed=seed, threads=threads, check=False)
                spent.append((time.perf_counter() - begin) * 1e3)
            timings.append(Timing(result, spent, is_valid(*graph, result.colours)))
    if progress:
        progress("colouring", len(algorithms), len(algorithms))
    return system, timings
