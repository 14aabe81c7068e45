"""Every compiled kernel gives exactly what its plain twin gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from colouring import twins
from colouring.graphs import NAMED, complete, graphs, random_graph, shuffled_rows, star, tablecloth
from vivace.backends.cpu import bits as machine_bits
from vivace.colouring import balanced, colour, first_conflict
from vivace.colouring.kernels import bits as colour_bits
from vivace.colouring.kernels import serial as colour_serial

CASES = {
    **{name: NAMED[name] for name in ("no vertices", "one vertex", "isolated", "complete", "odd cycle", "bipartite")},
    "complete, three words": complete(130),
    "star": star(150, centre=40),
    "tablecloth": tablecloth(11),
    "random": random_graph(120, 700, 7),
    "dense": random_graph(100, 4000, 8),
}
each_case = pytest.mark.parametrize("graph", CASES.values(), ids=CASES.keys())


@each_case
@pytest.mark.parametrize("heuristic", [True, False])
@pytest.mark.parametrize("shrink", [1, 2, 3.5, 6])
def test_brooks_vizing(graph, shrink, heuristic):
    result = colour(*graph, seed=11, threads=2, shrink=shrink, heuristic=heuristic)
    colours, rounds = twins.brooks_vizing(*graph, 11, shrink, heuristic)
    np.testing.assert_array_equal(result.colours, colours)
    assert result.rounds == rounds


def test_brooks_vizing_default_shrink_is_the_smallest_degree_or_two():
    for graph, shrink in ((tablecloth(8), 3), (NAMED["path"], 2), (complete(9), 8)):
        np.testing.assert_array_equal(colour(*graph).colours, twins.brooks_vizing(*graph, 0, shrink)[0])


@each_case
@pytest.mark.parametrize(("algorithm", "current_degree"), [("jones-plassmann", False), ("largest-degree-first", True)])
def test_by_weight(graph, algorithm, current_degree):
    result = colour(*graph, algorithm, seed=12, threads=2)
    colours, rounds = twins.by_weight(*graph, 12, current_degree)
    np.testing.assert_array_equal(result.colours, colours)
    assert result.rounds == rounds


@each_case
def test_luby(graph):
    result = colour(*graph, "luby", seed=13, threads=2)
    colours, rounds = twins.luby(*graph, 13)
    np.testing.assert_array_equal(result.colours, colours)
    assert result.rounds == rounds


@each_case
def test_greedy(graph):
    n = len(graph[0]) - 1
    np.testing.assert_array_equal(colour(*graph, "greedy").colours, twins.greedy(*graph, range(n)))
    order = sorted(range(n), key=lambda v: -np.diff(graph[0])[v])
    np.testing.assert_array_equal(colour(*graph, "greedy-largest-first").colours, twins.greedy(*graph, order))


@each_case
def test_smallest_last(graph):
    order = twins.smallest_last_order(*graph)
    np.testing.assert_array_equal(colour_serial.smallest_last_order(*graph), order)
    np.testing.assert_array_equal(colour(*graph, "greedy-smallest-last").colours, twins.greedy(*graph, order))


@each_case
def test_balanced(graph):
    start = colour(*graph, seed=14)
    np.testing.assert_array_equal(balanced(*graph, start, threads=2).colours, twins.balanced(*graph, start.colours))


@pytest.mark.slow
@given(graph=graphs(largest=20), seed=st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_first_conflict(graph, seed):
    colours = np.random.default_rng(seed).integers(0, 6, len(graph[0]) - 1).astype(np.int32)
    assert first_conflict(*graph, colours) == twins.first_conflict(*graph, colours)


@pytest.mark.slow
@given(graph=graphs(largest=15), seed=st.integers(0, 9), change=st.booleans())
@settings(max_examples=60, deadline=None)
def test_symmetry(graph, seed, change):
    indptr, indices = graph[0], graph[1].copy()
    if change and len(indices):
        indices[seed % len(indices)] = (indices[seed % len(indices)] + 1) % (len(indptr) - 1)
    dense = np.zeros((len(indptr) - 1,) * 2, int)
    np.add.at(dense, (np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), indices), 1)
    pointers, turned = colour_serial.transposed(*shuffled_rows(indptr, indices, seed))
    np.testing.assert_array_equal(np.diff(pointers), dense.sum(axis=0))
    assert colour_serial.is_symmetric(pointers, turned) == np.array_equal(dense, dense.T)
    assert (colour_serial.find_one_way(indptr, indices)[0] < 0) == np.array_equal(dense, dense.T)


def test_small_passes():
    indptr, _ = random_graph(50, 120, 3)
    degree = np.diff(indptr)
    assert colour_serial.degree_range(indptr) == (degree.min(), degree.max())
    wide = np.array([0, 3, 66, 66, 130, 195], np.int32)
    np.testing.assert_array_equal(np.diff(colour_serial.palette_offsets(wide)), (np.diff(wide) + 1 + 63) // 64)
    colours = np.array([7, 2, 2, 9, 0], np.int32)
    assert colour_serial.close_gaps(colours) == 4
    np.testing.assert_array_equal(colours, [2, 1, 1, 3, 0])
    pointers, kept = colour_serial.without_loops(np.array([0, 2, 4], np.int32), np.array([0, 1, 0, 1], np.int32))
    np.testing.assert_array_equal(pointers, [0, 1, 2])
    np.testing.assert_array_equal(kept, [1, 0])


@njit
def _bits(word, n):
    return machine_bits.count_bits(word), machine_bits.lowest_bit(word), colour_bits.nth_bit(word, n)


@njit
def _draw(seed, rounds, v):
    return colour_bits.draw(colour_bits.key_of(seed, rounds), v)


@pytest.mark.slow
@given(word=st.integers(1, 2**64 - 1), data=st.data())
@settings(max_examples=100, deadline=None)
def test_bits(word, data):
    ones = [k for k in range(64) if word >> k & 1]
    n = data.draw(st.integers(0, len(ones) - 1))
    assert _bits(np.uint64(word), n) == (len(ones), ones[0], ones[n])


@pytest.mark.slow
@given(seed=st.integers(0, 2**63 - 1), rounds=st.integers(0, 10**6), v=st.integers(0, 2**31 - 1))
@settings(max_examples=100, deadline=None)
def test_draw(seed, rounds, v):
    assert int(_draw(seed, rounds, v)) == twins.draw(seed, rounds, v)
