"""Where points of cloth are in the cloth, and how fast they move as colours."""

import numpy as np
import pytest

import vivace as vv
from viewer.conftest import running
from vivace.mesh import Mesh
from vivace.viewer.cloth_coordinates import FAR, cloth_coordinates
from vivace.viewer.colours import LEAST_SPEED, values_of


def grid(n=5, turned=0.0, tilt=0.0):
    """A square of side 1 in (n + 1)² vertices, turned about its normal and then tilted."""
    places = np.stack(
        [*np.meshgrid(np.linspace(0, 1, n + 1), np.linspace(0, 1, n + 1), indexing="ij"), np.zeros((n + 1,) * 2)]
    )
    vertices = places.reshape(3, -1).T
    at = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
    a, b, c, d = at[:-1, :-1].ravel(), at[1:, :-1].ravel(), at[1:, 1:].ravel(), at[:-1, 1:].ravel()
    triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    cos, sin = np.cos(turned), np.sin(turned)
    vertices = vertices @ np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]])
    cos, sin = np.cos(tilt), np.sin(tilt)
    return vertices @ np.array([[1, 0, 0], [0, cos, sin], [0, -sin, cos]]), triangles


@pytest.mark.parametrize(("turned", "tilt"), [(0.0, 0.0), (0.4, 0.0), (1.1, 0.7)])
def test_a_flat_cloth_is_measured_along_its_edges(turned, tilt):
    found = cloth_coordinates(Mesh.from_triangles(*grid(5, turned, tilt)))
    np.testing.assert_allclose(found[:, 3], 1)
    np.testing.assert_allclose([found[:, :2].min(axis=0), found[:, :2].max(axis=0)], [[-0.5] * 2, [0.5] * 2], atol=1e-6)
    # A point's distance from the boundary of a square is that from its nearest side.
    np.testing.assert_allclose(found[:, 2], 0.5 - np.abs(found[:, :2]).max(axis=1), atol=1e-6)


def test_lengths_in_the_cloth_are_lengths():
    vertices, triangles = grid(4, 0.3, 1.0)
    mesh = Mesh.from_triangles(vertices, triangles)
    found = cloth_coordinates(mesh)[:, :2].astype(float)
    a, b = mesh.edges.T
    lengths = np.linalg.norm(found[a] - found[b], axis=1)
    np.testing.assert_allclose(lengths, np.linalg.norm(vertices[a] - vertices[b], axis=1), atol=1e-6)


def test_a_bent_sheet_has_a_hem_and_no_threads():
    vertices, triangles = grid(12)
    angle = np.pi * vertices[:, 0]
    bent = np.stack([np.cos(angle), vertices[:, 1], np.sin(angle)], axis=1)
    found = cloth_coordinates(Mesh.from_triangles(bent, triangles))
    assert not found[:, 3].any()
    assert found[:, 2].min() == 0
    assert 0 < found[:, 2].max() < FAR


def test_two_pieces_have_coordinates_of_their_own():
    vertices, triangles = grid(3)
    both = np.concatenate([vertices, vertices + np.array([5, 0, 0.001])])
    found = cloth_coordinates(Mesh.from_triangles(both, np.concatenate([triangles, triangles + len(vertices)])))
    np.testing.assert_allclose(np.abs(found[:, :2]).max(), 0.5, atol=1e-6)


def test_closed_surfaces_and_solid_bodies_are_no_cloth():
    cube = vv.mesh.cube(3)
    assert cloth_coordinates(cube).shape == (0, 4)
    assert cloth_coordinates(Mesh.from_triangles(cube.vertices, cube.triangles, repair=True)).shape == (0, 4)


def test_speeds_are_bytes():
    with running() as told:
        view = told.frames(3).views[0]
        speed = np.linalg.norm(view.velocities, axis=1)
        values = values_of("velocity", view, np.zeros(0))
    assert values.unit == "m/s"
    assert values.high == pytest.approx(max(LEAST_SPEED, np.quantile(speed, 0.99)))
    np.testing.assert_array_equal(values.bytes, (255 * np.clip(speed / values.high, 0, 1) + 0.5).astype(np.uint8))
