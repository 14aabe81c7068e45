"""The nearest rotation and the nearest matrix of determinant one, one at a time and four at a time."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
from scipy.spatial.transform import Rotation

import kernel_twins as twins
import vivace as vv
from kernel_twins import EPS32, EPS64
from vivace.backends.cpu.executor import Plan
from vivace.constraints.kernels.rotation import nearest_rotation, signed_svd
from vivace.constraints.kernels.volume import nearest_unimodular
from vivace.solvers.projective.layout import Layout


def rotations(count, seed=0):
    return Rotation.random(count, random_state=np.random.default_rng(seed)).as_matrix()


def with_singular_values(sigma, count=50, seed=0):
    """U diag(σ) Vᵀ for random rotations U and V."""
    u, v = rotations(count, seed), rotations(count, seed + 1)
    return u * np.asarray(sigma, float) @ np.swapaxes(v, 1, 2)


CASES = {
    "random": np.random.default_rng(1).standard_normal((200, 3, 3)),
    "near a rotation": rotations(50, 2) + 1e-3 * np.random.default_rng(3).standard_normal((50, 3, 3)),
    "rotations": rotations(50, 4),
    "reflections": -rotations(50, 5),
    "identity": np.eye(3)[None],
    "inverted": with_singular_values([2.0, 1.0, -0.5]),
    "flat": with_singular_values([2.0, 1.0, 0.0]),
    "line": with_singular_values([2.0, 0.0, 0.0]),
    "axis-aligned lines": np.stack([np.outer(a, b) for a in np.eye(3) for b in np.eye(3)]),
    "equal pairs": np.concatenate([with_singular_values([2.0, 2.0, 1.0]), with_singular_values([2.0, 1.0, 1.0])]),
    "inverted evenly": with_singular_values([1.0, 0.7, -0.7]),
    "zero": np.zeros((1, 3, 3)),
    "small": 1e-6 * np.random.default_rng(6).standard_normal((50, 3, 3)),
    "large": 1e6 * np.random.default_rng(7).standard_normal((50, 3, 3)),
    "tiny": 1e-30 * np.random.default_rng(8).standard_normal((50, 3, 3)),
    "permutations": np.stack([np.eye(3)[list(p)] for p in ((1, 2, 0), (2, 0, 1), (1, 0, 2), (0, 2, 1))]),
}


def rotation_of(f):
    p = np.full((3, 3), np.nan)
    nearest_rotation(np.ascontiguousarray(f), p)
    return p


def rounding_of(sigma):
    """R moves by δ/(σ₂ + σ₃) when F moves by δ, and the eigenvectors of FᵀF see that condition squared.

    Jacobi's method makes some three sweeps of three rotations, each with a few roundings: 32 in all.
    """
    return 32 * EPS64 * (1 + (sigma[0] / (sigma[1] + sigma[2])) ** 2)


def unimodular_of(f):
    p = np.full((3, 3), np.nan)
    nearest_unimodular(np.ascontiguousarray(f), p)
    return p


@pytest.mark.parametrize("case", CASES)
def test_it_is_a_rotation(case):
    """RᵀR = I and det R = 1, whatever F is."""
    for f in CASES[case]:
        r = rotation_of(f)
        assert np.abs(r.T @ r - np.eye(3)).max() <= 1e-12
        assert abs(np.linalg.det(r) - 1) <= 1e-12


@pytest.mark.parametrize("case", CASES)
def test_no_rotation_is_nearer(case):
    """‖F - R‖ ≤ ‖F - Q‖ for 1000 random rotations Q, and for the best one that the singular values give."""
    others = rotations(1000, 9)
    for f in CASES[case]:
        distance = np.linalg.norm(f - rotation_of(f))
        rounding = 100 * EPS64 * (np.linalg.norm(f) + 1)
        assert distance <= np.linalg.norm(f - others, axis=(1, 2)).min() + rounding
        assert abs(distance - np.linalg.norm(f - twins.nearest_rotation(f))) <= rounding


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_twins_where_there_is_only_one(case):
    """R = U Vᵀ, to the tolerance of `rounding_of`."""
    compared = 0
    for f in CASES[case]:
        _, sigma, _ = twins.signed_singular_values(f)
        if sigma[1] + sigma[2] > 1e-3 * sigma[0]:
            tolerance = rounding_of(sigma)
            assert np.abs(rotation_of(f) - twins.nearest_rotation(f)).max() <= tolerance
            compared += 1
    assert compared or case in ("line", "axis-aligned lines", "inverted evenly", "zero", "reflections", "permutations")


def test_it_is_the_polar_factor_of_a_matrix_that_is_not_inverted():
    """F = R S with S symmetric positive definite (scipy.linalg.polar), for det F > 0."""
    for f in CASES["random"]:
        _, sigma, _ = twins.signed_singular_values(f)
        if sigma[2] > 0:
            tolerance = rounding_of(sigma)
            assert np.abs(rotation_of(f) - scipy.linalg.polar(f)[0]).max() <= tolerance


def test_transposing_both_changes_nothing_where_the_rotation_is_unique():
    """nearest(Fᵀ) = nearest(F)ᵀ."""
    for f in with_singular_values([2.0, 1.5, 0.5]):
        assert np.abs(rotation_of(f.T) - rotation_of(f).T).max() <= 20 * EPS64 * 2


@pytest.mark.parametrize("case", CASES)
def test_signed_svd(case):
    """F = U diag(σ) Vᵀ, U and V rotations, σ₁ ≥ σ₂ ≥ |σ₃|."""
    u, v, sigma = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(9)
    for f in CASES[case]:
        signed_svd(f, u, sigma, v)
        size = np.linalg.norm(f)
        for m in (u, v):
            assert np.abs(m.T @ m - np.eye(3)).max() <= 20 * EPS64
            assert np.linalg.det(m) > 0
        # σ comes from √(FᵀF): it is known to √eps of the largest where it is small
        assert np.abs(u * sigma[:3] @ v.T - f).max() <= 10 * np.sqrt(EPS64) * size
        assert sigma[0] >= sigma[1] - 10 * EPS64 * size
        assert sigma[1] >= abs(sigma[2]) - 10 * np.sqrt(EPS64) * size


# --- determinant one -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [*CASES, "huge"])
def test_unimodular_has_determinant_one_and_is_finite(case):
    """det G = 1 to the rounding of a product of three: the largest entries set its size."""
    for f in CASES.get(case, 1e100 * CASES["random"][:20]):
        g = unimodular_of(f)
        assert np.isfinite(g).all()
        assert abs(np.linalg.det(g) - 1) <= 100 * EPS64 * max(np.linalg.norm(g), 1) ** 3


WELL_POSED = rotations(40, 10) @ (np.eye(3) + 0.3 * np.random.default_rng(11).uniform(-1, 1, (40, 3, 3)))
STOP = 1e-6  # the steps end when d moves by less than 1e-7; they shrink by a factor of at most 0.9 for such shapes


def off_the_normal(f):
    """What is left of G - F beside its part along cof G, the normal of {det = 1} at G: zero at a stationary point."""
    g = unimodular_of(f)
    normal = np.linalg.det(g) * np.linalg.inv(g).T
    difference = g - f
    return np.abs(difference - np.sum(difference * normal) / np.sum(normal * normal) * normal).max()


def test_unimodular_is_stationary():
    """Lagrange: G - F = t cof G for some t."""
    for f in WELL_POSED:
        assert off_the_normal(f) <= STOP


@pytest.mark.parametrize(
    "sigma",
    [
        (1.0, 1.0, -1.0),
        (1.0, 0.5, -0.3),
        (0.0, 0.0, 0.0),
    ],
)
def test_unimodular_is_stationary_for_inverted_and_collapsed_shapes(sigma):
    """Lagrange again, where a step may well start: the energy's gradient is z - p only at a stationary p."""
    for f in with_singular_values(sigma, 3):
        assert off_the_normal(f) <= STOP


@pytest.mark.slow
def test_unimodular_is_as_near_as_the_best_that_an_optimiser_finds():
    """min ‖G - F‖² with det G = 1, over all nine entries, by sequential quadratic programming."""
    for f in WELL_POSED[:10]:
        found = scipy.optimize.minimize(
            lambda x, f=f: np.sum((x - f.ravel()) ** 2),
            twins.nearest_rotation(f).ravel(),
            jac=lambda x, f=f: 2 * (x - f.ravel()),
            constraints={"type": "eq", "fun": lambda x: np.linalg.det(x.reshape(3, 3)) - 1},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 300},
        )
        assert found.success
        # at a minimum the distance is flat: an error δ of G costs δ² only; SLSQP meets det = 1 to about √ftol
        assert np.linalg.norm(unimodular_of(f) - f) <= np.linalg.norm(found.x - f.ravel()) + 1e-7
        assert np.abs(unimodular_of(f).ravel() - found.x).max() <= 1e-5


def test_unimodular_leaves_determinant_one_alone():
    """A matrix on the set is its own nearest point."""
    for f in WELL_POSED:
        g = f * np.cbrt(1 / np.linalg.det(f))
        assert np.abs(unimodular_of(g) - g).max() <= STOP


# --- four at a time --------------------------------------------------------------------------------------------------


def deformed_cube():
    """A cube of some 600 tetrahedra: parts stretched, turned, mirrored, pressed flat, to a line and to a point."""
    mesh = vv.mesh.cube(6)
    rng = np.random.default_rng(12)
    x = mesh.vertices - mesh.vertices.mean(axis=0)
    q = x @ rotations(1, 13)[0].T
    q += 0.03 * rng.standard_normal(q.shape)
    top, left, front = (x[:, c] > 0.2 for c in range(3))
    q[top] *= [1.0, -1.0, 1.0]
    q[left, 2] = 0.25
    q[top & left, 1] = 0.1
    q[top & left & front] = q[np.flatnonzero(top & left & front)[0]]
    return mesh, q


def local_rotations_of(mesh, q, threads, order):
    layout = Layout(vv.System(vv.Model.of(mesh, vv.Solid(youngs_modulus=200.0)), 1 / 60), order, threads)
    layout.q[:, :3] = q[layout.order]
    layout.constant[:, :3] = np.random.default_rng(14).standard_normal(q.shape)
    Plan(layout.local_phases, threads).run()
    return layout


@pytest.fixture(scope="module")
def passed():
    mesh, q = deformed_cube()
    return local_rotations_of(mesh, q, 1, np.random.default_rng(15).permutation(len(q)))


def tables(layout):
    arrays = layout.local_phases[0].arrays
    return tuple(arrays[name] for name in ("vertices", "operator", "weights", "slots", "q", "out"))


@pytest.mark.slow
def test_local_rotations_give_the_nearest_rotation(passed):
    """Shares are w Aᵀ Rᵀ with R the rotation nearest to F, to float32 rounding.

    R is read back from the shares by least squares (A has three independent rows). F itself is rounded by
    eps ‖A‖ ‖edges‖; R follows with 1/(σ₂ + σ₃), and Markley's form with ‖F‖³/ζ ≤ 50 by its own guard.
    """
    vertices, operator, weights, slots, q, shares = tables(passed)
    seen = {"unique": 0, "inverted": 0, "flat": 0}
    for t, corners in enumerate(vertices):
        a = operator[t].astype(np.float64)
        x = q[corners, :3].astype(np.float64)
        f = (a @ x).T
        r = np.linalg.lstsq(float(weights[t]) * a.T, shares[slots[t], :3].astype(np.float64), rcond=None)[0].T
        spread = np.linalg.cond(a) * EPS32
        rounding = EPS32 * np.linalg.norm(a) * np.linalg.norm(x - x[0])
        assert np.abs(r.T @ r - np.eye(3)).max() <= 4 * 50 * EPS32 + 4 * spread
        assert np.linalg.det(r) > 0
        _, sigma, _ = twins.signed_singular_values(f)
        best = np.linalg.norm(f - twins.nearest_rotation(f))
        assert np.linalg.norm(f - r) <= best + 2 * rounding + 4 * 50 * EPS32 + 4 * spread
        gap = sigma[1] + sigma[2]
        if gap > 0.1:
            tolerance = 4 * rounding / gap + 4 * 50 * EPS32 + 4 * spread
            assert np.abs(r - twins.nearest_rotation(f)).max() <= tolerance
            seen["unique"] += 1
        seen["inverted"] += sigma[2] < -0.05
        seen["flat"] += abs(sigma[2]) < 1e-5
    assert min(seen.values()) >= 20, seen


def test_local_rotations_share_out_to_each_vertex(passed):
    """base_i = constant_i + Σ shares of the corners at i."""
    vertices, _, _, slots, _, shares = tables(passed)
    expected, size = passed.constant.astype(np.float64), np.abs(passed.constant).astype(np.float64)
    for corners, slot in zip(vertices, slots, strict=True):
        expected[corners] += shares[slot]
        size[corners] += np.abs(shares[slot])
    most = np.bincount(vertices.ravel()).max()
    assert (np.abs(passed.base - expected) <= most * EPS32 * size).all()


@pytest.mark.parametrize("threads", [2, 3, 4])
def test_local_rotations_do_not_depend_on_the_threads(passed, threads):
    """Chunks are cut between groups of four: the same bits for every team."""
    mesh, q = deformed_cube()
    other = local_rotations_of(mesh, q, threads, passed.order)
    assert len(tables(other)[0]) >= 4 * 96
    assert np.array_equal(other.base, passed.base)


def test_local_rotations_at_rest_give_the_turn():
    """A rigidly turned body has F = R everywhere: each share is w Aᵀ Rᵀ of that one rotation."""
    mesh = vv.mesh.cube(5)
    turn = rotations(1, 16)[0]
    layout = local_rotations_of(mesh, mesh.vertices @ turn.T, 2, np.arange(mesh.n_vertices))
    _, operator, weights, slots, _, shares = tables(layout)
    for t in range(len(weights)):
        expected = float(weights[t]) * operator[t].T.astype(np.float64) @ turn.T
        size = float(weights[t]) * np.linalg.norm(operator[t])
        # rounding of F: eps ‖A‖ ‖x‖ with ‖x‖ about four edges here, since the cube's corner is 1 m from the origin
        rounding = 4 * EPS32 * np.linalg.norm(operator[t]) * np.sqrt(3) + 50 * EPS32
        assert np.abs(shares[slots[t], :3] - expected).max() <= size * rounding
