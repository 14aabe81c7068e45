"""How many threads there are, and how many of them are worth using."""

from __future__ import annotations

import os

from ...checks import is_whole, shown
from ...errors import InputError


class UpTo(int):
    """A number of threads that need not all be used: plans find out whether one alone is faster."""


class TeamSize:
    """How many threads walk a plan: all, or one, whichever has been faster of late.

    What one core has written the others have to fetch. On some machines that takes longer than the work that is
    shared, and on busy ones helpers come late. The result is the same, so the choice is free.
    """

    TRIED = 2  # runs with each at first
    PAUSE = 64  # runs until the slower one gets another chance
    SHARE = 0.3  # of the newest run in what is remembered

    def __init__(self, threads: int):
        self._sizes = (threads, 1)
        self._ns = dict.fromkeys(self._sizes, 0.0)
        self._runs = 0

    def next(self) -> int:
        """The number of threads for the next run."""
        run, self._runs = self._runs, self._runs + 1
        if run < self.TRIED * len(self._sizes):
            return self._sizes[run // self.TRIED]
        best = min(self._sizes, key=lambda size: self._ns[size])
        return best if run % self.PAUSE else self._sizes[0 if best == 1 else 1]

    def learn(self, threads: int, ns: float) -> None:
        """An iteration took so long with that many."""
        old = self._ns[threads]
        self._ns[threads] = (
            ns if old == 0.0 or self._runs <= self.TRIED * len(self._sizes) else old + self.SHARE * (ns - old)
        )


def default_threads() -> int:
    """One thread for each core this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def check_threads(threads: int | None) -> int:
    """Validate a number of threads; None means one for each core."""
    if threads is None:
        return UpTo(default_threads())
    if not is_whole(threads) or not 1 <= threads <= 256:
        raise InputError(f"threads must be a whole number from 1 to 256, not {shown(threads)}")
    return threads if isinstance(threads, UpTo) else int(threads)
