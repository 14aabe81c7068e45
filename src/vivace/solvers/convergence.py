"""What watched plans are told and tell: when a residual is small enough, and what it was, sweep by sweep."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .base import Deadline
from .kernels.vectors import OFF

ROOM = 4096  # residuals of a step that are kept; sweeps beyond are not recorded


class ConvergenceMonitor:
    """`arrays`: those that a watch phase writes and reads, after its sums; `monitor`: the one that stops its plan."""

    def __init__(self) -> None:
        self.monitor, self._limits, self._history = np.array([1.0, 0.0]), np.zeros(2), np.full(1 + 2 * ROOM, OFF)
        self.arrays = {"monitor": self.monitor, "limits": self._limits, "history": self._history}
        self._sought = False

    def begin(self, deadline: Deadline, resolution: Callable[[], float] | None = None) -> bool:
        """Called before a solve; whether its plan has to be watched.

        `resolution`: the square of the residual that rounding leaves (N²), asked for if there is a tolerance.
        """
        tolerance = deadline.budget.tolerance
        self._sought = tolerance is not None
        self._limits[:] = tolerance or 0.0, resolution() if self._sought and resolution is not None else 0.0
        self.monitor[:] = 1.0, 0.0
        self._history[0] = 0.0 if deadline.trace else OFF
        return self._sought or deadline.trace

    @property
    def satisfied(self) -> bool:
        """Whether the tolerance was met."""
        return self._sought and bool(self.monitor[0] <= self.monitor[1])

    @property
    def residuals(self) -> np.ndarray:
        """(k, 2): numbers of sweeps, and the norms of the residuals they met."""
        found = self._history[1 : 1 + 2 * max(int(self._history[0]), 0)].reshape(-1, 2).copy()
        found[:, 1] = np.sqrt(found[:, 1])
        return found
