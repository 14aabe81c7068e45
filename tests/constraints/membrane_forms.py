"""Each form that membranes have for speed, against `Membrane.project` and its closed curvature in float64.

Every triangle has its own vertices. Positions and operators are float32 numbers, which float64 takes as they are; among
them triangles that are turned only, flattened to a line, folded over, and without any size.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.spatial.transform import Rotation

from kernel_twins import EPS32
from vivace.constraints import make_group
from vivace.constraints.membrane import membrane_curvature
from vivace.solvers.projective.kernels.acceleration import BLOCK

from .references import projections, run, unwrapped

M = 50
CORNER = np.array([[0.0, 0, 0], [1, 0, 0], [0.3, 0.9, 0]])


class Triangles:
    """M triangles with measures that are certain, but for some that have no direction."""

    def __init__(self, kind, seed=0):
        rng = self.rng = np.random.default_rng(seed)
        self.kind = kind
        rest = CORNER + 0.15 * rng.normal(size=(M, 3, 3)) * [1, 1, 0]
        x = rest + 0.3 * rng.normal(size=rest.shape)
        x[:8] = np.einsum("mkc,mdc->mkd", rest[:8], Rotation.random(8, random_state=1).as_matrix())
        x[8:12] = rest[8:12] * [1.4, 0.7, 1]
        x[12:14] = rest[12:14] * [1, -0.5, 1]
        x[14] = [[0, 0, 0], [1, 0, 0], [2, 0, 0]]
        x[15:17] = [3.0, -2.0, 1.0]
        x[24:28] += 100.0
        self.vertices = np.arange(3 * M, dtype=np.int32).reshape(M, 3)
        some = {"weft": 0.4, "shear": 0.2, "along": (0.8, 0.6, 0.0)}
        self.group = make_group("membrane", rest.reshape(-1, 3), self.vertices, rng.uniform(50, 500, M), **some)
        self.weights = self.group.weights.astype(np.float32)
        self.operator = self.group.operator.astype(np.float32)
        self.parameters = self.group.parameters.astype(np.float32)
        self.q = np.zeros((3 * M, 4), np.float32)
        self.q[:, :3] = x.reshape(-1, 3)
        self.certain = ~np.isin(np.arange(M), [14, 15, 16])

    @cached_property
    def a(self):
        """Operators whose rows add up to nothing, as kernels take them: in differences to the first corner."""
        a = self.operator.astype(np.float64)
        a[:, :, 0] = -a[:, :, 1] - a[:, :, 2]
        return a

    def measure(self, q):
        return np.einsum("mrk,mkc->mrc", self.a, q[:, :3].astype(np.float64).reshape(M, 3, 3))

    @cached_property
    def z(self):
        return self.measure(self.q)

    @cached_property
    def size(self):
        """What rounding of z is relative to: |a| |x - x₀|."""
        x = self.q[:, :3].astype(np.float64).reshape(M, 3, 3)
        return np.abs(self.a).sum(axis=(1, 2)) * (np.abs(x - x[:, :1]).max(axis=(1, 2)) + 1e-6)

    @cached_property
    def table(self):
        arrays = {"vertices": self.vertices.ravel(), "operator": self.operator.ravel(), "weights": self.weights}
        return arrays | {"parameters": self.parameters.ravel(), "q": self.q}

    @cached_property
    def slopes(self):
        return np.ascontiguousarray(np.swapaxes(self.a, 1, 2).reshape(-1, 4), np.float32)

    def energies(self, q):
        z = self.measure(q)
        p = projections(self.kind, z, self.parameters)
        return 0.5 * self.weights * np.square(z - p).sum(axis=(1, 2)), self.weights[:, None, None] * (z - p)

    @cached_property
    def blocks(self):
        """w Aᵀ C A (M, 3, 3, 3, 3), with across of shear for all directions, as the kernels have it."""
        c = membrane_curvature(self.z, self.parameters.astype(np.float64))
        diagonals = np.stack([self.z[:, 2] + self.z[:, 3], self.z[:, 2] - self.z[:, 3]], axis=1)
        sizes = np.linalg.norm(diagonals, axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            d = diagonals / sizes[:, :, None]
            for r, sign in ((0, 1.0), (1, -1.0)):
                more = 0.25 * np.maximum(1 - sizes[:, 1 - r] / sizes[:, r], 0)[:, None, None]
                along = more * d[:, r, :, None] * d[:, r, None, :]
                for s in (2, 3):
                    for t in (2, 3):
                        c[:, s, :, t] += along * (1.0 if s == t else sign)
        return np.einsum("m,mrk,mrcsd,msl->mklcd", self.weights, self.a, c, self.a)

    @cached_property
    def bound(self):
        """Roundings of a direction, as large as the measure is certain beside its smallest size."""
        diagonals = np.stack([self.z[:, 2] + self.z[:, 3], self.z[:, 2] - self.z[:, 3]], axis=1)
        least = np.linalg.norm(np.concatenate([self.z[:, :2], diagonals], axis=1), axis=2).min(axis=1)
        with np.errstate(divide="ignore"):
            unsure = 30 * EPS32 * np.maximum(self.size / least, 1.0)
        return self.weights * np.square(np.abs(self.a).sum(axis=(1, 2))) * unsure


def local_pass(form, kind):
    """Shares w Σ_r a_rk p_r."""
    t = Triangles(kind)
    out = np.zeros((3 * M, 4), np.float32)
    run(form, M, **t.table, slots=t.vertices.ravel(), out=out)
    p = projections(kind, t.z, t.parameters)
    expected = np.einsum("m,mrk,mrc->mkc", t.weights, t.operator, p)
    assert np.isfinite(out).all()
    error = np.abs(out[:, :3].reshape(M, 3, 3) - expected).max(axis=(1, 2))
    scale = t.weights * np.abs(t.a).sum(axis=(1, 2))
    assert (error <= t.bound / scale * scale + 20 * EPS32 * scale * t.size)[t.certain].all()


def pairs(form, kind):
    """H of two corners, wrapped."""
    t = Triangles(kind)
    out = np.zeros((9 * M, 4), np.float32)
    run(form, M, **t.table, slopes=t.slopes, pairs=out)
    found = unwrapped(out).reshape(M, 3, 3, 3)
    expected = np.stack([t.blocks[:, k, m] for k, m in ((0, 1), (0, 2), (1, 2))], axis=1)
    assert np.isfinite(found).all()
    error = np.abs(found - expected).max(axis=(1, 2, 3))
    assert (error <= t.bound)[t.certain].all()


def lattice_cells(form, kind):
    """h_KL of cells, one triangle in each, in which the features are the coordinates of corners 1, 2 and 0."""
    t = Triangles(kind)
    coefficients = np.concatenate([np.zeros((1, 3)), np.eye(3)]).astype(np.float32).ravel()
    h = np.full((48 * M, 4), 2.0, np.float32)
    starts = np.arange(M + 1, dtype=np.int32)
    arrays = {"starts": starts, "slopes": t.slopes, "coefficients": coefficients, "h": h}
    run(form, M, **t.table, corners=np.array([4]), **arrays)
    found = h.reshape(M, 4, 4, 3, 4)[..., :3].astype(np.float64) - 2.0
    for k in range(3):
        for m in range(k, 3):
            error = np.abs(found[:, k + 1, m + 1] - t.blocks[:, k, m]).max(axis=(1, 2))
            assert (error <= t.bound + 4 * EPS32)[t.certain].all()
    assert not found[:, 0].any()


def gains(form, kind):
    """E(q) - E(q') is the trapezium rule less what is told here: of every triangle, and in blocks."""
    t = Triangles(kind)
    old = t.q.copy()
    old[:, :3] += 0.1 * t.rng.normal(size=(3 * M, 3))
    new, slope = t.energies(t.q)
    before, slope_before = t.energies(old)
    moved = t.measure(t.q) - t.measure(old)
    rule = 0.5 * np.einsum("mrc,mrc->m", slope + slope_before, moved)
    expected = rule - (new - before)
    for m in np.flatnonzero(t.certain):
        partial = np.zeros(1)
        table = {name: array for name, array in t.table.items() if name != "q"}
        one = {"vertices": table["vertices"][3 * m : 3 * m + 3], "operator": table["operator"][12 * m : 12 * m + 12]}
        one |= {"weights": table["weights"][m : m + 1], "parameters": table["parameters"][2 * m : 2 * m + 2]}
        run(form, 1, grain=BLOCK, **one, q=t.q, q_old=old, partial=partial)
        assert abs(partial[0] - expected[m]) <= 200 * EPS32 * t.weights[m] * max(t.size[m], 1.0) ** 2
