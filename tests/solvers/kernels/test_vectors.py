"""Whole-vector kernels against one line of NumPy each; tolerances count the float32 roundings."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_twins import to_rows
from vivace.backends.cpu.executor import Plan
from vivace.solvers.kernels.vectors import OFF, clear, copy_rows, load_rows, store_rows, watch

N = 300


def random_rows(seed, scale=1.0):
    return to_rows(scale * np.random.default_rng(seed).standard_normal((N, 3)))


def run(kernel, n=N, threads=2, **arrays):
    Plan([kernel.over(0, n, **arrays)], threads).run()


def test_clear():
    values = np.arange(10.0)
    run(clear, values=values, n=6)
    assert values.tolist() == [0.0] * 6 + [6.0, 7.0, 8.0, 9.0]


def test_reordering_and_copying():
    """load: to_i = from_order(i); store is its inverse; copy copies."""
    order = np.random.default_rng(8).permutation(N).astype(np.int32)
    a, b = random_rows(9), random_rows(10)
    to_a, to_b, back, copy = np.zeros((4, N, 4), np.float32)
    run(load_rows, order=order, a=a, b=b, to_a=to_a, to_b=to_b)
    assert np.array_equal(to_a, a[order])
    assert np.array_equal(to_b, b[order])
    run(store_rows, order=order, a=to_a, to=back)
    assert np.array_equal(back, a)
    run(copy_rows, a=b, to=copy)
    assert np.array_equal(copy, b)


def test_watch():
    """monitor = (Σ |r|², max(tolerance² Σ |r|² of the first iteration, what float32 resolves)), in float64."""
    square = np.random.default_rng(11).uniform(0, 1, N).astype(np.float32)
    monitor, tolerance, history = np.zeros(2), np.array([0.1, 0.0]), np.array([OFF, 7.0, 7.0])
    phase = watch.over(0, N, square=square, monitor=monitor, limits=tolerance, history=history, serial=True)
    plan = Plan([phase], 1, monitor)
    assert plan.run(3) == 3
    total = float(square.sum(dtype=np.float64))
    assert monitor[0] == pytest.approx(total, rel=N * np.finfo(float).eps)
    assert monitor[1] == pytest.approx(0.01 * total, rel=N * np.finfo(float).eps)
    tolerance[:] = 1e-6, 2 * total
    assert plan.run(3) == 1
    tolerance[:] = 1.0, 0.0
    assert plan.run(3) == 1
    np.testing.assert_array_equal(history, [OFF, 7, 7])


def test_watch_without_a_tolerance_records_and_never_stops():
    """(iteration, Σ |r|²) of every iteration while there is room, even where nothing is left of the residual."""
    square = np.random.default_rng(12).uniform(0, 1, N).astype(np.float32)
    for left in (square, np.zeros_like(square), np.full_like(square, np.inf), np.full_like(square, np.nan)):
        monitor, history = np.array([1.0, 0.0]), np.zeros(1 + 2 * 3 + 1)
        arrays = {"square": left, "monitor": monitor, "limits": np.zeros(2), "history": history}
        assert Plan([watch.over(0, N, **arrays, serial=True, every=2)], 1, monitor).run(10) == 10
        total = 0.0
        for value in left:
            total += float(value)
        np.testing.assert_array_equal(history, [3, 0, total, 2, total, 4, total, 0])
