"""Constraints that are known by their value: volume and dihedral angle, their gradients, degenerate shapes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import vivace as vv
from constraints.by_value import BY_VALUE, EPS, FOLD, TET, differences, folded, one, value
from vivace.constraints import CONSTRAINTS, make_group
from vivace.constraints.dihedral import angles
from vivace.energy.system import System


@pytest.mark.parametrize("name", BY_VALUE)
@pytest.mark.parametrize("seed", range(5))
def test_gradients_are_the_slopes(name, seed):
    """∇C by central differences: they err by h²/6 C''' and ε C/h; with h = 1e-5 and lengths of order 1 below 1e-8."""
    rng = np.random.default_rng(seed)
    group = one(name, (TET if name == "volume" else FOLD) + 0.2 * rng.normal(size=(4, 3)))
    q = (TET if name == "volume" else FOLD) + 0.2 * rng.normal(size=(4, 3))
    gradient = value(group, q)[1]
    assert np.abs(gradient).max() > 0.1
    np.testing.assert_allclose(gradient, differences(group, q, 1e-5), rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", BY_VALUE)
def test_rest_shapes_have_the_value_zero_wherever_they_are(name):
    """C(R x + t) = 0 at rest: to the rounding of positions about 10 m away, times the slope, of order 1."""
    rng = np.random.default_rng(7)
    rest = (TET if name == "volume" else FOLD) + 0.2 * rng.normal(size=(4, 3))
    group = one(name, rest)
    assert abs(value(group, rest)[0]) <= 4 * EPS
    turn = Rotation.from_rotvec([0.4, -1.1, 0.7])
    assert abs(value(group, turn.apply(rest) + np.array([10, -5, 3]))[0]) <= 100 * 10 * EPS


@pytest.mark.parametrize("name", BY_VALUE)
def test_moving_or_turning_the_whole_changes_nothing(name):
    """Σ_k ∇_k C = 0 and Σ_k x_k x ∇_k C = 0: C sees neither translation nor rotation."""
    rng = np.random.default_rng(3)
    base = TET if name == "volume" else FOLD
    group = one(name, base)
    q = base + 0.3 * rng.normal(size=(4, 3))
    gradient = value(group, q)[1]
    size = np.abs(gradient).sum()
    np.testing.assert_allclose(gradient.sum(axis=0), 0, atol=4 * EPS * size)
    np.testing.assert_allclose(np.cross(q, gradient).sum(axis=0), 0, atol=30 * EPS * size * np.abs(q).max())


def test_volume_is_signed():
    """C = V - V₀: a unit corner has V = 1/6; grown to twice its size 8/6; mirrored -1/6."""
    group = one("volume", TET)
    assert group.parameters[0, 0] == pytest.approx(1 / 6, rel=4 * EPS)
    assert value(group, 2 * TET)[0] == pytest.approx(7 / 6, rel=8 * EPS)
    assert value(group, TET * [1, 1, -1])[0] == pytest.approx(-2 / 6, rel=8 * EPS)
    assert value(one("volume", TET, scale=2.0), TET)[0] == pytest.approx(-1 / 6, rel=8 * EPS)


def test_volume_grows_along_its_gradient():
    """∇_k C is a third of the area of the opposite face, along its inner normal: it points to vertex k."""
    gradient = value(one("volume", TET), TET)[1]
    np.testing.assert_allclose(gradient[1:], np.eye(3) / 6, atol=4 * EPS)
    np.testing.assert_allclose(gradient[0], [-1 / 6] * 3, atol=4 * EPS)


def test_volume_energy_is_that_of_its_strain():
    """E = κ/2 (V - V₀)²/V₀: with 1% more volume κ/2 1e-4 V₀, the density of a strain of 1%."""
    kappa = 1e5
    group = make_group("volume", TET, [[0, 1, 2, 3]], kappa)
    c = value(group, TET * 1.01 ** (1 / 3))[0]
    assert 0.5 * group.weights[0] * c**2 == pytest.approx(0.5 * kappa * 1e-4 / 6, rel=1e-11)


@pytest.mark.parametrize("angle", [-3.0, -1.0, -1e-3, 0.0, 1e-3, 0.5, np.pi / 2, 3.0])
def test_dihedral_is_the_signed_angle(angle):
    """C = θ - θ₀, θ from the arc tangent: accurate to rounding even next to 0, where the arc cosine loses half."""
    group = one("dihedral", FOLD)
    assert value(group, folded(angle))[0] == pytest.approx(angle, abs=16 * EPS)
    assert angles(folded(angle)[None])[0] == pytest.approx(angle, abs=16 * EPS)
    assert value(one("dihedral", folded(angle)), folded(angle))[0] == pytest.approx(0, abs=16 * EPS)
    assert value(one("dihedral", folded(0.3)), folded(angle))[0] == pytest.approx(
        angle - 0.3 if angle - 0.3 >= -np.pi else angle - 0.3 + 2 * np.pi, abs=16 * EPS
    )


def test_dihedral_goes_the_short_way_round():
    """From θ₀ = 3 to θ = -3 it is not -6 but 2π - 6: the fold has passed half a turn."""
    c, gradient = value(one("dihedral", folded(3.0)), folded(-3.0))
    assert c == pytest.approx(2 * np.pi - 6, abs=32 * EPS)
    np.testing.assert_allclose(gradient, value(one("dihedral", FOLD), folded(-3.0))[1])


def test_dihedral_is_smooth_where_flat():
    """At θ = 0 the corners move it by 1/height: |∇_2 C| = |∇_3 C| = 1 here, and nothing blows up."""
    c, gradient = value(one("dihedral", FOLD), FOLD)
    assert c == 0
    np.testing.assert_allclose(np.linalg.norm(gradient[2:], axis=1), 1, rtol=8 * EPS)
    np.testing.assert_allclose(gradient[2], gradient[3], atol=8 * EPS)
    np.testing.assert_allclose(gradient, differences(one("dihedral", FOLD), FOLD, 1e-5), atol=1e-8)


def test_dihedral_and_hinge_agree_on_small_angles():
    """3|e|²/A (θ - θ₀)² and 3/A ‖Σ c x‖² are the same energy to first order: the next term is θ²/12, 1e-5 here."""
    angle = 0.01
    bent = folded(angle)
    mine = make_group("dihedral", FOLD, [[0, 1, 2, 3]], 1.0)
    other = make_group("hinge", FOLD, [[0, 1, 2, 3]], 1.0)
    vector = other.operator[0, 0] @ bent
    energy = other.weights[0] * vector @ vector
    assert mine.weights[0] * value(mine, bent)[0] ** 2 == pytest.approx(energy, rel=angle**2)


DEGENERATE = {
    "edge without length": (1, FOLD[0]),
    "first triangle without area": (2, [0.5, 0, 0]),
    "second triangle without area": (3, [0.2, 0, 0]),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", list(DEGENERATE))
def test_a_triangle_without_area_has_no_angle(case):
    """Finite, and no gradient to move along; nor in float32, as solvers see it."""
    k, point = DEGENERATE[case]
    q = FOLD.copy()
    q[k] = point
    c, gradient = value(one("dihedral", folded(0.4)), q)
    assert c == 0
    np.testing.assert_array_equal(gradient, 0)
    single = np.full((4, 3), np.nan, np.float32)
    assert CONSTRAINTS["dihedral"].evaluate(q.astype(np.float32), np.array([0.4], np.float32), single) == 0
    np.testing.assert_array_equal(single, 0)


def test_a_flat_tetrahedron_knows_the_way_out():
    """V = 0, C = -V₀, and a gradient across its plane."""
    q = TET.copy()
    q[3] = [0.3, 0.3, 0]
    c, gradient = value(one("volume", TET), q)
    assert c == pytest.approx(-1 / 6)
    np.testing.assert_allclose(gradient[:, :2], 0, atol=EPS)
    assert gradient[3, 2] == pytest.approx(1 / 6)
    c, gradient = value(one("volume", TET), np.zeros((4, 3)))
    assert c == pytest.approx(-1 / 6)
    np.testing.assert_array_equal(gradient, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_VALUE)
def test_far_from_the_origin_float32_loses_nothing_but_the_positions(name):
    """1000 m away, in float32: positions are rounded by 2⁻²⁴ 1000 m = 6e-5 m, and C errs by that times its slopes."""
    base = TET if name == "volume" else FOLD
    group = one(name, base)
    q = base + 0.2 * np.random.default_rng(0).normal(size=(4, 3))
    near, gradient = value(group, q)
    single = np.empty((4, 3), np.float32)
    far = group.kind.evaluate((q + 1000).astype(np.float32), group.parameters[0].astype(np.float32), single)
    moved = 2.0**-24 * 1000 * np.sqrt(3)
    assert abs(far - near) <= 1.1 * moved * np.linalg.norm(gradient, axis=1).sum()


def test_energy_and_gradient_of_the_system_see_them():
    """∇ε by central differences in float64, with constraints by value among the others."""
    model = vv.Model.of(vv.mesh.cube(2, side=0.5), vv.Jelly(stretch=100.0, volume=1e4, bend=0.1))
    system, rng = System(model, 0.01), np.random.default_rng(0)
    q = model.mesh.vertices + 0.05 * rng.normal(size=(model.n, 3))
    frame = system.frame(q, np.zeros_like(q), np.zeros_like(q), model.targets)
    at = q + 0.02 * rng.normal(size=q.shape)
    along, h = rng.normal(size=q.shape), 1e-5
    slope = (system.energy(at + h * along, frame) - system.energy(at - h * along, frame)) / (2 * h)
    assert slope == pytest.approx(float(np.sum(system.gradient(at, frame) * along)), rel=1e-6)
