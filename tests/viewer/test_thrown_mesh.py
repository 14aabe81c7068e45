"""Meshes of one's own thrown into a scene as rigid bodies."""

import asyncio

import numpy as np
import pytest

import vivace as vv
from viewer.conftest import running, until
from viewer.test_adding import TABLE, start
from viewer.test_uploads import send
from vivace.collisions.colliders import Box
from vivace.errors import InputError
from vivace.mesh import Mesh
from vivace.viewer.actions.adding import throw_mesh
from vivace.viewer.adding import with_body
from vivace.viewer.thrown_mesh import CORNERS, FEW, ThrownMesh, coarser


def surface(mesh, name="own"):
    """The outside of a solid."""
    used, numbers = np.unique(mesh.triangles, return_inverse=True)
    return Mesh.from_triangles(mesh.vertices[used], numbers.reshape(-1, 3), name=name)


def cross():
    """Two boards across each other: its hull is twice as much, and more."""
    boxes = [Box((0, 0, 0), half).surface() for half in ((1.0, 0.1, 0.1), (0.1, 0.1, 1.0))]
    first = boxes[0].n_vertices
    vertices = np.concatenate([box.vertices for box in boxes])
    return Mesh.from_triangles(vertices, np.concatenate([boxes[0].triangles, boxes[1].triangles + first]), name="cross")


def test_a_convex_mesh_is_its_hull():
    """A box keeps its eight corners, a ball has few of its own; their size is what was asked for."""
    box = ThrownMesh(Box((3, 4, 5), (1, 1, 2)).surface())
    assert box.told == ""
    made = box.at((0.0, 1.0, 0.0), 0.4)
    assert len(made.corners) == 8
    np.testing.assert_allclose(np.ptp(made.vertices, axis=0), [0.2, 0.2, 0.4])
    np.testing.assert_allclose(made.centre, [0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(made.volume, 0.2 * 0.2 * 0.4)
    ball = ThrownMesh(surface(vv.mesh.ball(6, 0.5))).at((0.0, 0.0, 0.0), 1.0)
    assert len(ball.corners) <= CORNERS
    assert 0.7 * np.pi / 6 < ball.volume < np.pi / 6


def test_what_has_hollows_says_so_and_looks_like_itself():
    """Hull of a cross with arms of length 2 and width 0.2: an octagon's prism, 0.2 (2 · 2 - 2 · 0.9²) by height."""
    thrown = ThrownMesh(cross())
    assert "touches by its convex hull" in thrown.told
    made = thrown.at((0.0, 0.0, 0.0), 2.0)
    np.testing.assert_allclose(made.volume, 0.2 * (2 * 2 - 2 * 0.9**2))
    assert made.surface().n_vertices == 16  # not the hull's
    assert made.distance([[0.5, 0.0, 0.5]])[0] < 0  # soft bodies meet the hull


def test_fine_meshes_are_drawn_coarser():
    """In fewer vertices, none farther from the surface than a cell."""
    fine = surface(vv.mesh.ball(14, 0.5))
    vertices, triangles = coarser(fine.vertices, fine.triangles)
    if fine.n_vertices > FEW:
        assert len(vertices) < fine.n_vertices
    assert triangles.max() < len(vertices)
    assert np.abs(np.linalg.norm(vertices, axis=1) - 0.5).max() < 1 / 40


@pytest.mark.parametrize("vertices", [[[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 0, 0], [1, 0, 0], [1, 1, 0]]])
def test_what_is_flat_is_refused(vertices):
    with pytest.raises(InputError, match="cannot be thrown in"):
        ThrownMesh(Mesh.from_triangles(vertices, [[0, 1, 2]], name="sheet"))


@pytest.mark.slow
def test_it_falls_onto_the_cloth():
    run = start()
    more = with_body(run, ThrownMesh(cross()))
    sim = more.sims[0]
    first = float(sim.bodies.positions[0, 1])
    for _ in range(40):
        (view,) = more.step()
    assert 0.5 < float(sim.bodies.positions[0, 1]) < first - 0.02
    assert view.vertices.shape[0] == sim.model.n + len(more.mesh.local)


@pytest.mark.slow
def test_a_page_sends_one(viewer, tmp_path):
    """Over the socket of uploads, into the scene that runs; a sheet is refused in a sentence."""
    vv.mesh.save(cross(), tmp_path / "cross.obj")
    sheet = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
    assert "cannot be thrown in" in asyncio.run(send(viewer, "sheet.obj", sheet, thrown=True))
    data = (tmp_path / "cross.obj").read_bytes()
    assert asyncio.run(send(viewer, "cross.obj", data, thrown=True)) == ""
    viewer.session.watchers = 1
    until(lambda: viewer.session.sims[0].bodies is not None, "the cross")
    assert len(viewer.session.sims[0].bodies) == 1
    assert viewer.session.uploaded is None


@pytest.mark.slow
def test_a_scene_that_cannot_have_it_says_so():
    with running(TABLE) as told:
        told.frames(1)
        told.change(compare="vivace")
        until(lambda: len(told.session.sims) == 2, "the other half")
        told.session.call(lambda: throw_mesh(told.session, ThrownMesh(cross())))
        told.settle()
        assert any("side by side" in text for text in told.notices())
        told.change(compare="")
        told.session.call(lambda: throw_mesh(told.session, ThrownMesh(cross())))
        until(lambda: any("convex hull" in text for text in told.notices()), "what there is to know")
