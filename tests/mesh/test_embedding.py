"""A fine surface follows a coarse mesh: affine motions exactly, beside a sheet rigid ones, and the rest shape."""

import numpy as np
import pytest

import vivace as vv
from vivace.errors import InputError
from vivace.mesh import Mesh, ball, cloth, cube, embed
from vivace.mesh.closest import closest_places, closest_triangles, containing_tets
from vivace.storage import pack, unpack

RANDOM = np.random.default_rng(4)
AFFINE = np.array([[1.2, 0.3, 0.0], [-0.1, 0.8, 0.4], [0.2, 0.0, 1.1]])
SHIFT = np.array([3.0, -1.0, 0.5])
ROUNDING = 64 * np.finfo(float).eps


def rotation(seed=1):
    turn, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))
    return turn * np.sign(np.linalg.det(turn))


def fine_ball():
    """A surface of a thousand vertices, some of it beyond the coarse ball's."""
    mesh = ball(10)
    return Mesh.from_triangles(mesh.vertices, mesh.triangles, repair=True)


def sheet(n=23, height=0.0):
    """A fine sheet over a coarse one, wider than it, at a height beside its plane."""
    mesh = cloth(n, n, irregular=True).transformed(scale=1.1)
    rise = height * np.sin(5 * mesh.vertices[:, :1]) if height else 0.0
    return Mesh.from_triangles(mesh.vertices + rise * normal_of(cloth(5, 5)), mesh.triangles)


def normal_of(mesh):
    a, b, c = mesh.vertices[mesh.triangles[0]]
    n = np.cross(b - a, c - a)
    return n / np.linalg.norm(n)


@pytest.mark.slow
def test_rest_is_reproduced():
    for fine, cage in ((fine_ball(), ball(4)), (sheet(), cloth(5, 5)), (sheet(height=0.1), cloth(5, 5))):
        shown = embed(fine, cage)
        np.testing.assert_allclose(shown.at(cage.vertices), fine.vertices, rtol=0, atol=ROUNDING)
        assert shown.triangles.tolist() == fine.triangles.tolist()


@pytest.mark.parametrize(("fine", "cage"), [(fine_ball(), ball(4)), (sheet(), cloth(5, 5))], ids=["tets", "triangles"])
def test_affine_motions_are_exact(fine, cage):
    """x = Σ wᵢ qᵢ with Σ wᵢ = 1 is A x + b when every qᵢ is A qᵢ + b, outside the cage too."""
    moved = embed(fine, cage).at(cage.vertices @ AFFINE.T + SHIFT)
    np.testing.assert_allclose(moved, fine.vertices @ AFFINE.T + SHIFT, rtol=0, atol=8 * ROUNDING)


def test_a_surface_beside_a_sheet_moves_rigidly_with_it():
    fine, cage, turn = sheet(height=0.1), cloth(5, 5), rotation()
    shown = embed(fine, cage)
    np.testing.assert_allclose(
        shown.at(cage.vertices @ turn.T + SHIFT), fine.vertices @ turn.T + SHIFT, rtol=0, atol=8 * ROUNDING
    )
    wide = cage.transformed(scale=3.0)
    np.testing.assert_allclose(shown.scaled(3.0).at(wide.vertices), 3 * fine.vertices, atol=1e-13)
    with pytest.raises(InputError, match="turns normals"):
        shown.scaled([1.0, 2.0, 1.0])


def test_stretch_in_the_plane_keeps_the_distance_to_it():
    fine, cage = sheet(height=0.1), cloth(5, 5)
    n = normal_of(cage)
    stretch = np.eye(3) + 0.5 * (np.eye(3) - np.outer(n, n))
    moved = embed(fine, cage).at(cage.vertices @ stretch.T)
    np.testing.assert_allclose(moved, fine.vertices @ stretch.T, atol=1e-14)


def test_a_bent_cage_bends_a_shell_without_kinks():
    """A layer 2 cm above a cage that becomes a cylinder lies near the cylinder of 2 cm more, and is smooth.

    Chords of 20 facets of radius R lie R (1 - cos 9°) below the arc, and normals at vertices are exact there.
    """
    cage = cloth(21, 5, width=1.0, height=0.4)
    n = normal_of(cage)
    layer = cloth(101, 9, width=1.0, height=0.4)
    fine = Mesh.from_triangles(layer.vertices + 0.02 * n, layer.triangles)
    radius = 1.0 / np.pi
    along = cage.vertices[:, 0] / radius
    height = cage.vertices - np.outer(cage.vertices @ n, n)
    other = next(k for k in (1, 2) if abs(n[k]) < 0.5)
    bent = np.zeros_like(cage.vertices)
    bent[:, 0], bent[:, 3 - other], bent[:, other] = radius * np.sin(along), radius * np.cos(along), height[:, other]
    sign = np.sign(n[3 - other])
    bent[:, 3 - other] *= sign
    moved = embed(fine, cage).at(bent)
    off = np.linalg.norm(moved[:, [0, 3 - other]], axis=1) - (radius + 0.02)
    sagitta = radius * (1 - np.cos(np.pi / 40))
    assert off.max() < 1e-4
    assert off.min() > -1.5 * sagitta


def test_the_closest_triangle_is_that_of_brute_force():
    mesh = ball(4)
    points = RANDOM.uniform(-1.5, 1.5, (200, 3))
    number, weights, distance = closest_triangles(points, mesh.vertices, mesh.triangles)
    for k, point in enumerate(points):
        every = np.broadcast_to(point, (len(mesh.triangles), 3))
        _, far = closest_places(every, mesh.vertices[mesh.triangles])
        assert distance[k] == pytest.approx(far.min(), abs=1e-14)
    found = np.einsum("ki,kij->kj", weights, mesh.vertices[mesh.triangles[number]])
    np.testing.assert_allclose(np.linalg.norm(found - points, axis=1), distance, atol=1e-14)
    assert (weights >= 0).all()


def test_the_closest_place_is_no_farther_than_any_other():
    """Against a fine sampling of each triangle."""
    corners = RANDOM.standard_normal((50, 3, 3))
    points = 2 * RANDOM.standard_normal((50, 3))
    _, far = closest_places(points, corners)
    grid = [(i / 40, j / 40, 1 - (i + j) / 40) for i in range(41) for j in range(41 - i)]
    samples = np.einsum("si,kij->ksj", np.array(grid), corners)
    least = np.linalg.norm(samples - points[:, None], axis=2).min(axis=1)
    assert (far <= least + 1e-12).all()
    assert (least - far < 0.2).all()


def test_points_are_found_in_the_tetrahedra_that_have_them():
    mesh = ball(4)
    inside = np.einsum("ki,kij->kj", RANDOM.dirichlet(np.ones(4), len(mesh.tets)), mesh.vertices[mesh.tets])
    assert (containing_tets(inside, mesh.vertices, mesh.tets) == np.arange(len(mesh.tets))).mean() > 0.99
    assert (containing_tets(inside + 10, mesh.vertices, mesh.tets) == -1).all()


@pytest.mark.slow
def test_a_mesh_that_shows_another_is_exported_as_that(tmp_path):
    cage, fine = cloth(4, 4), sheet(9)
    sim = vv.Simulation(
        vv.Model.of(cage.showing(vv.embed(fine, cage))).pin("top"), budget=vv.Budget(iterations=2), time_step=1 / 60
    )
    vv.export(sim, tmp_path / "a.npz", frames=2)
    found = vv.caches.read(tmp_path / "a.npz")
    assert found.n_vertices == fine.n_vertices
    np.testing.assert_allclose(found.positions[2], vv.embed(fine, sim).at(sim.positions), rtol=0, atol=1e-7)
    text, arrays = pack(sim.model.mesh)
    again = unpack(text, arrays)
    np.testing.assert_array_equal(again.surface.at(sim.positions), sim.model.mesh.surface.at(sim.positions))


def test_what_cannot_be_embedded():
    wire = Mesh.from_edges([[0, 0, 0], [1, 0, 0]], [[0, 1]])
    with pytest.raises(InputError, match="wire"):
        embed(sheet(5), wire)
    with pytest.raises(InputError, match="no triangles"):
        embed(wire, cube(2))
    with pytest.raises(InputError, match="fine mesh"):
        embed("fine.obj", cube(2))
    with pytest.raises(InputError, match="Mesh is needed"):
        embed(sheet(5), "cage.obj")


def test_films_show_the_fine_surface_and_the_pins():
    from vivace.pictures import Film

    cage, fine = cloth(4, 4), sheet(9)
    model = vv.Model.of(cage.showing(embed(fine, cage))).pin("top-corners")
    film = Film.of(model, np.stack([cage.vertices, cage.vertices + 1]), 0.1, view=(0, 0, 1), settings={})
    assert film.triangles.tolist() == fine.triangles.tolist()
    for frame, shift in zip(film.frames[::1], (0, 1), strict=True):
        np.testing.assert_allclose(frame[film.points], cage.vertices[model.pinned] + shift)
        np.testing.assert_allclose(frame[: fine.n_vertices], fine.vertices + shift, atol=1e-12)
