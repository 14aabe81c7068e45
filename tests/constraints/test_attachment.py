"""Attachments to the nearest point of a triangle, and welds."""

from __future__ import annotations

import numpy as np
import pytest

import vivace as vv
from constraints.by_value import EPS, TET
from vivace.constraints import Role, make_group
from vivace.constraints.attachment import nearest_weights


def nearest_by_force(point, triangle, m=100):
    """The smallest distance to points u, v on a grid over the triangle."""
    u, v = np.meshgrid(np.linspace(0, 1, m + 1), np.linspace(0, 1, m + 1))
    some = u + v <= 1
    shares = np.stack([1 - u - v, u, v])[:, some].T
    return np.linalg.norm(shares @ triangle - point, axis=1).min()


@pytest.mark.parametrize("seed", range(6))
def test_nearest_point_of_a_triangle(seed):
    """Against a grid of points: none is nearer, and the best is farther by half a cell at most, of the longest edge."""
    rng = np.random.default_rng(seed)
    triangles, points = rng.normal(size=(30, 3, 3)), 2 * rng.normal(size=(30, 3))
    weights = nearest_weights(points, triangles)
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=8 * EPS)
    assert (weights >= -8 * EPS).all()
    for point, triangle, share in zip(points, triangles, weights, strict=True):
        mine = np.linalg.norm(share @ triangle - point)
        forced = nearest_by_force(point, triangle)
        cell = np.linalg.norm(triangle - np.roll(triangle, 1, axis=0), axis=1).max() / 100
        assert mine <= forced + 1e-12
        assert forced <= mine + cell


FLAT = np.array([[0.0, 0, 0], [4, 0, 0], [0, 4, 0]])


@pytest.mark.parametrize(
    ("point", "weights"),
    [
        ([1, 1, 5], [0.5, 0.25, 0.25]),  # above the inside
        ([1, -3, 1], [0.75, 0.25, 0]),  # edges
        ([-2, 3, 0], [0.25, 0, 0.75]),
        ([3, 3, -1], [0, 0.5, 0.5]),
        ([-1, -2, 2], [1, 0, 0]),  # corners
        ([9, -1, 0], [0, 1, 0]),
        ([-1, 9, 0], [0, 0, 1]),
        ([0, 4, 0], [0, 0, 1]),  # on a corner
    ],
)
def test_attachment_holds_the_nearest_point(point, weights):
    """A x = x_v - Σ share_k x_k, inside, on an edge and at a corner."""
    rest = np.vstack([[point], FLAT]).astype(float)
    group = make_group("attachment", rest, [[0, 1, 2, 3]], 10.0)
    np.testing.assert_allclose(group.operator[0, 0], [1, *(-np.array(weights))], atol=8 * EPS)
    assert group.weights[0] == 10


def test_attachment_to_a_triangle_without_area():
    """It is a segment, or a point: nearest to that."""
    line = np.array([[[0.0, 0, 0], [1, 0, 0], [2, 0, 0]], [[1.0, 1, 1]] * 3])
    points = np.array([[1.5, 1, 0], [0.0, 0, 0]])
    shares = nearest_weights(points, line)
    near = np.einsum("mk,mkc->mc", shares, line)
    np.testing.assert_allclose(near, [[1.5, 0, 0], [1, 1, 1]], atol=8 * EPS)


def test_attachment_takes_weights_that_add_up_to_one():
    rest = np.vstack([[[1.0, 1, 1]], FLAT])
    group = make_group("attachment", rest, [[0, 1, 2, 3]], 10.0, weights=[0.2, 0.3, 0.5])
    np.testing.assert_allclose(group.operator[0, 0], [1, -0.2, -0.3, -0.5])
    with pytest.raises(vv.InputError, match="weights of an attachment must add up to 1"):
        make_group("attachment", rest, [[0, 1, 2, 3]], 10.0, weights=[0.2, 0.3, 0.6])
    with pytest.raises(vv.InputError):
        make_group("attachment", rest, [[0, 1, 2, 3]], 10.0, weights=[0.5, 0.5])


def test_weld_pulls_two_vertices_together():
    """E = w/2 |x_0 - x_1|²"""
    group = make_group("weld", TET, [[0, 1]], 10.0)
    np.testing.assert_array_equal(group.operator, [[[1.0, -1.0]]])
    assert group.kind.role is Role.QUADRATIC


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "sideways"), [("vivace", 0.01), ("pbd-coloured", 0.1)])
def test_welds_and_attachments_hold_in_both_kinds_of_solvers(solver, sideways):
    """At rest they carry what hangs on them: k Σ_c A_c x = -m g, to 1% of the weight; air brings it to rest.

    Sideways a position based solver leaves more: λ is one number for C = ‖A x‖, whose gradient turns on the way from
    the prediction, h² g = 1 cm below, to the result, where C is 1 cm too; so its rest is not quite that of the energy.
    """
    sheet = vv.mesh.cloth(3, 3, width=0.2, height=0.2, plane="vertical")
    both = vv.mesh.join([sheet, sheet.transformed(translate=(0, -0.3, 0))])
    model = vv.Model.of(both, vv.Cloth(density=10.0, stretch=500.0), air=5.0).pin(range(9))
    weight = float(model.masses[9:].sum()) * 9.81
    model = model.constrain("weld", [[9, 6], [11, 8]], 200.0).constrain("attachment", [[10, 7, 6, 4]], 200.0)
    sim = vv.Simulation(model, solver=solver, budget=vv.Budget(iterations=40), threads=1)
    for _ in range(300):
        sim.step()
    x = sim.positions.astype(float)
    held = [np.einsum("mk,mkc->mc", group.operator[:, 0], x[group.vertices]) for group in model.groups[-2:]]
    pull = 200.0 * np.concatenate(held).sum(axis=0)
    assert pull[1] == pytest.approx(-weight, rel=0.01)
    np.testing.assert_allclose(pull[[0, 2]], 0, atol=sideways * weight)
