"""The team of threads: every item once an iteration, phases in order, and each way to stop."""

from __future__ import annotations

import gc
import threading
import time
from itertools import pairwise

import numpy as np
import pytest

from vivace.backends.cpu.arguments import GRAIN, count, doubles, floats, ints, longs, phase_kernel, rows
from vivace.backends.cpu.executor import (
    LONG_CHUNK,
    SMALLEST_CHUNK,
    Plan,
    address,
    check_threads,
    default_threads,
    helper_threads,
    phase_times,
    run_once,
)
from vivace.backends.cpu.threads import TeamSize, UpTo
from vivace.errors import InputError

THREADS = (1, 2, 3, 8)


@phase_kernel(items="visits")
def count_visits(begin, end, iteration, visits: ints, chunk: longs, when: longs):
    """visits[i] += 1, and note which chunk and which iteration did it."""
    for i in range(begin, end):
        visits[i] += 1
        chunk[i] = begin
        when[i] += iteration


@phase_kernel(items="a")
def step_forward(begin, end, iteration, a: longs):
    """a_i += 1"""
    for i in range(begin, end):
        a[i] += 1


@phase_kernel(items="late")
def look_at_all(begin, end, iteration, a: longs, late: longs):
    """late_i counts the a_j that are not yet, or no longer, at this iteration's value."""
    for i in range(begin, end):
        for j in range(a.shape[0]):
            if a[j] != iteration + 1:
                late[i] += 1


@phase_kernel(items="to")
def pull(begin, end, iteration, source: longs, to: longs, shift: count):
    """to_i = from_(i + shift mod n) + 1"""
    n = source.shape[0]
    for i in range(begin, end):
        to[i] = source[(i + shift) % n] + 1


@phase_kernel(items="x")
def add_in_order(begin, end, iteration, x: doubles, total: doubles, calls: ints):
    """total = (...((0·x_0 + 1)·x_1 + 1)...): an order-dependent reduction."""
    value = 0.0
    for i in range(begin, end):
        value = value * x[i] + 1.0
    total[0] = value
    calls[0] += 1


@phase_kernel
def lower_monitor(begin, end, iteration, monitor: doubles):
    """monitor = 10 - iteration"""
    monitor[0] = 10.0 - iteration


@phase_kernel
def read_views(begin, end, iteration, f: floats, d: doubles, i: ints, k: longs, r: rows, out: doubles):
    """Each kind of view writes what it sees of its own length and first value."""
    out[0], out[1], out[2], out[3] = f.shape[0], d.shape[0], i.shape[0], k.shape[0]
    out[4], out[5] = r.shape[0], r.shape[1]
    out[6], out[7], out[8], out[9], out[10] = f[1], d[1], i[1], k[1], r[1, 2]


def visits_plan(n, threads, begin=0, end=None):
    end = n if end is None else end
    arrays = np.zeros(n, np.int32), np.full(n, -1, np.int64), np.zeros(n, np.int64)
    visits, chunk, when = arrays
    return Plan([count_visits.over(begin, end, visits=visits, chunk=chunk, when=when)], threads), arrays


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("n", [0, 1, 15, 96, 191, 192, 1000, 5003])
def test_every_item_is_visited_once_an_iteration(threads, n):
    """visits_i = K after K iterations, and the iteration numbers passed in add up to 0 + 1 + ... + (K - 1)."""
    plan, (visits, _, when) = visits_plan(n, threads)
    assert plan.run(7) == 7
    assert (visits == 7).all()
    assert (when == 21).all()


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize(("begin", "end"), [(0, 1000), (5, 1000), (37, 240), (300, 300), (3, 4099)])
def test_chunks_are_cut_at_multiples_of_the_grain(threads, begin, end):
    """Chunks tile [begin, end) and start at begin + a multiple of GRAIN; small phases are not cut."""
    plan, (visits, chunk, _) = visits_plan(5000, threads, begin, end)
    plan.run()
    inside = np.zeros(5000, bool)
    inside[begin:end] = True
    assert np.array_equal(visits, inside.astype(np.int32))
    starts = np.unique(chunk[inside])
    assert ((starts - begin) % GRAIN == 0).all()
    items = end - begin
    assert len(starts) <= max(1, min(threads, items // SMALLEST_CHUNK), min(4 * threads, items // LONG_CHUNK))
    assert threads > 1 or len(starts) <= 1
    assert (np.diff(chunk[begin:end]) >= 0).all()


@pytest.mark.parametrize("threads", THREADS)
def test_a_phase_sees_the_whole_phase_before_it(threads):
    """Phase 2 of iteration k finds every a_j = k + 1: all of phase 1 is done, and nobody has begun the next."""
    a, late = np.zeros(800, np.int64), np.zeros(800, np.int64)
    plan = Plan([step_forward.over(0, 800, a=a), look_at_all.over(0, 800, a=a, late=late)], threads)
    assert plan.run(200) == 200
    assert (a == 200).all()
    assert not late.any()


@pytest.mark.parametrize("threads", [2, 8])
def test_dependence_carries_over_many_iterations(threads):
    """b = P a + 1, c = P b + 1, a = P c + 1 with a cyclic shift P: a_i = 3 K after K iterations, for every i."""
    a, b, c = np.zeros((3, 1009), np.int64)
    shift = np.array([577], np.int64)
    phases = [pull.over(0, 1009, source=x, to=y, shift=shift) for x, y in ((a, b), (b, c), (c, a))]
    assert Plan(phases, threads).run(200) == 200
    assert (a == 600).all()


@pytest.mark.parametrize("threads", THREADS)
def test_a_serial_phase_is_one_chunk(threads):
    """An order-dependent sum has the same bits whatever the team, and is called once an iteration."""
    x = np.random.default_rng(0).uniform(0.5, 1.0, 5000)
    (alone, total), calls = np.zeros((2, 1)), np.zeros(1, np.int32)
    Plan([add_in_order.over(0, 5000, x=x, total=alone, calls=calls)], 1).run()
    calls[0] = 0
    Plan([add_in_order.over(0, 5000, x=x, total=total, calls=calls, serial=True)], threads).run(3)
    assert total[0] == alone[0]
    assert calls[0] == 3


def test_views_have_the_type_and_length_of_their_arrays():
    f, d, i, k = (np.arange(n + 2).astype(t) for n, t in enumerate((np.float32, np.float64, np.int32, np.int64)))
    four = np.arange(12, dtype=np.float32).reshape(3, 4)
    out = np.zeros(11)
    Plan([read_views.over(0, 1, f=f, d=d, i=i, k=k, r=four, out=out)], 1).run()
    assert out.tolist() == [2, 3, 4, 5, 3, 4, 1, 1, 1, 1, 6]


@pytest.mark.parametrize("threads", THREADS)
def test_a_deadline_in_the_past_leaves_one_iteration(threads):
    plan, (visits, _, _) = visits_plan(1000, threads)
    assert plan.run(1000, deadline_ns=time.perf_counter_ns() - 1) == 1
    assert (visits == 1).all()


@pytest.mark.parametrize("threads", [1, 3])
def test_a_deadline_ends_a_plan_that_nothing_else_would_end(threads):
    plan, (visits, _, _) = visits_plan(1000, threads)
    made = plan.run(2**31, deadline_ns=time.perf_counter_ns() + 5_000_000)
    assert 1 <= made < 2**31
    assert (visits == made).all()


@pytest.mark.parametrize("threads", THREADS)
def test_the_monitor_stops_after_the_iteration_that_meets_it(threads):
    """monitor = 10 - k ≤ 3 first at k = 7: eight iterations."""
    monitor = np.array([1.0, 3.0])
    visits, (chunk, when) = np.zeros(1000, np.int32), np.zeros((2, 1000), np.int64)
    counting = count_visits.over(0, 1000, visits=visits, chunk=chunk, when=when)
    plan = Plan([counting, lower_monitor.over(0, 1, monitor=monitor, serial=True)], threads, monitor)
    assert plan.run(100) == 8
    assert plan.run(5) == 5
    assert (visits == 13).all()


def test_a_monitor_that_is_not_a_number_does_not_stop():
    plan = Plan([step_forward.over(0, 4, a=np.zeros(4, np.int64))], 1, np.array([np.nan, 0.0]))
    assert plan.run(4) == 4


def test_nothing_to_do():
    assert Plan([], 2).run(3) == 0
    plan, (visits, _, _) = visits_plan(100, 2)
    assert plan.run(0) == 0
    assert not visits.any()


def test_non_contiguous_arrays_are_refused():
    strided = np.zeros(20, np.int64)[::2]
    with pytest.raises(InputError, match="C-contiguous"):
        Plan([step_forward.over(0, 10, a=strided)], 1)


@pytest.mark.slow
def test_a_plan_keeps_its_arrays():
    """Tables hold addresses: the arrays must outlive whoever made them."""
    plan, (visits, chunk, when) = visits_plan(500, 2)
    watched = visits.copy()
    held = plan._keep
    del chunk, when
    gc.collect()
    plan.run(2)
    assert (visits == watched + 2).all()
    assert any(visits is array for _, arrays, _ in held.values() for array in arrays)


def finishes(target, *args):
    """Run in a thread so that a hang fails the test instead of stopping the suite."""
    box = []
    thread = threading.Thread(target=lambda: box.append(target(*args)), daemon=True)
    thread.start()
    thread.join(timeout=600)
    assert not thread.is_alive(), "hangs"
    return box[0]


def test_many_small_plans_back_to_back():
    """2000 plans of one iteration; half of them new, half run again."""

    def work():
        a = np.zeros(200, np.int64)
        for _ in range(1000):
            plan = Plan([step_forward.over(0, 200, a=a)], 2)
            plan.run()
            plan.run()
        return a

    assert (finishes(work) == 2000).all()


def test_two_plans_at_once_share_the_helpers():
    """Two Python threads, each with its own plan for three: results as if alone."""

    def work():
        a, late = np.zeros(400, np.int64), np.zeros(400, np.int64)
        plan = Plan([step_forward.over(0, 400, a=a), look_at_all.over(0, 400, a=a, late=late)], 3)
        for _ in range(30):
            a[:] = 0
            assert plan.run(20) == 20
        return (a == 20).all() and not late.any()

    results = []
    threads = [threading.Thread(target=lambda: results.append(work()), daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=600)
    assert results == [True, True]


def test_the_helpers_are_known():
    """A plan for n threads has n - 1 helpers; they stay, and are asked for by nothing but the list of them."""
    before = helper_threads()
    Plan([step_forward.over(0, 400, a=np.zeros(400, np.int64))], len(before) + 3).run()
    after = helper_threads()
    assert after[: len(before)] == before
    assert len(after) == len(before) + 2
    assert all(thread.is_alive() and thread.native_id is not None for thread in after)
    assert threading.current_thread() not in after


@pytest.mark.parametrize(("all_ns", "one_ns", "wanted"), [(100.0, 180.0, 4), (100.0, 60.0, 1)])
def test_the_faster_number_of_threads_is_taken(all_ns, one_ns, wanted):
    """Both are tried, the faster one stays, and the other gets a chance from time to time, so that it can come back."""
    team, taken = TeamSize(4), []
    for _ in range(300):
        taken.append(team.next())
        team.learn(taken[-1], all_ns if taken[-1] == 4 else one_ns)
    assert taken[:4] == [4, 4, 1, 1]
    others = [size for size in taken[4:] if size != wanted]
    assert len(others) == 300 // TeamSize.PAUSE
    for _ in range(1500):  # now it is the other way round
        taken.append(team.next())
        team.learn(taken[-1], one_ns if taken[-1] == 4 else all_ns)
    assert taken[-1] != wanted


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("cuts", [(0, 5000), (0, 1200, 2500, 5000), (0, 4000, 4001, 5000)])
def test_with_cuts_every_item_is_visited_once(threads, cuts):
    """Whole phases in pieces of colours, colours one by one, and blocks that must not be cut."""
    visits, chunk, when = np.zeros(5000, np.int32), np.zeros(5000, np.int64), np.zeros(5000, np.int64)
    arrays = {"visits": visits, "chunk": chunk, "when": when}
    phases = [count_visits.over(0, 5000, **arrays), count_visits.over(0, 5000, grain=64, **arrays)]
    phases += [count_visits.over(a, b, **arrays) for a, b in pairwise(cuts)]
    Plan(phases[:1], threads, cuts=np.array(cuts)).run()
    assert (visits == 1).all()
    parts = np.unique(chunk)
    if threads > 1:  # every thread's part of every colour begins a chunk
        edges = {a + (b - a) * k // threads for a, b in pairwise(cuts) for k in range(threads)}
        assert set(parts.tolist()) == {edge // GRAIN * GRAIN for edge in edges}
    Plan(phases[1:2], threads, cuts=np.array(cuts)).run()
    assert (visits == 2).all()
    assert (chunk % 64 == 0).all()
    Plan(phases, threads, cuts=np.array(cuts)).run(2)
    assert (visits == 8).all()


def test_a_plan_that_may_choose_does_the_same():
    """With one thread, with all, and with whatever it finds faster."""
    found = []
    for threads in (1, 3, UpTo(3)):
        a = np.zeros(5000, np.int64)
        plan = Plan([step_forward.over(0, 5000, a=a)], threads)
        for _ in range(10):
            plan.run(3)
        found.append(a)
    assert all((a == 30).all() for a in found)


def test_check_threads():
    assert check_threads(None) == default_threads() >= 1
    assert check_threads(1) == 1
    assert check_threads(np.int32(256)) == 256
    assert type(check_threads(np.int64(3))) is int
    assert isinstance(check_threads(None), UpTo)
    assert check_threads(check_threads(None)) == check_threads(None)
    assert isinstance(check_threads(check_threads(None)), UpTo)
    for wrong in (0, -1, 257, True, 1.0, 2.5, "2", float("nan")):
        with pytest.raises(InputError, match="threads must be a whole number from 1 to 256, not ") as error:
            check_threads(wrong)
        assert repr(wrong) in str(error.value)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("n", [1, 7, 5 * SMALLEST_CHUNK, 40 * LONG_CHUNK])
def test_a_phase_that_runs_once_visits_all_items_once(threads, n):
    visits, chunk, when = np.zeros(n + 2, np.int32), np.zeros(n + 2, np.int64), np.zeros(n + 2, np.int64)
    arrays = {"visits": visits, "chunk": chunk, "when": when}
    with phase_times() as spent:
        run_once(count_visits.over(1, n + 1, **arrays), threads)
    assert visits.tolist() == [0] + [1] * n + [0]
    assert not when.any()
    assert list(spent) == ["count visits"]
    with pytest.raises(InputError, match="items"):
        run_once(count_visits.over(0, n + 3, **arrays), threads)
    with pytest.raises(InputError, match="int32"):
        run_once(count_visits.over(0, n, **{**arrays, "visits": when}), threads)


def test_nobody_is_woken_for_phases_of_one_chunk():
    short, long = np.zeros(8, np.int64), np.zeros(100 * SMALLEST_CHUNK, np.int64)
    assert Plan([step_forward.over(0, 8, a=short)], 2).threads == 1
    assert Plan([step_forward.over(0, 8, a=short), step_forward.over(0, len(long), a=long)], 2).threads == 2


def test_addresses_are_those_that_numpy_tells():
    whole = np.arange(24.0).reshape(2, 3, 4)
    for array in (whole, whole[1:], np.zeros(0), np.array(3), whole.astype(np.int32), np.zeros(4, np.uint64)):
        assert address(array) == array.__array_interface__["data"][0]
    frozen = whole.copy()
    frozen.flags.writeable = False
    assert address(frozen) == frozen.__array_interface__["data"][0]
