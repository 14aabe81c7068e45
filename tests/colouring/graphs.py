"""Graphs for the tests, as CSR vectors."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st


def from_edges(n: int, edges) -> tuple[np.ndarray, np.ndarray]:
    """Each edge once, in either direction; repeated edges and the diagonal are left out."""
    rows = [set() for _ in range(n)]
    for i, j in edges:
        if i != j:
            rows[i].add(int(j))
            rows[j].add(int(i))
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    return indptr, np.array([j for row in rows for j in sorted(row)], np.int32)


def path(n):
    return from_edges(n, [(i, i + 1) for i in range(n - 1)])


def cycle(n):
    return from_edges(n, [(i, (i + 1) % n) for i in range(n)])


def complete(n):
    return from_edges(n, [(i, j) for i in range(n) for j in range(i)])


def star(leaves, centre=0):
    others = [v for v in range(leaves + 1) if v != centre]
    return from_edges(leaves + 1, [(centre, v) for v in others])


def bipartite(a, b):
    return from_edges(a + b, [(i, a + j) for i in range(a) for j in range(b)])


def tablecloth(m):
    """A triangulated m x m grid: its edges, and one between the two vertices opposite each inner edge."""
    sides, number = {}, np.arange(m * m).reshape(m, m)
    for r in range(m - 1):
        for c in range(m - 1):
            a, b, d, e = number[r, c], number[r, c + 1], number[r + 1, c], number[r + 1, c + 1]
            for triangle in ((a, b, e), (a, e, d)):
                for k in range(3):
                    edge = frozenset((int(triangle[k]), int(triangle[(k + 1) % 3])))
                    sides.setdefault(edge, []).append(int(triangle[(k + 2) % 3]))
    return from_edges(m * m, [tuple(e) for e in sides] + [tuple(o) for o in sides.values() if len(o) == 2])


def random_graph(n, edges, seed):
    return from_edges(n, np.random.default_rng(seed).integers(0, n, (edges, 2)))


NAMED = {
    "no vertices": from_edges(0, []),
    "one vertex": from_edges(1, []),
    "isolated": from_edges(150, [(3, 7)]),
    "path": path(211),
    "even cycle": cycle(40),
    "odd cycle": cycle(41),
    "complete": complete(9),
    "complete, two words": complete(70),
    "star": star(300),
    "star, centre last": star(130, centre=130),
    "bipartite": bipartite(20, 70),
    "tablecloth": tablecloth(16),
    "random": random_graph(400, 2400, 1),
}


@st.composite
def graphs(draw, largest=60):
    n = draw(st.integers(0, largest))
    if n == 0:
        return from_edges(0, [])
    vertex = st.integers(0, n - 1)
    return from_edges(n, draw(st.lists(st.tuples(vertex, vertex), max_size=4 * n)))


def shuffled_rows(indptr, indices, seed=0):
    rng, indices = np.random.default_rng(seed), indices.copy()
    for v in range(len(indptr) - 1):
        rng.shuffle(indices[indptr[v] : indptr[v + 1]])
    return indptr, indices
