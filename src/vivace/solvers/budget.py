"""How long a step may take: budgets, and budgets that have started to run."""

from __future__ import annotations

import time
from dataclasses import dataclass

from ..checks import is_number, is_whole, shown
from ..errors import InputError
from ..storage import storable

MOST_MS = 1e9
MOST_ITERATIONS = 10_000  # where nothing but a tolerance would stop a solver
LEAST_OF_PARTS = 2  # iterations of each of several substeps, however late (`Budget.part` says why)


@storable("budget")
@dataclass(frozen=True)
class Budget:
    """When to stop: the first limit that is met. At least one must be given.

    Attributes:
        ms: wall-clock time of a whole step (ms), prediction and update included.
        iterations: sweeps a step.
        tolerance: norm of the residual that a sweep over fresh projections meets, relative to that of the first sweep;
            what float32 positions cannot resolve is not asked for. Alone, it gives up after 10,000 sweeps.
    """

    ms: float | None = None
    iterations: int | None = None
    tolerance: float | None = None

    def __post_init__(self) -> None:
        if self.ms is None and self.iterations is None and self.tolerance is None:
            raise InputError("a budget needs ms, iterations or tolerance")
        if self.ms is not None and not (is_number(self.ms) and self.ms > 0):
            raise InputError(f"a budget's ms must be positive, not {shown(self.ms)}")
        if self.ms is not None and self.ms > MOST_MS:
            raise InputError(f"a budget's ms must be at most {MOST_MS:g}, not {shown(self.ms)}")
        if self.iterations is not None and not (is_whole(self.iterations) and self.iterations >= 1):
            raise InputError(
                f"a budget's iterations must be a whole number of at least 1, not {shown(self.iterations)}"
            )
        if self.iterations is not None and self.iterations >= 2**31:
            raise InputError(f"a budget's iterations must be below 2^31, not {shown(self.iterations)}")
        if self.tolerance is not None and not (is_number(self.tolerance) and 0 < self.tolerance < 1):
            raise InputError(f"a budget's tolerance must lie between 0 and 1, not {shown(self.tolerance)}")

    def part(self, k: int, parts: int) -> Budget:
        """What has been spent when part k of so many equal parts of a step ends; its iterations are its own."""
        if parts == 1:
            return self
        ms = None if self.ms is None else self.ms * (k + 1) / parts
        if self.iterations is None:
            return Budget(ms, None, self.tolerance)
        each = self.iterations // parts
        # One iteration in most parts and two in some sets a cloth into vibration within a second, where one in all of
        # them or two in all do not: what is left is given away only where nobody has just one.
        more = 0 if each < LEAST_OF_PARTS else int(k < self.iterations % parts)
        return Budget(ms, max(1, each) + more, self.tolerance)

    @property
    def most_iterations(self) -> int:
        """Sweeps after which a solver stops at the latest, whatever limits the budget has."""
        if self.iterations is not None:
            return int(self.iterations)
        return MOST_ITERATIONS if self.ms is None else 2**31


def as_budget(value: Budget | float) -> Budget:
    """A budget, or a number of milliseconds."""
    return value if isinstance(value, Budget) else Budget(ms=value)


@dataclass(frozen=True)
class Deadline:
    """A budget that has started to run: solvers stop between sweeps, before `at_ns` would be missed.

    A solver that makes one sweep after the other asks before each whether there is still room for it:

        sweeps, stopped = 0, ""
        while not stopped:
            ...  # a sweep
            sweeps += 1
            stopped = deadline.reached(sweeps)

    Attributes:
        budget: what was asked for; a solver may also stop at `budget.tolerance`, and then says "tolerance".
        at_ns: on the clock of time.perf_counter_ns; None for no limit.
        trace: somebody wants to know the residuals of all sweeps (`Outcome.residuals`).
        turns: solves that a step is made of, more than one in turns with rigid bodies: each needs less than one alone.
        least: iterations that this solve gets even if that is late, of solvers that move everything at once.
    """

    budget: Budget
    at_ns: int | None
    trace: bool = False
    turns: int = 1
    least: int = 1

    @classmethod
    def of(
        cls,
        budget: Budget,
        *,
        reserve_ns: int = 0,
        start_ns: int | None = None,
        trace: bool = False,
        turns: int = 1,
        least: int = 1,
    ) -> Deadline:
        """Start now (or at `start_ns`), keeping `reserve_ns`, a quarter at most, for what comes after the solver."""
        if budget.ms is None:
            return cls(budget, None, trace, turns, least)
        start = time.perf_counter_ns() if start_ns is None else start_ns
        whole = int(budget.ms * 1e6)
        return cls(budget, start + whole - min(reserve_ns, whole // 4), trace, turns, least)

    def reached(self, sweeps: int, sweep_ns: int = 0) -> str:
        """The limit that ends a solve after so many sweeps, "iterations" or "time"; "" while there is room for more.

        `sweep_ns`: what the next sweep will take. One that would end too late is not begun.
        """
        if sweeps >= self.budget.most_iterations:
            return "iterations"
        late = self.at_ns is not None and time.perf_counter_ns() + sweep_ns > self.at_ns
        return "time" if late else ""
