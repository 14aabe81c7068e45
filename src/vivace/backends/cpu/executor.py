"""A team of threads that walks the phases of many iterations without going back to Python.

    iteration 0                     iteration 1
    ┌────────┬────────┬─────────┐   ┌────────┬──
    │phase 0 │phase 1 │ phase 2 │   │phase 0 │        a phase is one colour of a sweep, or one local pass, ...
    │ ▒▒▒ ▒▒ │ ▒▒▒ ▒▒ │ ▒▒▒ ▒▒  │ ? │ ▒▒▒ ▒▒ │        ▒▒▒ a chunk of it: the unit a thread takes
    └────────┴────────┴─────────┘   └────────┴──      ? thread 0 asks: enough iterations? time up? converged?

Nobody waits for a thread, only for work: a phase is over when all its chunks are done, whoever did them. Every thread
starts at its own chunk (whose data its cache holds) and then takes what is left, so a helper that wakes up late, or
that the operating system has put aside between two chunks, costs nothing. A classical barrier, where everybody must
arrive, would stop the whole team for a time slice each time one thread is put aside.

Claims and completions are counters that only grow, one cache line each, so nothing is ever reset: chunk g is free for
its phase's turn k while its claim reads k, and that turn is over when the phase's count of finished chunks reaches
(k + 1) x chunks. A thread that is behind finds every claim taken and every count passed, and catches up.

A plan may have several parts, such as the substeps of a frame: each begins with some phases of its own, then iterates,
and ends with others.

Which thread runs a chunk never changes what the chunk computes, so results do not depend on the number of threads.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from queue import SimpleQueue

import numpy as np
from numba import njit

from ...errors import InputError
from .arguments import Phase
from .atomics import (
    atomic_add,
    atomic_claim,
    atomic_load,
    atomic_store,
    call_phase,
    clock_ns,
    relax,
)
from .threads import TeamSize, UpTo
from .threads import check_threads as check_threads
from .threads import default_threads as default_threads

LINE = 8  # int64s in a cache line
APPROVED, STOPPED, ENDED, COUNTERS = 0, LINE, 2 * LINE, 3 * LINE
SMALLEST_CHUNK = 96  # below this many items a second thread costs more than it brings
SMALL = 20_000  # items below which no helper is woken for merely copying them
LONG_CHUNK = 512  # items that are worth a chunk of their own beyond one a thread
NEVER = 2**62  # ns
VALUE, THRESHOLD = 0, 1  # slots of the monitor: the plan stops when monitor[VALUE] <= monitor[THRESHOLD]


# --- the walk ------------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True, error_model="numpy")
def _run_phase(me, threads, control, p, turns, functions, tables, pointers, begins, ends, spent, iteration):
    """Take what is left of a phase's chunks, and wait until all are done."""
    turn = turns[p]  # how often this phase has run before
    turns[p] = turn + 1
    done = COUNTERS + LINE * (begins.shape[0] + p)
    start_chunk = pointers[p]
    count = pointers[p + 1] - start_chunk
    mine = me * count // threads
    for offset in range(count):
        g = start_chunk + (mine + offset) % count
        if atomic_claim(control, COUNTERS + LINE * g, turn, turn + 1):
            call_phase(functions[p], tables[p], begins[g], ends[g], iteration)
            atomic_add(control, done, 1)
    spins = 0
    while atomic_load(control, done) < (turn + 1) * count:
        spins = relax(spins)
    if me == 0:  # the last of `spent` is when the phase before ended
        now = clock_ns()
        spent[p] += now - spent[-1]
        spent[-1] = now


@njit(nogil=True, cache=True, error_model="numpy")
def _walk(
    me, threads, control, functions, tables, every, pointers, begins, ends, spent, bounds, first, iterations, least,
    deadlines, ended_at, monitor,
):  # fmt: skip
    """Walk all parts; thread 0 decides how many iterations each has. Returns how many iterations there were in all."""
    phases = functions.shape[0]
    turns = np.zeros(phases, np.int64)
    start = clock_ns()
    longest = np.int64(0)
    k = np.int64(0)
    if me == 0:
        spent[-1] = start
    for part in range(deadlines.shape[0]):
        for p in range(bounds[0]):
            _run_phase(me, threads, control, p, turns, functions, tables, pointers, begins, ends, spent, part)
        if me == 0:
            start = clock_ns()
            atomic_store(control, APPROVED, k + 1)
        begun = k
        while True:
            spins = 0
            while True:  # a part ends at iteration ended_at[part], which is known once ENDED has passed the part
                approved, ended = atomic_load(control, APPROVED) > k, atomic_load(control, ENDED) > part
                if ended and k >= ended_at[part]:
                    break
                if approved:
                    break
                if atomic_load(control, STOPPED) != 0:
                    return k
                spins = relax(spins)
            if ended and k >= ended_at[part]:
                break
            iteration = first + k - begun
            for p in range(bounds[0], bounds[1]):
                if iteration % every[p] == 0:
                    _run_phase(
                        me, threads, control, p, turns, functions, tables, pointers, begins, ends, spent, iteration
                    )
            k += 1
            if me == 0:
                now = clock_ns()
                # The next iteration is expected to take as long as the longest of late (those that project take longer
                # than those that do not, and a disturbance is forgotten after some): stop before it would be late.
                longest = max(now - start, longest - longest // 16)
                start = now
                late = k - begun >= least and now + longest > deadlines[part]
                enough = k - begun >= iterations[part] or late
                if enough or monitor[VALUE] <= monitor[THRESHOLD]:
                    ended_at[part] = k
                    atomic_store(control, ENDED, part + 1)
                else:
                    atomic_store(control, APPROVED, k + 1)
        for p in range(bounds[1], phases):
            _run_phase(me, threads, control, p, turns, functions, tables, pointers, begins, ends, spent, part)
    return k


@njit(nogil=True, cache=True)
def _compiled_address(array):
    return array.ctypes.data


def address(array: np.ndarray) -> int:
    """Where an array's elements are; a tenth of the time that Python takes to tell."""
    if type(array) is np.ndarray:
        return int(_compiled_address(array))
    return int(array.__array_interface__["data"][0])


@njit(nogil=True, cache=True, error_model="numpy")
def _call(function, table, begin, end):
    call_phase(function, table, begin, end, 0)


def _table(arrays: tuple[np.ndarray, ...]) -> np.ndarray:
    """Addresses and sizes, as kernels read them."""
    return np.array([(address(array), array.size) for array in arrays] or [(0, 0)], np.int64)


def run_once(phase: Phase, threads: int) -> None:
    """Run one phase once. Where it is a single chunk that takes no plan, which is most of what a small one costs."""
    if phase.chunks or not (phase.serial or _chunks(phase.end - phase.begin, threads) == 1):
        Plan([phase], threads).run()
        return
    kernel = phase.kernel
    arrays = kernel.bind(phase.arrays)
    kernel.check_range(arrays, phase.begin, phase.end)
    table = _table(arrays)
    begin = time.perf_counter_ns()
    _call(kernel.address, address(table), phase.begin, phase.end)
    ledger: dict[str, int] | None = getattr(_local, "ledger", None)
    if ledger is not None:
        label = phase.label or kernel.label
        ledger[label] = ledger.get(label, 0) + time.perf_counter_ns() - begin


def _chunks(items: int, threads: int) -> int:
    """One a thread, and for long phases more, so that a thread that is held up leaves the others something to take."""
    if threads == 1:
        return 1
    return max(1, min(threads, items // SMALLEST_CHUNK), min(4 * threads, items // LONG_CHUNK))


def _pieces(cuts: np.ndarray, threads: int, grain: int) -> list[tuple[int, int]]:
    """Every colour in as many parts as there are threads: first the parts of thread 0, then those of thread 1, ..."""
    low, size = cuts[:-1], np.diff(cuts)
    edges = (
        np.array([low + size * k // threads for k in range(threads)]).T.ravel() // grain * grain
    )  # of parts, in order
    bounds = [*np.maximum.accumulate(edges).tolist(), int(cuts[-1])]
    parts = [(bounds[k], bounds[k + 1]) for k in range(len(edges))]
    return [part for k in range(threads) for part in parts[k::threads] if part[1] > part[0]]


_local = threading.local()


@contextmanager
def phase_times() -> Iterator[dict[str, int]]:
    """Nanoseconds by the labels of phases, of all plans that this thread runs inside the block.

    As thread 0 of a plan sees them: work, and the wait for those who help with it.
    """
    outer = getattr(_local, "ledger", None)
    _local.ledger = ledger = dict[str, int]()
    try:
        yield ledger
    finally:
        _local.ledger = outer


class Plan:
    """Phases laid out for a team: made once, run as often as the arrays' contents change."""

    def __init__(
        self,
        phases: Sequence[Phase],
        threads: int,
        monitor: np.ndarray | None = None,
        *,
        before: Sequence[Phase] = (),
        after: Sequence[Phase] = (),
        cuts: np.ndarray | None = None,
    ):
        """`before` and `after`: phases at the beginning and at the end of every part; they get the part's number.

        `cuts`: pointers of the colours that other phases walk one by one. Phases over all of their items then give
        every thread the same items of each colour that it has there, which its cache holds.
        """
        self.threads = int(threads)
        self._bounds = np.array([len(before), len(before) + len(phases)], np.int64)
        phases = [*before, *phases, *after]
        self._keep: dict[tuple, tuple] = {}  # arrays whose addresses the tables hold, and the tables
        tables, functions, every, pointers, begins, ends = [], [], [], [0], [], []
        self._labels = [phase.label or phase.kernel.label for phase in phases]
        for phase in phases:
            tables.append(self._bound(phase)[1])
            functions.append(phase.kernel.address)
            every.append(phase.every)
            items = phase.end - phase.begin
            chunks = 1 if phase.serial else phase.chunks or _chunks(items, threads)
            grain = 1 if phase.chunks else phase.grain
            if cuts is not None and chunks > 1 and not phase.chunks and (phase.begin, phase.end) == (0, cuts[-1]):
                pieces = _pieces(cuts, self.threads, grain)
                begins += [begin for begin, _ in pieces]
                ends += [end for _, end in pieces]
                pointers.append(len(begins))
                continue
            for chunk in range(chunks):
                begins.append(phase.begin + items * chunk // chunks // grain * grain)
                ends.append(phase.begin + items * (chunk + 1) // chunks // grain * grain)
            ends[-1] = phase.end
            pointers.append(len(begins))
        if len(begins) == len(phases):  # one chunk each: there is nothing to help with
            self.threads = 1
        self._team = TeamSize(self.threads) if isinstance(threads, UpTo) else None
        self._functions, self._tables, self._every = (np.array(a, np.int64) for a in (functions, tables, every))
        self._pointers, self._begins, self._ends = (np.array(a, np.int64) for a in (pointers, begins, ends))
        self.monitor = np.array([1.0, 0.0]) if monitor is None else monitor

    def _bound(self, phase: Phase) -> tuple[tuple[np.ndarray, ...], int]:
        """A phase's arrays in its kernel's order, checked, and the address of their table.

        Phases of one kernel that share their arrays share a table, and are checked once.
        """
        key = id(phase.arrays), phase.kernel
        if key not in self._keep:
            arrays = phase.kernel.bind(phase.arrays)
            self._keep[key] = phase.arrays, arrays, _table(arrays)
        _, arrays, table = self._keep[key]
        phase.kernel.check_range(arrays, phase.begin, phase.end)
        return arrays, address(table)

    def run(self, iterations: int = 1, deadline_ns: int | None = None, first: int = 0, least: int = 1) -> int:
        """Walk the phases until one of the limits is met; return how many iterations were made (at least one).

        `first`: the number of the first iteration, for work that goes back to Python between iterations.
        `least`: iterations that are made even if that is late.
        """
        return self._run([iterations], [deadline_ns], first, least) if iterations >= 1 else 0

    def run_parts(self, iterations: Sequence[int], deadlines_ns: Sequence[int | None], least: int = 1) -> int:
        """The same for several parts, each with its own limits."""
        return self._run(iterations, deadlines_ns, 0, least)

    def _run(self, iterations: Sequence[int], deadlines_ns: Sequence[int | None], first: int, least: int) -> int:
        if len(self._functions) == 0:
            return 0
        control = np.zeros(COUNTERS + LINE * (len(self._begins) + len(self._functions)), np.int64)
        spent = np.zeros(len(self._functions) + 1, np.int64)
        deadlines = np.array([NEVER if at is None else at for at in deadlines_ns], np.int64)
        threads = self.threads if self._team is None else self._team.next()
        work = (
            *(threads, control, self._functions, self._tables, self._every),
            *(self._pointers, self._begins, self._ends, spent, self._bounds, first),
            *(np.array(iterations, np.int64), least, deadlines, np.zeros(len(deadlines), np.int64), self.monitor),
        )
        try:
            begin = time.perf_counter_ns()
            if threads > 1:
                for helper in _helpers(threads - 1):
                    helper.put((work, self))
            walked = int(_walk(0, *work))
            if self._team is not None:
                self._team.learn(threads, (time.perf_counter_ns() - begin) / max(walked, 1))
        except BaseException:  # interrupted before the walk began: release the helpers
            control[STOPPED] = 1
            raise
        ledger: dict[str, int] | None = getattr(_local, "ledger", None)
        if ledger is not None:
            for label, ns in zip(self._labels, spent[:-1].tolist(), strict=True):
                ledger[label] = ledger.get(label, 0) + ns
        return walked

    def __reduce__(self):
        raise InputError("a simulation's plans hold addresses and cannot be copied or pickled; make a new Simulation")


# --- the helpers: Python threads that sleep until there is work, and work without the GIL -----------------------------

_queues: list[SimpleQueue] = []
_threads: list[threading.Thread] = []  # behind the queues
_lock = threading.Lock()


def _serve(me: int, queue: SimpleQueue) -> None:
    while True:
        work, plan = queue.get()
        _walk(me, *work)
        del work, plan


def _helpers(count: int) -> list[SimpleQueue]:
    while len(_queues) < count:
        with _lock:
            if len(_queues) < count:
                queue: SimpleQueue = SimpleQueue()
                me = len(_queues) + 1
                thread = threading.Thread(target=_serve, args=(me, queue), name=f"vivace-{me}", daemon=True)
                thread.start()
                _threads.append(thread)
                _queues.append(queue)
    return _queues[:count]


def helper_threads() -> tuple[threading.Thread, ...]:
    """The helpers that there are so far, for whoever says which threads go first. They live as long as the process."""
    return tuple(_threads)


def _forget_helpers() -> None:
    """A forked child has the queues but not the threads behind them."""
    global _lock
    _queues.clear()
    _threads.clear()
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_helpers)
