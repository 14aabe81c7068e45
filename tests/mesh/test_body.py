"""Stuffed bodies: closed, connected, well shaped, and the size they should be."""

import numpy as np
import pytest

from vivace.errors import InputError
from vivace.mesh import ball, body, connected_components, double_helix, tet_quality, unique_edges
from vivace.mesh.measure import enclosed_volume
from vivace.mesh.stuffing import stuff
from vivace.mesh.topology import boundary_edges, nonmanifold_edges


def require_sphere(mesh):
    """One piece, with a closed manifold boundary of Euler characteristic 2."""
    assert connected_components(mesh.n_vertices, mesh.edges)[0] == 1
    assert len(nonmanifold_edges(mesh.triangles)) == 0
    assert len(boundary_edges(mesh.triangles)) == 0
    surface = len(np.unique(mesh.triangles)) - len(unique_edges(mesh.triangles)) + len(mesh.triangles)
    assert surface == 2
    np.testing.assert_allclose(enclosed_volume(mesh.vertices, mesh.triangles), mesh.tet_volumes().sum(), rtol=1e-12)


@pytest.mark.parametrize("n", range(2, 16))
def test_ball_is_round_and_well_shaped(n):
    mesh = ball(n, 0.3)
    require_sphere(mesh)
    assert tet_quality(mesh.vertices, mesh.tets).min() > 0.35
    surface = np.unique(mesh.triangles)
    assert mesh.select("surface").tolist() == surface.tolist()
    # Bisection halves a cell 24 times.
    np.testing.assert_allclose(np.linalg.norm(mesh.vertices[surface], axis=1), 0.3, atol=0.3 * 2.0**-23)


@pytest.mark.slow
def test_ball_volume_converges():
    # A chord of length h lies h²/8r inside: volume errors fall with h².
    exact = 4 / 3 * np.pi
    errors = np.array([exact - ball(n, 1.0).tet_volumes().sum() for n in (5, 10, 20)]) / exact
    assert (errors > 0).all()
    assert errors[2] < 0.01
    assert (errors[:-1] / errors[1:] > 3.0).all()


@pytest.mark.slow
def test_default_body_is_about_the_size_of_the_armadillo():
    mesh = body()
    assert 9_000 < mesh.n_vertices < 12_000
    assert 45_000 < len(mesh.tets) < 55_000
    require_sphere(mesh)
    assert tet_quality(mesh.vertices, mesh.tets).min() > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("n", [16, 20, 27])
def test_coarse_bodies_are_whole(n):
    mesh = body(n, height=1.8)
    require_sphere(mesh)
    assert tet_quality(mesh.vertices, mesh.tets).min() > 0.3
    np.testing.assert_allclose(mesh.bounds[:, 1], [0, 1.8], atol=1e-12)
    left, right, feet = (mesh.vertices[mesh.select(name)] for name in ("left-hand", "right-hand", "feet"))
    assert len(left) > 5
    assert len(feet) > 5
    assert left[:, 0].min() > 0.4
    assert right[:, 0].max() < -0.4
    assert feet[:, 1].max() < 0.1


@pytest.mark.slow
def test_stuffing_a_half_space_cut_keeps_flat_faces_flat():
    # A box given as a maximum norm has creases the lattice cannot follow, but its volume must still be close.
    vertices, tets = stuff(lambda x: 1 - np.abs(x).max(axis=1), -np.ones(3), np.ones(3), 0.13)
    a, b, c, d = vertices[tets].transpose(1, 0, 2)
    volumes = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6
    assert (volumes > 0).all()
    assert np.abs(vertices).max() < 1 + 1e-6
    np.testing.assert_allclose(volumes.sum(), 8, rtol=0.02)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: body(8), "n must be 16 or more, not 8"),
        (lambda: body(height=0), "height must be"),
        (lambda: ball(1), "n must be 2 or more"),
        (lambda: ball(radius=np.nan), "radius must be"),
    ],
)
def test_bad_arguments_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.slow
@pytest.mark.parametrize("n", [24, 27, 40])
def test_a_double_helix_is_two_strands_and_seven_rungs(n):
    """One piece, closed; each rung beyond the first adds a handle: Euler's characteristic is 2 - 2 · 6."""
    mesh = double_helix(n, 0.5)
    assert connected_components(mesh.n_vertices, mesh.edges)[0] == 1
    assert len(nonmanifold_edges(mesh.triangles)) == 0
    assert len(boundary_edges(mesh.triangles)) == 0
    surface = len(np.unique(mesh.triangles)) - len(unique_edges(mesh.triangles)) + len(mesh.triangles)
    assert surface == 2 - 2 * 6
    assert tet_quality(mesh.vertices, mesh.tets).min() > 0.3
    assert np.ptp(mesh.vertices[:, 1]) == pytest.approx(0.5)
    ends = mesh.vertices[mesh.select("top")]
    assert ends[:, 1].min() > 0.9 * 0.5
    assert (ends[:, 0] > 0).any()
    assert (ends[:, 0] < 0).any()
