"""What kernels say of their arrays, checked when a plan is made, before anything runs.

Annotations are objects here, and strings where a test says so; those of `test_executor` are all strings.
"""

import numpy as np
import pytest

from vivace.backends.cpu.addresses import int_at
from vivace.backends.cpu.arguments import (
    Phase,
    count,
    doubles,
    floats,
    ints,
    longs,
    phase_kernel,
    rows,
    scalar,
)
from vivace.backends.cpu.executor import Plan
from vivace.errors import InputError

N = 10


@phase_kernel(items="q", cache=False)
def drift(begin, end, iteration, q: rows, mass: floats, visits: ints, rate: scalar):
    """q_i += rate mass_i, and every visit is counted."""
    for i in range(begin, end):
        for c in range(4):
            q[i, c] += rate * mass[i]
        visits[i] += 1


@phase_kernel(items="corners/4", cache=False)
def add_corners(begin, end, iteration, corners: ints, out: longs):
    """out_i = the sum of four corners."""
    for i in range(begin, end):
        out[i] = 0
        for k in range(4):
            out[i] += corners[4 * i + k]


@phase_kernel(items="starts-1", cache=False)
def add_rows(begin, end, iteration, starts: ints, values: doubles, out: doubles):
    """out_i = the sum of the values from starts_i to starts_(i+1)."""
    for i in range(begin, end):
        out[i] = 0.0
        for k in range(starts[i], starts[i + 1]):
            out[i] += values[k]


def drifting():
    """Right arrays for `drift`."""
    q = np.arange(4 * N, dtype=np.float32).reshape(N, 4)
    return {"q": q, "mass": np.ones(N, np.float32), "visits": np.zeros(N, np.int32), "rate": np.full(1, 2, np.float32)}


def by_keyword(kernel, arrays, begin, end):
    return kernel.over(begin, end, **arrays)


def by_name(kernel, arrays, begin, end):
    return Phase(kernel, arrays, begin, end)


def by_position(kernel, arrays, begin, end):
    return Phase(kernel, tuple(arrays.values()), begin, end)


HOW = pytest.mark.parametrize("make", [by_keyword, by_name, by_position])


def refused(make, kernel, arrays, begin, end):
    """What is said when a plan with a right phase and this one is made; nothing may have been touched."""
    right = drifting()
    before = {name: array.copy() for name, array in right.items()}
    given = {name: np.array(array) for name, array in arrays.items()}
    with pytest.raises(InputError) as error:
        Plan([drift.over(0, N, **right), make(kernel, arrays, begin, end)], 2).run()
    for old, new in ((before, right), (given, arrays)):
        for name in old:
            np.testing.assert_array_equal(new[name], old[name])
    return str(error.value)


# --- what is right ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@HOW
@pytest.mark.parametrize("threads", [1, 2])
def test_right_arrays_are_taken(make, threads):
    """q_i = 4 i + c + 3 · 2 · 1 after three iterations, for those in the range."""
    arrays = drifting()
    before = arrays["q"].copy()
    assert Plan([make(drift, arrays, 2, 7)], threads).run(3) == 3
    inside = (np.arange(N) >= 2) & (np.arange(N) < 7)
    np.testing.assert_array_equal(arrays["q"], before + 6 * inside[:, None])
    np.testing.assert_array_equal(arrays["visits"], 3 * inside)


@pytest.mark.slow
def test_arrays_by_name_come_in_any_order():
    arrays = drifting()
    Plan([drift.over(0, N, **dict(reversed(arrays.items())))], 1).run()
    assert (arrays["visits"] == 1).all()


def test_options_of_a_phase_stand_beside_the_arrays():
    phase = drift.over(0, N, serial=True, every=3, grain=4, chunks=2, label="a label", **drifting())
    assert (phase.serial, phase.every, phase.grain, phase.chunks, phase.label) == (True, 3, 4, 2, "a label")
    assert list(phase.arrays) == list(drift.kinds)


def test_a_phase_knows_its_arrays_by_name_however_they_were_given():
    arrays = drifting()
    for make in (by_keyword, by_name, by_position):
        phase = make(drift, arrays, 0, N)
        assert all(phase.arrays[name] is array for name, array in arrays.items())


def test_select_leaves_out_what_a_kernel_does_not_take():
    """And does not mind what is missing: that may come from elsewhere."""
    arrays = drifting()
    rate = arrays.pop("rate")
    chosen = drift.select({"more": np.zeros(3), **arrays})
    assert list(chosen) == ["q", "mass", "visits"]
    Plan([drift.over(0, N, **chosen, rate=rate)], 1).run()
    assert (arrays["visits"] == 1).all()


# --- what is wrong ----------------------------------------------------------------------------------------------------

WRONG = {
    "float64 for float32": ("mass", np.ones(N), "float32", "float64"),
    "int64 for int32": ("visits", np.zeros(N, np.int64), "int32", "int64"),
    "float32 for int32": ("visits", np.zeros(N, np.float32), "int32", "float32"),
    "float64 rows": ("q", np.zeros((N, 4)), "float32", "float64"),
    "a number of float64": ("rate", np.ones(1), "float32", "float64"),
    "bytes the other way round": ("mass", np.ones(N, ">f4" if np.little_endian else "<f4"), "float32"),
    "a list": ("mass", [1.0] * N, "an array, not list"),
    "a number of Python's": ("rate", 2.0, "an array, not float"),
    "rows of three": ("q", np.zeros((N, 3), np.float32), "(n, 4)", "(10, 3)"),
    "flat rows": ("q", np.zeros(4 * N, np.float32), "(n, 4)", "(40,)"),
    "rows in three dimensions": ("q", np.zeros((2, N, 4), np.float32), "(n, 4)", "(2, 10, 4)"),
    "every second element": ("mass", np.ones(2 * N, np.float32)[::2], "C-contiguous"),
    "columns of a matrix": ("mass", np.ones((N, 2), np.float32)[:, 1], "C-contiguous"),
    "rows of a wider matrix": ("q", np.zeros((N, 6), np.float32)[:, :4], "C-contiguous"),
    "rows in Fortran's order": ("q", np.zeros((N, 4), np.float32, order="F"), "C-contiguous"),
    "no number": ("rate", np.zeros(0, np.float32), "of 1 elements at least, not 0"),
}


@HOW
@pytest.mark.parametrize("case", list(WRONG))
def test_wrong_arrays_are_refused(make, case):
    """The message names the kernel and the array, and says what it must be and what it is."""
    name, array, *said = WRONG[case]
    message = refused(make, drift, {**drifting(), name: array}, 0, N)
    for word in (f"array {name!r} of kernel drift", *said):
        assert word in message


@HOW
@pytest.mark.parametrize("name", list(drift.kinds))
def test_a_missing_array_is_refused(make, name):
    arrays = drifting()
    del arrays[name]
    message = refused(make, drift, arrays, 0, N)
    assert "kernel drift" in message
    assert name in message
    if make is by_position:
        assert "4 arrays, not 3" in message
    else:
        assert f"needs an array {name!r} ({drift.kinds[name].name})" in message


@HOW
def test_an_array_too_many_is_refused(make):
    message = refused(make, drift, {**drifting(), "colour": np.zeros(3)}, 0, N)
    assert "kernel drift" in message
    assert "4 arrays, not 5" in message if make is by_position else "no array 'colour'" in message
    assert "q, mass, visits, rate" in message  # what it takes


def test_a_misspelt_array_is_refused():
    arrays = drifting()
    arrays["masses"] = arrays.pop("mass")
    assert "kernel drift needs an array 'mass'" in refused(by_keyword, drift, arrays, 0, N)


@HOW
@pytest.mark.parametrize(("begin", "end"), [(0, N + 1), (N, 2 * N), (N + 1, N + 1)])
def test_a_range_past_the_end_is_refused(make, begin, end):
    message = refused(make, drift, drifting(), begin, end)
    assert f"kernel drift cannot work on items up to {end}: q has {N}" in message


@HOW
@pytest.mark.parametrize("kernel", [drift, add_rows])
@pytest.mark.parametrize(("begin", "end"), [(-1, 5), (-3, -1), (6, 5)])
def test_what_is_no_range_is_refused(make, kernel, begin, end):
    """Negative or reversed, whatever counts the items."""
    arrays = drifting() if kernel is drift else {"starts": np.zeros(9, np.int32), "values": np.zeros(3)}
    arrays |= {} if kernel is drift else {"out": np.zeros(8)}
    message = refused(make, kernel, arrays, begin, end)
    assert f"items {begin} to {end} of kernel {kernel.__name__} are no range" in message


@HOW
@pytest.mark.parametrize("before", [True, False])
def test_phases_at_the_beginning_and_the_end_of_a_part_are_checked_too(make, before):
    arrays = {**drifting(), "mass": np.ones(N)}
    phase = make(drift, arrays, 0, N)
    with pytest.raises(InputError, match="array 'mass' of kernel drift"):
        Plan([], 1, **{"before" if before else "after": [phase]})


def test_phases_that_share_their_arrays_are_each_held_to_the_range():
    """The arrays are looked at once; begin and end differ."""
    shared = drifting()
    phases = [Phase(drift, shared, 0, 5), Phase(drift, shared, 5, N), Phase(drift, shared, 5, N + 2)]
    Plan(phases[:2], 1).run()
    assert (shared["visits"] == 1).all()
    with pytest.raises(InputError, match="kernel drift cannot work on items up to 12"):
        Plan(phases, 1)
    assert (shared["visits"] == 1).all()


# --- how items are counted --------------------------------------------------------------------------------------------


@HOW
@pytest.mark.parametrize("shape", [(20,), (5, 4), (23,)])
def test_four_entries_an_item(make, shape):
    """ "corners/4": five items, also where three entries are left over; not six."""
    corners, out = np.arange(np.prod(shape), dtype=np.int32).reshape(shape), np.full(6, -1, np.int64)
    Plan([make(add_corners, {"corners": corners, "out": out}, 0, 5)], 1).run()
    np.testing.assert_array_equal(out, [*corners.ravel()[:20].reshape(5, 4).sum(axis=1), -1])
    message = refused(make, add_corners, {"corners": corners, "out": out}, 0, 6)
    assert "kernel add_corners cannot work on items up to 6: corners/4 has 5" in message


@pytest.mark.slow
@HOW
def test_pointers_have_one_entry_more_than_items(make):
    starts, values, out = np.array([0, 2, 2, 5], np.int32), np.arange(5.0), np.full(4, -1.0)
    arrays = {"starts": starts, "values": values, "out": out}
    Plan([make(add_rows, arrays, 0, 3)], 1).run()
    np.testing.assert_array_equal(out, [1, 0, 9, -1])
    assert "kernel add_rows cannot work on items up to 4: starts-1 has 3" in refused(make, add_rows, arrays, 0, 4)
    nothing = {"starts": np.zeros(1, np.int32), "values": values, "out": out}
    Plan([make(add_rows, nothing, 0, 0)], 1).run()
    np.testing.assert_array_equal(out, [1, 0, 9, -1])


@pytest.mark.parametrize("items", ["mass", "r/4", "q-2"])
def test_rows_are_counted_by_rows(items):
    """r/4: groups of four rows; q - 2: what has two rows beyond its items."""

    @phase_kernel(items=items, cache=False)
    def look(begin, end, iteration, q: rows, r: rows, mass: floats):
        pass

    arrays = {"q": np.zeros((7, 4), np.float32), "r": np.zeros((21, 4), np.float32), "mass": np.zeros(5, np.float32)}
    Plan([look.over(0, 5, **arrays)], 1)
    with pytest.raises(InputError, match=f"kernel look cannot work on items up to 6: {items} has 5"):
        Plan([look.over(0, 6, **arrays)], 1)


def test_items_may_be_something_else():
    """Without `items` any range goes, such as chunks of a list."""

    @phase_kernel(cache=False)
    def mark(begin, end, iteration, out: longs):
        out[0] = begin
        out[1] = end

    out = np.zeros(2, np.int64)
    Plan([mark.over(0, 1000, out=out, serial=True)], 1).run()
    assert out.tolist() == [0, 1000]
    with pytest.raises(InputError, match="of kernel mark are no range"):
        Plan([mark.over(5, 4, out=out)], 1)


def test_items_that_are_no_argument_are_an_error_of_the_program():
    def lost(begin, end, iteration, x: doubles):
        pass

    with pytest.raises(TypeError, match="kernel lost counts its items by 'q'"):
        Plan([phase_kernel(items="q", cache=False)(lost).over(0, 1, x=np.zeros(1))], 1)


# --- declarations -----------------------------------------------------------------------------------------------------


def test_an_argument_without_a_kind_is_an_error_of_the_program():
    with pytest.raises(TypeError, match="argument 'mass' of kernel heavy needs a kind"):

        @phase_kernel(items="q")
        def heavy(begin, end, iteration, q: rows, mass):
            pass


@pytest.mark.parametrize("kind", [float, np.ndarray, "float", None])
def test_a_kind_is_one_of_ours(kind):
    def heavy(begin, end, iteration, q: rows, mass):
        pass

    heavy.__annotations__["mass"] = kind
    with pytest.raises(TypeError, match="argument 'mass' of kernel heavy needs a kind"):
        phase_kernel(heavy)


def test_a_kernel_begins_with_what_the_walk_tells_it():
    with pytest.raises(TypeError, match="kernel hasty must begin with begin, end, iteration"):

        @phase_kernel
        def hasty(begin, end, q: rows):
            pass


@phase_kernel(items="out", cache=False)
def spelt(begin, end, iteration, out: "longs", at: "ints.address", step: "count"):
    """Annotations as strings, as `from __future__ import annotations` makes them."""
    for i in range(begin, end):
        out[i] = step * int_at(at, i)


@pytest.mark.slow
def test_kinds_may_be_strings():
    """out_i = step at_i; and they are checked like any other."""
    assert spelt.kinds == {"out": longs, "at": ints.address, "step": count}
    out, at = np.zeros(3, np.int64), np.array([4, 5, 6], np.int32)
    Plan([spelt.over(0, 3, out=out, at=at, step=np.array([10]))], 1).run()
    assert out.tolist() == [40, 50, 60]
    with pytest.raises(InputError, match="array 'at' of kernel spelt must be int32"):
        Plan([spelt.over(0, 3, out=out, at=out, step=np.array([10]))], 1)


def test_a_kernel_says_what_it_takes():
    assert repr(drift) == "<kernel drift(q: rows, mass: floats, visits: ints, rate: scalar)>"
    assert repr(spelt) == "<kernel spelt(out: longs, at: ints.address, step: count)>"


def test_items_must_be_an_argument():
    with pytest.raises(TypeError, match="counts its items by 'p', which is no argument"):

        @phase_kernel(items="p")
        def wrong(begin, end, iteration, q: rows):
            """Nothing."""
