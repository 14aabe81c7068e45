"""Generated meshes against closed forms: counts, Euler characteristics, areas and volumes."""

import numpy as np
import pytest

from vivace.errors import InputError, UnknownNameError
from vivace.mesh import (
    bar,
    cloth,
    connected_components,
    cube,
    noodle,
    tet_quality,
    torus,
    unique_edges,
)
from vivace.mesh.topology import nonmanifold_edges


def euler(mesh):
    """V − E + F of the surface: 1 for a disc, 2 for a sphere, 0 for a torus."""
    return len(np.unique(mesh.triangles)) - len(unique_edges(mesh.triangles)) + len(mesh.triangles)


def smallest_angle(mesh):
    """In degrees, over all corners of all triangles."""
    corners = mesh.vertices[mesh.triangles]
    angles = []
    for k in range(3):
        u, v = corners[:, (k + 1) % 3] - corners[:, k], corners[:, (k + 2) % 3] - corners[:, k]
        cosine = (u * v).sum(axis=1) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1)
        angles.append(np.degrees(np.arccos(cosine)))
    return np.min(angles)


def test_the_tablecloth_has_the_counts_of_the_paper():
    mesh = cloth()
    assert (mesh.n_vertices, len(mesh.edges), len(mesh.hinges)) == (10_000, 29_601, 29_205)


@pytest.mark.parametrize("irregular", [False, True])
@pytest.mark.parametrize("plane", ["horizontal", "vertical"])
@pytest.mark.parametrize(("nx", "ny"), [(2, 2), (2, 7), (9, 5), (20, 30)])
def test_cloth_is_a_flat_rectangle(nx, ny, plane, irregular):
    mesh = cloth(nx, ny, width=0.9, height=0.6, plane=plane, irregular=irregular)
    # Every triangulation of n points with b on the hull has 2n − 2 − b triangles.
    assert len(mesh.triangles) == 2 * nx * ny - 2 - 2 * (nx + ny - 2)
    assert euler(mesh) == 1
    np.testing.assert_allclose(mesh.triangle_areas().sum(), 0.9 * 0.6, rtol=1e-12)
    a, b, c = mesh.vertices[mesh.triangles].transpose(1, 0, 2)
    facing = np.cross(b - a, c - a)[:, 1 if plane == "horizontal" else 2]
    assert (facing > 0).all()
    if plane == "horizontal":
        np.testing.assert_allclose(mesh.bounds, [[-0.45, 0, -0.3], [0.45, 0, 0.3]])
        top = mesh.select(lambda x: x[:, 2] == x[:, 2].min())
    else:
        np.testing.assert_allclose(mesh.bounds, [[-0.45, -0.6, 0], [0.45, 0, 0]])
        top = mesh.select(lambda x: x[:, 1] == 0)
    assert mesh.select("top").tolist() == top.tolist() == list(range(nx))
    assert mesh.select("left").tolist() == mesh.select(lambda x: x[:, 0] == x[:, 0].min()).tolist()
    assert mesh.select("corners").tolist() == [0, nx - 1, nx * (ny - 1), nx * ny - 1]
    assert mesh.select("top-corners").tolist() == [0, nx - 1]
    assert mesh.select("right-corners").tolist() == [nx - 1, nx * ny - 1]


@pytest.mark.slow
def test_irregular_cloth_follows_its_seed_and_has_no_slivers():
    first, again, other = (cloth(40, 40, irregular=True, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.vertices, again.vertices)
    np.testing.assert_array_equal(first.triangles, again.triangles)
    assert (first.vertices != other.vertices).any()
    valence = np.bincount(first.edges.ravel())
    assert valence.max() > 6  # the regular cloth has none above six
    assert smallest_angle(first) > 15.0


def test_noodle_is_a_strip():
    mesh = noodle(length=2.0, width=0.1, n=30)
    assert mesh.name == "noodle"
    assert mesh.n_vertices == 90
    assert len(mesh.select("top")) == 3
    np.testing.assert_allclose(mesh.triangle_areas().sum(), 0.2)
    np.testing.assert_allclose(mesh.bounds, [[-0.05, -2, 0], [0.05, 0, 0]], atol=1e-15)


@pytest.mark.parametrize("counts", [(2, 2, 2), (5, 3, 2), (4, 5, 6)])
def test_bar_fills_its_box(counts):
    mesh = bar(*counts, size=(1.0, 0.4, 0.2))
    cells = np.prod(np.array(counts) - 1)
    assert mesh.n_vertices == np.prod(counts)
    assert len(mesh.tets) == 6 * cells
    # Kuhn's tetrahedra all have a sixth of the cell; a face that did not match would add to the boundary.
    np.testing.assert_allclose(mesh.tet_volumes(), 0.08 / (6 * cells), rtol=1e-9)
    np.testing.assert_allclose(mesh.triangle_areas().sum(), 2 * (0.4 + 0.2 + 0.08))
    assert euler(mesh) == 2
    for name, axis, sign in [("left", 0, -1), ("bottom", 1, -1), ("back", 2, -1), ("front", 2, 1), ("top", 1, 1)]:
        edge = sign * mesh.bounds[1, axis]
        assert mesh.select(name).tolist() == mesh.select(lambda x, k=axis, e=edge: np.isclose(x[:, k], e)).tolist()
    assert len(mesh.select("corners")) == 8


def test_cube_has_its_volume():
    mesh = cube(5, 0.5)
    assert mesh.name == "cube"
    np.testing.assert_allclose(mesh.tet_volumes().sum(), 0.125, rtol=1e-12)


def test_torus_is_a_torus():
    mesh = torus()
    assert euler(mesh) == 0
    assert connected_components(mesh.n_vertices, mesh.edges)[0] == 1
    assert len(nonmanifold_edges(mesh.triangles)) == 0
    assert np.unique(mesh.triangles).tolist() == mesh.select("surface").tolist()
    assert tet_quality(mesh.vertices, mesh.tets).min() > 0.5


@pytest.mark.slow
def test_torus_volume_converges_at_second_order():
    # Pappus: 2π² R r². Chords cut arcs by O(h²), so halving h divides the error by four.
    exact = 2 * np.pi**2 * 0.4 * 0.1**2
    errors = [abs(torus(0.4, 0.1, 12 * k, 2 * k).tet_volumes().sum() - exact) / exact for k in (1, 2, 4)]
    assert 3.5 < errors[0] / errors[1] < 4.5
    assert 3.5 < errors[1] / errors[2] < 4.5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cloth(1, 5), "nx must be 2 or more, not 1"),
        (lambda: cloth(5, 2.5), "ny must be a whole number, not 2.5"),
        (lambda: cloth(width=0.0), "width must be a positive, finite length"),
        (lambda: cloth(height=np.inf), "height must be a positive, finite length"),
        (lambda: cloth(width="wide"), "width must be a length in metres"),
        (lambda: noodle(n=1), "n must be 2 or more"),
        (lambda: noodle(length=-1.0), "length must be"),
        (lambda: bar(2, 2, 1), "nz must be 2 or more"),
        (lambda: bar(size=(1.0, 1.0)), "size must be three lengths"),
        (lambda: bar(size=(1.0, np.nan, 1.0)), "size along y must be"),
        (lambda: cube(0), "n must be 2 or more"),
        (lambda: cube(3, -1.0), "side must be"),
        (lambda: torus(0.1, 0.2), r"minor must be less than major \(0.1\), not 0.2"),
        (lambda: torus(segments=2), "segments must be 3 or more"),
        (lambda: torus(rings=0), "rings must be 1 or more"),
    ],
)
def test_bad_arguments_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_unknown_plane_suggests_the_known():
    with pytest.raises(UnknownNameError, match="did you mean 'vertical'"):
        cloth(3, 3, plane="vertcal")
