"""Nearest points against closed forms, and against 60 digits where there are none [thesis2010, 2.44, 2.45, 2.37]."""

from __future__ import annotations

from decimal import Decimal, localcontext
from types import FunctionType

import numpy as np
import pytest

from rigid.friction_shapes import CORNERS, SHAPES, segment, stadium
from vivace.rigid.kernels import convex
from vivace.rigid.kernels.proximal import ELLIPSE, ROUNDS, ellipse_rounds, project_friction
from vivace.rigid.proximal import Box, ConvexSet, Coupled, Disc, Ellipse, Polygon

EPS = float(np.finfo(float).eps)


def ellipse_by_digits(a, b, x, y):
    """(2.45) by bisection of its multiplier, with 60 digits: where c² + u² = 1 for c = x/(a + q b), u = y/(b + q a)."""
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 60, -(10**6), 10**6
        a, b, x, y = map(Decimal, (a, b, x, y))
        if (x / a) ** 2 + (y / b) ** 2 <= 1:
            return x, y
        low, high = Decimal(0), 2 * (x + y) / min(a, b) + 1
        tiny = Decimal(10) ** -60
        while high - low > Decimal(10) ** -50 * high and high > tiny:
            q = (max(low, tiny) * high).sqrt() if high > 4 * max(low, tiny) else (low + high) / 2
            over = (x / (a + q * b)) ** 2 + (y / (b + q * a)) ** 2 > 1
            low, high = (q, high) if over else (low, q)
        q = (low + high) / 2
        return a * x / (a + q * b), b * y / (b + q * a)


def near_an_ellipse(rng, a, b):
    """Where it is hard: beside the tips of thin ellipses, a digit outside, or just anywhere."""
    kind = rng.integers(4)
    if kind == 0:
        return 10.0 ** rng.uniform(-14, 3, 2)
    if kind == 1:
        return a * (1.0 + rng.choice([-1, 1]) * 10.0 ** rng.uniform(-16, -1)), b * 10.0 ** rng.uniform(-10, 10)
    if kind == 2:
        return a, b * 10.0 ** rng.uniform(-10, 10)
    angle = rng.uniform(0.0, np.pi / 2)
    out = 1.0 + 10.0 ** rng.uniform(-15, -1)
    return a * np.cos(angle) * out, b * np.sin(angle) * out


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [1.0, 0.5, 1e-2, 1e-6, 1e-12])
def test_ellipses_to_the_last_digits(ratio):
    """Both coordinates, each of its own size: also the short one, which may be 1e-20 of the long one."""
    rng = np.random.default_rng(7)
    for _ in range(80):
        a = rng.uniform(0.5, 2.0)
        b = a * ratio
        x, y = map(float, near_an_ellipse(rng, a, b))
        exact = np.array([float(v) for v in ellipse_by_digits(a, b, x, y)])
        s, t, _ = project_friction(ELLIPSE, 1.0, x, y, 0.0, a, b, 0.0)
        np.testing.assert_allclose([s, t], exact, rtol=8 * EPS)
        t, s, _ = project_friction(ELLIPSE, 1.0, -y, x, 0.0, b, a, 0.0)
        np.testing.assert_allclose([s, -t], exact, rtol=8 * EPS)


@pytest.mark.slow
def test_newtons_method_is_done_in_time():
    """Less than ten rounds for ellipses that one meets, and never all that it may take."""
    rng = np.random.default_rng(8)
    for ratio, most in ((0.1, 9), (1e-3, 20), (1e-12, 60), (1e-30, 140)):
        for _ in range(2000):
            x, y = near_an_ellipse(rng, 1.0, ratio)
            if x**2 + (y / ratio) ** 2 > 1.0:
                assert ellipse_rounds(1.0, ratio, float(x), float(y)) <= most < ROUNDS


@pytest.mark.parametrize("thin", [0.0, 1e-300, 1e-40])
def test_ellipses_without_width_are_segments(thin):
    points = np.array([[2.0, 3.0], [-2.0, 3.0], [0.3, -5.0], [0.3, 0.0], [0.0, 1.0]])
    nearest = np.column_stack([np.clip(points[:, 0], -0.5, 0.5), np.zeros(5)])
    np.testing.assert_allclose(Ellipse(0.5, thin).project(points, 1.0), nearest, atol=thin)
    np.testing.assert_allclose(Ellipse(thin, 0.5).project(points[:, ::-1], 1.0), nearest[:, ::-1], atol=thin)


def test_a_round_ellipse_is_a_disc():
    z = np.random.default_rng(9).normal(size=(300, 2)) * 2.0
    np.testing.assert_allclose(Ellipse(0.6, 0.6).project(z, 1.5), Disc(0.6).project(z, 1.5), rtol=8 * EPS)


def test_disc():
    """μ λₙ z / |z|, from the smallest numbers to the largest."""
    z = np.array([[3.0, 4.0], [-3e-310, 4e-310], [1.2e308, -1.6e308], [0.3, 0.4], [0.0, 0.0]])
    nearest = [[0.6, 0.8], z[1], [0.6, -0.8], z[3], [0.0, 0.0]]
    np.testing.assert_allclose(Disc(0.5).project(z, 2.0), nearest, rtol=4 * EPS)
    np.testing.assert_allclose(Disc(0.5).project([[3.0, 4.0]], 2e-300), [[0.6e-300, 0.8e-300]], rtol=4 * EPS)


def test_box_is_the_one_dimensional_map_along_each_axis():
    """(2.44)."""
    z = np.random.default_rng(10).normal(size=(100, 2)) * 2.0
    expected = np.column_stack([np.clip(z[:, 0], -0.6, 0.6), np.clip(z[:, 1], -1.8, 1.8)])
    np.testing.assert_allclose(Box(0.2, 0.6).project(z, 3.0), expected, rtol=EPS)


@pytest.mark.slow
def test_a_box_by_its_corners():
    z = np.random.default_rng(11).normal(size=(300, 2))
    by_corners = Polygon([[0.2, 0.6], [0.2, -0.6], [-0.2, -0.6], [-0.2, 0.6]])
    np.testing.assert_allclose(by_corners.project(z, 1.0), Box(0.2, 0.6).project(z, 1.0), rtol=0, atol=8 * EPS)


@pytest.mark.slow
def test_polygon_against_its_sides():
    """The nearest point of the nearest side."""
    z = np.random.default_rng(12).normal(size=(300, 2)) * 3.0
    begin, end = CORNERS, np.roll(CORNERS, -1, axis=0)
    along = end - begin
    weight = np.clip(((z[:, None] - begin) * along).sum(axis=2) / (along**2).sum(axis=1), 0.0, 1.0)
    feet = begin + weight[:, :, None] * along
    nearest = np.take_along_axis(feet, np.linalg.norm(feet - z[:, None], axis=2).argmin(axis=1)[:, None, None], 1)[:, 0]
    found = Polygon(CORNERS[[3, 1, 5, 0, 2, 4, 1]]).project(z, 1.0)  # in any order, twice if one likes
    outside = (found != z).any(axis=1)
    assert outside.sum() > 200
    np.testing.assert_allclose(found[outside], nearest[outside], rtol=0, atol=16 * EPS)


def test_stadium():
    """Towards the nearest point of its middle line, to the radius of its ends."""
    z = np.random.default_rng(13).normal(size=(500, 2)) * 0.5
    middle = np.column_stack([np.clip(z[:, 0], -0.2, 0.2), np.zeros(len(z))])
    away = z - middle
    length = np.linalg.norm(away, axis=1)
    nearest = np.where((length > 0.3)[:, None], middle + 0.3 * away / length[:, None], z)
    np.testing.assert_allclose(ConvexSet(stadium).project(z, 1.0), nearest, rtol=0, atol=8 * EPS)


def test_a_slanting_segment():
    z = np.random.default_rng(14).normal(size=(200, 2))
    line = np.array([0.6, 0.3])
    nearest = np.clip(z @ line / (line @ line), -1.0, 1.0)[:, None] * line
    np.testing.assert_allclose(ConvexSet(segment).project(z, 1.0), nearest, rtol=0, atol=4 * EPS)


def unit_disc(dx, dy):
    return dx, dy


@pytest.mark.slow
def test_curves_by_support_have_all_digits():
    """A disc and an ellipse by their support mappings: the same points as by formula."""
    z = np.random.default_rng(15).normal(size=(500, 2)) * 10.0 ** np.random.default_rng(16).uniform(-1, 4, (500, 1))
    np.testing.assert_allclose(ConvexSet(unit_disc).project(z, 0.7), Disc(1.0).project(z, 0.7), rtol=0, atol=8 * EPS)


def counting(mapping):
    """The map of `convex` in plain Python, with a mapping that counts its calls."""
    calls = []

    def counted(dx, dy):
        calls.append((dx, dy))
        return mapping(dx, dy)

    scope = {**vars(convex), "support": counted}
    scope["separate"] = FunctionType(convex.separate_template.__code__, scope)
    return FunctionType(convex.nearest_template.__code__, scope), calls


@pytest.mark.slow
@pytest.mark.parametrize(("name", "most"), [("polygon", 12), ("stadium", 28), ("superellipse", 32), ("segment", 8)])
def test_a_few_calls_of_the_mapping_are_enough(name, most):
    """Chords end at edges, secants are fast on curves, and what is well inside is soon known to be."""
    shape = SHAPES[name]
    rng = np.random.default_rng(17)
    nearest, calls = counting(shape.friction.mapping)
    for z in rng.normal(size=(300, 2)) * 10.0 ** rng.uniform(-2, 2, (300, 1)):
        calls.clear()
        x = nearest(1.0, *z)
        np.testing.assert_allclose(x, shape.friction.project([z], 1.0)[0], rtol=0, atol=4 * EPS)
        assert len(calls) <= most
        if shape.gauge(z[None])[0] < 0.5:
            assert len(calls) <= 5


# --- spin -------------------------------------------------------------------------------------------------------------


def test_spin_friction_of_a_disc():
    """(2.37)."""
    assert Disc(0.6).spin == pytest.approx(0.4, rel=EPS)
    assert Disc(0.6, spin=0.1).spin == 0.1


@pytest.mark.parametrize("friction", [Disc(0.6), Ellipse(0.9, 0.2), Ellipse(0.0, 0.4), Box(0.4, 0.8), Polygon(CORNERS)])
def test_spin_friction_is_that_of_an_even_round_contact(friction):
    """∫ p r max_φ <direction of slip, φ> dA / (λₙ R): each point slips along its circle and dissipates what it can."""
    angle = (np.arange(2000) + 0.5) * (2.0 * np.pi / 2000)
    slip = np.column_stack([-np.sin(angle), np.cos(angle)])
    opposing = (friction.project(1e9 * slip, 1.0) * slip).sum(axis=1)
    radius = (np.arange(2000) + 0.5) / 2000
    torque = opposing.mean() * (2.0 * radius * radius).mean()
    assert friction.spin == pytest.approx(torque, rel=2e-5)


@pytest.mark.slow
def test_how_far_the_ellipsoid_is_from_contensou():
    """What even Coulomb friction on a round contact dissipates that slides by v and spins by w: μ mean |v + w x r|.

    The support function of the ellipsoid √(v² + (2/3 w)²) is the same for pure sliding and pure spin, and larger by up
    to 7.04 % in between.
    """
    radius = np.sqrt((np.arange(400) + 0.5) / 400)[:, None]
    angle = (np.arange(400) + 0.5) * (2.0 * np.pi / 400)
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    share = np.linspace(0.0, np.pi / 2, 91)
    exact = np.array([np.hypot(np.cos(f) - np.sin(f) * y, np.sin(f) * x).mean() for f in share])
    direction = np.column_stack([np.cos(share), 0.0 * share, np.sin(share)])
    ours = (Coupled(1.0).project(1e9 * direction, 1.0) * direction).sum(axis=1)
    np.testing.assert_allclose(ours, np.hypot(np.cos(share), np.sin(share) * 2.0 / 3.0), rtol=1e-8)
    excess = ours / exact - 1.0
    assert abs(excess[0]) < 2e-5
    assert abs(excess[-1]) < 2e-5
    assert excess.min() > -2e-5
    assert 0.07 < excess.max() < 0.071
