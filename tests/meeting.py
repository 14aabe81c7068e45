"""Whether several threads are inside one phase at the same time: they are made to wait there for each other.

A result that does not depend on the number of threads says nothing about how many there were. Here the first chunk of a
phase goes on only when a second one has begun, which takes a second thread; how long that thread takes to wake up does
not matter. One thread alone would wait for ever, so it gives up after a minute and is found out.
"""

from __future__ import annotations

import numpy as np
import pytest

from vivace.backends.cpu.arguments import longs, phase_kernel
from vivace.backends.cpu.atomics import atomic_add, atomic_load, atomic_store, call_phase, clock_ns, relax
from vivace.backends.cpu.executor import Plan

MINUTE = 60 * 10**9


@phase_kernel(cache=False)
def meet(begin, end, iteration, inner: longs, begun: longs, met: longs):
    """The phase `inner` (function, table) when another chunk of it has begun in this iteration too."""
    if iteration < met.shape[0]:
        atomic_add(begun, iteration, 1)
        spins, late = 0, clock_ns() + MINUTE
        while atomic_load(begun, iteration) < 2 and clock_ns() < late:
            spins = relax(spins)
        if atomic_load(begun, iteration) >= 2:
            atomic_store(met, iteration, 1)
    call_phase(inner[0], inner[1], begin, end, iteration)


class Meetings:
    """While a test lasts, plans that `module` makes: whether two chunks of each phase were at work at once.

    `found`: for every phase of every plan its label, how many chunks it has, and for its first iterations 1 where two
    threads met inside it. A phase of one chunk is left as it is.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module, iterations: int = 2):
        found = self.found = []  # (label, chunks, met)

        class Watched(Plan):
            def __init__(self, *arguments, **options):
                super().__init__(*arguments, **options)
                self._watches = []  # what the tables below have the addresses of
                for p, label in enumerate(self._labels):
                    chunks, met = int(self._pointers[p + 1] - self._pointers[p]), np.zeros(iterations, np.int64)
                    found.append((label, chunks, met))
                    if chunks > 1:
                        inner = np.array([self._functions[p], self._tables[p]], np.int64)
                        arrays = inner, np.zeros(iterations, np.int64), met
                        table = np.array([(array.ctypes.data, array.size) for array in arrays], np.int64)
                        self._watches.append((arrays, table))
                        self._functions[p], self._tables[p] = meet.address, table.ctypes.data

        monkeypatch.setattr(module, "Plan", Watched)

    @property
    def shared(self) -> list[str]:
        """Labels of the phases that were in several chunks, and in which threads met in every iteration looked at."""
        return [label for label, chunks, met in self.found if chunks > 1 and met.all()]

    @property
    def alone(self) -> list[str]:
        """Labels of the phases in one chunk, and of those in several that one thread did after the other."""
        return [label for label, chunks, met in self.found if chunks == 1 or not met.all()]
