"""float4 against NumPy: single operations are correctly rounded, so they must agree to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from kernel_twins import EPS32
from vivace.backends.cpu.simd import (
    any_greater4,
    at,
    dot4,
    lane4,
    load4,
    load4_flat,
    make4,
    max4,
    splat4,
    sqrt4,
    square_norms4,
    store4,
    transpose4,
    yzx4,
)

COUNT = 257


@njit
def _arithmetic(a, b, s, out):
    for i in range(a.shape[0]):
        x, y, f = load4(a, i), load4(b, i), s[i]
        store4(out[0], i, x + y)
        store4(out[1], i, x - y)
        store4(out[2], i, x * y)
        store4(out[3], i, x / y)
        store4(out[4], i, x + f)
        store4(out[5], i, f + x)
        store4(out[6], i, x - f)
        store4(out[7], i, f - x)
        store4(out[8], i, x * f)
        store4(out[9], i, f * x)
        store4(out[10], i, x / f)
        store4(out[11], i, f / x)
        z = x
        z += y
        store4(out[12], i, z)
        z = x
        z -= f
        store4(out[13], i, z)
        z = x
        z *= y
        store4(out[14], i, z)
        store4(out[15], i, max4(x, y))
        store4(out[16], i, sqrt4(x * x))


@njit
def _lanes(a, flat, where, out, picked):
    for i in range(where.shape[0]):
        k = at(where, i)
        x = load4(a, k)
        store4(out[0], i, x)
        store4(out[1], i, load4_flat(flat, k))
        store4(out[2], i, splat4(at(flat, k)))
        store4(out[3], i, make4(lane4(x, 3), lane4(x, 2), lane4(x, 1), lane4(x, 0)))
        picked[i, 0], picked[i, 1], picked[i, 2], picked[i, 3] = lane4(x, 0), lane4(x, 1), lane4(x, 2), lane4(x, 3)


@njit
def _reductions(a, b, dots, norms, columns):
    for i in range(0, a.shape[0] - 3, 4):
        w, x, y, z = load4(a, i), load4(a, i + 1), load4(a, i + 2), load4(a, i + 3)
        for k in range(4):
            dots[i + k] = dot4(load4(a, i + k), load4(b, i + k))
        store4(norms, i // 4, square_norms4(w, x, y, z))
        p, q, r, s = transpose4(w, x, y, z)
        store4(columns, i, p)
        store4(columns, i + 1, q)
        store4(columns, i + 2, r)
        store4(columns, i + 3, s)


@njit
def _any_greater(a, b, out):
    for i in range(a.shape[0]):
        out[i] = any_greater4(load4(a, i), load4(b, i))


@pytest.fixture
def data(request):
    rng = np.random.default_rng(7)
    scale = 10.0 ** rng.integers(-6, 6, (2, COUNT, 1))
    a, b = (scale * rng.standard_normal((2, COUNT, 4))).astype(np.float32)
    return a, b, rng.standard_normal(COUNT).astype(np.float32)


@pytest.mark.slow
def test_arithmetic_is_that_of_float32(data):
    """x ∘ y lane by lane, with a float32 on either side spread over the lanes: one rounding, so equality."""
    a, b, s = data
    out = np.zeros((17, COUNT, 4), np.float32)
    _arithmetic(a, b, s, out)
    f = s[:, None]
    expected = [a + b, a - b, a * b, a / b, a + f, f + a, a - f, f - a, a * f, f * a, a / f, f / a]
    expected += [a + b, a - f, a * b, np.maximum(a, b), np.sqrt(a * a)]
    for number, value in enumerate(expected):
        assert np.array_equal(out[number], value), f"operation {number}"


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8])
def test_loads_stores_and_lanes_move_values_unchanged(data, kind):
    """load4(a, k) is row k, load4_flat(v, k) is v[k:k+4], at(v, k) is v[k], whatever the integer type of k."""
    a, b, _ = data
    flat = b.ravel()
    where = np.random.default_rng(1).integers(0, 250, 60).astype(kind)
    out, picked = np.zeros((4, 60, 4), np.float32), np.zeros((60, 4), np.float32)
    _lanes(a, flat, where, out, picked)
    w = where.astype(int)
    assert np.array_equal(out[0], a[w])
    assert np.array_equal(out[1], np.stack([flat[k : k + 4] for k in w]))
    assert np.array_equal(out[2], np.repeat(flat[w][:, None], 4, axis=1))
    assert np.array_equal(out[3], a[w][:, ::-1])
    assert np.array_equal(picked, a[w])


@pytest.mark.slow
def test_reductions(data):
    """a · b over four lanes and |a|² over three: at most four roundings u = eps/2 of the sum of sizes."""
    a, b, _ = data
    dots, norms, columns = np.zeros(COUNT, np.float32), np.zeros((COUNT // 4, 4), np.float32), np.zeros_like(a)
    _reductions(a, b, dots, norms, columns)
    n = COUNT // 4 * 4
    products = a[:n].astype(np.float64) * b[:n]
    assert (np.abs(dots[:n] - products.sum(axis=1)) <= 2 * EPS32 * np.abs(products).sum(axis=1)).all()
    squares = (a[:n, :3].astype(np.float64) ** 2).sum(axis=1)
    assert (np.abs(norms.ravel() - squares) <= 2 * EPS32 * squares).all()
    blocks = a[:n].reshape(-1, 4, 4)
    assert np.array_equal(columns[:n].reshape(-1, 4, 4), np.swapaxes(blocks, 1, 2))


@pytest.mark.slow
def test_any_greater_is_true_where_comparison_fails():
    """any(not a <= b): larger in a lane, or not a number in a lane; equality and smaller are False."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(-2, 3, (2, 500, 4)).astype(np.float32)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32)
    for array in (a, b):
        array[rng.integers(0, 500, 80), rng.integers(0, 4, 80)] = special[rng.integers(0, 5, 80)]
    a[0], b[0] = 1.0, 1.0  # equal
    out = np.zeros(500, np.bool_)
    _any_greater(a, b, out)
    assert np.array_equal(out, ~(a <= b).all(axis=1))
    assert not out[0]
    for lane in range(4):  # each lane counts, on either side
        for side in range(2):
            pair = np.zeros((2, 1, 4), np.float32)
            pair[side, 0, lane] = np.nan
            _any_greater(pair[0], pair[1], out[:1])
            assert out[0]


def test_wrong_arrays_are_refused_when_compiling():
    """A row is four contiguous float32; anything else has no meaning as one 16-byte load."""
    load = njit(lambda a: lane4(load4(a, 0), 0))
    for wrong in (np.zeros((2, 4)), np.zeros((4, 4), np.float32).T, np.zeros(4, np.float32)):
        with pytest.raises(TypingError):
            load(wrong)


@njit
def _rotated(a, out):
    for i in range(a.shape[0]):
        store4(out, i, yzx4(load4(a, i)))


@pytest.mark.slow
def test_yzx4():
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    out = np.zeros_like(a)
    _rotated(a, out)
    np.testing.assert_array_equal(out, a[:, [1, 2, 0, 3]])
