"""The tablecloth by this package: solver "auto", a budget of milliseconds, one step a frame."""

from __future__ import annotations

from problem import FRAME_S, Problem, Running, serve
from reference import tablecloth

from vivace import Simulation, __version__

BUDGETS = (8, 16, 33)


def start(problem: Problem, ms: float) -> Running:
    model, _ = tablecloth(problem.resolution)

    def simulation() -> Simulation:
        return Simulation(model, solver="auto", budget=ms, time_step=FRAME_S, threads=2)

    first = simulation()  # kernels are loaded from disk, or compiled
    for _ in range(2):
        first.step()
    sim = simulation()
    return Running(lambda: sim.step(), lambda: sim.positions, f"auto, budget of {ms} ms")


SETTINGS = {f"{ms}ms": lambda problem, ms=ms: lambda: start(problem, ms) for ms in BUDGETS}

if __name__ == "__main__":
    serve("Vivace", lambda: __version__, SETTINGS, threads=2)
