"""Sheets: what they store does not depend on the mesh, and is what the theory of membranes and plates says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import vivace as vv
from vivace.constraints import CONSTRAINTS, make_group
from vivace.energy.stored import Projected, Quadratic
from vivace.energy.system import System
from vivace.model.patches import patches
from vivace.model.sheets import hinge_rigidity
from vivace.terms.curvature import projected_curvature

MESHES = [vv.mesh.cloth(9, 7, 1.0, 0.8), *(vv.mesh.cloth(9, 7, 1.0, 0.8, irregular=True, seed=k) for k in range(3))]
SHEET = vv.Sheet(stretch=100.0, weft=40.0, shear=15.0, bend=0.02, bend_weft=0.005, angle=30.0)


def stored(material, mesh, q):
    """What the membranes and the plates of a mesh store at q (J)."""
    return [
        (Quadratic if group.kind.project is None else Projected)(group, mesh.n_vertices).energy(q, None)
        for group in material.constraints(mesh)
    ]


def strained(mesh, strain, angle):
    """Positions under a small uniform strain (uu, vv, uv) in the frame of a warp at `angle` from x in the xz plane."""
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, s], [-s, c]])  # a cloth faces up: from x, angles go towards -z
    flat = mesh.vertices[:, [0, 2]] * [1, -1]
    uv = flat @ turn.T
    uv = uv + uv @ np.array([[strain[0], strain[2]], [strain[2], strain[1]]])
    flat = uv @ turn * [1, -1]
    return np.column_stack([flat[:, 0], np.zeros(len(flat)), flat[:, 1]])


@pytest.mark.slow
@pytest.mark.parametrize("mesh", MESHES)
def test_uniform_strain_is_exact_on_every_mesh(mesh):
    """E = area/2 (k_u ε_uu² + k_v ε_vv² + 4 G ε_uv²), to the next order in ε."""
    for strain in ((1e-5, 0, 0), (0, 1e-5, 0), (0, 0, 1e-5), (2e-5, -1e-5, 1e-5)):
        found = stored(SHEET, mesh, strained(mesh, strain, np.radians(30)))[0]
        uu, vv_, uv = strain
        expected = 0.5 * 0.8 * (100 * uu**2 + 40 * vv_**2 + 15 * 4 * uv**2)
        assert found == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("mesh", MESHES)
def test_uniform_strain_is_in_balance(mesh):
    """A patch test: no inner vertex of a uniformly strained sheet feels a force."""
    q = mesh.vertices * [1.05, 1, 0.97]
    (group, *_), out = SHEET.constraints(mesh), np.zeros((mesh.n_vertices, 3))
    Projected(group, mesh.n_vertices).add_gradient(q, None, out)
    inner = np.setdiff1d(
        np.arange(mesh.n_vertices), np.concatenate([mesh.groups[k] for k in ("left", "right", "top", "bottom")])
    )
    assert np.abs(out[inner]).max() < 1e-12 * np.abs(out).max()


@pytest.mark.parametrize("mesh", MESHES)
def test_second_derivatives_are_exact_for_quadratics(mesh):
    x, z = mesh.vertices[:, 0], mesh.vertices[:, 2]
    group = make_group("plate", mesh.vertices, patches(mesh.vertices, mesh.triangles), 1.0)
    height = 1.0 + 2 * x - z + 0.5 * 3 * x**2 + 0.5 * 5 * z**2 + 7 * x * z
    found = np.einsum("mrk,mk->mr", group.operator, height[group.vertices])
    # warp is x, weft is -z, and rows have √2 of the mixed one
    np.testing.assert_allclose(found, np.tile([3, 5, -7 * np.sqrt(2)], (len(found), 1)), atol=1e-8)


def test_a_bent_grid_stores_what_a_plate_does():
    """B/2 κ² area on a grid, whose inner vertices need not give way; whatever the direction."""
    mesh = MESHES[0]
    for angle in (0.0, 0.4, np.pi / 4, 2.0):
        along = mesh.vertices[:, [0, 2]] @ [np.cos(angle), np.sin(angle)]
        q = mesh.vertices + np.outer(0.5 * 0.1 * along**2, [0, 1, 0])
        assert stored(vv.Sheet(bend=0.02), mesh, q)[1] == pytest.approx(0.5 * 0.02 * 0.1**2 * 0.8, rel=1e-9)


@pytest.mark.parametrize("name", ["membrane", "curved-plate"])
def test_rotations_store_nothing(name):
    mesh = vv.mesh.cloth(6, 6, irregular=True)
    rest = mesh.vertices + np.outer(0.3 * mesh.vertices[:, 0] ** 2, [0, 1, 0])
    turned = rest @ Rotation.from_rotvec([0.4, -1.0, 2.0]).as_matrix().T + [1, 2, 3]
    index = mesh.triangles if name == "membrane" else patches(rest, mesh.triangles)
    group = make_group(name, rest, index, 1.0)
    energy = Projected(group, mesh.n_vertices).energy
    assert energy(turned, None) < 1e-20 * energy(rest * [1.1, 1.2, 1.0], None) + 1e-24


@pytest.mark.parametrize("name", ["membrane", "curved-plate"])
def test_projections_are_nearest_points(name):
    """Projecting p changes nothing, and no other point of the set that was tried is nearer to z."""
    kind, rng = CONSTRAINTS[name], np.random.default_rng(4)
    m, r = 40, kind.rows
    parameters = rng.uniform(0.3, 1.5, (m, len(kind.parameters)))
    z, p, again = rng.normal(size=(m, r, 3)), np.empty((m, r, 3)), np.empty((m, r, 3))
    for k in range(m):
        kind.project(z[k], parameters[k], p[k])
        kind.project(p[k], parameters[k], again[k])
    np.testing.assert_allclose(again, p, atol=1e-12)
    own = np.square(z - p).sum(axis=(1, 2))
    for _ in range(50):
        near, other = p + 0.2 * rng.normal(size=p.shape), np.empty_like(p)
        for k in range(m):
            kind.project(near[k], parameters[k], other[k])
        assert (np.square(z - other).sum(axis=(1, 2)) >= own - 1e-12).all()


def test_gradient_and_hessian_are_derivatives():
    """The gradient by central differences of the energy; the closed curvature by differences of the projection."""
    mesh, rng = MESHES[1], np.random.default_rng(2)
    system = System(vv.Model.of(mesh, SHEET), 0.01)
    q, d = mesh.vertices + 0.02 * rng.normal(size=mesh.vertices.shape), rng.normal(size=mesh.vertices.shape)
    step = 1e-6
    energy, gradient = system.objective.elastic(q)
    slope = (system.objective.potential(q + step * d) - system.objective.potential(q - step * d)) / (2 * step)
    assert slope == pytest.approx(float((gradient * d).sum()), rel=1e-6)
    group = SHEET.constraints(mesh)[0]
    z = np.einsum("mrk,mkc->mrc", group.operator, q[group.vertices])
    by_differences = projected_curvature(group.kind.project, z, group.parameters)
    np.testing.assert_allclose(group.kind.curvature(z, group.parameters), by_differences, atol=1e-7)
    assert energy > 0


def test_a_sheet_by_its_modulus():
    sheet = vv.Sheet.of(youngs_modulus=1e6, thickness=1e-3, density=900.0)
    assert (sheet.density, sheet.stretch) == pytest.approx((0.9, 1e3))
    assert sheet.bend == pytest.approx(1e6 * 1e-9 / 12)


def test_what_is_folded_sharply_or_small_has_hinges():
    """A box has no curvature at its edges, and two triangles have no six vertices."""
    cube = vv.mesh.Mesh.from_triangles(vv.mesh.cube(3).vertices, vv.mesh.cube(3).triangles, repair=True)
    assert [g.kind.name for g in vv.Sheet().constraints(cube)] == ["membrane", "curved-hinge"]
    pair = vv.mesh.cloth(2, 2)
    assert [g.kind.name for g in vv.Sheet().constraints(pair)] == ["membrane", "hinge"]
    assert [g.kind.name for g in vv.Sheet(bend=0).constraints(pair)] == ["membrane"]
    assert 3 < hinge_rigidity(vv.mesh.cloth(20, 20)) < 5


def test_a_sheet_that_is_curved_at_rest_has_curved_plates():
    flat = vv.mesh.cloth(8, 8, irregular=True)
    bowl = vv.mesh.Mesh.from_triangles(
        flat.vertices + np.outer(0.2 * flat.vertices[:, 0] ** 2, [0, 1, 0]), flat.triangles
    )
    groups = vv.Sheet().constraints(bowl)
    assert [g.kind.name for g in groups] == ["membrane", "curved-plate"]
    assert max(stored(vv.Sheet(), bowl, bowl.vertices)) < 1e-20


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"stretch": 0}, "stretch must be positive"),
        ({"weft": -1.0}, "weft must be zero or positive"),
        ({"angle": "x"}, "angle must be a finite number"),
        ({"bend": 1e31}, "at most"),
    ],
)
def test_bad_numbers_are_refused(options, said):
    with pytest.raises(vv.InputError, match=said):
        vv.Sheet(**options)
    with pytest.raises(vv.InputError, match="thickness must be positive"):
        vv.Sheet.of(youngs_modulus=1.0, thickness=0, density=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("irregular", [False, True])
def test_a_strip_lengthens_as_the_closed_form_says(irregular):
    """ρ g L²/(2 k), to the square of the strain and half a cell of what hangs from the pins."""
    strip = vv.mesh.cloth(5, 17, 0.25, 1.0, irregular=irregular, plane="vertical")
    model = vv.Model.of(strip, vv.Sheet(density=0.2, stretch=200.0, bend=0)).pin("top")
    sim = vv.Simulation(model, solver="newton", budget=vv.Budget(iterations=30), integrator="quasi-static")
    sim.equilibrium(within=1e-7)
    lower = strip.groups["bottom"]
    found = (strip.vertices[lower, 1] - sim.positions[lower, 1]).mean()
    assert found == pytest.approx(0.2 * 9.81 / 400, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "newton-multigrid"])
def test_solvers_move_a_sheet_as_newton_does(solver):
    """A sheet let go from the horizontal: within 2 % of its way of the converged steps after a quarter of a second."""
    sheet = vv.mesh.cloth(14, 14, irregular=True, seed=1)
    model = vv.Model.of(sheet, vv.Sheet(density=0.2, stretch=1e3, bend=1e-4), air=0.5).pin("top-corners")
    ways = []
    for name, iterations in (("newton", 12), (solver, 24)):
        sim = vv.Simulation(model, solver=name, budget=vv.Budget(iterations=iterations), substeps=1)
        for _ in range(8):
            sim.step()
        ways.append(np.asarray(sim.positions, np.float64))
    away = np.sqrt(np.square(ways[1] - ways[0]).sum(axis=1).mean())
    assert away < 0.02 * np.sqrt(np.square(ways[0] - sheet.vertices).sum(axis=1).mean())
