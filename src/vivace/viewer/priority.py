"""Who goes first when there are fewer cores than work: the physics, which is short and has a deadline.

Linux can let threads go before all ordinary ones. That takes a right which root has, and which others are given for
audio (RLIMIT_RTPRIO); where it is missing, nothing happens. A physics that leaves no time for others is not preferred:
the page would stand still.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress

from ..backends.cpu.executor import helper_threads

PRIORITY = 5  # of 99
ENOUGH, TOO_MUCH = 0.5, 0.65  # shares of the time between two steps: below it is preferred, above no longer
SMOOTH = 0.1


class Preference:
    """Prefers the calling thread and the solvers' helpers, as long as they leave enough time for others."""

    def __init__(self) -> None:
        self._share, self._threads = 0.0, set[int]()

    def update(self, share: float) -> None:
        """Called after every step with the share of its time that it took."""
        self._share += SMOOTH * (min(share, 2.0) - self._share)
        if self._share > TOO_MUCH:
            self.end()
        elif self._share < ENOUGH:
            self._begin()

    def _begin(self) -> None:
        helpers = {thread.native_id for thread in helper_threads() if thread.native_id is not None}
        for thread in {*helpers, threading.get_native_id()} - self._threads:
            self._threads.add(thread)
            with suppress(OSError, AttributeError):
                os.sched_setscheduler(thread, os.SCHED_RR, os.sched_param(PRIORITY))

    def end(self) -> None:
        """Give up the preference: the threads are scheduled like all others again."""
        for thread in self._threads:
            with suppress(OSError, AttributeError):
                os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
        self._threads.clear()
