"""An iteration whose steps are compiled phases, with calls into a library between them where there is no other way."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from ..kernels.team import Job, Phase

Step = Phase | Callable[[], None]


class Plan:
    """Steps laid out once, walked as often as wanted.

    Phases that follow each other are one job of the team. A plan of phases only runs all its iterations without going
    back to Python.
    """

    def __init__(self, steps: Sequence[Step], threads: int, monitor: np.ndarray):
        self.monitor = monitor
        self._parts: list[Job | Callable[[], None]] = []
        phases: list[Phase] = []
        for step in (*steps, None):
            if isinstance(step, Phase):
                phases.append(step)
                continue
            if phases:
                self._parts.append(Job(phases, threads, monitor))
                phases = []
            if step is not None:
                self._parts.append(step)

    def run(self, iterations: int, deadline_ns: int | None) -> int:
        """Iterate until one of the limits is met; return how many iterations were made (at least one)."""
        if len(self._parts) == 1 and isinstance(self._parts[0], Job):
            return self._parts[0].run(iterations, deadline_ns)
        k = longest = 0
        begin = time.perf_counter_ns()
        while True:
            for part in self._parts:
                if isinstance(part, Job):
                    part.run(1, first=k)
                else:
                    part()
            k += 1
            now = time.perf_counter_ns()
            longest, begin = max(now - begin, longest - longest // 16), now  # as kernels.team does
            late = deadline_ns is not None and now + longest > deadline_ns
            if k >= iterations or late or self.monitor[0] <= self.monitor[1]:
                return k
