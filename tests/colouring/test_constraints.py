"""Colouring constraints: against the dual graph written down with sets, and the bound of smallest-last."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vivace import mesh
from vivace.colouring import (
    COLOURINGS,
    Colouring,
    balance_report,
    balanced,
    balanced_constraints,
    colour,
    colour_constraints,
    dual_graph,
    is_valid_constraint_colouring,
    merge_small,
    smallest_last_bound,
    split,
)
from vivace.colouring.constraints import ORDERS, Corners
from vivace.colouring.kernels import constraints as kernels
from vivace.errors import InputError, UnknownNameError

# --- slow twins -------------------------------------------------------------------------------------------------------


def corner_sets(vertices, free=None) -> list[set[int]]:
    blocks = vertices if isinstance(vertices, (list, tuple)) else [vertices]
    rows = [set(map(int, row)) - {-1} for block in blocks for row in block]
    return rows if free is None else [{v for v in row if free[v]} for row in rows]


def dual_sets(vertices, free=None) -> list[set[int]]:
    """The dual graph: for each constraint, those that share a vertex with it."""
    rows = corner_sets(vertices, free)
    return [{j for j in range(len(rows)) if j != i and rows[i] & rows[j]} for i in range(len(rows))]


def degeneracy(graph: list[set[int]]) -> int:
    """max over subgraphs of the smallest degree, by taking away a vertex of the smallest degree again and again."""
    left, worst = set(range(len(graph))), -1
    while left:
        v = min(left, key=lambda v: len(graph[v] & left))
        worst = max(worst, len(graph[v] & left))
        left.remove(v)
    return worst


def is_valid_twin(vertices, colours, free=None) -> bool:
    graph = dual_sets(vertices, free)
    return all(colours[i] >= 0 and all(colours[i] != colours[j] for j in graph[i]) for i in range(len(graph)))


def check(vertices, n, result: Colouring, free=None) -> None:
    m = len(corner_sets(vertices))
    assert result.colours.dtype == np.int32
    assert result.colours.shape == (m,)
    assert is_valid_twin(vertices, result.colours, free)
    assert is_valid_constraint_colouring(vertices, n, result.colours, free)
    assert sorted(set(result.colours.tolist())) == list(range(result.count))


# --- inputs -----------------------------------------------------------------------------------------------------------


def random_constraints(m: int, k: int, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.array([rng.choice(n, k, replace=False) for _ in range(m)], np.int32).reshape(m, k)


def star(m: int, k: int = 3) -> tuple[np.ndarray, int]:
    """m constraints that share vertex 0 and nothing else: they need m colours."""
    table = 1 + np.arange(m * k, dtype=np.int32).reshape(m, k)
    table[:, 0] = 0
    return table, m * k + 1


@st.composite
def constraint_sets(draw, most=25):
    """Up to three types of constraints, of one to five vertices, with pins."""
    n = draw(st.integers(5, 30))
    blocks = [
        random_constraints(draw(st.integers(0, most)), draw(st.integers(1, 5)), n, draw(st.integers(0, 99)))
        for _ in range(draw(st.integers(1, 3)))
    ]
    free = draw(st.none() | st.lists(st.booleans(), min_size=n, max_size=n).map(np.array))
    return (blocks if len(blocks) > 1 else blocks[0]), n, free


CLOTH, TORUS = mesh.cloth(9, 9), mesh.torus(segments=10, rings=2)
CASES = {
    "none": (np.zeros((0, 3), np.int32), 7),
    "no vertices": (np.zeros((0, 3), np.int32), 0),
    "no types": ([], 4),
    "one": (np.array([[4, 0, 2]]), 5),
    "the same thrice": (np.array([[1, 2], [2, 1], [1, 2]]), 3),
    "of one vertex": (np.array([[0], [1], [0], [2], [0]]), 3),
    "padded": (np.array([[0, 1, -1], [1, 2, 3], [4, -1, -1], [-1, -1, -1]]), 5),
    "springs": (CLOTH.edges, CLOTH.n_vertices),
    "hinges": (CLOTH.hinges, CLOTH.n_vertices),
    "springs and hinges": ([CLOTH.edges, CLOTH.hinges], CLOTH.n_vertices),
    "tetrahedra": (TORUS.tets, TORUS.n_vertices),
    "random": (random_constraints(150, 4, 60, 1), 60),
    "70 at one vertex": star(70),
    "300 at one vertex": star(300, 2),
}
each_case = pytest.mark.parametrize(("vertices", "n"), CASES.values(), ids=CASES.keys())


# --- algorithms -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@each_case
@pytest.mark.parametrize("algorithm", COLOURINGS)
def test_every_algorithm_is_valid(algorithm, vertices, n):
    result = colour_constraints(vertices, n, algorithm, seed=3, threads=2)
    assert (result.algorithm, result.seed) == (algorithm, 3)
    check(vertices, n, result)


@pytest.mark.slow
@given(case=constraint_sets(), algorithm=st.sampled_from(sorted(COLOURINGS)), seed=st.integers(0, 99))
@settings(max_examples=120, deadline=None)
def test_every_algorithm_is_valid_on_random_sets(case, algorithm, seed):
    vertices, n, free = case
    check(vertices, n, colour_constraints(vertices, n, algorithm, seed=seed, threads=1, free=free), free)


@pytest.mark.slow
@given(case=constraint_sets())
@settings(max_examples=80, deadline=None)
def test_dual_graph(case):
    vertices, n, free = case
    indptr, indices = dual_graph(vertices, n, free)
    rows = [indices[a:b].tolist() for a, b in pairwise(indptr)]
    assert rows == [sorted(row) for row in dual_sets(vertices, free)]


@each_case
@pytest.mark.parametrize("algorithm", ["greedy", "greedy-largest-first"])
def test_greedy_sees_the_dual_graph(algorithm, vertices, n):
    """Masks at the vertices and neighbours in the dual graph forbid the same colours."""
    expected = colour(*dual_graph(vertices, n), algorithm)
    np.testing.assert_array_equal(colour_constraints(vertices, n, algorithm).colours, expected.colours)


@pytest.mark.slow
@given(case=constraint_sets())
@settings(max_examples=80, deadline=None)
def test_smallest_last_takes_the_smallest_degree_of_those_left(case):
    vertices, n, free = case
    graph = dual_sets(vertices, free)
    order, bound = kernels.smallest_last(*Corners(vertices, n, free).lists())
    left, at_removal = set(range(len(graph))), [-1]
    assert sorted(order.tolist()) == sorted(left)
    for i in order[::-1].tolist():
        degrees = {j: len(graph[j] & left) for j in left}
        assert degrees[i] == min(degrees.values())
        at_removal.append(degrees[i])
        left.remove(i)
    assert bound == 1 + max(at_removal)


@pytest.mark.slow
@given(case=constraint_sets())
@settings(max_examples=80, deadline=None)
def test_smallest_last_keeps_its_bound(case):
    """At most max {1 + δ(G') : G' a subgraph} colours [fratarcangeli2013, Eq. 14]."""
    vertices, n, free = case
    bound = smallest_last_bound(vertices, n, free)
    assert bound == 1 + degeneracy(dual_sets(vertices, free))
    assert colour_constraints(vertices, n, free=free).count <= bound


def test_two_that_share_two_vertices_are_one_neighbour():
    """Tetrahedra at a face share three vertices; counted thrice, the bound would be 4."""
    tets = np.array([[0, 1, 2, 3], [1, 2, 3, 4]])
    assert smallest_last_bound(tets, 5) == 2
    assert dual_graph(tets, 5)[1].tolist() == [1, 0]


@pytest.mark.parametrize("count", [63, 64, 65, 130, 300])
def test_a_star_needs_a_colour_for_each(count):
    vertices, n = star(count)
    for algorithm in ORDERS:
        result = colour_constraints(vertices, n, algorithm)
        assert result.count == count
        assert is_valid_constraint_colouring(vertices, n, result.colours)
    assert smallest_last_bound(vertices, n) == count
    free = np.ones(n, bool)
    free[0] = False
    assert colour_constraints(vertices, n, free=free).count == 1


def test_pins_separate():
    chain = np.array([[0, 1], [1, 2], [2, 3]])
    assert colour_constraints(chain, 4).colours.tolist() in ([0, 1, 0], [1, 0, 1])
    free = np.array([True, False, False, True])
    assert colour_constraints(chain, 4, free=free).count == 1
    assert is_valid_constraint_colouring(chain, 4, [0, 0, 0], free)
    assert not is_valid_constraint_colouring(chain, 4, [0, 0, 0])


def test_an_error_of_the_order_is_noticed(monkeypatch):
    order = np.arange(3, dtype=np.int32)
    monkeypatch.setitem(ORDERS, "greedy-smallest-last", lambda corners: (order, 1))
    with pytest.raises(Exception, match="took 3 colours where 1 suffice"):
        colour_constraints([[0], [0], [0]], 1)


@pytest.mark.parametrize("algorithm", COLOURINGS)
def test_threads_do_not_change_the_result(algorithm):
    vertices, n = CASES["tetrahedra"]
    one, two, four = (colour_constraints(vertices, n, algorithm, seed=5, threads=t).colours for t in (1, 2, 4))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, four)


def test_options_reach_the_algorithm():
    vertices, n = CASES["hinges"]
    expected = colour(*dual_graph(vertices, n), shrink=5.0)
    found = colour_constraints(vertices, n, "brooks-vizing", shrink=5.0)
    np.testing.assert_array_equal(found.colours, expected.colours)
    with pytest.raises(InputError, match="no option 'shrink'"):
        colour_constraints(vertices, n, "greedy", shrink=5.0)


@pytest.mark.slow
@given(case=constraint_sets(most=8), data=st.data())
@settings(max_examples=100, deadline=None)
def test_validity(case, data):
    vertices, n, free = case
    m = len(corner_sets(vertices))
    colours = np.array(data.draw(st.lists(st.integers(-1, 9), min_size=m, max_size=m)), np.int32)
    assert is_valid_constraint_colouring(vertices, n, colours, free) == is_valid_twin(vertices, colours, free)


# --- balance ----------------------------------------------------------------------------------------------------------


def test_report():
    result = Colouring(np.repeat([0, 1, 2], [200, 90, 10]).astype(np.int32), 3, 1, "by hand", 0)
    report = balance_report(result)
    assert (report.count, report.largest, report.smallest, report.small) == (3, 200, 10, 2)
    assert report.sizes.tolist() == [200, 90, 10]
    assert (report.mean, report.balance) == (100.0, 0.5)
    assert report.share_in_small == pytest.approx(100 / 300)
    assert str(report) == (
        "3 colours of 10 to 200 items, 100.0 on average, balance 0.50; "
        "2 of them below 96 items, with 33.3 % of all items"
    )
    assert balance_report(result, grain=11).small == 1
    empty = balance_report(Colouring(np.zeros(0, np.int32), 0, 0, "none", 0))
    assert (empty.count, empty.largest, empty.mean, empty.share_in_small) == (0, 0, 0.0, 0.0)


@pytest.mark.slow
@given(case=constraint_sets(), largest=st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_split(case, largest):
    vertices, n, free = case
    before = colour_constraints(vertices, n, "greedy", free=free)
    after = split(before, largest)
    check(vertices, n, after, free)
    assert after.largest <= largest
    assert after.count == sum(-(-size // largest) for size in before.sizes.tolist())
    for c in range(before.count):
        parts = after.colours[before.colours == c]
        assert np.all(np.diff(parts) >= 0)  # each part a range
        sizes = np.unique(parts, return_counts=True)[1]
        assert sizes.max() - sizes.min() <= 1


@pytest.mark.slow
@given(case=constraint_sets(), smallest=st.integers(1, 30), seed=st.integers(0, 9))
@settings(max_examples=80, deadline=None)
def test_merge_small(case, smallest, seed):
    vertices, n, free = case
    before = colour_constraints(vertices, n, "luby", seed=seed, free=free)
    after = merge_small(vertices, n, before, smallest, free)
    check(vertices, n, after, free)
    assert after.count <= before.count
    large = np.flatnonzero(before.sizes >= smallest)
    stays = np.isin(before.colours, large)
    np.testing.assert_array_equal(after.colours[stays], np.searchsorted(large, before.colours[stays]))
    # What went to a new colour had nowhere else to go: some neighbour has each of the colours below.
    graph = dual_sets(vertices, free)
    for i in np.flatnonzero(after.colours >= len(large)):
        assert set(range(len(large))) <= {int(after.colours[j]) for j in graph[i]}


def test_merging_what_was_split():
    vertices, n = CASES["springs"]
    before = colour_constraints(vertices, n)
    parts = split(before, 5)
    after = merge_small(vertices, n, parts, 6)
    check(vertices, n, after)
    assert after.count < parts.count // 2


@pytest.mark.slow
@given(case=constraint_sets(), algorithm=st.sampled_from(sorted(COLOURINGS)))
@settings(max_examples=80, deadline=None)
def test_balancing_never_spoils(case, algorithm):
    vertices, n, free = case
    before = colour_constraints(vertices, n, algorithm, threads=1, free=free)
    after = balanced_constraints(vertices, n, before, free)
    check(vertices, n, after, free)
    assert after.count == before.count
    assert after.largest <= before.largest
    assert np.sum(after.sizes**2) <= np.sum(before.sizes**2)


@pytest.mark.parametrize("name", ["springs", "hinges", "springs and hinges", "tetrahedra", "random"])
def test_balancing_does_what_it_does_on_the_dual_graph(name):
    """The same moves as `balanced` makes, found at the vertices."""
    vertices, n = CASES[name]
    before = colour_constraints(vertices, n, "luby")
    after = balanced_constraints(vertices, n, before)
    np.testing.assert_array_equal(after.colours, balanced(*dual_graph(vertices, n), before).colours)
    assert after.balance > before.balance


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vertices", "message"),
    [
        ([[0, 1], [2, 9]], "constraint 1 has vertex 9; there are 4"),
        ([[0, 1], [2, -2]], "constraint 1 has vertex -2; there are 4"),
        ([np.array([[0, 1]]), np.array([[0, 1, 4]])], "constraint 1 has vertex 4"),
        ([[0, 1], [2, 2]], "constraint 1 has vertex 2 twice"),
        ([[0.0, 1.0]], "must be whole numbers, not float64"),
        (np.array([0, 1]), r"shape \(constraints, vertices of each\), not \(2,\)"),
        (np.zeros((3, 0), int), r"not \(3, 0\)"),
        ([[0, 1], [1, 2, 3]], "as many vertices each; fill up with -1"),
        ([[0, 2**40]], "do not fit 32 bits"),
    ],
)
def test_bad_constraints(vertices, message):
    for function in (colour_constraints, dual_graph, smallest_last_bound):
        with pytest.raises(InputError, match=message):
            function(vertices, 4)


def test_bad_arguments():
    vertices = np.array([[0, 1], [1, 2]])
    with pytest.raises(InputError, match="number of vertices must be a whole number"):
        colour_constraints(vertices, 3.0)
    with pytest.raises(InputError, match="for each of 3 vertices, not int64"):
        colour_constraints(vertices, 3, free=np.array([1, 0, 1]))
    with pytest.raises(InputError, match=r"not bool \(2,\)"):
        colour_constraints(vertices, 3, free=np.array([True, False]))
    with pytest.raises(UnknownNameError, match="did you mean 'greedy-smallest-last'"):
        colour_constraints(vertices, 3, "smallest-last")
    with pytest.raises(InputError, match="seed"):
        colour_constraints(vertices, 3, seed=-1)
    with pytest.raises(InputError, match="threads"):
        colour_constraints(vertices, 3, threads=0)
    with pytest.raises(InputError, match=r"\(3,\) for 2 constraints"):
        is_valid_constraint_colouring(vertices, 3, [0, 1, 2])
    with pytest.raises(InputError, match="whole numbers"):
        is_valid_constraint_colouring(vertices, 3, [0.0, 1.0])
    result = colour_constraints(vertices, 3)
    for function in (balance_report, split):
        with pytest.raises(InputError, match="whole number of items from 1, not 0"):
            function(result, 0)
        with pytest.raises(InputError, match="a Colouring is needed"):
            function([0, 1], 3)
    with pytest.raises(InputError, match="whole number of items"):
        merge_small(vertices, 3, result, 1.5)
    wrong = Colouring(np.zeros(2, np.int32), 1, 1, "by hand", 0)
    for action in (lambda: balanced_constraints(vertices, 3, wrong), lambda: merge_small(vertices, 3, wrong, 5)):
        with pytest.raises(InputError, match="constraints 0 and 1 share a vertex and have colour 0"):
            action()
