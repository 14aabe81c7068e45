"""Plates: bending by the curvature of a quadratic surface through a triangle and three vertices around it.

    E = A/2 [ B_u |x_uu|² + B_v |x_vv|² + 2 B_s |x_uv|² ]      second derivatives of the place x by warp u and weft v

Six vertices in the plane of the triangle at rest have one quadratic function through them; its second derivatives are
linear in the vertices' positions. A sheet that bends without stretching has x_uu = κ_uu n, and so on, so that E is the
energy of a thin plate of the flexural rigidities B (N·m), without lateral contraction; B_u = B_v = B_s is isotropic.
Being exact for quadratics on any mesh it does not depend on the mesh, as that of hinges does: one hinge knows the
curvature across its own edge only, and no weights of single hinges make a sheet isotropic (docs/cloth.md).

For a sheet that is flat at rest the energy is quadratic, and goes into the matrix as that of hinges does [bergou2006].
One that is curved at rest has x_uu = κ_uu n and so on there, with the normal n of the triangle: then the set is that of
the same curvatures with any normal, and the nearest normal is that of κ_uu x_uu + κ_vv x_vv + 2 κ_uv x_uv.
"""

from __future__ import annotations

import numpy as np

from ..backends.cpu.vectors import like
from ..checks import is_number, shown
from ..errors import InputError
from .base import Prepared, Role, constraint
from .membrane import frames_of

SMALLEST = 1e-10


def second_derivatives(flat: np.ndarray) -> np.ndarray:
    """Rows (m, 3, 6) that make f_uu, f_vv, f_uv of the values at six points (m, 6, 2); not finite without a fit."""
    x, y = flat[..., 0], flat[..., 1]
    basis = np.stack([np.ones_like(x), x, y, 0.5 * x * x, 0.5 * y * y, x * y], axis=-1)
    rows = np.full(basis.shape, np.inf)
    able = np.abs(np.linalg.det(basis)) > 1e-9 if len(basis) else np.zeros(0, bool)
    rows[able] = np.linalg.inv(basis[able])
    found: np.ndarray = rows[:, 3:]
    return found


def flattened(rest: np.ndarray, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (m, k, 3) in the frames of their triangles, the first three, in units of √(2 A): (m, k, 2); and A."""
    area = 0.5 * np.linalg.norm(np.cross(rest[:, 1] - rest[:, 0], rest[:, 2] - rest[:, 0]), axis=1)
    away = (rest - rest[:, :3].mean(axis=1, keepdims=True)) / np.sqrt(2.0 * area)[:, None, None]
    return np.stack([np.einsum("mkc,mc->mk", away, d) for d in (u, v)], axis=2), area


def prepared_plates(
    rest: np.ndarray, weft: float, twist: float, along: object
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Operators (m, 3, 6), scaled by the roots of the stiffnesses' shares, areas and normals."""
    for name, value in (("weft", weft), ("twist", twist)):
        if not is_number(value) or value < 0:
            raise InputError(f"{name} must be a share of the warp's rigidity, zero or more, not {shown(value)}")
    u, v = frames_of(rest[:, :3], along)
    flat, area = flattened(rest, u, v)
    rows = second_derivatives(flat) / (2.0 * area)[:, None, None]
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=(1, 2)))
    if len(bad):
        raise InputError(f"there is no quadratic surface through the six vertices of plate {bad[0]}; choose others")
    rows *= np.sqrt([1.0, weft, 2.0 * twist])[:, None]
    rows -= rows.mean(axis=2, keepdims=True)  # rounding: what moves as a whole bends nothing
    return rows, area, np.cross(u, v)


@constraint("plate", vertices=6, rows=3, role=Role.QUADRATIC, unit="N·m")
class Plate:
    """Resists bending of an initially flat sheet, the same on every mesh; flexural rigidity in N·m."""

    @staticmethod
    def prepare(rest: np.ndarray, weft: float = 1.0, twist: float = 1.0, along: object = (1.0, 0.0, 0.0)) -> Prepared:
        """The second derivatives of a triangle and three vertices around it, and its area for the weight.

        `weft` and `twist`: their rigidity as shares of the warp's. `along`: the direction of the warp.
        """
        rows, area, _ = prepared_plates(rest, weft, twist, along)
        return Prepared(operator=rows, measure=area)


@constraint("curved-plate", vertices=6, rows=3, parameters=("warp", "weft", "twist"), unit="N·m")
class CurvedPlate:
    """Resists bending away from a curved rest shape, the same on every mesh; flexural rigidity in N·m."""

    @staticmethod
    def prepare(rest: np.ndarray, weft: float = 1.0, twist: float = 1.0, along: object = (1.0, 0.0, 0.0)) -> Prepared:
        """As of `Plate`; and the three curvatures at rest, in the same scale."""
        rows, area, normal = prepared_plates(rest, weft, twist, along)
        curvature = np.einsum("mrk,mkc,mc->mr", rows, rest, normal)
        return Prepared(operator=rows, parameters=curvature, measure=area)

    @staticmethod
    def project(z, parameters, p):
        """The curvatures at rest, in the direction of the normal that is nearest."""
        square = like(z[0, 0], 0.0)
        for c in range(3):
            p[0, c] = parameters[0] * z[0, c] + parameters[1] * z[1, c] + parameters[2] * z[2, c]
            square += p[0, c] * p[0, c]
        scale = like(square, 1.0) / max(np.sqrt(square), like(square, SMALLEST))
        for c in range(3):
            n = scale * p[0, c]
            for r in range(3):
                p[r, c] = parameters[r] * n
