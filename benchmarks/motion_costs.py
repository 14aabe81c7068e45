"""What a round costs, and how that grows with the mesh. A part of `motion.py`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
from motion_common import Options, Row

from vivace import Budget, Simulation
from vivace.backends.cpu.arguments import Phase
from vivace.backends.cpu.executor import Plan, check_threads
from vivace.scenes import make_scene
from vivace.solvers import make_solver
from vivace.solvers.projective.lattice import Lattice

# Kernels of a round that make up its lattice part, by what they do; all others belong to the correction.
LATTICE = {
    "cells": ("planar_cells", "general_cells"),
    "coarse solve": ("assemble_slabs", "eliminate", "solve_middle", "substitute"),
}
REPEAT = 15


def rounds(options: Options) -> Iterator[Row]:
    """A round of `lattice(multigrid)` beside a sweep of `vivace` and an iteration of `newton-multigrid`; ms."""
    threads, first = check_threads(options.threads), None
    for factor in (1, 2, 4, 8):
        scene = make_scene("tablecloth", resolution=factor * options.resolution)
        own = {}
        for name, iterations in (("lattice(multigrid):cells=10", 4), ("vivace", 8), ("newton-multigrid", 4)):
            solver = make_solver(name)
            sim = Simulation(
                scene.model, solver=solver, budget=Budget(iterations=iterations), substeps=1, threads=threads
            )
            for _ in range(3):
                sim.step()
            own[name.split(":")[0]] = least(sim.step, REPEAT if factor < 8 else 5) / iterations
            if isinstance(solver, Lattice):
                parts = split(solver._steps, threads)
        each = own["lattice(multigrid)"]
        n = scene.model.n
        first = first or each / n
        shares = ", ".join(f"{what} {100 * ms / each:.0f} %" for what, ms in parts.items())
        text = (
            f"round {each:.3g} ms ({shares}), {1e6 * each / n:.0f} ns a vertex, {each / n / first:.2f} of the first; "
        )
        text += f"{each / own['vivace']:.2g} sweeps of vivace ({own['vivace']:.3g} ms); "
        text += f"iteration of newton-multigrid {own['newton-multigrid']:.3g} ms"
        yield Row(f"{n} vertices, {threads} threads", text, {"round_ms": each, "parts_ms": parts, **own})


def split(steps: Sequence[Phase], threads: int) -> dict[str, float]:
    """Milliseconds of the lattice's parts in a round."""
    found = {}
    for what, names in LATTICE.items():
        phases = [phase for phase in steps if phase.kernel.__name__ in names]
        plan = Plan(phases, threads)
        found[what] = least(plan.run, REPEAT)
    return found


def least(what, repeat: int) -> float:
    """The least of some times (ms): a ratio of two such says most on a machine that others use."""
    took = []
    for _ in range(repeat):
        begin = time.perf_counter()
        what()
        took.append(1e3 * (time.perf_counter() - begin))
    return float(np.min(took))
