"""The arithmetic that constraints are written in: the same of tuples, of rows, and of four numbers at once."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from kernel_twins import EPS32, EPS64
from vivace.backends.cpu.simd import load4, load4_flat, store4, store4_flat
from vivace.backends.cpu.vectors import cross, dot, larger, like, plus, root, times, xyz4


@njit
def of_vectors(a, b):
    """Everything there is of vectors."""
    return dot(a, b), cross(a, b), plus(a, b), times(like(dot(a, b), 0.1), a)


@njit
def of_rows(q, numbers, out):
    numbers[0], out0, out1, out2 = of_vectors(xyz4(load4(q, 0)), xyz4(load4(q, 1)))
    store4(out, 0, out0)
    store4(out, 1, out1)
    store4(out, 2, out2)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_vectors(dtype):
    """a·b, a x b, a + b and 0.1 a in each precision, compiled and not; a row's fourth lane says nothing."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3)).astype(dtype)
    eps, size = float(np.finfo(dtype).eps), np.linalg.norm(a) * np.linalg.norm(b)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    expected = [wide_a @ wide_b, np.cross(wide_a, wide_b), wide_a + wide_b, 0.1 * wide_a]
    found = [of_vectors(tuple(a), tuple(b)), of_vectors.py_func(tuple(a), tuple(b))]
    assert found[0][3][0] == dtype(0.1) * a[0]
    if dtype is np.float32:
        numbers, out = np.zeros(1, np.float32), np.full((3, 4), np.nan, np.float32)
        of_rows(np.array([[*a, 7.0], [*b, -5.0]], np.float32), numbers, out)
        assert not out[:, 3].any()
        found.append((numbers[0], *out[:, :3]))
    for one in found:
        for mine, right in zip(one, expected, strict=True):
            np.testing.assert_allclose(mine, right, rtol=4 * eps, atol=4 * eps * size)


@njit
def of_fours(numbers, other, out):
    store4_flat(out, 0, larger(load4_flat(numbers, 0), load4_flat(other, 0)))
    store4_flat(out, 4, larger(load4_flat(numbers, 0), other[0]))
    store4_flat(out, 8, root(load4_flat(other, 0)))


@pytest.mark.slow
def test_numbers():
    """The larger of each, and roots: of four at once, of one, compiled and not."""
    numbers, other = np.float32([1, -2, 5, 0]), np.float32([2, 0.25, 9, 0])
    out = np.zeros(12, np.float32)
    of_fours(numbers, other, out)
    np.testing.assert_array_equal(out, [2, 0.25, 9, 0, 2, 2, 5, 2, np.sqrt(np.float32(2)), 0.5, 3, 0])

    @njit
    def of_one(a, b):
        return larger(a, b), root(b)

    for function in (of_one, of_one.py_func):
        assert function(1.0, 2.0) == pytest.approx((2.0, np.sqrt(2.0)), rel=EPS64)
        assert function(np.float32(1), np.float32(2)) == pytest.approx((2.0, np.sqrt(2.0)), rel=EPS32)
