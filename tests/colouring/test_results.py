"""The Colouring itself, balancing, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colouring.graphs import NAMED, graphs, path, tablecloth
from vivace.colouring import (
    COLOURINGS,
    Colouring,
    balanced,
    colour,
    first_conflict,
    is_valid,
    options_of,
)
from vivace.errors import InputError, UnknownNameError


def test_sizes_and_order():
    result = Colouring(np.array([1, 0, 1, 2, 1], np.int32), 3, 1, "by hand", 0)
    assert result.sizes.tolist() == [1, 3, 1]
    assert (result.largest, result.smallest) == (3, 1)
    assert result.balance == pytest.approx((5 / 3) / 3)
    order, pointers = result.order()
    assert order.tolist() == [1, 0, 2, 4, 3]
    assert pointers.tolist() == [0, 1, 4, 5]
    order, _ = result.order(np.array([5, 4, 3, 2, 3]))
    assert order.tolist() == [1, 2, 4, 0, 3]
    with pytest.raises(InputError, match=r"shape \(5,\), not \(4,\)"):
        result.order(np.zeros(4))


@pytest.mark.parametrize("algorithm", COLOURINGS)
def test_no_vertices(algorithm):
    result = colour([0], [], algorithm)
    assert (result.count, result.rounds, result.largest, result.smallest, result.balance) == (0, 0, 0, 0, 1.0)
    order, pointers = result.order()
    assert order.tolist() == []
    assert pointers.tolist() == [0]
    assert is_valid([0], [], [])
    assert balanced([0], [], result).count == 0


@pytest.mark.slow
@given(graph=graphs(), seed=st.integers(0, 99), algorithm=st.sampled_from(sorted(COLOURINGS)))
@settings(max_examples=80, deadline=None)
def test_balancing_never_spoils(graph, seed, algorithm):
    before = colour(*graph, algorithm, seed=seed, threads=1)
    after = balanced(*graph, before, threads=1)
    assert is_valid(*graph, after.colours)
    assert after.count == before.count == len(np.unique(after.colours))
    assert after.largest <= before.largest
    assert after.balance >= before.balance
    assert np.sum(after.sizes**2) <= np.sum(before.sizes**2)


def test_balancing_a_tablecloth():
    """Twelve neighbours and ten colours leave room: sizes differ by one vertex, as far as whole numbers allow."""
    graph = tablecloth(40)
    before = colour(*graph, seed=1)
    one, two, four = (balanced(*graph, before, threads=t) for t in (1, 2, 4))
    np.testing.assert_array_equal(one.colours, two.colours)
    np.testing.assert_array_equal(one.colours, four.colours)
    assert before.balance < 0.8
    assert one.largest - one.smallest <= 1


def test_conflicts():
    graph = path(4)
    assert first_conflict(*graph, [0, 1, 1, 0]) == (1, 2)
    assert first_conflict(*graph, [0, 1, 0, 1]) is None
    assert is_valid(*graph, [0, 1, 0, 1])
    assert not is_valid(*graph, [0, 1, 1, 0])
    assert not is_valid(*graph, [0, -1, 0, 1])  # a vertex without a colour
    with pytest.raises(InputError, match="3 colours for a graph of 4 vertices"):
        is_valid(*graph, [0, 1, 0])


def test_the_diagonal_is_left_out():
    indptr, indices = [0, 2, 5, 7], [0, 1, 0, 1, 2, 1, 2]
    for algorithm in COLOURINGS:
        np.testing.assert_array_equal(
            colour(indptr, indices, algorithm).colours, colour(*path(3), algorithm, check=False).colours
        )
    assert is_valid(indptr, indices, [0, 1, 0])


def test_repeated_edges_are_allowed():
    indptr, indices = [0, 3, 6, 8], [1, 1, 2, 0, 0, 2, 0, 1]
    for algorithm in COLOURINGS:
        assert colour(indptr, indices, algorithm).count == 3


def test_other_integers_are_accepted():
    indptr, indices = NAMED["random"]
    one, other = colour(indptr, indices), colour(indptr.astype(np.int64), indices.astype(np.uint16)[::1])
    np.testing.assert_array_equal(one.colours, other.colours)


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([0, 1, 1], [1], "not symmetric: vertex 0 lists 1 once, but 1 lists 0 never"),
        ([0, 2, 3], [1, 1, 0], "vertex 0 lists 1 twice, but 1 lists 0 once"),
        ([0, 1, 2], [1, 2], "vertex 1 has neighbour 2; the graph has vertices 0 to 1"),
        ([0, 1, 2], [1, -1], "vertex 1 has neighbour -1"),
        ([0, 1, 3], [1, 0], "indptr ends at 3 but there are 2 indices"),
        ([1, 2], [0, 0], "must start at 0, not 1"),
        ([0, 3, 2], [0, 1], "must not decrease: vertex 1 has 3 and the next 2"),
        ([], [], "indptr is empty"),
        ([[0, 1]], [0], "indptr must be a vector"),
        ([0, 1], [0.5], "indices must hold whole numbers, not float64"),
        ([0, 1], [2**40], "indices does not fit 32 bits"),
    ],
)
def test_bad_graphs(indptr, indices, message):
    with pytest.raises(InputError, match=message):
        colour(indptr, indices)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "seed must be a whole number from 0 .* not -1"),
        ({"seed": 0.5}, "seed must be a whole number"),
        ({"threads": 0}, "threads must be a whole number from 1 to 256, not 0"),
        ({"shrink": 0.5}, "shrink must be a finite number from 1, not 0.5"),
        ({"shrink": float("nan")}, "shrink must be"),
        ({"shrnk": 2}, "'brooks-vizing' has no option 'shrnk'; known options: shrink, heuristic"),
        ({"algorithm": "greedy", "shrink": 2}, "'greedy' has no option 'shrink'; known options: none"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        colour(*path(3), **options)


def test_a_wrong_name_suggests_the_right_one():
    with pytest.raises(UnknownNameError, match="unknown colouring 'brooks-vizzing'; did you mean 'brooks-vizing'"):
        colour(*path(3), "brooks-vizzing")
    assert options_of("brooks-vizing") == {"shrink": None, "heuristic": True}


def test_balanced_refuses_what_is_not_a_colouring():
    with pytest.raises(InputError, match="needs a Colouring"):
        balanced(*path(3), np.array([0, 1, 0]))
    with pytest.raises(InputError, match="3 colours for a graph of 4 vertices"):
        balanced(*path(4), colour(*path(3)))
