"""Each form that constraints of two or four vertices have for speed, against their own files in float64.

Every constraint has its own vertices, so that one pass is many single visits. Operators, parameters and positions are
float32 numbers, which float64 takes as they are. What a constraint adds up in its measure, S = Σ |a_k| |x_k - x_0|,
bounds its rounding: z errs by a few EPS32 S, and its direction by that of |z|.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import pytest
from numba import njit
from scipy.spatial.transform import Rotation

import vivace as vv
from kernel_twins import EPS32
from vivace.backends.cpu.arguments import GRAIN
from vivace.backends.cpu.simd import load4, store4
from vivace.constraints import make_group

from .references import projections, run, values

HINGE = np.array([[0.0, 0, 0], [1, 0, 0], [0.4, 1, 0], [0.6, -1, 0]])  # edge start, edge end, opposite, opposite: flat
TET = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
M = 50  # fours, and two that are left of them


def folded(x, angle):
    """Hinges whose last corner is turned about the edge."""
    out = x.copy()
    for hinge, by in zip(out, np.broadcast_to(angle, len(x)), strict=True):
        axis = (hinge[1] - hinge[0]) / np.linalg.norm(hinge[1] - hinge[0])
        hinge[3] = hinge[0] + Rotation.from_rotvec(by * axis).apply(hinge[3] - hinge[0])
    return out


class Corners:
    """M constraints of a kind: turned, drawn and folded in every way, some without length, area or volume."""

    def __init__(self, kind, seed=0):
        rng = self.rng = np.random.default_rng(seed)
        self.kind, self.k = kind, kind.vertices
        shape = {2: TET[:2], 4: TET if "tet" in kind.name or kind.name == "volume" else HINGE}[self.k]
        rest = shape + 0.15 * rng.normal(size=(M, self.k, 3)) * ([1, 1, 0] if shape is HINGE else 1)
        if kind.name in ("curved-hinge", "dihedral"):
            rest = folded(rest, rng.uniform(-2.5, 2.5, M))
        x = rest + 0.3 * rng.normal(size=rest.shape)
        x[:8] = np.einsum("mkc,mdc->mkd", rest[:8], Rotation.random(8, random_state=1).as_matrix())  # turned only
        x[8:12] = rest[8:12] * [1, 1, 0]  # flat
        x[12:16] = rest[12:16] * [
            1,
            1,
            -0.4,
        ]  # inverted, and not quite a mirror image, which has many nearest rotations
        x[16:18] = [3.0, -2.0, 1.0]  # all in one point
        x[18, 1] = x[18, 0]  # an edge without length
        if self.k == 4:
            x[19, 3] = x[19, 2]  # folded onto itself
            x[20] = [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]]  # on a line
            if shape is HINGE:
                x[21:24] = folded(rest[21:24], [np.pi, np.pi - 1e-3, -np.pi + 1e-3])
        x[24:28] += 100.0  # far from the origin
        stiffness = rng.uniform(50, 500, M)
        self.vertices = np.arange(M * self.k, dtype=np.int32).reshape(M, self.k)
        self.group = make_group(kind.name, rest.reshape(-1, 3), self.vertices, stiffness)
        self.q = np.zeros((M * self.k, 4), np.float32)
        self.q[:, :3] = x.reshape(-1, 3)
        self.weights = self.group.weights.astype(np.float32)
        self.operator = self.group.operator.astype(np.float32)
        self.parameters = self.group.parameters.astype(np.float32)
        self.out = np.zeros((M * self.k, 4), np.float32)

    @cached_property
    def x(self):
        return self.q[:, :3].astype(np.float64).reshape(M, self.k, 3)

    @cached_property
    def edges(self):
        """From the first corner, (M, k, 3); rows of operators add up to zero."""
        return self.x - self.x[:, :1]

    @cached_property
    def a(self):
        a = self.operator.astype(np.float64)
        a[:, :, 0] = -a[:, :, 1:].sum(axis=2)  # as the forms have it, which are written in differences
        return a

    @cached_property
    def z(self):
        return np.einsum("mrk,mkc->mrc", self.a, self.edges)

    @cached_property
    def p(self):
        return projections(self.kind, self.z, self.parameters)

    @cached_property
    def size(self):
        """S of each constraint."""
        return np.einsum("mrk,mk->m", np.abs(self.a), np.linalg.norm(self.edges, axis=2))

    @cached_property
    def direction_error(self):
        """How far rounding turns z, at most."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = 8 * EPS32 * self.size / np.linalg.norm(self.z, axis=(1, 2))
        return np.where(self.size > 0, np.fmin(ratio, 2.0), 0.0)


# --- C and its gradients from rows ------------------------------------------------------------------------------------


def rows_of(form, c: Corners):
    """C (M,) and its gradients (M, k, 3) by a form that takes rows and returns rows."""
    found, g = np.zeros(M, np.float32), np.zeros_like(c.q)

    @njit
    def pairs(q, operator, parameters, found, g):
        for e in range(len(found)):
            found[e], g0, g1 = form(load4(q, 2 * e), load4(q, 2 * e + 1), operator, parameters, e)
            store4(g, 2 * e, g0)
            store4(g, 2 * e + 1, g1)

    @njit
    def quads(q, operator, parameters, found, g):
        for e in range(len(found)):
            k = 4 * e
            x0, x1, x2, x3 = load4(q, k), load4(q, k + 1), load4(q, k + 2), load4(q, k + 3)
            found[e], g0, g1, g2, g3 = form(x0, x1, x2, x3, operator, parameters, e)
            store4(g, k, g0)
            store4(g, k + 1, g1)
            store4(g, k + 2, g2)
            store4(g, k + 3, g3)

    c.q[:, 3] = c.rng.random(len(c.q))  # inverse masses, which no gradient may feel
    (pairs if c.k == 2 else quads)(c.q, c.operator.ravel(), c.parameters.ravel(), found, g)
    assert (g[:, 3] == 0).all()
    return found.astype(np.float64), g[:, :3].astype(np.float64).reshape(M, c.k, 3)


def rows_of_a_distance(form, kind):
    """C ∇_k C = a_k (z - p), and |C| = ‖z - p‖ where z has a direction."""
    c = Corners(kind)
    found, g = rows_of(form, c)
    expected = np.einsum("mrk,mrc->mkc", c.a, c.z - c.p)
    rest = c.parameters[:, 0] if c.parameters.size else np.zeros(M)
    slack = 16 * EPS32 * (c.size + rest) + rest * c.direction_error
    error = np.linalg.norm(found[:, None, None] * g - expected, axis=2).max(axis=1)
    assert (error <= np.abs(c.a[:, 0]).max(axis=1) * slack).all()
    aimed = np.linalg.norm(c.z, axis=(1, 2)) > 16 * EPS32 * c.size
    error = np.abs(np.abs(found) - np.linalg.norm(c.z - c.p, axis=(1, 2)))
    assert (error <= 16 * EPS32 * (c.size + rest))[aimed].all()
    assert aimed.sum() > M // 2


def rows_of_a_volume(form, kind):
    """C and ∇C as `evaluate` has them; V errs by a few roundings of |e₁||e₂||e₃|, its gradients of two of these."""
    c = Corners(kind)
    found, g = rows_of(form, c)
    value, slopes = values(kind, c.x, c.parameters)
    assert (value[12:16] < -c.parameters[12:16, 0]).all()  # inverted: V < 0
    length = np.linalg.norm(c.edges, axis=2)[:, 1:]
    assert (np.abs(found - value) <= 8 * EPS32 * (length.prod(axis=1) + c.parameters[:, 0])).all()
    area = (length * np.roll(length, 1, axis=1)).sum(axis=1)
    assert (np.abs(g - slopes).max(axis=(1, 2)) <= 8 * EPS32 * area).all()


def rows_of_an_angle(form, kind):
    """C and ∇C as `evaluate` has them, the angle up to whole turns.

    Normals err by a few roundings of |e||a|: as parts of themselves, by EPS32 times κ = |e||a|/|e x a|.
    """
    c = Corners(kind)
    found, g = rows_of(form, c)
    value, slopes = values(kind, c.x, c.parameters)
    e, a, b = c.edges[:, 1], c.edges[:, 2], c.edges[:, 3]
    size_e, size_a, size_b = (np.linalg.norm(v, axis=1) for v in (e, a, b))
    size_m, size_n = (np.linalg.norm(np.cross(*v), axis=1) for v in ((e, a), (b, e)))
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = size_e * size_a / size_m + size_e * size_b / size_n
        bound = 16 * EPS32 * kappa * np.abs(slopes).max(axis=(1, 2)) * (1 + (size_a + size_b) / size_e)
    flat = ~np.isfinite(kappa)
    assert flat[16:19].all()
    assert flat[20]
    assert not np.column_stack([found, value, g.reshape(M, -1)])[flat].any()
    away = (found - value + np.pi) % (2 * np.pi) - np.pi
    assert (np.abs(away) <= 16 * EPS32 * kappa)[~flat].all()
    assert (np.abs(g - slopes).max(axis=(1, 2)) <= bound)[~flat].all()


# --- passes of position based solvers ---------------------------------------------------------------------------------


def wide_pass(form, kind):
    """x_k moves by -κ w_k a_k (z - p)/(Σ w_j a_j² + α): all that can move along its gradient, four at a time."""
    for kappa, alpha in ((0.7, 0.0), (1.0, 0.02)):
        c = Corners(kind)
        c.q[:, 3] = c.rng.uniform(0.5, 20, len(c.q))
        c.q[4 * c.k : 5 * c.k, 3] = 0.0  # pinned
        c.q[7 * c.k, 3] = 0.0
        before, offset, lambdas = c.q.copy(), c.z - c.p, np.zeros(M, np.float32)
        arrays = {
            "vertices": c.vertices.ravel(),
            "parameters": c.parameters.ravel() if c.parameters.size else np.zeros(M, np.float32),
            "operator": c.operator.ravel(),
            "soft": np.full(M, alpha, np.float32),
            "lambdas": lambdas,
            "settings": np.array([kappa, alpha > 0, 0], np.float32),
            "sums": np.zeros(M // GRAIN + 1),
        }
        run(form, M, q=c.q, **form.select(arrays))
        a, w = c.a[:, 0], before[:, 3].astype(np.float64).reshape(M, c.k)
        total = np.maximum((w * a * a).sum(axis=1) + np.float32(alpha), 1e-20)[:, None]
        reach = np.float32(kappa) * w * np.abs(a).max(axis=1, keepdims=True) / total
        expected = -np.float32(kappa) * (w * a / total)[:, :, None] * offset
        found = c.q[:, :3].reshape(M, c.k, 3) - c.x
        rest = c.parameters[:, 0] if c.parameters.size else np.zeros(M)
        slack = 16 * EPS32 * (c.size + rest) + (np.linalg.norm(c.z, axis=2)[:, 0] + rest) * c.direction_error
        bound = EPS32 * np.abs(c.x).max(axis=(1, 2))[:, None] + reach * slack[:, None]
        assert (np.linalg.norm(found - expected, axis=2) <= bound).all()
        assert not found[4].any()
        np.testing.assert_array_equal(c.q[:, 3], before[:, 3])


# --- angles, volumes and pins -----------------------------------------------------------------------------------------


def angles_at_rest(form, kind):
    """θ is C of a hinge whose rest angle is zero."""
    c = Corners(kind)
    np.testing.assert_array_equal(form(c.x), values(kind, c.x, np.zeros(M))[0])


def signed_volumes(form, kind):
    """V is C of a tetrahedron whose rest volume is zero: (positions, tetrahedra) to V."""
    c = Corners(kind)
    size = np.linalg.norm(c.edges, axis=2)[:, 1:].prod(axis=1)
    error = np.abs(form(c.x.reshape(-1, 3), c.vertices) - values(kind, c.x, np.zeros(M))[0])
    assert (error <= 8 * np.finfo(float).eps * size).all()


def volumes_at_rest(form, kind):
    """Likewise the volume that comes with the operator of tetrahedra, of upright ones: rest shapes to (A, V)."""
    x = TET + 0.15 * np.random.default_rng(0).normal(size=(M, 4, 3))
    np.testing.assert_allclose(form(x)[1], values(kind, x, np.zeros(M))[0], rtol=1e-14)


def pins(kind):
    """Pins as they are prepared, positions, and the energies w/2 |A x - target|² there."""
    rng = np.random.default_rng(0)
    rest, x, w = rng.normal(size=(M, 3)), rng.normal(size=(M, 3)).astype(np.float32), rng.uniform(1, 9, M)
    target = np.where(np.arange(M)[:, None] < 3, x, rng.normal(size=(M, 3)))  # some are where they should be
    group = make_group(kind.name, rest, np.arange(M), w.astype(np.float32), target=target.astype(np.float32))
    z = np.einsum("mrk,mkc->mrc", group.operator, x[:, None].astype(np.float64))[:, 0] - group.parameters
    return group, x, 0.5 * group.weights * (z**2).sum(axis=1)


def pinned_energy(form, kind):
    """Of float32 rows, added up in float64."""
    group, x, expected = pins(kind)
    q, target, out = np.zeros((M, 4), np.float32), np.zeros((M, 4), np.float32), np.zeros(M)
    q[:, :3], target[:, :3] = x, group.parameters

    @njit
    def make(w, q, target, out):
        for i in range(len(w)):
            out[i] = form(w[i], load4(q, i), load4(target, i))

    make(group.weights.astype(np.float32), q, target, out)
    np.testing.assert_allclose(out, expected, rtol=1e-14)


def pinned_system(form, kind):
    """ε or ∇ε of vertices that nothing holds but pins, and that move as they would without them."""
    group, x, expected = pins(kind)
    wire = vv.mesh.Mesh.from_edges(group.parameters, np.column_stack([np.arange(M - 1), np.arange(1, M)]))
    system = vv.System(replace(vv.Model.of(wire), groups=(group,)), 1 / 60)
    x = x.astype(np.float64)
    found = form(system, x, vv.Frame(x, x, x, group.parameters))
    if np.ndim(found):
        np.testing.assert_allclose(found, group.weights[:, None] * (x - group.parameters), rtol=1e-12, atol=1e-12)
    else:
        assert found == pytest.approx(expected.sum(), rel=1e-12)
