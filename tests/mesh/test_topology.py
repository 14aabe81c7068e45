"""Fast topology against slow, obvious twins that loop over elements."""

import time
from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivace.mesh import cloth, cube, topology


def slow_edges(elements):
    return sorted({tuple(sorted(pair)) for element in elements.tolist() for pair in combinations(element, 2)})


def slow_opposites(triangles):
    """Map each edge to the vertices opposite it."""
    opposite = defaultdict(list)
    for triangle in triangles.tolist():
        for edge in combinations(triangle, 2):
            opposite[tuple(sorted(edge))].append(next(v for v in triangle if v not in edge))
    return opposite


def random_triangles(seed, n=12, m=20):
    rng = np.random.default_rng(seed)
    every = np.array(list(combinations(range(n), 3)))
    chosen = every[rng.choice(len(every), m, replace=False)]
    return rng.permuted(chosen, axis=1).astype(np.int32)


@pytest.mark.parametrize("seed", range(10))
def test_edges_and_hinges_equal_their_twins(seed):
    triangles = random_triangles(seed)
    opposite = slow_opposites(triangles)
    assert topology.unique_edges(triangles).tolist() == [list(e) for e in slow_edges(triangles)]
    hinges = topology.hinges_of(triangles)
    expected = {edge: sorted(vertices) for edge, vertices in opposite.items() if len(vertices) == 2}
    assert {(a, b): sorted((c, d)) for a, b, c, d in hinges.tolist()} == expected
    assert hinges[:, :2].tolist() == [list(e) for e in sorted(expected)]
    shared = [list(e) for e in sorted(opposite) if len(opposite[e]) > 2]
    assert topology.nonmanifold_edges(triangles).tolist() == shared
    rim = [list(e) for e in sorted(opposite) if len(opposite[e]) == 1]
    assert topology.boundary_edges(triangles).tolist() == rim


def test_hinges_name_first_the_triangle_that_runs_along_the_edge():
    triangles = cloth(5, 4).triangles
    directed = {(t[k], t[(k + 1) % 3]): t[(k + 2) % 3] for t in triangles.tolist() for k in range(3)}
    for a, b, c, d in topology.hinges_of(triangles).tolist():
        assert (directed[a, b], directed[b, a]) == (c, d)


@pytest.mark.parametrize("seed", range(5))
def test_boundary_equals_its_twin(seed):
    tets = cube(3).tets
    tets = tets[np.random.default_rng(seed).random(len(tets)) < 0.6]
    count = Counter(tuple(sorted(face)) for tet in tets.tolist() for face in combinations(tet, 3))
    expected = sorted(face for face, times in count.items() if times == 1)
    assert sorted(tuple(sorted(face)) for face in topology.boundary_of_tets(tets).tolist()) == expected


def test_boundary_of_one_tetrahedron_faces_out():
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    for a, b, c in topology.boundary_of_tets(np.array([[0, 1, 2, 3]])):
        normal = np.cross(corners[b] - corners[a], corners[c] - corners[a])
        assert normal @ (corners[a] - corners.mean(axis=0)) > 0


def test_duplicates_keeps_the_earliest():
    elements = np.array([[0, 1, 2], [3, 4, 5], [2, 0, 1], [5, 4, 3], [1, 2, 0], [0, 1, 3]])
    assert topology.duplicates(elements).tolist() == [2, 3, 4]


def test_nonmanifold_faces_are_those_of_three_tets():
    tets = np.array([[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 5]])
    assert [sorted(face) for face in topology.nonmanifold_faces(tets).tolist()] == [[0, 1, 2]]


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=60))
def test_adjacency_is_symmetric_sorted_and_complete(pairs):
    indptr, indices = topology.adjacency(15, np.array(pairs, np.int32).reshape(-1, 2))
    assert indptr.dtype == indices.dtype == np.int32
    neighbours = [indices[indptr[i] : indptr[i + 1]].tolist() for i in range(15)]
    expected = [sorted({b for a, b in pairs + [p[::-1] for p in pairs] if a == i and b != i}) for i in range(15)]
    assert neighbours == expected


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=12))
def test_components_are_what_merging_labels_gives(pairs):
    labels = list(range(12))
    for _ in pairs:
        for a, b in pairs:
            labels[a] = labels[b] = min(labels[a], labels[b])
    count, found = topology.connected_components(12, np.array(pairs, np.int32).reshape(-1, 2))
    assert count == len(set(labels))
    assert all((labels[i] == labels[j]) == (found[i] == found[j]) for i, j in combinations(range(12), 2))


def test_empty_arrays_have_nothing():
    assert topology.unique_edges(np.zeros((0, 3), int)).shape == (0, 2)
    assert topology.hinges_of(np.zeros((0, 3), int)).shape == (0, 4)
    assert topology.boundary_of_tets(np.zeros((0, 4), int)).shape == (0, 3)
    assert topology.adjacency(2, np.zeros((0, 2), int))[0].tolist() == [0, 0, 0]


@pytest.mark.slow
def test_a_million_triangles():
    mesh = cloth(708, 708)
    start = time.perf_counter()
    edges, hinges = mesh.edges, mesh.hinges
    print(f"{len(mesh.triangles)} triangles: edges and hinges in {time.perf_counter() - start:.2f} s")
    assert len(mesh.triangles) == 2 * 707**2
    assert len(edges) == 2 * 708 * 707 + 707**2
    assert len(hinges) == len(edges) - 4 * 707
