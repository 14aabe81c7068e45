"""Membranes: triangles that resist stretch along their warp and weft, and shear between them.

With u and v unit vectors along warp and weft of the triangle at rest, and F its deformation gradient (3 x 2, linear in
q), stiffnesses k_u, k_v and G (N/m) and the area A at rest,

    E = A [ k_u/2 (|F u| - 1)²  +  k_v/2 (|F v| - 1)²  +  G dist² ]      dist: of (F u, F v) from a right angle

The nearest pair of orthogonal vectors has a closed form. In a = (F u + F v)/√2 and b = (F u - F v)/√2, the stretches
along the two diagonals, a right angle is |a| = |b|; so the nearest has both as long as their mean, and dist² = (|a| -
|b|)²/2. For small strains ε that is 2 ε_uv², and E the energy of a linear membrane with C_uu = k_u, C_vv = k_v, C_ss =
G, without lateral contraction. G = k/2 of k_u = k_v = k is isotropic.

The strain is that of the triangle, so that the stiffness of a sheet does not depend on how it is divided: a sheet under
uniform strain stores the same whatever its mesh. Springs along edges do not have that (docs/cloth.md). All four
measures are linear in q, each is held to the nearest point of a set; so it is a constraint as all others are:

    A = [u, √w v, √2s u, √2s v]     w = k_v/k_u, s = G/k_u, the weight A k_u; parameters 1 and √w
"""

from __future__ import annotations

import numpy as np

from ..backends.cpu.vectors import like
from ..checks import as_numbers, is_number, shown
from ..errors import InputError
from .base import Prepared, constraint
from .kernels.membrane import local_membranes

SMALLEST = 1e-10  # of a measure: what has no length gets a zero direction


def frames_of(rest: np.ndarray, along: object) -> tuple[np.ndarray, np.ndarray]:
    """Warp and weft of triangles at rest, (m, 3) each, unit vectors in their planes.

    `along`: the direction (3,) of the warp, for all or one for each. Where a triangle stands across it, the axis
    that lies most in its plane is taken instead.
    """
    normal = np.cross(rest[:, 1] - rest[:, 0], rest[:, 2] - rest[:, 0])
    twice = np.linalg.norm(normal, axis=1)
    longest = np.square(rest[:, [1, 2, 0]] - rest[:, :3]).sum(axis=2).max(axis=1, initial=0.0)
    bad = np.flatnonzero(~(twice > 1e-12 * longest))
    if len(bad):
        raise InputError(f"triangle {bad[0]} has no area; repair the mesh first")
    normal = normal / twice[:, None]
    wanted = as_numbers("along, the direction of the warp,", along, (3,), (len(rest), 3))
    wanted = np.broadcast_to(wanted, (len(rest), 3))
    size = np.linalg.norm(wanted, axis=1, keepdims=True)
    if not (size > 0).all():
        raise InputError("along, the direction of the warp, must not be zero")
    wanted = wanted / size
    across = np.abs(np.einsum("mc,mc->m", wanted, normal)) > 0.9
    wanted = np.where(across[:, None], np.eye(3)[np.abs(normal).argmin(axis=1)], wanted)
    u = wanted - np.einsum("mc,mc->m", wanted, normal)[:, None] * normal
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    return u, np.cross(normal, u)


def strain_operator(rest: np.ndarray, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A (m, 2, 3) with A q = (F u, F v), and the areas (m,), of triangles with warp u and weft v."""
    e1, e2 = rest[:, 1] - rest[:, 0], rest[:, 2] - rest[:, 0]
    edges = np.stack([np.stack([np.einsum("mc,mc->m", e, d) for e in (e1, e2)], axis=1) for d in (u, v)], axis=1)
    inverse = np.linalg.inv(edges) if len(rest) else edges  # [e1 e2] in the frame; F = [q1-q0, q2-q0] inverse
    columns = np.swapaxes(inverse, 1, 2)  # row r: what F times direction r makes of the two edges
    operator = np.concatenate([-columns.sum(axis=2, keepdims=True), columns], axis=2)
    return operator, 0.5 * np.abs(np.linalg.det(edges)) if len(rest) else np.zeros(0)


def membrane_curvature(z: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """C = I - ∂p/∂z (m, 4, 3, 4, 3) without its negative eigenvalues.

    Of a fibre as of a spring. Of shear, in a and b: ½ (â, -b̂)(â, -b̂)ᵀ, and across the longer of the two, a say,
    ½ (1 - |b|/|a|); across the shorter one it gives way, which is left out.
    """
    m, one = len(z), np.eye(3)
    c = np.zeros((m, 4, 3, 4, 3))
    for r in range(2):
        size = np.maximum(np.linalg.norm(z[:, r], axis=1), SMALLEST)
        d = z[:, r] / size[:, None]
        across = np.maximum(1.0 - parameters[:, r] / size, 0.0)[:, None, None]
        along = d[:, :, None] * d[:, None, :]
        c[:, r, :, r] = along + across * (one - along)
    diagonals = np.stack([z[:, 2] + z[:, 3], z[:, 2] - z[:, 3]], axis=1)
    sizes = np.maximum(np.linalg.norm(diagonals, axis=2), SMALLEST)
    d = diagonals / sizes[:, :, None]
    opening = np.stack([d[:, 0], -d[:, 1]], axis=1)
    shear = 0.5 * opening[:, :, :, None, None] * opening[:, None, None, :, :]
    for r in range(2):
        across = 0.5 * np.maximum(1.0 - sizes[:, 1 - r] / sizes[:, r], 0.0)[:, None, None]
        shear[:, r, :, r] += across * (one - d[:, r, :, None] * d[:, r, None, :])
    turn = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2.0)  # (a, b)/√2 of (z₂, z₃), and back
    c[:, 2:, :, 2:] = np.einsum("ra,macbd,sb->mrcsd", turn, shear, turn)
    return c


@constraint(
    "membrane", vertices=3, rows=4, parameters=("warp_size", "weft_size"), kernel=local_membranes,
    curvature=membrane_curvature, unit="N/m",
)  # fmt: skip
class Membrane:
    """Resists stretch along warp and weft of a triangle and shear between them; stiffness of the warp in N/m."""

    @staticmethod
    def prepare(rest: np.ndarray, weft: float = 1.0, shear: float = 0.5, along: object = (1.0, 0.0, 0.0)) -> Prepared:
        """The four measures of each triangle, and its area for the weight.

        `weft` and `shear`: their stiffness as shares of the warp's. `along`: the direction of the warp.
        """
        for name, value in (("weft", weft), ("shear", shear)):
            if not is_number(value) or value < 0:
                raise InputError(f"{name} must be a share of the warp's stiffness, zero or more, not {shown(value)}")
        u, v = frames_of(rest, along)
        strain, area = strain_operator(rest, u, v)
        across, angle = np.sqrt(weft), np.sqrt(2.0 * shear)
        scales = np.array([1.0, across, angle, angle])
        operator = strain[:, [0, 1, 0, 1]] * scales[:, None]
        return Prepared(operator=operator, parameters=np.array([[1.0, across]]), measure=area)

    @staticmethod
    def project(z, parameters, p):
        """Fibres of their rest lengths, and the nearest two vectors at a right angle."""
        for r in range(2):
            size = np.sqrt(z[r, 0] * z[r, 0] + z[r, 1] * z[r, 1] + z[r, 2] * z[r, 2])
            scale = parameters[r] / max(size, like(size, SMALLEST))
            for c in range(3):
                p[r, c] = scale * z[r, c]
        more = less = like(z[0, 0], 0.0)
        for c in range(3):
            more += (z[2, c] + z[3, c]) * (z[2, c] + z[3, c])
            less += (z[2, c] - z[3, c]) * (z[2, c] - z[3, c])
        more = max(np.sqrt(more), like(more, SMALLEST))
        less = max(np.sqrt(less), like(less, SMALLEST))
        mean = like(more, 0.25) * (more + less)
        for c in range(3):
            a, b = mean / more * (z[2, c] + z[3, c]), mean / less * (z[2, c] - z[3, c])
            p[2, c], p[3, c] = a + b, a - b
