"""Eight numbers at once against NumPy: single operations are correctly rounded, so they must agree to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from kernel_twins import EPS32
from vivace.backends.cpu.lanes import (
    all_positive8,
    differences8,
    larger8,
    load8,
    root8,
    scatter8,
    smaller8,
    splat8,
    spread8,
    sum8,
    where_negative8,
    widened,
)

EPS64 = np.finfo(np.float64).eps
NONE = np.float32(0.0)


@njit(error_model="numpy")
def _put(out, number, x):
    spread8(out[number], 0, 1, x, x, x)


@njit(error_model="numpy")
def _arithmetic(a, b, s, out):
    x, y = load8(a, 0), load8(b, 0)
    for number, z in enumerate((x + y, x - y, x * y, x / y, x + s, s - x, 2.0 * x, x / 3, -x)):
        _put(out, number, z)
    z = x
    z += y
    z *= s
    z -= x
    _put(out, 9, z)
    _put(out, 10, larger8(x, y))
    _put(out, 11, smaller8(x, y))
    _put(out, 12, where_negative8(x, y, x))
    _put(out, 13, root8(x * x))
    _put(out, 14, splat8(x, s))


@pytest.mark.slow
def test_operations():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 8)).astype(np.float32)
    s, out = np.float32(0.7), np.zeros((15, 8, 4), np.float32)
    _arithmetic(a, b, s, out)
    two, three = np.float32(2.0), np.float32(3.0)
    wanted = [a + b, a - b, a * b, a / b, a + s, s - a, two * a, a / three, -a]
    wanted += [None, np.maximum(a, b), np.minimum(a, b), np.where(a < 0, b, a), np.sqrt(a * a), np.full(8, s)]
    for found, expected in zip(out, wanted, strict=True):
        if expected is not None:
            np.testing.assert_array_equal(found[:, 0], expected)
            np.testing.assert_array_equal(found[:, :3], np.repeat(expected[:, None], 3, axis=1))
            np.testing.assert_array_equal(found[:, 3], 0.0)
    np.testing.assert_allclose(out[9, :, 0], (a + b) * s - a, rtol=0, atol=4 * EPS32)  # may be fused


@njit(error_model="numpy")
def _functions(a, narrow, wide):
    x = load8(a, 0)
    y = widened(x)
    _put(narrow, 0, np.cbrt(x))
    _put(narrow, 1, np.exp(x))
    _put(narrow, 2, np.log(x * x))
    _put(narrow, 3, np.expm1(x))
    wide[0] = sum8(np.cbrt(y))
    left = np.cbrt(y) * np.cbrt(y) * np.cbrt(y) / y - 1.0
    wide[1] = sum8(larger8(left, -left))
    wide[2] = sum8(np.exp(y) + np.log(y * y) + np.expm1(y))
    return all_positive8(x), x != 1.5


@pytest.mark.slow
def test_functions():
    """Cube roots are good to 2 ulp from the smallest numbers that elements have to the largest, of either sign."""
    rng = np.random.default_rng(1)
    for size in (1e-9, 1e-3, 1.0, 1.0, 30.0, 1e6, 1e12):
        a = (size * rng.uniform(0.1, 1.0, 8) * rng.choice([-1, 1], 8)).astype(np.float32)
        narrow, wide = np.zeros((4, 8, 4), np.float32), np.zeros(3)
        positive, differs = _functions(a, narrow, wide)
        exact = a.astype(np.float64)
        np.testing.assert_allclose(narrow[0, :, 0], np.cbrt(exact), rtol=2 * EPS32)
        assert wide[0] == pytest.approx(np.cbrt(exact).sum(), rel=1e-14, abs=1e-14 * np.abs(np.cbrt(exact)).max())
        assert wide[1] <= 8 * 8 * EPS64
        assert positive == bool((a > 0).all())
        assert differs
        if size <= 30:
            np.testing.assert_allclose(narrow[1, :, 0], np.exp(exact), rtol=4 * EPS32)
            np.testing.assert_allclose(narrow[3, :, 0], np.expm1(exact), rtol=4 * EPS32)
            assert wide[2] == pytest.approx(np.sum(np.exp(exact) + np.log(exact**2) + np.expm1(exact)), rel=1e-12)
        np.testing.assert_allclose(narrow[2, :, 0], np.log(exact**2), rtol=4 * EPS32, atol=4 * EPS32)


@njit(error_model="numpy")
def _tells(a):
    x = load8(a, 0)
    return all_positive8(x), x != 2.0


def test_not_all_positive():
    a = np.full(8, 2.0, np.float32)
    assert _tells(a) == (True, False)
    for lane in range(8):
        for bad in (-1.0, 0.0, np.nan):
            b = a.copy()
            b[lane] = bad
            assert _tells(b) == (False, True)


@njit(error_model="numpy")
def _moved(q, vertices, places, edges, out):
    for corner in range(1, 4):
        x, y, z = differences8(q, vertices, 8, corner)
        spread8(edges, corner - 1, 3, x, y, z)
    x, y, z = differences8(q, vertices, 8, 1)
    scatter8(out, places, 1, 2, 1, x, y, z)


@pytest.mark.slow
def test_rows_go_in_and_out():
    rng = np.random.default_rng(2)
    q = rng.normal(size=(30, 4)).astype(np.float32)
    vertices = rng.integers(0, 30, (16, 4)).astype(np.int32)
    places = rng.permutation(20)[:17].astype(np.int32)
    edges, out = np.zeros((24, 4), np.float32), np.zeros((21, 4), np.float32)
    _moved(q, vertices.ravel(), places, edges, out)
    corners = q[vertices[8:]][..., :3]
    wanted = corners[:, 1:] - corners[:, :1]
    np.testing.assert_array_equal(edges.reshape(8, 3, 4)[..., :3], wanted)
    np.testing.assert_array_equal(edges[:, 3], 0.0)
    expected = np.zeros_like(out)
    expected[places[1:17:2] + 1, :3] = wanted[:, 0]
    np.testing.assert_array_equal(out, expected)


def test_other_types_are_refused():
    with pytest.raises(TypingError):
        njit(lambda a: load8(a, 0))(np.zeros(8))
    with pytest.raises(TypingError):
        njit(lambda a: load8(a, 0) + widened(load8(a, 0)))(np.zeros(8, np.float32))
    with pytest.raises(TypingError):
        njit(lambda a: np.sin(load8(a, 0)))(np.zeros(8, np.float32))
