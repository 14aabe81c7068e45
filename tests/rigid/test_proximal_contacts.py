"""Fixed points of λ = prox(λ - R (A λ + b)) solve contact problems, if the sets bear R [thesis2010, (2.73), (2.74)].

A is any symmetric positive definite matrix of 4 x 4 blocks here: normal, two tangents, spin.
"""

from __future__ import annotations

import numpy as np
import pytest

from rigid.friction_shapes import CORNERS, SHAPES, ball, ellipsoid, stadium
from vivace.rigid.kernels.convex import projection_pass
from vivace.rigid.proximal import Box, ConvexSet, Coupled, Disc, Ellipse, Frictionless, Polygon, combined, friction_set

SETS = {
    "none": Frictionless(),
    "disc": Disc(0.4),
    "ellipse": Ellipse(0.5, 0.1),
    "box": Box(0.4, 0.2),
    "coupled": Coupled(0.4),
    "polygon": Polygon(0.5 * CORNERS),
    "stadium": ConvexSet(stadium),
    "ellipsoid": ConvexSet(ellipsoid),
}


def extremes(name):
    """Legal friction impulses (s, t, τ) for λₙ = 1, without asking the package for nearest points."""
    if name == "none":
        return np.zeros((1, 3))
    if name == "coupled":
        return ball(600) * [0.4, 0.4, 0.8 / 3]
    if name == "ellipsoid":
        return SHAPES["ellipsoid"].boundary[::5]
    angle = np.linspace(0.0, 2.0 * np.pi, 400)
    round_ = np.column_stack([np.cos(angle), np.sin(angle)])
    plane = {
        "disc": 0.4 * round_,
        "ellipse": round_ * [0.5, 0.1],
        "box": np.array([[0.4, 0.2], [0.4, -0.2], [-0.4, 0.2], [-0.4, -0.2]]),
        "polygon": 0.5 * CORNERS,
        "stadium": np.array([stadium(*d) for d in round_]),
    }[name]
    spins = SETS[name].spin * np.array([-1.0, 0.0, 0.5, 1.0])
    return np.concatenate([np.column_stack([plane, np.full(len(plane), spin)]) for spin in spins])


def problem(seed, contacts):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(4 * contacts, 4 * contacts)) / np.sqrt(4 * contacts)
    pushed = rng.normal(size=(contacts, 4)) * (2.0 if seed % 2 else [2.0, 0.2, 0.2, 0.2])
    return np.eye(4 * contacts) + 0.5 * mixing @ mixing.T, pushed.ravel()


def proximal(friction, z):
    """prox_N,F of all contacts (2.76): friction is bound by the normal impulses just found."""
    out = z.reshape(-1, 4).copy()
    out[:, 0] = np.maximum(out[:, 0], 0.0)
    out[:, 1:] = friction.project(out[:, 1:], out[:, 0])
    return out.ravel()


def solved(friction, matrix, b):
    """The fixed point for a small r, one for all unknowns."""
    r = 0.5 / np.linalg.eigvalsh(matrix)[-1]
    impulses = np.zeros(len(b))
    for _ in range(5000):
        new = proximal(friction, impulses - r * (matrix @ impulses + b))
        change, impulses = np.abs(new - impulses).max(), new
        if change < 1e-14:
            return impulses.reshape(-1, 4), (matrix @ impulses + b).reshape(-1, 4)
    raise AssertionError(f"the iteration still changes by {change}")


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_fixed_points_are_solutions(name):
    rng = np.random.default_rng(20)
    touching = parting = sliding = sticking = 0
    for seed in range(25):
        impulses, velocities = solved(SETS[name], *problem(seed, 1 + seed % 4))
        normal, vn = impulses[:, 0], velocities[:, 0]
        # Complementarity (2.23), and as a variational inequality (2.25) against legal normal impulses ν.
        assert (normal >= 0.0).all()
        assert (vn >= -1e-12).all()
        np.testing.assert_allclose(normal * vn, 0.0, atol=1e-12)
        for nu in (0.0, *rng.exponential(size=20), 1e6):
            assert ((nu - normal) * vn >= -1e-12 * max(1.0, nu)).all()
        # Maximum dissipation (2.34): no legal friction impulse φ takes more energy away.
        legal = extremes(name)
        for impulse, velocity in zip(impulses, velocities, strict=True):
            phi = impulse[0] * np.concatenate([legal, legal * rng.random((len(legal), 1))])
            assert ((phi - impulse[1:]) @ velocity[1:]).min() >= -1e-10
            slides = np.abs(velocity[1:3]).max() > 1e-6
            touching += impulse[0] > 0.0
            parting += impulse[0] == 0.0
            sliding += bool(slides and impulse[0] > 0.0)
            sticking += bool(not slides and impulse[0] > 0.0)
    assert min(touching, parting, sliding) >= 5  # cases of each kind have been seen
    assert sticking >= 5 or name == "none"


@pytest.mark.slow
def test_disc_opposes_slip():
    """Isotropic friction: what slides is held by μ λₙ, against the velocity."""
    seen = 0
    for seed in range(30):
        impulses, velocities = solved(Disc(0.4), *problem(100 + seed, 3))
        for impulse, velocity in zip(impulses, velocities, strict=True):
            slip = np.linalg.norm(velocity[1:3])
            if impulse[0] > 0.01 and slip > 0.01:
                np.testing.assert_allclose(impulse[1:3], -0.4 * impulse[0] * velocity[1:3] / slip, atol=1e-10)
                seen += 1
    assert seen > 10


# --- factors r --------------------------------------------------------------------------------------------------------


def fixed_point(friction, v, r):
    """λ = prox_F(λ - R v) for a slip velocity v that does not depend on λ, and λₙ = 1."""
    impulse = np.zeros((1, len(v)))
    for _ in range(2000):
        impulse = friction.project(impulse - r * v, 1.0)
    return impulse[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "friction", [Disc(1.0), Ellipse(1.0, 0.5), Polygon(CORNERS)], ids=["disc", "ellipse", "polygon"]
)
def test_tangents_need_one_factor(friction):
    """A counter-example to any diagonal R in (2.74): its fixed point violates maximum dissipation (2.34).

    Theorem 2.1 is for a number r. Where R = diag(r_s, r_t), a fixed point has -R v, not -v, normal to the set.
    """
    v = np.array([1.0, 1.0])
    for r in (0.1, 1.0, 7.0):
        right = fixed_point(friction, v, np.array([r, r]))
        np.testing.assert_allclose(right, fixed_point(friction, v, np.array([1.0, 1.0])), atol=1e-12)
    wrong = fixed_point(friction, v, np.array([1.0, 4.0]))
    assert (right - wrong) @ v < -0.05  # `right` is legal, and dissipates more than `wrong` does
    if isinstance(friction, Disc):
        np.testing.assert_allclose(wrong, -np.array([1.0, 4.0]) / np.sqrt(17.0), atol=1e-12)


@pytest.mark.slow
def test_boxes_and_spin_bear_any_factors():
    """Products of intervals do, and spin beside the plane does."""
    for friction in (Box(0.4, 0.8), Disc(0.6)):
        v = np.array([0.3, -2.0, 0.7])
        right = fixed_point(friction, v, np.ones(3))
        r = np.array([5.0, 0.2, 3.0]) if isinstance(friction, Box) else np.array([0.2, 0.2, 30.0])
        np.testing.assert_allclose(fixed_point(friction, v, r), right, atol=1e-12)


@pytest.mark.slow
def test_coupled_spin_needs_the_same_factor():
    v = np.array([1.0, 0.0, 1.0])
    right, wrong = (fixed_point(Coupled(0.6), v, np.array([1.0, 1.0, r])) for r in (1.0, 4.0))
    assert (right - wrong) @ v < -0.01


# --- several sets at once ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_contacts_with_different_sets():
    """One compiled function for all of them, each under its own kind."""
    sets = [SETS[name] for name in ("stadium", "disc", "ellipsoid", "polygon", "box", "stadium")]
    projection, kinds = combined(sets)
    assert len(set(kinds)) == 5
    assert kinds[0] == kinds[5]
    z = np.random.default_rng(21).normal(size=(20, 3))
    together = projection_pass(projection, stadium)
    for friction, kind in zip(sets, kinds, strict=True):
        found = np.empty((20, 3))
        together(kind, np.full(20, 1.5), z, friction.mu_s, friction.mu_t, friction.spin, found)
        np.testing.assert_array_equal(found, friction.project(z, 1.5))


def test_sets_by_name():
    z = [[1.0, 2.0, 3.0]]
    np.testing.assert_array_equal(friction_set("disc", mu=0.3).project(z, 1.0), Disc(0.3).project(z, 1.0))
    by_name = friction_set("ellipse", mu_s=0.3, mu_t=0.1, spin=0.0)
    np.testing.assert_array_equal(by_name.project(z, 1.0), Ellipse(0.3, 0.1, 0.0).project(z, 1.0))
    given = Coupled(0.1)
    assert friction_set(given) is given
