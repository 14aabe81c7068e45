"""What threads outside the GIL share: nothing is lost, nothing is taken twice, and the clock does not go back."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from vivace.backends.cpu.atomics import atomic_add, atomic_claim, atomic_load, atomic_store, clock_id, clock_ns, relax

THREADS = 8


@njit(nogil=True)
def _add(counters, index, value, before):
    for k in range(before.shape[0]):
        before[k] = atomic_add(counters, index, value)


@njit(nogil=True)
def _claim_all(counters, me, mine):
    """Try to take every slot; turn after turn a slot goes from turn to turn + 1."""
    for turn in range(mine.shape[0]):
        for slot in range(mine.shape[1]):
            mine[turn, slot] = atomic_claim(counters, slot, turn, turn + 1)
            spins = 0
            while atomic_load(counters, slot) <= turn:  # never: somebody has it
                spins = relax(spins)


@njit(nogil=True)
def _say(counters, data):
    """Write, tell, and wait for an answer before writing the next."""
    for k in range(data.shape[0]):
        data[k] = 3.0 * k + 1.0
        atomic_store(counters, 0, k + 1)
        spins = 0
        while atomic_load(counters, 8) <= k:
            spins = relax(spins)


@njit(nogil=True)
def _hear(counters, data, heard):
    for k in range(data.shape[0]):
        spins = 0
        while atomic_load(counters, 0) <= k:
            spins = relax(spins)
        heard[k] = data[k]
        atomic_store(counters, 8, k + 1)


@njit(nogil=True)
def _times(out):
    for k in range(out.shape[0]):
        out[k] = clock_ns()


@njit
def _one_claim(counters, index, expected, new):
    return atomic_claim(counters, index, expected, new)


def at_once(*calls):
    """Run all calls in threads of their own; one that hangs fails the test instead of stopping the suite."""
    gate = threading.Barrier(len(calls))

    def work(function, arguments):
        gate.wait(timeout=600)
        function(*arguments)

    threads = [threading.Thread(target=work, args=call, daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=600)
    assert not any(thread.is_alive() for thread in threads), "hangs"


@pytest.mark.parametrize("value", [1, 3, -2])
def test_no_addition_is_lost(value):
    """After m additions by each of T threads the counter holds m T value; its neighbours are as they were."""
    times = 20_000
    counters = np.array([7, 0, 7])
    _add(counters, 1, 0, np.zeros(1, np.int64))  # compiled now, so that the threads begin together
    before = np.zeros((THREADS, times), np.int64)
    at_once(*((_add, (counters, 1, value, own)) for own in before))
    assert counters.tolist() == [7, value * times * THREADS, 7]
    # what each addition found: every value on the way, once
    np.testing.assert_array_equal(np.sort(before.ravel() // value), np.arange(times * THREADS))
    assert all((np.diff(own // value) > 0).all() for own in before)


@pytest.mark.slow
def test_a_claim_is_exclusive():
    """Of all threads that want slot k in a turn, one gets it."""
    turns, slots = 20, 500
    _claim_all(np.zeros(1, np.int64), 0, np.zeros((1, 1), bool))
    counters, mine = np.zeros(slots, np.int64), np.zeros((THREADS, turns, slots), bool)
    at_once(*((_claim_all, (counters, me, mine[me])) for me in range(THREADS)))
    np.testing.assert_array_equal(mine.sum(axis=0), 1)
    np.testing.assert_array_equal(counters, turns)


@pytest.mark.slow
def test_a_claim_that_fails_changes_nothing():
    counters = np.array([4, 5, 6])
    assert not _one_claim(counters, 1, 4, 9)
    assert counters.tolist() == [4, 5, 6]
    assert _one_claim(counters, 1, 5, 9)
    assert counters.tolist() == [4, 9, 6]


@pytest.mark.slow
def test_what_was_written_before_a_store_is_seen_after_its_load():
    data, heard, counters = np.zeros(5000), np.zeros(5000), np.zeros(16, np.int64)
    _say(counters, data[:0])
    _hear(counters, data[:0], heard)
    at_once((_say, (counters, data)), (_hear, (counters, data, heard)))
    np.testing.assert_array_equal(heard, 3.0 * np.arange(5000) + 1.0)


@pytest.mark.slow
def test_the_clock_does_not_go_back():
    """And it is the clock that Python sets deadlines with."""
    _times(np.zeros(1, np.int64))
    out = np.zeros(100_000, np.int64)
    begin = time.perf_counter_ns()
    _times(out)
    end = time.perf_counter_ns()
    assert (np.diff(out) >= 0).all()
    assert begin <= out[0] <= out[-1] <= end
    assert out[-1] > out[0]


def test_the_clock_is_the_one_that_python_names():
    """Of this platform: read through the id, the clock lies between two readings of time.perf_counter_ns."""
    begin = time.perf_counter_ns()
    between = time.clock_gettime_ns(clock_id())
    assert begin <= between <= time.perf_counter_ns()


@pytest.mark.parametrize(
    ("implementation", "name"),
    [
        ("clock_gettime(CLOCK_MONOTONIC)", "CLOCK_MONOTONIC"),  # Linux
        ("mach_absolute_time()", "CLOCK_UPTIME_RAW"),  # macOS
        ("clock_gettime(CLOCK_HIGHRES)", "CLOCK_HIGHRES"),  # Solaris
    ],
)
def test_the_clock_of_other_platforms(implementation, name, monkeypatch):
    """mach_absolute_time stands still in sleep, as CLOCK_UPTIME_RAW does: with CLOCK_MONOTONIC every deadline would be
    long past after a machine has slept once."""
    for number, clock in enumerate(("CLOCK_MONOTONIC", "CLOCK_UPTIME_RAW", "CLOCK_HIGHRES"), 70):
        monkeypatch.setattr(time, clock, number, raising=False)
    monkeypatch.setattr(time, "get_clock_info", lambda clock: SimpleNamespace(implementation=implementation))
    assert clock_id() == getattr(time, name)


def test_giving_way_counts_on():
    """Below two thousand it spins, beyond it gives the core away: either way one more."""
    assert [relax(spins) for spins in (0, 1999, 2000, 2001, 10**9)] == [1, 2000, 2001, 2002, 10**9 + 1]


@pytest.mark.parametrize("wrong", [np.zeros(3, np.int32), np.zeros(3), np.zeros((2, 2), np.int64)])
def test_counters_are_whole_numbers_in_one_dimension(wrong):
    """A 32-bit counter would be added to with its neighbour."""
    with pytest.raises(TypingError):
        _add(wrong, 0, 1, np.zeros(1, np.int64))
    assert not wrong.any()
