"""What compiled code sees of a kernel's arguments: numbers, addresses, spans. (Arrays: see `test_executor`.)"""

import numpy as np
import pytest

from vivace.backends.cpu.addresses import double_at, float_at, int_at, long_at, put_int, put_long, row_at
from vivace.backends.cpu.arguments import count, double, doubles, floats, ints, longs, phase_kernel, rows, scalar, words
from vivace.backends.cpu.executor import Plan
from vivace.backends.cpu.simd import store4


@phase_kernel(cache=False)
def read_numbers(begin, end, iteration, f: scalar, d: double, c: count, w: words, out: doubles, whole: longs):
    out[0], out[1] = f, d
    whole[0], whole[1] = c, w.shape[0]
    w[1] = w[0] + w[0]


@pytest.mark.slow
@pytest.mark.parametrize("more", [0, 3])
def test_numbers_are_first_elements(more):
    """scalar, double and count give element 0, in full precision, of arrays of any length from one on."""
    f, d = np.full(1 + more, 0.1, np.float32), np.full(1 + more, 0.1)
    c, w = np.full(1 + more, 2**40 + 1), np.array([2**62 + 1, 0], np.uint64)
    f[1:], d[1:], c[1:] = 7, 7, 7
    out, whole = np.zeros(2), np.zeros(2, np.int64)
    Plan([read_numbers.over(0, 1, f=f, d=d, c=c, w=w, out=out, whole=whole)], 1).run()
    assert out.tolist() == [float(np.float32(0.1)), 0.1]
    assert whole.tolist() == [2**40 + 1, 2]
    assert int(w[1]) == 2**63 + 2  # beyond what a signed integer holds


@phase_kernel(items="q", cache=False)
def drift(begin, end, iteration, q: doubles, rate: scalar):
    for i in range(begin, end):
        q[i] += rate


@pytest.mark.slow
def test_a_number_may_change_between_runs():
    """Tables hold addresses: what the array holds when a plan runs is what counts."""
    q, rate = np.arange(5.0), np.zeros(1, np.float32)
    plan = Plan([drift.over(0, 5, q=q, rate=rate)], 1)
    for value in (2.0, 0.5):
        rate[0] = value
        plan.run()
    np.testing.assert_array_equal(q, np.arange(5) + 2.5)


@phase_kernel(cache=False)
def read_addresses(
    begin, end, iteration, r: rows.address, f: floats.address, d: doubles.address, i: ints.address, k: longs.address,
    addresses: longs, values: doubles, row: rows,
):  # fmt: skip
    addresses[0], addresses[1], addresses[2], addresses[3], addresses[4] = r, f, d, i, k
    values[0], values[1], values[2], values[3] = float_at(f, 1), double_at(d, 1), int_at(i, 1), long_at(k, 1)
    store4(row, 0, row_at(r, 1))
    put_int(i, 2, -5)
    put_long(k, 2, -(2**40))


@pytest.mark.slow
def test_addresses_are_those_of_the_arrays():
    """Elements are read and written there; row_at counts in rows."""
    kinds = {"r": np.float32, "f": np.float32, "d": np.float64, "i": np.int32, "k": np.int64}
    arrays = {name: 1.5 * np.arange(12) for name in kinds}
    arrays = {name: np.ascontiguousarray(array, kinds[name]) for name, array in arrays.items()}
    arrays["r"] = arrays["r"].reshape(3, 4)
    addresses, values, row = np.zeros(5, np.int64), np.zeros(4), np.zeros((1, 4), np.float32)
    Plan([read_addresses.over(0, 1, **arrays, addresses=addresses, values=values, row=row)], 1).run()
    assert addresses.tolist() == [array.ctypes.data for array in arrays.values()]
    assert values.tolist() == [1.5, 1.5, 1, 1]
    np.testing.assert_array_equal(row[0], arrays["r"][1])
    assert (arrays["i"][2], arrays["k"][2]) == (-5, -(2**40))


@phase_kernel(cache=False)
def read_spans(begin, end, iteration, r: rows.span, i: ints.span, none: doubles.span, out: longs):
    out[0], out[1] = r
    out[2], out[3] = i
    out[4] = none[1]


@pytest.mark.slow
def test_spans_are_addresses_and_numbers_of_elements():
    """Of rows too it is the elements that are counted."""
    r, i, out = np.zeros((3, 4), np.float32), np.zeros((2, 5), np.int32), np.full(5, -1, np.int64)
    Plan([read_spans.over(0, 1, r=r, i=i, none=np.zeros(0), out=out)], 1).run()
    assert out.tolist() == [r.ctypes.data, 12, i.ctypes.data, 10, 0]


@pytest.mark.parametrize("view", ["address", "span"])
def test_addresses_and_spans_are_checked_like_their_arrays(view):
    """dtype, shape and contiguity: an address alone could not say."""
    kind = getattr(rows, view)
    assert kind.name == f"rows.{view}"
    assert not kind.fault(np.zeros((3, 4), np.float32))
    for array, word in (
        (np.zeros((3, 4)), "float64"),
        (np.zeros(12, np.float32), "(n, 4)"),
        (np.zeros((3, 8), np.float32)[:, ::2], "C-contiguous"),
    ):
        assert word in kind.fault(array)
