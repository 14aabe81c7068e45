"""Every algorithm: valid on every graph, the same for every number of threads, bounded, repeatable."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colouring.graphs import NAMED, from_edges, graphs, path, shuffled_rows, star, tablecloth
from meeting import Meetings
from vivace.backends.cpu.executor import Plan
from vivace.colouring import COLOURINGS, Colouring, brooks_vizing, colour, is_valid, rounds

PARALLEL = ["brooks-vizing", "jones-plassmann", "largest-degree-first", "luby"]
SERIAL = ["greedy", "greedy-largest-first", "greedy-smallest-last"]


def check(graph, result: Colouring) -> None:
    n = len(graph[0]) - 1
    assert result.colours.dtype == np.int32
    assert result.colours.shape == (n,)
    assert is_valid(*graph, result.colours)
    assert result.count == len(np.unique(result.colours))
    assert n == 0 or result.colours.max() == result.count - 1  # no gaps
    # A vertex needs no more colours than its neighbours can take, and one.
    assert np.all(result.colours <= np.diff(graph[0]))
    assert result.rounds <= max(n, 1)


def test_all_algorithms_are_registered():
    assert sorted(COLOURINGS) == sorted(PARALLEL + SERIAL)


@pytest.mark.parametrize("algorithm", PARALLEL + SERIAL)
@pytest.mark.parametrize("graph", NAMED.values(), ids=NAMED.keys())
def test_valid_and_within_degree_plus_one(algorithm, graph):
    result = colour(*graph, algorithm, seed=3, threads=2)
    assert result.algorithm == algorithm
    assert result.seed == 3
    check(graph, result)


@pytest.mark.slow
@given(graph=graphs(), seed=st.integers(0, 2**63 - 1), algorithm=st.sampled_from(PARALLEL + SERIAL))
@settings(max_examples=150, deadline=None)
def test_valid_on_random_graphs(graph, seed, algorithm):
    check(graph, colour(*graph, algorithm, seed=seed, threads=1))


@pytest.mark.slow
@given(graph=graphs(), seed=st.integers(0, 99), shrink=st.floats(1, 20), heuristic=st.booleans())
@settings(max_examples=80, deadline=None)
def test_brooks_vizing_is_valid_for_every_option(graph, seed, shrink, heuristic):
    result = colour(*graph, seed=seed, threads=1, shrink=shrink, heuristic=heuristic)
    assert is_valid(*graph, result.colours)
    assert np.all(result.colours <= np.diff(graph[0]))


@pytest.mark.parametrize("algorithm", PARALLEL + SERIAL)
@pytest.mark.parametrize("name", ["tablecloth", "random", "star, centre last"])
def test_threads_do_not_change_the_result(algorithm, name):
    one, two, four = (colour(*NAMED[name], algorithm, seed=5, threads=t) for t in (1, 2, 4))
    for other in (two, four):
        np.testing.assert_array_equal(one.colours, other.colours)
        assert one.rounds == other.rounds


@pytest.mark.parametrize("algorithm", PARALLEL)
def test_seeds(algorithm):
    graph = NAMED["tablecloth"]
    one, same, other = (colour(*graph, algorithm, seed=s, threads=2) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.colours, same.colours)
    assert np.any(one.colours != other.colours)


@pytest.mark.parametrize("algorithm", ["brooks-vizing", "jones-plassmann", "largest-degree-first", "luby"])
def test_the_order_of_a_row_does_not_matter(algorithm):
    graph = NAMED["random"]
    one, other = (colour(*g, algorithm, seed=1, threads=1) for g in (graph, shuffled_rows(*graph)))
    np.testing.assert_array_equal(one.colours, other.colours)


@pytest.mark.slow
@given(graph=graphs())
@settings(max_examples=60, deadline=None)
def test_smallest_last_keeps_its_bound(graph):
    """At most max {1 + δ(G') : G' a subgraph} colours [fratarcangeli2013, Eq. 14]: the degeneracy and one."""
    n = len(graph[0]) - 1
    reference = nx.Graph()
    reference.add_nodes_from(range(n))
    reference.add_edges_from((v, int(j)) for v in range(n) for j in graph[1][graph[0][v] : graph[0][v + 1]])
    bound = 1 + max(nx.core_number(reference).values(), default=-1)
    assert colour(*graph, "greedy-smallest-last").count <= bound


def test_known_chromatic_numbers():
    for algorithm in COLOURINGS:
        assert colour(*NAMED["complete"], algorithm).count == 9
        assert colour(*NAMED["odd cycle"], algorithm).count >= 3
    assert colour(*NAMED["bipartite"], "greedy-smallest-last").count == 2
    assert colour(*path(50), "greedy").count == 2


def test_luby_with_one_permutation_equals_jones_plassmann():
    """The k-th maximal set taken by descending weight is what greedy by descending weight colours k."""
    graph = NAMED["random"]
    luby, jones = colour(*graph, "luby", seed=4), colour(*graph, "jones-plassmann", seed=4)
    np.testing.assert_array_equal(luby.colours, jones.colours)


def test_tablecloth_needs_few_colours():
    """Interior degree 12, and Section 4.1 promises considerably fewer than Δ."""
    graph = tablecloth(40)
    assert np.diff(graph[0]).max() == 12
    for seed in range(5):
        assert colour(*graph, seed=seed).count < 12


@pytest.mark.slow
def test_a_large_star_has_a_large_palette():
    leaves = 1_000_000
    indptr = np.concatenate([[0], leaves + np.arange(leaves + 1)]).astype(np.int32)
    indices = np.concatenate([np.arange(1, leaves + 1), np.zeros(leaves)]).astype(np.int32)
    assert colour(indptr, indices, shrink=2).count <= leaves + 1
    assert colour(*star(5), "greedy").count == 2


def test_without_the_heuristic_two_single_colours_do_not_wait_for_each_other():
    """K2 with Δ/s = 0 leaves each vertex colour 0 only; the printed algorithm would never end without the heuristic."""
    result = colour(*from_edges(2, [(0, 1)]), heuristic=False)
    assert sorted(result.colours) == [0, 1]


def test_the_heuristic_saves_rounds():
    graph = NAMED["tablecloth"]
    assert colour(*graph, heuristic=True).rounds < colour(*graph, heuristic=False).rounds


# --- what happens inside ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", PARALLEL)
def test_several_vertices_are_coloured_at_the_same_time(algorithm, monkeypatch):
    """Two threads are in every phase over the vertices of a round at once; what counts the rest is one chunk."""
    meetings = Meetings(monkeypatch, rounds)
    result = colour(*tablecloth(40), algorithm, seed=1, threads=2)
    assert result.rounds >= 2  # the meetings looked for
    assert len(meetings.shared) >= 2
    assert len(meetings.alone) == 1
    check(tablecloth(40), result)


@pytest.mark.parametrize(("algorithm", "threads"), [("brooks-vizing", 1), ("greedy", 2)])
def test_nobody_meets_where_one_thread_does_all(algorithm, threads, monkeypatch):
    """So the test above tells: it would fail for a serial algorithm, and for a parallel one on one thread."""
    meetings = Meetings(monkeypatch, rounds)
    colour(*tablecloth(40), algorithm, seed=1, threads=threads)
    assert meetings.shared == []


def first_round(monkeypatch, graph, **options):
    """The colours that vertices drew in the first round of Brooks-Vizing, and which of them were accepted."""
    seen = {}

    def once(phases, counts, threads, limit):
        arrays = phases[0].arrays
        Plan(phases, threads).run(1)
        seen["drawn"], seen["accepted"] = arrays["tentative"].copy(), arrays["colours"] >= 0
        np.testing.assert_array_equal(arrays["colours"][seen["accepted"]], seen["drawn"][seen["accepted"]])
        arrays["colours"][:] = 0  # what follows expects a colouring
        return 1

    monkeypatch.setattr(brooks_vizing, "run_rounds", once)
    colour(*graph, threads=2, **options)
    return seen["drawn"], seen["accepted"]


@pytest.mark.parametrize("name", ["tablecloth", "random", "complete, two words"])
def test_of_neighbours_that_drew_one_colour_the_highest_index_has_it(name, monkeypatch):
    """Who drew what no neighbour drew is accepted; of those that drew the same, whoever is above all its rivals, and so
    above all whoever is above all its neighbours. Without the heuristic none of them is."""
    indptr, indices = graph = NAMED[name]
    kept = 0
    for seed in range(5):
        drawn, accepted = first_round(monkeypatch, graph, seed=seed)
        plain, alone = first_round(monkeypatch, graph, seed=seed, heuristic=False)
        np.testing.assert_array_equal(plain, drawn)
        for v in range(len(drawn)):
            neighbours = indices[indptr[v] : indptr[v + 1]]
            rivals = neighbours[drawn[neighbours] == drawn[v]]
            assert alone[v] == (len(rivals) == 0)
            assert accepted[v] == (rivals < v).all()
            kept += len(rivals) > 0 and bool((neighbours < v).all())
    assert kept > 0  # it did happen that a vertex above all its neighbours won a conflict
