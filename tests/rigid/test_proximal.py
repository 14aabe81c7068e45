"""The nearest point of every friction set: Definition 2.3, Theorem 2.1 and what follows from them [thesis2010]."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rigid.friction_shapes import CURVED_IN_SPACE, SHAPES, points_around
from vivace.rigid.kernels.proximal import BOX, COUPLED, DISC, ELLIPSE, NONE, project_friction, project_normal

EPS = float(np.finfo(float).eps)

numbers = st.floats(-1e6, 1e6)
coefficients = st.one_of(st.just(0.0), st.floats(1e-9, 1e3))
kinds = st.sampled_from([DISC, ELLIPSE, BOX, COUPLED, NONE])


def accuracy(name):
    """Of a nearest point, of its set's size and its point's distance."""
    return 1e-10 if name in CURVED_IN_SPACE else 16 * EPS


@pytest.fixture(params=SHAPES)
def name(request):
    return request.param


def case(name, seed=0, normal=1.0):
    shape = SHAPES[name]
    z = normal * points_around(shape, np.random.default_rng(seed))
    return shape, z, shape.friction.project(z, normal)


# --- Definition 2.3 ---------------------------------------------------------------------------------------------------


def test_nearest_points_lie_in_the_set(name):
    shape, _, x = case(name)
    assert (shape.gauge(x) <= 1.0 + 8 * EPS).all()


def test_no_other_point_is_nearer(name):
    """(2.43) by brute force: of some thousand points all over the boundary none is nearer, and one is as near."""
    shape, z, x = case(name)
    outside = shape.gauge(z) > 1.0 + 1e-12
    assert outside.sum() > 100
    for p, q in zip(z[outside], x[outside], strict=True):
        ours, theirs = np.linalg.norm(p - q), np.linalg.norm(p - shape.boundary, axis=1).min()
        spacing = 0.08 if shape.width == 3 else 2e-3
        assert ours <= theirs + accuracy(name) * (ours + shape.size)
        assert theirs <= ours + spacing


def test_points_inside_stay(name):
    shape, z, x = case(name)
    inside = shape.gauge(z) < 1.0 - 1e-12
    assert inside.any()
    np.testing.assert_allclose(x[inside], z[inside], rtol=0, atol=1e-10 if name in CURVED_IN_SPACE else 0)


def test_variational_inequality(name):
    """Theorem 2.1: (z - x)·(y - x) <= 0 for all y of the set (2.49)."""
    shape, z, x = case(name, seed=1)
    rng = np.random.default_rng(2)
    y = np.concatenate([shape.boundary[::7], shape.boundary[::40] * rng.random((len(shape.boundary[::40]), 1))])
    products = ((z - x)[:, None, :] * (y[None] - x[:, None, :])).sum(axis=2)
    size = np.maximum(shape.size, np.abs(z).max(axis=1))
    assert (products.max(axis=1) <= accuracy(name) * (np.linalg.norm(z - x, axis=1) * size + shape.size**2)).all()


# --- what projections are ---------------------------------------------------------------------------------------------


def test_idempotent(name):
    """What is in the set is its own nearest point."""
    shape, _, x = case(name)
    again = shape.friction.project(x, 1.0)
    assert np.abs(again - x).max() <= accuracy(name) * shape.size


def test_distances_do_not_grow(name):
    """|prox(y) - prox(z)| <= |y - z|, for points near each other and for points far apart."""
    shape, z, x = case(name, seed=3)
    rng = np.random.default_rng(4)
    for other in (rng.permutation(z), z + rng.normal(size=z.shape) * 10.0 ** rng.uniform(-15, 0, (len(z), 1))):
        apart = np.linalg.norm(x - shape.friction.project(other, 1.0), axis=1)
        rounding = accuracy(name) * (np.abs(z) + np.abs(other) + shape.size).sum(axis=1)
        assert (apart <= np.linalg.norm(z - other, axis=1) + 2 * rounding).all()


@pytest.mark.parametrize("power", [-900, -40, 3, 500, 900])
def test_sets_grow_with_the_normal_impulse(name, power):
    """F(c λₙ) = c F(λₙ), to the last digit where c is a power of two, however large."""
    shape, z, x = case(name)
    c = 2.0**power
    np.testing.assert_array_equal(shape.friction.project(c * z, c), c * x)


def test_without_a_normal_impulse_there_is_no_friction(name):
    shape, z, _ = case(name)
    assert not shape.friction.project(z, 0.0).any()


def test_points_and_normal_impulses_go_in_pairs(name):
    shape, z, _ = case(name)
    normal = np.linspace(0.0, 3.0, len(z))
    one_by_one = [shape.friction.project(z[k : k + 1], normal[k])[0] for k in range(0, len(z), 20)]
    np.testing.assert_array_equal(shape.friction.project(z, normal)[::20], one_by_one)


@pytest.mark.parametrize(("far", "normal"), [(1e14, 1.0), (1e60, 1.0), (1e250, 1.0), (1e250, 1e-200)])
def test_far_away_only_the_direction_counts(name, far, normal):
    """prox(c d) tends to the point of the set that is farthest in the direction d."""
    shape = SHAPES[name]
    d = np.random.default_rng(5).normal(size=(50, shape.width))
    d /= np.linalg.norm(d, axis=1)[:, None]
    x = shape.friction.project(far * d, normal) / normal
    assert np.isfinite(x).all()
    reach = (shape.boundary @ d.T).max(axis=0)
    assert ((x * d).sum(axis=1) >= reach - 1e-9).all()


@pytest.mark.parametrize("name", ["disc", "ellipse", "box", "polygon", "stadium"])
def test_spin_goes_beside_the_plane(name):
    """|λτ| <= spin λₙ (2.37), whatever (λs, λt) is: the set is a product."""
    shape, z, x = case(name)
    tau = np.random.default_rng(6).normal(size=len(z))
    both = shape.friction.project(np.column_stack([z, tau]), 1.0)
    np.testing.assert_array_equal(both[:, :2], x)
    np.testing.assert_array_equal(both[:, 2], np.clip(tau, -shape.friction.spin, shape.friction.spin))


# --- edge cases -------------------------------------------------------------------------------------------------------


def in_set(kind, s, t, tau, mu_s, mu_t, beta, normal, slack):
    a, b, c = (m * normal + slack for m in (mu_s, mu_t, beta))
    if kind == COUPLED:
        if 0.0 in (mu_s, beta) or normal == 0.0:
            return np.hypot(s, t) <= a and abs(tau) <= c
        return (np.hypot(s, t) / a) ** 2 + (tau / c) ** 2 <= 1.0 + 8 * EPS
    if abs(tau) > c:
        return False
    if kind == DISC:
        return np.hypot(s, t) <= a
    if kind == BOX:
        return abs(s) <= a and abs(t) <= b
    if kind == NONE:
        return s == t == 0.0
    if 0.0 in (mu_s, mu_t) or normal == 0.0:
        return abs(s) <= a and abs(t) <= b
    return (s / a) ** 2 + (t / b) ** 2 <= 1.0 + 8 * EPS


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(kinds, coefficients, numbers, numbers, numbers, coefficients, coefficients, coefficients)
def test_any_numbers(kind, normal, zs, zt, ztau, mu_s, mu_t, beta):
    """Legal, as near as the origin and as each extreme point at least, and the same for the mirrored point."""
    s, t, tau = project_friction(kind, normal, zs, zt, ztau, mu_s, mu_t, beta)
    size = max(mu_s, mu_t, beta) * normal
    assert in_set(kind, s, t, tau, mu_s, mu_t, beta, normal, 8 * EPS * size + 1e-300)
    z, x = np.array([zs, zt, ztau]), np.array([s, t, tau])
    scale = max(np.abs(z).max(), size)
    extremes = np.diag([mu_s, mu_s if kind in (DISC, COUPLED) else mu_t, beta]) * normal
    if kind == NONE:
        extremes[:2] = 0.0
    for y in (np.zeros(3), *extremes, *-extremes):
        assert (z - x) @ (y - x) <= 64 * EPS * scale**2
    mirrored = project_friction(kind, normal, -zs, -zt, -ztau, mu_s, mu_t, beta)
    assert mirrored == (-s, -t, -tau)


@pytest.mark.slow
@given(st.floats(allow_nan=False))
def test_normal_impulses_push(z):
    assert project_normal(z) == max(z, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [DISC, ELLIPSE, BOX, COUPLED])
def test_what_is_no_number_stays_so(kind):
    """A solver that has diverged must be able to see it."""
    nan = float("nan")
    assert np.isnan(project_friction(kind, 1.0, nan, 1.0, 0.0, 0.5, 0.4, 0.3)[0])
    assert np.isnan(project_friction(kind, 1.0, 0.0, 1.0, nan, 0.5, 0.4, 0.3)[2])
    assert np.isnan(project_normal(nan))
    assert np.isnan(project_friction(99, 1.0, 0.0, 1.0, 0.0, 0.5, 0.4, 0.3)).all()


@pytest.mark.parametrize("kind", [DISC, ELLIPSE, BOX, COUPLED, NONE])
def test_bodies_that_part_have_no_friction(kind):
    """A λₙ that was not projected onto N counts as 0."""
    assert not any(project_friction(kind, -1.0, 3.0, 1.0, 2.0, 0.5, 0.4, 0.3))
