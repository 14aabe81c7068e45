"""The Mesh class: what it refuses, what it repairs, and what it reports."""

import pickle

import numpy as np
import pytest

from vivace.errors import InputError, UnknownNameError
from vivace.mesh import Mesh, ball, bar, cloth, cube, measure

SQUARE = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.0]])
PAIR = np.array([[0, 1, 2], [1, 3, 2]])
TET = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])


@pytest.mark.parametrize(
    ("vertices", "triangles", "message"),
    [
        (np.where(np.arange(4)[:, None] == 2, np.nan, SQUARE), PAIR, r"1 of 4 vertices.*vertex 2 at \[nan"),
        (np.where(np.arange(4)[:, None] == 3, np.inf, SQUARE), PAIR, r"vertex 3 at \[inf"),
        (np.zeros((0, 3)), PAIR, "no vertices"),
        (SQUARE, np.zeros((0, 3), int), "no triangles"),
        (SQUARE[:, :2], PAIR, r"\(n, 3\), not \(4, 2\)"),
        ([["a", "b", "c"]], PAIR, "array of numbers"),
        (SQUARE, PAIR[:, :2], r"\(m, 3\), not \(2, 2\)"),
        (SQUARE, PAIR.astype(float), "integers.*float64"),
        (SQUARE, PAIR + 1, r"triangle 1 is \[2, 4, 3\], but vertices are numbered 0 to 3; .*start at 1"),
        (SQUARE, PAIR - 1, r"triangle 0 is \[-1, 0, 1\]"),
        (SQUARE, [[0, 1, 2], [1, 3, 3]], r"triangle 1 is \[1, 3, 3\]: it uses a vertex twice"),
        (SQUARE * [1, 0, 1], PAIR, r"2 of 2 triangles have no area \(first: 0, 1\); pass repair=True"),
        (SQUARE, [[0, 1, 2], [1, 3, 2], [2, 0, 1]], r"1 triangles are copies.*triangle 2, \[2, 0, 1\]"),
        (np.vstack([SQUARE, [[5, 5, 5]]]), PAIR, r"1 of 5 vertices belong to no element \(first: 4\).*repair=True"),
        (np.vstack([SQUARE, [[0, 0, 1]]]), [*PAIR.tolist(), [1, 2, 4]], r"1 edges.*two triangles.*edge \[1, 2\]"),
    ],
)
def test_bad_surfaces_are_refused_by_name(vertices, triangles, message):
    with pytest.raises(InputError, match=message):
        Mesh.from_triangles(vertices, triangles)


@pytest.mark.parametrize(
    ("vertices", "tets", "message"),
    [
        (TET, [[0, 1, 3, 2]], r"1 of 1 tetrahedra are inside out.*repair=True"),
        (TET * [1, 1, 0], [[0, 1, 2, 3]], r"1 of 1 tetrahedra have no volume \(first: 0\); this cannot be repaired"),
        (TET, [[0, 1, 2, 2]], "uses a vertex twice"),
        (TET, [[0, 1, 2, 4]], "numbered 0 to 3"),
        (TET, [[0, 1, 2, 3], [1, 2, 0, 3]], "1 tetrahedra are copies"),
        (np.vstack([TET, TET[:1] - 1]), [[0, 1, 2, 3]], "1 of 5 vertices belong to no element"),
        (
            np.vstack([TET, [[0, 0, 2], [0, 0, 3]]]),
            [[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 5]],
            "1 faces have more than two tetrahedra",
        ),
    ],
)
def test_bad_bodies_are_refused_by_name(vertices, tets, message):
    with pytest.raises(InputError, match=message):
        Mesh.from_tets(vertices, np.array(tets))


def test_flat_tetrahedra_are_refused_even_with_repair():
    with pytest.raises(InputError, match="cannot be repaired"):
        Mesh.from_tets(TET * [1, 1, 0], [[0, 1, 2, 3]], repair=True)


def test_flatness_does_not_depend_on_scale():
    for scale in (1e-6, 1e6):
        assert len(Mesh.from_triangles(SQUARE * scale, PAIR).triangles) == 2
        assert len(Mesh.from_tets(TET * scale, [[0, 1, 2, 3]]).tets) == 1


def test_surface_repair_says_what_it_did():
    vertices = np.vstack([[[9, 9, 9]], SQUARE])
    triangles = np.vstack([PAIR, [[2, 0, 1], [1, 3, 3]]]) + 1
    mesh = Mesh.from_triangles(vertices, triangles, groups={"far": [0, 4]}, repair=True)
    np.testing.assert_array_equal(mesh.vertices, SQUARE)
    np.testing.assert_array_equal(mesh.triangles, PAIR)
    assert mesh.groups["far"].tolist() == [3]
    assert mesh.repairs == (
        "removed 1 triangles without area",
        "removed 1 duplicate triangles",
        "removed 1 vertices that no element used",
    )


def test_nothing_is_left_to_repair():
    with pytest.raises(InputError, match="none of the 2 triangles has an area"):
        Mesh.from_triangles(SQUARE * 0, PAIR, repair=True)
    assert Mesh.from_triangles(SQUARE, PAIR, repair=True).repairs == ()


def test_body_repair_turns_tetrahedra():
    good = cube(3)
    tets = good.tets.copy()
    tets[::2] = tets[::2][:, [1, 0, 2, 3]]
    mesh = Mesh.from_tets(good.vertices, tets, repair=True)
    assert mesh.repairs == (f"turned {len(tets[::2])} tetrahedra that were inside out",)
    assert (mesh.tet_volumes() > 0).all()


@pytest.mark.parametrize("mesh", [cube(3), bar(4, 3, 2), ball(4)], ids=lambda m: m.name)
def test_boundary_encloses_the_volume_of_the_tetrahedra(mesh):
    # Divergence theorem: only an outward-facing, closed boundary gives the sum of the volumes.
    np.testing.assert_allclose(
        measure.enclosed_volume(mesh.vertices, mesh.triangles), mesh.tet_volumes().sum(), rtol=1e-12
    )


def test_regular_tetrahedron_has_quality_one():
    regular = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1.0]])
    np.testing.assert_allclose(measure.tet_quality(regular, np.array([[0, 2, 1, 3], [0, 1, 2, 3]])), [1, -1])


def test_a_wire_has_edges_only():
    mesh = Mesh.from_edges([[0, 0, 0], [0, -1, 0], [0, -2, 0]], [[2, 1], [0, 1]], groups={"end": [2]})
    assert mesh.edges.tolist() == [[0, 1], [1, 2]]
    assert mesh.hinges.shape == (0, 4)
    assert mesh.triangles.shape == (0, 3)
    assert not mesh.is_volumetric
    assert "2 edges" in repr(mesh)
    with pytest.raises(InputError, match="edge 0 has no length"):
        Mesh.from_edges([[0, 0, 0], [0, 0, 0]], [[0, 1]])
    with pytest.raises(InputError, match=r"edge 1 is .*twice"):
        Mesh.from_edges(SQUARE, [[0, 1], [2, 2]])
    with pytest.raises(InputError, match="1 edges are copies"):
        Mesh.from_edges(SQUARE[:2], [[0, 1], [1, 0]])


def test_arrays_cannot_be_written_and_callers_keep_theirs():
    vertices = SQUARE.copy()
    mesh = Mesh.from_triangles(vertices, PAIR, groups={"a": [1]})
    vertices[:] = 7
    np.testing.assert_array_equal(mesh.vertices, SQUARE)
    for array in (mesh.vertices, mesh.triangles, mesh.tets, mesh.edges, mesh.hinges, mesh.groups["a"]):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(TypeError):
        mesh.groups["b"] = np.array([1])


def test_pickled_meshes_come_back():
    mesh = cloth(4, 3)
    again = pickle.loads(pickle.dumps(mesh))
    np.testing.assert_array_equal(again.vertices, mesh.vertices)
    assert again.groups.keys() == mesh.groups.keys()


def test_transformed_scales_then_turns_then_moves():
    mesh = cloth(3, 3)
    edges = mesh.edges
    moved = mesh.transformed(scale=(2, 1, 1), rotate=(0, np.pi / 2, 0), translate=(0, 1, 0))
    x, _, z = mesh.vertices.T
    np.testing.assert_allclose(moved.vertices, np.column_stack([z, np.ones(9), -2 * x]), atol=1e-15)
    np.testing.assert_allclose(moved.bounds, [[-0.5, 1, -1], [0.5, 1, 1]], atol=1e-15)
    assert moved.edges is edges
    matrix = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    np.testing.assert_allclose(
        mesh.transformed(rotate=matrix).vertices, mesh.transformed(rotate=(0, np.pi / 2, 0)).vertices, atol=1e-15
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": -1}, "scale must be positive, not -1"),
        ({"scale": (1, 2)}, "scale must have shape"),
        ({"rotate": np.eye(3) * 2}, "orthogonal"),
        ({"rotate": np.diag([1, 1, -1])}, "determinant 1"),
        ({"translate": (0, np.nan, 0)}, "translate must be finite"),
        ({"translate": "up"}, "translate must be numbers"),
    ],
)
def test_bad_transforms_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        cloth(3, 3).transformed(**options)


def test_select_by_name_function_mask_and_index():
    mesh = cloth(3, 3)
    assert mesh.select("top").tolist() == [0, 1, 2]
    assert mesh.select(lambda x: x[:, 2] < 0).tolist() == [0, 1, 2]
    assert mesh.select(lambda x: np.argmax(x[:, 0])).tolist() == [2]
    assert mesh.select(np.arange(9) == 4).tolist() == [4]
    assert mesh.select([5, 2, 2]).tolist() == [2, 5]
    assert mesh.select([]).tolist() == []
    with pytest.raises(UnknownNameError, match="'topp'; did you mean 'top'"):
        mesh.select("topp")
    with pytest.raises(InputError, match="holds vertex 9, but vertices are numbered 0 to 8"):
        mesh.select([1, 9])
    with pytest.raises(InputError, match=r"one entry a vertex, \(9,\), not \(2,\)"):
        mesh.select([True, False])
    with pytest.raises(InputError, match="whole vertex numbers"):
        mesh.select([0.5])


def test_groups_are_sorted_and_checked():
    assert Mesh.from_triangles(SQUARE, PAIR, groups={"g": [3, 0, 3]}).groups["g"].tolist() == [0, 3]
    with pytest.raises(InputError, match="group 'g' holds vertex 4"):
        Mesh.from_triangles(SQUARE, PAIR, groups={"g": [4]})
