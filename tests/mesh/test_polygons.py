"""Polygons are cut into triangles that cover them once, convex or not."""

import pickle

import numpy as np
import pytest

from vivace.errors import InputError
from vivace.mesh import Polygons
from vivace.mesh.polygons import ranges, triangulated


def area_vectors(points, triangles):
    a, b, c = (points[triangles[:, k]] for k in range(3))
    return 0.5 * np.cross(b - a, c - a)


def star(n, turn=None, seed=0):
    """A polygon that no fan from its first corner covers: corners in and out in turn, in a plane that is turned."""
    angles = 2 * np.pi * np.arange(n) / n
    radius = np.where(np.arange(n) % 2, 1.0, 0.3 + 0.1 * np.random.default_rng(seed).random(n))
    flat = np.column_stack([radius * np.cos(angles), radius * np.sin(angles), np.zeros(n)])
    if turn is None:
        turn, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))
        turn *= np.sign(np.linalg.det(turn))
    return flat @ turn.T + 5


@pytest.mark.parametrize("n", [4, 5, 8, 12, 31])
def test_a_polygon_that_is_not_convex_is_covered_once(n):
    """All triangles point the way of the polygon, and their areas add up to its own: none folds over another."""
    points = star(n)
    cuts = triangulated(points, [n], np.arange(n))
    vectors, centre = area_vectors(points, cuts), points.mean(axis=0)
    whole = 0.5 * np.cross(points - centre, np.roll(points, -1, axis=0) - centre).sum(axis=0)
    assert cuts.shape == (n - 2, 3)
    assert (vectors @ whole > 0).all()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1).sum(), np.linalg.norm(whole), rtol=1e-12)


def test_convex_polygons_and_triangles_are_fans_in_order():
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.1], [2, 0, 0]])
    faces = Polygons([4, 3], [0, 1, 2, 3, 1, 4, 2]).cut_at(square)
    assert faces.triangles.tolist() == [[0, 1, 2], [0, 2, 3], [1, 4, 2]]
    assert faces.owners.tolist() == [0, 0, 1]


def test_a_dart_is_cut_at_its_reflex_corner():
    """From corner 0 a fan would fold over at corner 2."""
    dart = np.array([[0, 0, 0], [2, -1, 0], [0.5, 0, 0], [2, 1, 0]], float)
    cuts = np.sort(triangulated(dart, [4], np.arange(4)), axis=1)
    assert sorted(cuts.tolist()) == [[0, 1, 2], [0, 2, 3]]
    rolled = np.roll(np.arange(4), -1)  # now a fan from the first corner is wrong
    cuts = np.sort(rolled[triangulated(dart, [4], rolled)], axis=1)
    assert sorted(cuts.tolist()) == [[0, 1, 2], [0, 2, 3]]


def test_names_give_vertices():
    faces = Polygons([3, 3], [0, 1, 2, 2, 1, 3], objects={"a": [0]}, materials={"a": [1], "b": [1]})
    named = faces.vertices_by_name()
    assert named["a"].tolist() == [0, 1, 2, 3]
    assert named["b"].tolist() == [1, 2, 3]
    again = pickle.loads(pickle.dumps(faces))
    assert again.materials["b"].tolist() == [1]


def test_ranges():
    assert ranges(np.array([5, 0]), np.array([2, 3])).tolist() == [5, 6, 0, 1, 2]


@pytest.mark.parametrize(
    ("counts", "corners", "options", "words"),
    [
        ([3, 4], [0, 1, 2], {}, "corners"),
        ([2], [0, 1], {}, "three corners"),
        ([3], [0, 1, -1], {}, "vertex -1"),
        ([3], [0, 1, 2], {"uvs": [[0, 0]]}, "3 corners"),
        ([3], [0, 1, 2], {"groups": {"g": [4]}}, "face 4"),
        ([3], [0, 1, 2], {"cuts": [[0, 1, 3]]}, "cut into"),
    ],
)
def test_what_is_wrong_is_said(counts, corners, options, words):
    with pytest.raises(InputError, match=words):
        Polygons(counts, corners, **options)
