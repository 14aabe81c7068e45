"""Each form that tetrahedra of projective dynamics have for speed, against their own files in float64.

`tet-strain` is held to the nearest rotation, and to its derivative there: linear elasticity in the rotation's frame.
`tet-volume` is held to the nearest matrix of determinant one; its curvature, which is that across the set det F = 1, to
the gradient of `volume`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numba import njit

from kernel_twins import EPS32, signed_singular_values
from vivace.backends.cpu.simd import load4, store4
from vivace.constraints import CONSTRAINTS
from vivace.constraints.kernels.rotation import gradient, rotation

from .corner_forms import Corners, M
from .references import curvatures, run, symmetric, unwrapped, values


class Tets(Corners):
    """Tetrahedra, and how certain float32 is of the rotation nearest to F: δF/(σ₂ + σ₃)."""

    @cached_property
    def gap(self):
        sigma = np.array([signed_singular_values(z.T)[1] for z in self.z])
        return np.maximum(sigma[:, 1] + sigma[:, 2], 0.0)

    @cached_property
    def unsure(self):
        """Of rotations: rounding of F, and of Markley's form, whose own guard is ‖F‖³/ζ <= 50."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.fmin(4 * EPS32 * self.size / self.gap + 4 * 50 * EPS32, 3.0)

    def shares(self, form):
        run(
            form,
            M,
            vertices=self.vertices.ravel(),
            operator=self.operator.ravel(),
            weights=self.weights,
            slots=self.vertices.ravel(),
            q=self.q,
            out=self.out,
        )
        return self.out[:, :3].reshape(M, 4, 3).astype(np.float64)

    @cached_property
    def strain_blocks(self):
        """w Aᵀ (I - ∂p/∂z) A (M, 4, 4, 3, 3) at the nearest rotation: linear elasticity in its frame."""
        c = curvatures(self.kind, self.p, self.parameters).reshape(M, 3, 3, 3, 3)
        return np.einsum("m,mrk,mrcsd,msl->mklcd", self.weights, self.a, c, self.a)

    @cached_property
    def block_size(self):
        a = np.linalg.norm(self.a, axis=1)
        return self.weights[:, None, None] * a[:, :, None] * a[:, None, :]

    @cached_property
    def volume_slopes(self):
        """√w ∂(det F)/∂x_k by the size of ∂(det F)/∂F, from the gradient of `volume`; and how certain float32 is."""
        volume = CONSTRAINTS["volume"]
        slopes = values(volume, self.x, np.zeros(M))[1]
        cofactors = np.swapaxes(slopes[:, 1:], 1, 2) @ np.linalg.inv(self.a[:, :, 1:])  # times the rest volume
        size = np.linalg.norm(cofactors, axis=(1, 2))
        rest = 1.0 / (6.0 * np.linalg.det(self.a[:, :, 1:]))
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = np.where(size[:, None, None] > 0, slopes / size[:, None, None], 0.0)
            unsure = np.fmin(20 * EPS32 * self.size**2 * rest / size, 3.0)
        return np.sqrt(self.weights)[:, None, None] * scaled, np.where(size > 0, unsure, 0.0)


def strain_pass(form, kind):
    """Shares w a_k p of the nearest rotations."""
    c = Tets(kind)
    error = np.abs(c.shares(form) - np.einsum("m,mrk,mrc->mkc", c.weights, c.a, c.p)).max(axis=(1, 2))
    assert (error <= c.weights * np.abs(c.a).sum(axis=(1, 2)) * c.unsure).all()
    assert (c.gap[12:16] > 0.05).any()  # some inverted ones are certain


def volume_pass(form, kind):
    """Shares w a_k p of the nearest matrices of determinant one, which move with F by its condition (`test_volume`)."""
    c = Tets(kind)
    error = np.abs(c.shares(form) - np.einsum("m,mrk,mrc->mkc", c.weights, c.a, c.p)).max(axis=(1, 2))
    bound = 400 * EPS32 * c.weights * np.abs(c.a).sum(axis=(1, 2)) * (1 + c.size)
    some = np.ones(M, bool)
    some[[16, 17, 20]] = False  # in one point or on a line there is no nearest one, but many
    assert (error <= bound)[some].all()
    assert np.isfinite(c.out).all()


def strain_at_vertices(form, kind):
    """Σ c s sᵀ over the shares s = w R a, c = 1/2w, and w|a|²/2: the block of a corner with itself."""
    c = Tets(kind)
    s = np.zeros((4 * M, 4), np.float32)
    s[:, :3] = np.einsum("m,mrk,mrc->mkc", c.weights, c.a, c.p).reshape(-1, 3)
    none, nothing = np.zeros(4 * M + 1, np.int32), np.zeros(0, np.float32)
    slot_at, scales = np.arange(4 * M + 1, dtype=np.int32), np.repeat(0.5 / c.weights, 4).astype(np.float32)
    diagonal, off = np.zeros((2, 4 * M, 4), np.float32)

    @njit
    def make(q, none, nothing, slot_at, shares, scales, diagonal, off):
        for i in range(q.shape[0]):
            out = form(i, load4(q, i), none, none, nothing, nothing, nothing, slot_at, shares, scales, q)
            store4(diagonal, i, out[1])
            store4(off, i, out[2])

    make(c.q, none, nothing, slot_at, s, scales, diagonal, off)
    own = 0.5 * np.einsum("m,mrk,mrk->mk", c.weights, c.a, c.a)
    found = symmetric(diagonal, off).reshape(M, 4, 3, 3) + own[:, :, None, None] * np.eye(3)
    error = np.abs(found - c.strain_blocks[:, range(4), range(4)]).max(axis=(2, 3))
    assert (error <= 8 * EPS32 * c.block_size[:, range(4), range(4)]).all()


def wrapped(form, c: Tets, scales, shares, normals):
    """The blocks (M, 4, 4, 3, 3) off the diagonal that `wrap_entries` makes, with the sign of H."""
    inside = np.array([[4 * t + j for j in range(4) if j != k] for t in range(M) for k in range(4)], np.int32)
    row_at = np.arange(0, 12 * M + 1, 3, dtype=np.int32)
    middle = (row_at[:-1].reshape(M, 4) + np.arange(4)).ravel().astype(np.int32)
    j, i = inside.ravel(), np.repeat(np.arange(4 * M, dtype=np.int32), 3)
    mirror = np.array([3 * b + inside[b].tolist().index(a) for a, b in zip(i, j, strict=True)], np.int32)
    each, none = np.arange(12 * M + 1, dtype=np.int32), np.zeros(12 * M + 1, np.int32)
    zero, blocks = np.zeros(12 * M, np.float32), np.zeros((36 * M, 4), np.float32)
    corners = {"corner_at": each if scales is not None else none, "here": i, "there": j, "shares": shares}
    corners["scales"] = zero if scales is None else scales[i]
    volumes = {"volume_at": each if scales is None else none, "near": i, "far": j, "normals": normals}
    entries = {"row_at": row_at, "middle": middle, "j": j, "mirror": mirror, "rest": zero, "w": zero, "wl": zero}
    run(form, 4 * M, **entries, q=c.q, blocks=blocks, **corners, **volumes)
    out = np.zeros((M, 4, 4, 3, 3))
    out[i // 4, i % 4, j % 4] = -unwrapped(blocks)
    return out


def strain_entries(form, kind):
    """[(s_k·s_l) I + s_l s_kᵀ]/2w of the shares, which is the block of two corners."""
    c = Tets(kind)
    s = np.zeros((4 * M, 4), np.float32)
    s[:, :3] = np.einsum("m,mrk,mrc->mkc", c.weights, c.a, c.p).reshape(-1, 3)
    found = wrapped(form, c, np.repeat(0.5 / c.weights, 4).astype(np.float32), s, s[:0])
    apart = ~np.eye(4, dtype=bool)
    error = np.abs(found - c.strain_blocks).max(axis=(3, 4))
    assert (error <= 8 * EPS32 * c.block_size)[:, apart].all()


def lattice_strain(form, kind):
    """T_fg with the gradients a_k for features: blocks of corners f <= g."""
    c = Tets(kind)
    slopes = np.zeros((4 * M, 4), np.float32)
    slopes[:, :3] = np.swapaxes(c.a, 1, 2).reshape(-1, 3)
    t, turned = np.zeros((M, 48, 4), np.float32), np.zeros((4, 4), np.float32)

    @njit
    def make(t, w, slopes, vertices, operator, q, turned):
        for e in range(len(w)):
            form(t[e], 4, w[e], slopes, 4 * e, rotation(gradient(e, vertices, operator, q)), turned)

    make(t, c.weights, slopes, c.vertices.ravel(), c.operator.ravel(), c.q, turned)
    check_upper(t, c.strain_blocks, c.block_size * (2 * c.unsure + 8 * EPS32)[:, None, None])


def check_upper(t, expected, bound):
    found = t.astype(np.float64).reshape(M, 4, 4, 3, 4)[..., :3]
    f, g = np.triu_indices(4)
    assert (np.abs(found - expected)[:, f, g].max(axis=(2, 3)) <= bound[:, f, g]).all()


def volume_normals(form, kind):
    """v_k = √w cof F a_k/‖cof F‖, inverted and flat tetrahedra included; none where cof F is zero."""
    c = Tets(kind)
    arrays = {"vertices": c.vertices.ravel(), "operator": c.operator.ravel(), "weights": c.weights}
    run(form, M, **arrays, q=c.q, normals=c.out)
    slopes, unsure = c.volume_slopes
    error = np.abs(c.out[:, :3].reshape(M, 4, 3) - slopes)
    bound = np.sqrt(c.weights)[:, None] * np.linalg.norm(c.a, axis=1) * unsure[:, None]
    assert (error.max(axis=2) <= bound).all()


def volume_entries(form, kind):
    """v_k v_lᵀ of two corners."""
    c = Tets(kind)
    slopes, _ = c.volume_slopes
    v = np.zeros((4 * M, 4), np.float32)
    v[:, :3] = slopes.reshape(-1, 3)
    found = wrapped(form, c, None, v[:0], v)
    expected = np.einsum("mkc,mld->mklcd", slopes, slopes)
    apart = ~np.eye(4, dtype=bool)
    assert (np.abs(found - expected).max(axis=(3, 4)) <= 8 * EPS32 * c.block_size)[:, apart].all()


def lattice_volume(form, kind):
    """T_fg with the gradients a_k for features."""
    c = Tets(kind)
    slopes, unsure = c.volume_slopes
    features = np.zeros((4 * M, 4), np.float32)
    features[:, :3] = np.swapaxes(c.a, 1, 2).reshape(-1, 3)
    t, turned = np.zeros((M, 48, 4), np.float32), np.zeros((4, 4), np.float32)

    @njit
    def make(t, w, slopes, vertices, operator, q, turned):
        for e in range(len(w)):
            form(t[e], 4, w[e], slopes, 4 * e, gradient(e, vertices, operator, q), turned)

    make(t, c.weights, features, c.vertices.ravel(), c.operator.ravel(), c.q, turned)
    expected = np.einsum("mkc,mld->mklcd", slopes, slopes)
    check_upper(t, expected, c.block_size * (2 * unsure + 8 * EPS32)[:, None, None])


def normals_agree(kind):
    """z - p at z is along cof p, where p is not far: to the tolerance of the projection, 1e-12 in det."""
    c = Tets(kind)
    some = np.abs(np.linalg.det(c.z) - 1) < 0.5
    z, p = c.z[some], c.p[some]
    cofactors = np.linalg.det(p)[:, None, None] * np.swapaxes(np.linalg.inv(p), 1, 2)
    along = np.einsum("mrc,mrc->m", z - p, cofactors) / np.linalg.norm(cofactors, axis=(1, 2))
    away = np.linalg.norm(z - p, axis=(1, 2))
    assert some.sum() > 5
    np.testing.assert_allclose(np.abs(along), away, rtol=1e-9, atol=1e-9)
