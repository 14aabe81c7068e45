"""Every registered constraint: what A q measures, what the projection finds, and what the energy is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import vivace as vv
from vivace.constraints import CONSTRAINTS, Role, make_group
from vivace.constraints.kernels.local import project_pass

EPS = float(np.finfo(float).eps)
TURN = Rotation.from_rotvec([0.4, -1.1, 0.7]).as_matrix()


def rolled_cloth(nx=5, ny=4):
    """A cloth bent to a part of a cylinder: its hinges have a rest vector."""
    flat = vv.mesh.cloth(nx, ny)
    x, _, z = flat.vertices.T
    return vv.mesh.Mesh.from_triangles(np.column_stack([np.sin(x), 1 - np.cos(x), z]), flat.triangles)


def group_of(name):
    """A group of each kind on a mesh that suits it, and its rest positions."""
    if name == "spring":
        mesh = vv.mesh.cloth(4, 3)
        return make_group(name, mesh.vertices, mesh.edges, 100.0), mesh.vertices
    if name == "pin":
        mesh = vv.mesh.cloth(4, 3)
        return make_group(name, mesh.vertices, [0, 3], 100.0), mesh.vertices
    if name == "hinge":
        mesh = vv.mesh.cloth(4, 3, irregular=True)
        return make_group(name, mesh.vertices, mesh.hinges, 0.1), mesh.vertices
    if name == "curved-hinge":
        mesh = rolled_cloth()
        return make_group(name, mesh.vertices, mesh.hinges, 0.1), mesh.vertices
    mesh = vv.mesh.cube(3)
    return make_group(name, mesh.vertices, mesh.tets, 100.0), mesh.vertices


BUILT_IN = ["curved-hinge", "hinge", "pin", "spring", "tet-strain", "tet-volume"]
PROJECTING = ["curved-hinge", "spring", "tet-strain", "tet-volume"]


def measure(group, q):
    """z = A_c q for every constraint: (m, r, 3)."""
    return np.einsum("mrk,mkc->mrc", group.operator, q[group.vertices])


def project(group, z):
    """p for every z, in float64."""
    p = np.full_like(z, np.nan)
    project_pass(group.kind.project)(z, group.parameters, p)
    return p


def energy(group, q):
    """Σ w/2 ‖A q - p‖²"""
    z = measure(group, q)
    if group.kind.role is not Role.QUADRATIC:
        z = z - project(group, z)
    return 0.5 * float(group.weights @ np.einsum("mrc,mrc->m", z, z))


def deformed(rest, size=0.1, seed=0):
    return rest + size * np.random.default_rng(seed).standard_normal(rest.shape)


def test_every_built_in_constraint_is_covered():
    assert set(BUILT_IN) <= set(CONSTRAINTS)
    for name in BUILT_IN:
        kind = CONSTRAINTS[name]
        assert kind.summary
        assert kind.unit
        assert (kind.role in (Role.PROJECTED, Role.SPRING)) == (name in PROJECTING)


# --- what A q measures -----------------------------------------------------------------------------------------------


def test_spring_measures_the_difference():
    """z = q_i - q_j, l = |x_i - x_j|, w = stiffness."""
    group, rest = group_of("spring")
    q = deformed(rest)
    i, j = group.vertices.T
    assert np.array_equal(measure(group, q)[:, 0], q[i] - q[j])
    assert np.array_equal(group.parameters[:, 0], np.linalg.norm(rest[i] - rest[j], axis=1))
    assert (group.weights == 100.0).all()


def test_spring_scale_and_energy():
    """E = Σ w/2 (|q_i - q_j| - scale l)²"""
    mesh = vv.mesh.cloth(4, 3)
    group = make_group("spring", mesh.vertices, mesh.edges, np.arange(len(mesh.edges)) + 1.0, scale=0.8)
    q = deformed(mesh.vertices)
    i, j = mesh.edges.T
    stretch = np.linalg.norm(q[i] - q[j], axis=1) - 0.8 * np.linalg.norm(mesh.vertices[i] - mesh.vertices[j], axis=1)
    expected = 0.5 * np.sum((np.arange(len(stretch)) + 1.0) * stretch**2)
    assert energy(group, q) == pytest.approx(expected, rel=len(stretch) * 10 * EPS)


def test_pin_measures_the_vertex():
    """z = q_i; the target is the rest position unless another is given."""
    group, rest = group_of("pin")
    q = deformed(rest)
    assert np.array_equal(measure(group, q)[:, 0], q[[0, 3]])
    assert np.array_equal(group.parameters, rest[[0, 3]])
    moved = make_group("pin", rest, [2], 5.0, target=[1.0, 2.0, 3.0])
    assert moved.parameters.tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize("name", ["tet-strain", "tet-volume"])
def test_tetrahedra_measure_the_deformation_gradient(name):
    """q = B x + t gives F = B in every tetrahedron; for a rotation B both energies are zero."""
    group, rest = group_of(name)
    stretch = np.array([[1.2, 0.3, 0.0], [-0.1, 0.9, 0.2], [0.0, 0.4, 1.1]])
    for b in (np.eye(3), TURN, stretch):
        f = np.swapaxes(measure(group, rest @ b.T + [0.1, 0.2, 0.3]), 1, 2)
        assert np.abs(f - b).max() <= 100 * EPS * np.abs(group.operator).max()
    factor = 2.0 if name == "tet-strain" else 1.0
    assert group.weights.sum() == pytest.approx(100.0 * factor * 1.0, rel=len(group) * EPS)  # a cube of 1 m³
    # F errs by eps ‖A‖, the energy by its square; volumes stop their steps at 1e-7
    error = max(100 * EPS * np.abs(group.operator).max(), 1e-7 if name == "tet-volume" else 0)
    assert energy(group, rest @ TURN.T) <= group.weights.sum() * error**2


def test_hinges_vanish_on_flat_meshes_in_any_position():
    """Σ c_i x_i = 0 when the four corners keep their plane shape, and for any affine image of it."""
    group, rest = group_of("hinge")
    affine = np.array([[1.3, 0.2, 0.1], [0.0, 1.0, 0.0], [-0.4, 0.3, 0.8]])
    for b in (np.eye(3), TURN, affine):
        z = measure(group, rest @ b.T + [3.0, -2.0, 1.0])
        assert np.abs(z).max() <= 20 * EPS * np.abs(group.operator).max() * np.abs(rest @ b.T + 3).max()


def bergou(x, q, k):
    """k/2 · 3/(A₁ + A₂) ‖K q‖² with the cotangents between the edge and the other four edges [bergou2006]."""

    def angle(u, v):
        return np.arccos(np.dot(u, v) / np.linalg.norm(u) / np.linalg.norm(v))

    def area(a, b, c):  # Heron
        sides = [np.linalg.norm(a - b), np.linalg.norm(b - c), np.linalg.norm(c - a)]
        s = sum(sides) / 2
        return np.sqrt(s * np.prod([s - side for side in sides]))

    x0, x1, x2, x3 = x
    e0 = x1 - x0
    c01, c02 = (1 / np.tan(angle(e0, other - x0)) for other in (x2, x3))
    c03, c04 = (1 / np.tan(angle(-e0, other - x1)) for other in (x2, x3))
    row = np.array([c03 + c04, c01 + c02, -c01 - c03, -c02 - c04])
    form = 3 / (area(x0, x1, x2) + area(x0, x1, x3)) * np.outer(row, row)
    return 0.5 * k * float(np.sum(q * (form @ q)))


def test_hinge_energy_is_the_quadratic_form_of_bergou():
    """E = k/2 · 3/(A₁+A₂) qᵀ KᵀK q, with angles by arccosine and areas by Heron (both lose a few digits)."""
    group, rest = group_of("hinge")
    q = deformed(rest)
    expected = sum(bergou(rest[c], q[c], 0.1) for c in group.vertices)
    assert energy(group, q) == pytest.approx(expected, rel=1e4 * EPS)


@pytest.mark.parametrize("angle", [0.1, 1.0, 2.5])
def test_one_hinge_bent_by_an_angle(angle):
    """Bent rigidly about its edge by θ, ‖Σ c x‖ = 2 |e| sin(θ/2): opposite corner i has c = -|e|/height_i."""
    x = np.array([[0.0, 0, 0], [0, 0, 2.0], [1.0, 0, 0.7], [-0.6, 0, 1.5]])
    group = make_group("hinge", x, [[0, 1, 2, 3]], 0.3)
    q = x.copy()
    q[2] = Rotation.from_rotvec([0, 0, angle]).apply(x[2])
    expected = 0.5 * 0.3 * 3 / (1.0 + 0.6) * (2 * 2.0 * np.sin(angle / 2)) ** 2
    assert energy(group, q) == pytest.approx(expected, rel=100 * EPS)


@pytest.mark.parametrize("across", [2, 4])
def test_bent_strip_converges_to_the_smooth_bending_energy(across):
    """A strip rolled to curvature κ along its length stores 3 · k/2 ∫ κ² dA.

    Only edges along the axis bend; cell diagonals lie in planes. Each such edge of length e turns by θ = κ d and has
    A₁ + A₂ = e d, so it holds k/2 · 3/(e d) · (2 e sin(θ/2))² ≈ 3 · k/2 κ² · e d. The factor 3 belongs to this energy:
    it samples curvature edge by edge, and a third of the edges carry it. Of n cells n - 1 seams are inside, so the sum
    is (1 - 1/n) of the limit, up to sin²(θ/2) = θ²/4 (1 - θ²/12 + ...).
    """
    k, kappa, length, width = 0.02, 2.0, 1.0, 0.3
    errors = []
    for n in (8, 16, 32, 64):
        mesh = vv.mesh.cloth(n + 1, across, length, width)
        x, _, z = mesh.vertices.T
        group = make_group("hinge", mesh.vertices, mesh.hinges, k)
        # the polygon's sides keep their length d: an isometry of the mesh, inscribed in a slightly larger circle
        theta = kappa * length / n
        radius = (length / n) / (2 * np.sin(theta / 2))
        bent = np.column_stack([radius * np.sin(kappa * x), radius * (1 - np.cos(kappa * x)), z])
        smooth = 3 * 0.5 * k * kappa**2 * length * width
        found = energy(group, bent)
        exact = smooth * (1 - 1 / n) * (np.sin(theta / 2) / (theta / 2)) ** 2
        assert found == pytest.approx(exact, rel=1e5 * n * EPS)  # cotangents of thin cells cancel by about n²
        errors.append(abs(found / smooth - 1))
    ratios = np.array(errors[:-1]) / errors[1:]
    assert np.abs(ratios - 2).max() <= 0.25  # first order: halving the cells halves the missing seam


def test_curved_hinge_keeps_the_size_of_its_vector():
    """E = Σ k/2 · 3/(A₁+A₂) (‖Σ c q‖ - ‖Σ c x‖)², zero at rest and turned."""
    group, rest = group_of("curved-hinge")
    tiny = (100 * EPS * np.abs(group.operator).max()) ** 2 * group.weights.sum()
    assert group.parameters.min() >= 0
    assert group.parameters.max() > 0.01
    assert energy(group, rest) <= tiny
    assert energy(group, rest @ TURN.T) <= tiny
    q = deformed(rest)
    sizes = [np.linalg.norm(measure(group, x)[:, 0], axis=1) for x in (q, rest)]
    expected = 0.5 * np.sum(group.weights * (sizes[0] - sizes[1]) ** 2)
    assert energy(group, q) == pytest.approx(expected, rel=len(group) * 100 * EPS)


# --- invariance ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BUILT_IN)
def test_rows_sum_to_zero_but_for_pins(name):
    """A (q + t) = A q for every translation t: each row of A sums to zero."""
    group, _ = group_of(name)
    sums, size = group.operator.sum(axis=2), np.abs(group.operator).sum(axis=2)
    if name == "pin":
        assert (sums == 1).all()
    else:
        assert (np.abs(sums) <= 4 * EPS * size).all()


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name != "pin"])
def test_energies_do_not_change_under_rotation_and_translation(name):
    """E(R q + t) = E(q)"""
    group, rest = group_of(name)
    q = deformed(rest, 0.05)
    # z errs by eps ‖A‖ ‖q‖ and E is quadratic in it; the steps of the volume projection stop at 1e-7
    scale = float(group.weights @ np.einsum("mrk,mrk->m", group.operator, group.operator))
    tolerance = 100 * EPS * scale + (1e-7 * energy(group, q) if name == "tet-volume" else 0)
    assert abs(energy(group, q @ TURN.T + [1.0, 2.0, -1.0]) - energy(group, q)) <= tolerance


# --- projections -----------------------------------------------------------------------------------------------------


def measures(name, seed=3):
    group, rest = group_of(name)
    return group, measure(group, deformed(rest, 0.05, seed))


@pytest.mark.parametrize("name", PROJECTING)
def test_projecting_twice_is_projecting_once(name):
    """project(project(z)) = project(z): the result lies on the set."""
    group, z = measures(name)
    p = project(group, z)
    tolerance = 1e-6 if name == "tet-volume" else 100 * EPS
    assert np.abs(project(group, p) - p).max() <= tolerance * max(np.abs(p).max(), 1)


def neighbours_on_the_set(name, p, rng, size):
    """Points of the set near p: turned for sizes and rotations, multiplied by a matrix of determinant 1 for volumes."""
    if name == "tet-volume":
        b = np.eye(3) + size * rng.standard_normal((3, 3))
        return p @ (b / np.cbrt(np.linalg.det(b)))
    return p @ Rotation.from_rotvec(size * rng.standard_normal(3)).as_matrix()


@pytest.mark.parametrize("name", PROJECTING)
@pytest.mark.parametrize("size", [1e-3, 0.05, 0.5])
def test_no_point_of_the_set_nearby_is_nearer(name, size):
    """‖z - p‖ ≤ ‖z - p'‖ for p' on the set, to the rounding of the distance (and the stop of volumes, squared)."""
    group, z = measures(name)
    p = project(group, z)
    distance = np.linalg.norm(z - p, axis=(1, 2))
    rng = np.random.default_rng(4)
    slack = 100 * EPS * (np.abs(z).max() + 1) + (1e-7 * size if name == "tet-volume" else 0)
    for _ in range(30):
        other = np.stack([neighbours_on_the_set(name, one, rng, size) for one in p])
        assert (distance <= np.linalg.norm(z - other, axis=(1, 2)) + slack).all()


@pytest.mark.parametrize("name", PROJECTING)
def test_projection_of_nothing_is_finite(name):
    """z = 0: collapsed to a point."""
    group, z = measures(name)
    assert np.isfinite(project(group, np.zeros_like(z))).all()
