"""Cuts: nothing vanishes, nothing is deformed, and what is left is a manifold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vivace import InputError
from vivace.mesh import Mesh, ball, cloth, connected_components, cube, cut, nonmanifold_edges
from vivace.mesh.topology import boundary_edges

ABOVE = [0.0, 3.0, 0.0]
ACROSS = [[-2, 0, 0.013], [2, 0, 0.013]]  # of a cloth of 1 m x 1 m
SLIT = [[-0.2, 0, 0.013], [0.2, 0, 0.1]]


def pieces(mesh):
    return connected_components(mesh.n_vertices, mesh.edges)[0]


def fans(mesh):
    """The number of fans of triangles around all vertices: one each, where the surface is a manifold."""
    corners = np.arange(3 * len(mesh.triangles)).reshape(-1, 3)
    joined = []
    seen = {}
    for t, triangle in enumerate(mesh.triangles.tolist()):
        for k in range(3):
            a, b = triangle[k], triangle[(k + 1) % 3]
            ends = {a: corners[t, k], b: corners[t, (k + 1) % 3]}
            other = seen.setdefault(frozenset((a, b)), ends)
            if other is not ends:
                joined += [(ends[a], other[a]), (ends[b], other[b])]
    return connected_components(corners.size, np.array(joined).reshape(-1, 2))[0]


def check(before, after):
    """What every cut of a surface or a body keeps."""
    new = after.mesh
    assert len(new.tets) == len(before.tets)
    np.testing.assert_array_equal(after.parents[new.tets], before.tets)
    np.testing.assert_array_equal(new.vertices, before.vertices[after.parents])
    np.testing.assert_array_equal(after.parents[: before.n_vertices], np.arange(before.n_vertices))
    assert len(nonmanifold_edges(new.triangles)) == 0
    if before.is_volumetric:
        np.testing.assert_array_equal(new.tet_volumes(), before.tet_volumes())
        assert len(boundary_edges(new.triangles)) == 0  # a closed surface again
        assert new.triangle_areas().sum() >= before.triangle_areas().sum()
    else:
        np.testing.assert_array_equal(after.parents[new.triangles], before.triangles)
        np.testing.assert_array_equal(new.triangle_areas(), before.triangle_areas())
        assert len(boundary_edges(new.triangles)) > len(boundary_edges(before.triangles))
        assert fans(new) == new.n_vertices


def test_a_cloth_falls_into_two():
    sheet = cloth(20, 20)
    after = cut(sheet, ABOVE, ACROSS)
    check(sheet, after)
    assert pieces(after.mesh) == 2
    assert len(after.doubled) == 20  # a row of it
    # Both sides have as many new edges of their border as the row has.
    assert len(boundary_edges(after.mesh.triangles)) == len(boundary_edges(sheet.triangles)) + 2 * 19


def test_a_slit_has_two_tips():
    sheet = cloth(20, 20)
    after = cut(sheet, ABOVE, SLIT)
    check(sheet, after)
    assert pieces(after.mesh) == 1
    # A path of k edges doubles its k - 1 inner vertices.
    assert len(boundary_edges(after.mesh.triangles)) - len(boundary_edges(sheet.triangles)) == 2 * (
        len(after.doubled) + 1
    )


def test_the_cut_lies_along_the_stroke():
    sheet = cloth(40, 40)
    places = sheet.vertices[cut(sheet, ABOVE, SLIT).doubled]
    a, b = np.array(SLIT)
    a, b = (ABOVE + (p - ABOVE) * 3.0 / (3.0 - p[1]) for p in (a, b))
    along = (b - a) / np.linalg.norm(b - a)
    away = np.linalg.norm(np.cross(places - a, along), axis=1)
    assert away.max() < 1.5 / 39  # no farther than the triangles that it crosses are wide


def test_a_straight_cut_has_no_teeth():
    """Whatever the height of a stroke along the rows, it parts them along one line: as many edges as a row has."""
    sheet = cloth(12, 12)
    for height in np.linspace(-0.4, 0.4, 23):
        after = cut(sheet, [0, 50.0, height], [[-2, 0, height], [2, 0, height]])
        assert len(after.doubled) == 12
        assert np.ptp(sheet.vertices[after.doubled, 2]) < 1e-12


def test_the_place_of_the_eye_and_not_the_distance_of_the_points():
    sheet = cloth(20, 20)
    far = np.array(ABOVE) + 7 * (np.array(ACROSS) - ABOVE)
    np.testing.assert_array_equal(cut(sheet, ABOVE, far).mesh.triangles, cut(sheet, ABOVE, ACROSS).mesh.triangles)


def test_positions_say_where_it_is():
    sheet = cloth(20, 20)
    moved = sheet.vertices + np.array([5.0, 0, 0])
    stroke = np.array(ACROSS) + np.array([5.0, 0, 0])
    after = cut(sheet, [5.0, 3, 0], stroke, moved)
    np.testing.assert_array_equal(after.mesh.triangles, cut(sheet, ABOVE, ACROSS).mesh.triangles)
    with pytest.raises(InputError, match="parts nothing"):
        cut(sheet, [5.0, 3, 0], stroke)


def test_a_cube_falls_into_two():
    box = cube(6)
    middle = box.bounds.mean(axis=0)
    after = cut(box, middle + np.array([0, 5, 0]), middle + np.array([[-9, 0, 0.01], [9, 0, 0.01]]))
    check(box, after)
    assert pieces(after.mesh) == 2
    half = cut(box, middle + np.array([0, 5, 0]), middle + np.array([[-9, 0, 0.01], [0.0, 0, 0.01]]))
    check(box, half)
    assert pieces(half.mesh) == 1


@pytest.mark.slow
def test_a_stroke_over_a_whole_body_parts_it():
    box, rng = cube(8), np.random.default_rng(0)
    middle = box.bounds.mean(axis=0)
    for _ in range(20):
        view = rng.normal(size=3)
        along = np.cross(view, rng.normal(size=3))
        view, along = (3 * x / np.linalg.norm(x) for x in (view, along))
        away = middle + 0.1 * rng.normal() * np.cross(view, along) / 9
        after = cut(box, middle + view, [away - along, away + along])
        check(box, after)
        assert pieces(after.mesh) >= 2


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6))
def test_any_stroke(seed):
    rng = np.random.default_rng(seed)
    stroke = rng.normal(size=(rng.integers(2, 6), 3)) * 0.4
    for body in (cloth(12, 9, irregular=True), ball(5)):
        try:
            after = cut(body, [0.1, 4.0, 0.2], stroke)
        except InputError:
            continue
        check(body, after)


def test_a_second_cut_of_what_was_cut():
    sheet = cloth(15, 15)
    once = cut(sheet, ABOVE, ACROSS).mesh
    twice = cut(once, ABOVE, [[0.02, 0, -2], [0.02, 0, 2]])
    check(once, twice)
    assert pieces(twice.mesh) == 4


def test_a_wire_parts_at_a_vertex():
    wire = Mesh.from_edges(np.c_[np.arange(6.0), np.zeros((6, 2))], np.c_[range(5), range(1, 6)])
    after = cut(wire, [2.6, 5, 0], [[2.6, 0, -1], [2.6, 0, 1]])
    assert (len(after.mesh.lines), pieces(after.mesh), after.mesh.n_vertices) == (5, 2, 7)


def test_groups_have_the_copies():
    sheet = cloth(9, 9)
    after = cut(sheet, ABOVE, ACROSS)
    left = after.mesh.groups["left"]
    assert set(after.parents[left]) == set(sheet.groups["left"])
    assert len(left) == len(sheet.groups["left"]) + 1


def test_what_is_refused():
    sheet = cloth(5, 5)
    with pytest.raises(InputError, match="parts nothing"):
        cut(sheet, ABOVE, [[2, 0, 0], [3, 0, 0]])
    for stroke in ([[0, 0, 0]], np.zeros((300, 3)), [[0, 0, np.nan], [1, 0, 0]], [[0, 0], [1, 1]]):
        with pytest.raises(InputError, match="a stroke has 2 to 256 points"):
            cut(sheet, ABOVE, stroke)
