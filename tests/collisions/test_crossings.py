"""Edges that pierce triangles, against rational arithmetic on every pair, and shapes whose crossings are known."""

from __future__ import annotations

import numpy as np
import pytest

from vivace.collisions.crossings import _pierces_exactly, crossings
from vivace.errors import InputError
from vivace.mesh import topology


def soup(seed: int, count: int, scale: float = 1.0, grid: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Separate triangles; with `grid`, on a coarse lattice, where many determinants vanish."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (3 * count, 3)) * scale
    if grid:
        x = np.round(x * grid) / grid
    return x, np.arange(3 * count, dtype=np.int32).reshape(-1, 3)


def twin(x: np.ndarray, triangles: np.ndarray) -> set[tuple[int, int, int]]:
    found = set()
    for p, q in topology.unique_edges(triangles):
        for t, corners in enumerate(triangles):
            if p not in corners and q not in corners and _pierces_exactly(x[[p, q]], x[corners]):
                found.add((int(p), int(q), t))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("grid", [0, 3])
def test_every_crossing_once(seed, grid):
    x, triangles = soup(seed, 12, grid=grid)
    edges, pierced = crossings(x, triangles, threads=2)
    rows = [(int(p), int(q), int(t)) for (p, q), t in zip(edges, pierced, strict=True)]
    assert len(set(rows)) == len(rows)
    assert set(rows) == twin(x, triangles)


def test_a_needle_through_a_sheet():
    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.2, 0.2, -1], [0.2, 0.2, 1], [-5, -5, 1]], float)
    edges, pierced = crossings(x, [[0, 1, 2], [3, 4, 5]])
    assert edges.tolist() == [[3, 4]]
    assert pierced.tolist() == [0]


def test_touching_and_neighbours_are_no_crossings():
    """An edge that ends on a triangle, one in its plane, and triangles that share a corner."""
    sheet = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    for p, q in (([0.2, 0.2, 0], [0.2, 0.2, 1]), ([-1, 0.2, 0], [1, 0.2, 0])):
        edges, _ = crossings(np.array([*sheet, p, q, [9, 9, 9]], float), [[0, 1, 2], [3, 4, 5]])
        assert [3, 4] not in edges.tolist()
    edges, _ = crossings(np.array([*sheet, [0.5, 0.5, 1], [0.5, 0.5, -1]], float), [[0, 1, 2], [0, 3, 4]])
    assert [0, 3] not in edges.tolist()
    assert [0, 4] not in edges.tolist()


@pytest.mark.slow
def test_rows_of_four_and_far_from_the_origin():
    x, triangles = soup(7, 30)
    rows = np.zeros((len(x), 4), np.float32)
    rows[:, :3] = x + 1000
    edges, _ = crossings(rows, triangles)
    assert {tuple(e) for e in edges.tolist()} == {(p, q) for p, q, _ in twin(rows[:, :3].astype(float), triangles)}


def test_threads_change_nothing():
    x, triangles = soup(8, 300, scale=2.0)
    first = crossings(x, triangles, threads=1)
    for threads in (2, 3):
        for a, b in zip(first, crossings(x, triangles, threads=threads), strict=True):
            np.testing.assert_array_equal(a, b)


def test_bad_input():
    x, triangles = soup(9, 2)
    with pytest.raises(InputError, match="finite"):
        crossings(np.where(np.arange(len(x))[:, None] == 1, np.nan, x), triangles)
    with pytest.raises(InputError, match="numbered"):
        crossings(x, triangles + 1)
