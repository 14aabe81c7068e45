"""What every form of a constraint is held to: the functions of the constraint's own file, in float64."""

from __future__ import annotations

import numpy as np

from vivace.backends.cpu.executor import Plan
from vivace.constraints.kernels.local import project_pass, value_pass

STEP = 2.0**-17  # of central differences, relative: they err by STEP² and 2⁻⁵³/STEP, both about 1e-10


def run(kernel, count, **arrays):
    """One phase over [0, count), by one thread."""
    Plan([kernel.over(0, count, **arrays)], 1).run()


def projections(kind, z, parameters):
    """p (m, r, 3) of z (m, r, 3); zero for constraints whose measure ought to be zero."""
    p = np.zeros_like(z)
    if kind.project is not None:
        project_pass(kind.project)(z, np.asarray(parameters, np.float64).reshape(len(z), -1), p)
    return p


def values(kind, x, parameters):
    """C (m,) and its gradients (m, k, 3) at x (m, k, 3), of constraints that are known by them."""
    m, k, _ = x.shape
    c, gradients = np.empty(m), np.empty((m, k, 3))
    vertices = np.arange(m * k, dtype=np.int32).reshape(m, k)
    parameters = np.asarray(parameters, np.float64).reshape(m, -1)
    value_pass(kind.evaluate)(np.ascontiguousarray(x).reshape(-1, 3), vertices, parameters, c, gradients)
    return c, gradients


def curvatures(kind, z, parameters):
    """I - ∂p/∂z (m, 3r, 3r) by central differences, without its negative eigenvalues.

    The gradient of the energy is w Aᵀ (z - p): p is the nearest point, so that its own derivative drops out.
    """
    m, r, _ = z.shape
    size = np.linalg.norm(z, axis=(1, 2))
    step = STEP * np.where(size > 0, size, 1.0)
    c = np.empty((m, 3 * r, 3 * r))
    for k in range(3 * r):
        there, back = z.copy(), z.copy()
        there[:, k // 3, k % 3] += step
        back[:, k // 3, k % 3] -= step
        difference = projections(kind, there, parameters) - projections(kind, back, parameters)
        c[:, :, k] = -difference.reshape(m, -1) / (there - back)[:, k // 3, k % 3, None]
        c[:, k, k] += 1.0
    eigenvalues, vectors = np.linalg.eigh(0.5 * (c + np.swapaxes(c, 1, 2)))
    return (vectors * np.maximum(eigenvalues, 0.0)[:, None, :]) @ np.swapaxes(vectors, 1, 2)


def symmetric(diagonal, off):
    """(m, 3, 3) from rows (xx, yy, zz, ·) and (xy, yz, zx, ·)."""
    (xx, yy, zz), (xy, yz, zx) = (np.asarray(a, np.float64)[:, :3].T for a in (diagonal, off))
    return np.stack([xx, xy, zx, xy, yy, yz, zx, yz, zz], axis=1).reshape(-1, 3, 3)


def unwrapped(blocks):
    """(m, 3, 3) from three rows each: the diagonal, (xy, yz, zx) and (xz, yx, zy)."""
    d, a, b = np.asarray(blocks, np.float64).reshape(-1, 3, 4)[:, :, :3].transpose(1, 2, 0)
    return np.stack([d[0], a[0], b[0], b[1], d[1], a[1], a[2], b[2], d[2]], axis=1).reshape(-1, 3, 3)
