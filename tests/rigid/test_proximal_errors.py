"""What friction sets refuse, and what they say."""

from __future__ import annotations

import numpy as np
import pytest

from vivace.errors import InputError
from vivace.rigid.proximal import FRICTION_SETS, Box, ConvexSet, Coupled, Disc, Ellipse, Polygon, friction_set

NAN = float("nan")


@pytest.mark.parametrize("value", [-0.1, NAN, float("inf"), 2e6, "rough", None, True, [0.5]])
@pytest.mark.parametrize("make", [Disc, Coupled, lambda v: Ellipse(0.5, v), lambda v: Box(v, 0.5)])
def test_coefficients(make, value):
    with pytest.raises(InputError, match=r"mu.* must be a coefficient of friction from 0 to 1e\+06, not "):
        make(value)


@pytest.mark.parametrize("value", [-0.1, NAN, "fast"])
def test_spin(value):
    with pytest.raises(InputError, match="spin must be a coefficient of friction"):
        Disc(0.5, spin=value)


def test_names():
    assert set(FRICTION_SETS) == {"none", "disc", "ellipse", "box", "coupled"}
    with pytest.raises(InputError, match="unknown friction set 'disk'; did you mean 'disc'"):
        friction_set("disk", mu=0.5)
    with pytest.raises(InputError, match=r"friction set 'disc' takes mu, spin, not \{'nu': 0.5\}"):
        friction_set("disc", nu=0.5)
    with pytest.raises(InputError, match="friction set 'none' takes no coefficients, not"):
        friction_set("none", mu=0.5)


def test_points():
    disc = Disc(0.5)
    for points in ([1.0, 2.0], [[1.0]], [[1.0, 2.0, 3.0, 4.0]], "here", [[1.0, 2.0], [3.0]], [[1j, 0.0]]):
        with pytest.raises(InputError, match=r"points must be numbers of the shape \(m, 2\) or \(m, 3\), not "):
            disc.project(points, 1.0)
    with pytest.raises(InputError, match="points must be finite, not nan"):
        disc.project([[NAN, 0.0]], 1.0)
    with pytest.raises(InputError, match="normal impulses must be finite, not inf"):
        disc.project([[0.0, 0.0]], [np.inf])
    with pytest.raises(InputError, match="normal impulses must be 0 or more, not -2: project them onto N first"):
        disc.project([[0.0, 0.0]], [-2.0])
    with pytest.raises(InputError, match="normal impulses must be one number or 1, one for each point"):
        disc.project([[0.0, 0.0]], [1.0, 2.0])
    assert disc.project(np.zeros((0, 2)), 1.0).shape == (0, 2)
    assert disc.project(np.zeros((0, 3)), np.zeros(0)).shape == (0, 3)


# --- support mappings -------------------------------------------------------------------------------------------------


def away_from_the_origin(dx, dy):
    return 2.0 + dx, dy


def dented(dx, dy):
    """The boundary of a set with dents, seen from the origin: no support mapping."""
    radius = 1.0 + 0.5 * np.cos(4.0 * np.arctan2(dy, dx))
    return radius * dx, radius * dy


def endless(dx, dy):
    return (float("inf") if dx > 0.5 else dx), dy


def lonely(dx, dy):
    return dx


def broken(dx, dy):
    return dx, dy / 0


def four(a, b, c, d):
    return a, b


def whole(dx, dy, dtau):
    return dx, dy, dtau


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        (
            away_from_the_origin,
            r"must hold the origin .* in the direction \(-1, .*\) its support mapping reaches -1 only",
        ),
        (dented, r"belongs to no convex set: in the direction .* it returns .* is farther by"),
        (endless, r"support\(1, 0\) must lie within 1e\+06 of 0, not \(inf, 0\)"),
        (lonely, r"support\(1, 0\) must be 2 numbers, not 1.0"),
        (broken, r"support\(1, 0\) must be 2 numbers; it fails with ZeroDivisionError"),
        (four, r"must take \(dx, dy\) or \(dx, dy, dtau\), not 4 arguments"),
        (0.5, r"must be a function support\(dx, dy\) -> \(x, y\), not 0.5"),
    ],
)
def test_mappings(mapping, message):
    with pytest.raises(InputError, match=message):
        ConvexSet(mapping)


def test_mappings_that_no_machine_code_can_be_made_of():
    def mapping(dx, dy):
        return eval("dx"), dy

    with pytest.raises(InputError, match=r"the support mapping cannot be compiled: .*; use numbers and `math` only"):
        ConvexSet(mapping)


@pytest.mark.slow
def test_sets_in_space():
    with pytest.raises(InputError, match=r"a set in \(s, t, tau\) has its own bound of spin: leave spin away, not 0.1"):
        ConvexSet(whole, spin=0.1)
    with pytest.raises(InputError, match=r"needs points of the shape \(m, 3\), not \(m, 2\)"):
        ConvexSet(whole).project([[1.0, 2.0]], 1.0)


@pytest.mark.parametrize("vertices", [[], [1.0, 2.0], [[1.0, 2.0, 3.0]], "round", [[1.0], [2.0, 3.0]]])
def test_vertices(vertices):
    with pytest.raises(InputError, match=r"vertices must be numbers of the shape \(n, 2\), one or more, not "):
        Polygon(vertices)


@pytest.mark.slow
def test_polygons_hold_the_origin():
    with pytest.raises(InputError, match=r"the polygon of .* must hold the origin"):
        Polygon([[1.0, 0.0], [2.0, 0.0], [1.0, 1.0]])
    with pytest.raises(InputError, match=r"vertices must lie within 1e\+06 of the origin"):
        Polygon([[1.0, 0.0], [NAN, 0.0]])
    corner = Polygon([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])  # on the boundary is enough
    np.testing.assert_array_equal(corner.project([[-1.0, -2.0], [-1.0, 0.5]], 1.0), [[0.0, 0.0], [0.0, 0.5]])
    np.testing.assert_array_equal(Polygon([[0.0, 0.0]]).project([[3.0, 4.0]], 2.0), [[0.0, 0.0]])
    line = Polygon([[1.0, 0.0], [-1.0, 0.0]])
    np.testing.assert_array_equal(line.project([[3.0, 4.0], [0.5, -1.0]], 1.0), [[1.0, 0.0], [0.5, 0.0]])


@pytest.mark.slow
def test_polygons_that_differ_in_the_last_digit_are_two():
    """Machine code is kept by name; the name knows all digits."""
    square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    for grown in (1.0, 1.0 + 1e-13):
        x = Polygon(square * grown).project([[5.0, 0.0]], 1.0)
        assert x[0, 0] == grown
