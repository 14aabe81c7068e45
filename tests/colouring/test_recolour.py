"""Recolouring from the last frame: valid whatever changes, what can stay stays, and colours do not creep up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colouring.graphs import NAMED, complete, from_edges, graphs, path, random_graph, star, tablecloth
from colouring.test_constraints import constraint_sets, corner_sets, dual_sets, is_valid_twin, random_constraints
from colouring.test_constraints import star as constraint_star
from vivace import mesh
from vivace.colouring import (
    ContactColours,
    WarmConstraints,
    colour,
    colour_constraints,
    is_valid,
    is_valid_constraint_colouring,
    recolour,
    recolour_constraints,
    recolour_with,
)
from vivace.errors import InputError

TAIL = 8  # of the items, one in so many may be moved to lower colours though nothing forces them


def edges_of(indptr, indices):
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return np.stack([rows, indices], axis=1)[rows < indices]


def with_pairs(graph, pairs):
    return from_edges(len(graph[0]) - 1, [*edges_of(*graph).tolist(), *np.asarray(pairs).tolist()])


# --- slow twins -------------------------------------------------------------------------------------------------------


def first_of_the_tail(colours) -> int:
    """The lowest colour from which on at most an eighth of all items are; the highest in any case, never 0."""
    sizes = np.bincount(colours)
    first = len(sizes)
    while first > 1 and (first == len(sizes) or TAIL * sizes[first - 1 :].sum() <= len(colours)):
        first -= 1
    return first


def smallest_without(taken: set[int]) -> int:
    return next(c for c in range(len(taken) + 1) if c not in taken)


def without_gaps(colours):
    return np.unique(colours, return_inverse=True)[1]


def recolour_twin(indptr, indices, pairs, previous):
    n, degree = len(indptr) - 1, np.diff(indptr)
    base = [set(indices[indptr[v] : indptr[v + 1]].tolist()) for v in range(n)]
    rows = [set(row) for row in base]
    colours = np.array(previous)
    known = colours >= 0
    colours[known] = without_gaps(colours[known])

    def part(i, j):
        if i != j and colours[i] == colours[j] >= 0:
            colours[min((i, j), key=lambda v: (degree[v], v))] = -1

    for v in range(n):
        for j in sorted(j for j in base[v] if j < v):
            part(v, j)
    for i, j in np.asarray(pairs).tolist():
        part(i, j)
        if i != j:
            rows[i].add(j)
            rows[j].add(i)
    for v in range(n):
        if colours[v] < 0:
            colours[v] = smallest_without({int(colours[j]) for j in rows[v]})
    first = first_of_the_tail(colours)
    for v in range(n):
        if colours[v] >= first:
            colours[v] = smallest_without({int(colours[j]) for j in rows[v]})
    return without_gaps(colours)


def recolour_constraints_twin(vertices, previous, free=None):
    graph = dual_sets(vertices, free)
    colours = np.array(previous)
    known = colours >= 0
    colours[known] = without_gaps(colours[known])
    for i in range(len(graph)):
        if colours[i] >= 0 and any(colours[j] == colours[i] for j in graph[i] if j < i):
            colours[i] = -1
    for i in range(len(graph)):
        if colours[i] < 0:
            colours[i] = smallest_without({int(colours[j]) for j in graph[i]})
    first = first_of_the_tail(colours)
    for i in range(len(graph)):
        if colours[i] >= first:
            colours[i] = smallest_without({int(colours[j]) for j in graph[i]})
    return without_gaps(colours)


# --- vertices ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("graph", NAMED.values(), ids=NAMED.keys())
def test_recolouring_is_its_twin(graph):
    n = len(graph[0]) - 1
    rng = np.random.default_rng(n)
    pairs = rng.integers(0, n, (n // 4, 2)) if n else np.zeros((0, 2), int)
    for previous in (np.full(n, -1), rng.integers(-1, 4, n), rng.integers(-1, 40, n)):
        if n:
            expected = recolour_twin(*graph, [], previous)
            np.testing.assert_array_equal(recolour(*graph, previous).colours, expected)
            expected = recolour_twin(*graph, pairs, previous)
            np.testing.assert_array_equal(recolour_with(*graph, pairs, previous).colours, expected)
        else:
            assert recolour(*graph, previous).count == recolour_with(*graph, pairs, previous).count == 0


@pytest.mark.slow
@given(graph=graphs(largest=30), data=st.data())
@settings(max_examples=100, deadline=None)
def test_valid_from_any_colours_and_with_any_pairs(graph, data):
    n = len(graph[0]) - 1
    previous = np.array(data.draw(st.lists(st.integers(-1, 12), min_size=n, max_size=n)), np.int32)
    kept = previous.copy()
    vertex = st.integers(0, n - 1)
    pairs = data.draw(st.lists(st.tuples(vertex, vertex), max_size=40)) if n else []
    pairs = np.array(pairs, np.int32).reshape(-1, 2)
    result = recolour_with(*graph, pairs, previous)
    assert is_valid(*with_pairs(graph, pairs), result.colours)
    assert result.count == len(np.unique(result.colours))
    assert n == 0 or result.colours.max() == result.count - 1
    np.testing.assert_array_equal(previous, kept)  # not written to


def test_a_valid_colouring_stays_but_for_its_highest_colours():
    graph = tablecloth(20)
    before = colour(*graph, "greedy-smallest-last")
    after = recolour(*graph, before.colours)
    assert after.count <= before.count
    assert np.all(after.colours <= before.colours)
    assert np.mean(after.colours != before.colours) <= 1 / TAIL


def test_a_conflict_costs_the_end_with_fewer_neighbours():
    indptr, indices = from_edges(6, [(0, 1), (0, 2), (0, 3), (0, 4), (4, 5)])
    # A contact between 1 and 5: both have one neighbour, the lower number gives way.
    after = recolour_with(indptr, indices, [[5, 1]], [1, 0, 0, 0, 2, 0], trust=True)
    assert after.colours.tolist() == [1, 2, 0, 0, 2, 0]
    # Between 3 and 4: 3 has one neighbour and 4 two. Vertex 5, of the highest colour, finds a lower one.
    after = recolour_with(indptr, indices, [[3, 4]], [1, 0, 0, 0, 0, 2], trust=True)
    assert after.colours.tolist() == [1, 0, 0, 2, 0, 1]


@pytest.mark.parametrize("n", [63, 64, 65, 130, 300])
def test_many_colours(n):
    """A complete graph out of nothing but pairs, and one that loses all its colours."""
    graph = complete(n)
    assert recolour(*graph, np.zeros(n, int)).count == n
    assert recolour_with(*path(n), edges_of(*graph), np.zeros(n, int)).count == n
    assert recolour(*star(n), np.arange(n + 1)).count < n + 1


def test_seeds_and_threads_change_nothing():
    graph, previous = NAMED["random"], np.zeros(400, int)
    one = recolour(*graph, previous, seed=1, threads=1)
    for threads in (2, 4):
        other = recolour(*graph, previous, seed=2, threads=threads)
        np.testing.assert_array_equal(one.colours, other.colours)


@pytest.mark.slow
def test_colours_do_not_creep_up():
    """300 frames of contacts that come and go: no more colours than from scratch in a random order."""
    rng = np.random.default_rng(1)
    graph = tablecloth(24)
    n = len(graph[0]) - 1
    colours = colour(*graph, "greedy").colours
    pairs = rng.integers(0, n, (150, 2))
    warm, scratch = [], []
    for frame in range(300):
        changes = rng.random(len(pairs)) < 0.1
        pairs[changes] = rng.integers(0, n, (changes.sum(), 2))
        result = recolour_with(*graph, pairs, colours, check=False, trust=True)
        colours = result.colours
        if frame % 10 == 9:
            both = with_pairs(graph, pairs)
            assert is_valid(*both, colours)
            warm.append(result.count)
            scratch.append(min(colour(*both, "jones-plassmann", seed=frame).count, colour(*both).count))
    assert max(warm) <= max(scratch)
    assert np.mean(warm[20:]) <= np.mean(warm[:10]) + 1
    # Without contacts, the graph gets back what it had.
    for _ in range(10):
        colours = recolour(*graph, colours).colours
    assert colours.max() < colour(*graph).count


# --- constraints ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(case=constraint_sets(), data=st.data())
@settings(max_examples=100, deadline=None)
def test_recolouring_constraints_is_its_twin(case, data):
    vertices, n, free = case
    m = len(corner_sets(vertices))
    previous = np.array(data.draw(st.lists(st.integers(-1, 12), min_size=m, max_size=m)), np.int32)
    result = recolour_constraints(vertices, n, previous, free=free)
    assert is_valid_constraint_colouring(vertices, n, result.colours, free)
    if m:
        np.testing.assert_array_equal(result.colours, recolour_constraints_twin(vertices, previous, free))


def test_only_what_is_new_is_coloured():
    """Constraints below the highest colours keep theirs."""
    torus = mesh.torus(segments=12, rings=2)
    before = colour_constraints(torus.tets, torus.n_vertices)
    previous = before.colours.copy()
    previous[::20] = -1
    after = recolour_constraints(torus.tets, torus.n_vertices, previous)
    old = previous >= 0
    assert np.all(after.colours[old] <= previous[old])
    assert np.mean(after.colours[old] != previous[old]) <= 1 / TAIL


def test_colours_far_apart_need_no_table():
    """As for constraints left over from many more."""
    result = recolour_constraints([[0, 1], [1, 2], [2, 3]], 4, [2**31 - 1, 5, -1])
    assert result.colours.tolist() == [1, 0, 1]
    assert recolour(*path(3), [2**31 - 1, -1, 7]).colours.tolist() == [1, 2, 0]


@pytest.mark.parametrize("count", [64, 70, 300])
def test_many_constraints_at_one_vertex(count):
    vertices, n = constraint_star(count)
    previous = np.arange(count) % 40
    assert recolour_constraints(vertices, n, previous).count == count
    warm = WarmConstraints(vertices[:1], n, [0])
    numbers = warm.update([], vertices[1:])
    assert numbers.tolist() == list(range(1, count))
    assert sorted(warm.colours.tolist()) == list(range(count))
    assert sorted(ContactColours((), n, ()).colour(vertices).tolist()) == list(range(count))


@pytest.mark.slow
def test_constraints_that_come_and_go():
    """200 random changes, valid after each; and the colours do not creep up."""
    rng = np.random.default_rng(2)
    torus = mesh.torus(segments=12, rings=2)
    n, table = torus.n_vertices, torus.tets.astype(np.int32)
    warm = WarmConstraints(table, n, colour_constraints(table, n).colours)
    previous, counts = warm.colours.copy(), []
    for frame in range(200):
        out = rng.choice(len(table), len(table) // 20, replace=False)
        rows = random_constraints(len(out), 4, n, frame)
        rows[::2] = torus.tets[rng.choice(len(torus.tets), len(rows[::2]))]  # the same ones again, and twice
        numbers = warm.update(out, rows)
        assert sorted(numbers) == sorted(out)
        table[numbers] = rows
        assert is_valid_constraint_colouring(table, n, warm.colours)
        previous[numbers] = -1
        again = recolour_constraints(table, n, previous)
        assert is_valid_constraint_colouring(table, n, again.colours)
        previous = again.colours.copy()
        scratch = colour_constraints(table, n, "jones-plassmann").count if frame % 10 == 9 else 0
        counts.append((warm.count, again.count, scratch))
    late, early = np.array(counts[150:]), np.array(counts[50:100])
    assert np.all(late.mean(axis=0)[:2] <= early.mean(axis=0)[:2] + 1)
    assert np.all(late.mean(axis=0)[:2] <= 1.1 * late[:, 2].max())


@pytest.mark.slow
@given(data=st.data(), pinned=st.booleans())
@settings(max_examples=40, deadline=None)
def test_numbers_are_given_out_again(data, pinned):
    """Any sequence of changes, against a dictionary."""
    n, k = 12, 3
    free = np.arange(n) % 4 > 0 if pinned else None
    there = dict(enumerate(random_constraints(6, k, n, 0).tolist()))
    start = np.array(list(there.values()), np.int32)
    warm = WarmConstraints(start, n, colour_constraints(start, n, free=free).colours, free=free)
    for frame in range(8):
        out = data.draw(st.lists(st.sampled_from(sorted(there)), unique=True)) if there else []
        rows = random_constraints(data.draw(st.integers(0, 7)), k, n, frame)
        numbers = warm.update(out, rows)
        for i in out:
            del there[i]
        assert not set(numbers.tolist()) & set(there)
        there.update(zip(numbers.tolist(), rows.tolist(), strict=True))
        used = np.flatnonzero(warm.colours >= 0)
        assert used.tolist() == sorted(there)
        assert is_valid_twin([[there[i] for i in used]], warm.colours[used], free)
        assert warm.count == warm.colours.max(initial=-1) + 1


@pytest.mark.slow
def test_contacts_beside_constraints_that_stay():
    cloth = mesh.cloth(12, 12)
    n, fixed = cloth.n_vertices, [cloth.edges, cloth.hinges]
    colours = colour_constraints(fixed, n).colours
    free = np.ones(n, bool)
    free[:12] = False
    for pins in (None, free):
        beside, apart = ContactColours(fixed, n, colours, free=pins), ContactColours((), n, (), free=pins)
        for frame in range(30):
            contacts = random_constraints(5 + 3 * frame, 4, n, frame)
            contacts[::3, 3] = -1
            kept = contacts.copy()
            found = beside.colour(contacts)
            everything = np.concatenate([colours, found])
            assert is_valid_constraint_colouring([*fixed, contacts], n, everything, pins)
            np.testing.assert_array_equal(found, beside.colour(contacts))  # nothing is left of them
            expected = colour_constraints(contacts, n, "greedy", free=pins).colours
            np.testing.assert_array_equal(apart.colour(contacts), expected)
            np.testing.assert_array_equal(contacts, kept)
        assert beside.colour(np.zeros((0, 4), int)).shape == (0,)


# --- what is refused --------------------------------------------------------------------------------------------------


def test_bad_graphs_and_pairs():
    graph = path(4)
    with pytest.raises(InputError, match="pair 1 has vertex 4"):
        recolour_with(*graph, [[0, 1], [2, 4]], np.zeros(4, int))
    with pytest.raises(InputError, match="pair 0 has vertex -1"):
        recolour_with(*graph, [[0, -1]], np.zeros(4, int))
    with pytest.raises(InputError, match=r"shape \(pairs, 2\), not \(1, 3\)"):
        recolour_with(*graph, [[0, 1, 2]], np.zeros(4, int))
    with pytest.raises(InputError, match="whole numbers, not float64"):
        recolour_with(*graph, [[0.0, 1.0]], np.zeros(4, int))
    with pytest.raises(InputError, match="3 colours for a graph of 4"):
        recolour(*graph, [0, 1, 0])
    with pytest.raises(InputError, match="or -1 for none, not -7"):
        recolour(*graph, [0, 1, 0, -7])
    with pytest.raises(InputError, match="not symmetric"):
        recolour([0, 1, 1], [1], [0, 0])
    with pytest.raises(InputError, match="threads"):
        recolour(*graph, np.zeros(4, int), threads=0)
    with pytest.raises(InputError, match="seed"):
        recolour(*graph, np.zeros(4, int), seed=1.5)
    assert is_valid(*random_graph(9, 20, 1), recolour(*random_graph(9, 20, 1), np.zeros(9, int), check=False).colours)


def test_bad_constraints():
    vertices = np.array([[0, 1], [1, 2], [3, 4]])
    with pytest.raises(InputError, match="or -1 for none, not -2"):
        recolour_constraints(vertices, 5, [0, 1, -2])
    with pytest.raises(InputError, match=r"\(2,\) for 3 constraints"):
        recolour_constraints(vertices, 5, [0, 1])
    for kind in (WarmConstraints, ContactColours):
        with pytest.raises(InputError, match="constraints 0 and 1 share a vertex and have colour 0"):
            kind(vertices, 5, [0, 0, 0])
        with pytest.raises(InputError, match="whole numbers from 0"):
            kind(vertices, 5, [0, 1, -1])
    with pytest.raises(InputError, match="colour 99999 for 3 constraints"):
        ContactColours(vertices, 5, [0, 1, 99999])
    contacts = ContactColours(vertices, 5, [0, 1, 0])
    with pytest.raises(InputError, match="contact 1 has vertex 5; there are 5"):
        contacts.colour([[0, 1], [5, 1]])
    with pytest.raises(InputError, match="whole numbers"):
        contacts.colour([[0.5, 1]])


def test_bad_updates_change_nothing():
    vertices = np.array([[0, 1], [1, 2], [3, 4]])
    warm = WarmConstraints(vertices, 5, [0, 1, 0])
    bad = [
        ([7], [], "no constraint 7 to remove"),
        ([-1], [], "no constraint -1 to remove"),
        ([2, 0, 2], [], "constraint 2 is to be removed twice"),
        ([0.0], [], "vector of whole numbers, not float64"),
        ([0], [[1, 2, 3]], "must have 2 vertices each, not 3"),
        ([0], [[1, 5]], "has vertex 5"),
        ([0], [[1, 1]], "vertex 1 twice"),
    ]
    for removed, added, message in bad:
        with pytest.raises(InputError, match=message):
            warm.update(removed, added)
        assert warm.colours.tolist() == [0, 1, 0]
    assert warm.update([0], []).tolist() == []
    with pytest.raises(InputError, match="no constraint 0 to remove"):
        warm.update([0], [])
    with pytest.raises(ValueError, match="read-only"):
        warm.colours[0] = 3
