"""Second derivatives of single elements, and what is left of them when negative eigenvalues are taken away.

A constraint with a projection has the gradient w Aᵀ (z - p(z)), z = A q, because p is the nearest point and its own
derivative drops out; so its Hessian is

    w Aᵀ C A,     C = I - ∂p/∂z     (r rows of 3 coordinates each)

C is symmetric and at most I, but may have negative eigenvalues (a compressed spring gives way sideways). They are set
to zero, constraint by constraint, so that the sum is positive definite whatever the state: then Newton's direction
leads down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..constraints.kernels.local import project_pass

STEP = 2.0**-17  # of central differences, relative: near ∛(2⁻⁵³), where truncation and rounding are both about 1e-10


def spring_curvature(z: np.ndarray, length: np.ndarray) -> np.ndarray:
    """C (m, 1, 3, 1, 3) of springs: 1 along z, 1 - l/|z| across it, and not below 0; 0 for a spring without direction.

    Of p = l z/|z|: ∂p/∂z = l/|z| (I - z zᵀ/|z|²).
    """
    z = z[:, 0]
    size = np.maximum(np.linalg.norm(z, axis=1), 1e-10)  # the least that the projection divides by
    along = np.einsum("mc,md->mcd", z, z) / (size**2)[:, None, None]
    across = np.maximum(1.0 - length / size, 0.0)
    c = along + across[:, None, None] * (np.eye(3) - along)
    apart: np.ndarray = c[:, None, :, None, :]
    return apart


def projected_curvature(project: Callable[..., Any], z: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """C (m, r, 3, r, 3) of any projection, by central differences, without its negative eigenvalues.

    Where they are not finite, C = I: the matrix of projective dynamics, which is never less than the Hessian.
    """
    m, r = z.shape[:2]
    through = project_pass(project)

    def at(x: np.ndarray) -> np.ndarray:
        p = np.empty((m, r, 3))
        through(x.reshape(m, r, 3), parameters, p)
        return p.reshape(m, 3 * r)

    flat = z.reshape(m, 3 * r)
    size = np.maximum(np.abs(z).max(axis=(1, 2)), np.abs(at(flat)).max(axis=1))
    c = np.eye(3 * r) - jacobian(at, flat, size)
    return clamped(c).reshape(m, r, 3, r, 3)


def jacobian(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray, size: np.ndarray) -> np.ndarray:
    """∂f/∂x (m, e, d) of a function from (m, d) to (m, e), row by row, by central differences.

    `size` (m,): lengths that steps are a small share of; 1 where there is none.
    """
    step = STEP * np.where((size > 0) & np.isfinite(size), size, 1.0)
    columns = []
    for k in range(x.shape[1]):
        more, less = x.copy(), x.copy()
        more[:, k] += step
        less[:, k] -= step
        with np.errstate(divide="ignore", invalid="ignore"):  # callers look for what is not finite
            columns.append((function(more) - function(less)) / (more - less)[:, k, None])
    return np.stack(columns, axis=2)


def slopes_jacobian(gradients: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """Second derivatives (m, 3k, 3k) from gradients (m, k, 3) of elements at x (m, k, 3), symmetric to rounding.

    Steps are a share of an element's extent; of its distance from the origin where it is a point.
    """
    m, k = x.shape[:2]
    extent = np.abs(x - x.mean(axis=1, keepdims=True)).max(axis=(1, 2))
    size = np.where(extent > 0, extent, np.abs(x).max(axis=(1, 2)))
    found = jacobian(lambda y: gradients(y.reshape(m, k, 3)).reshape(m, 3 * k), x.reshape(m, 3 * k), size)
    symmetric: np.ndarray = 0.5 * (found + np.swapaxes(found, 1, 2))
    return symmetric


def clamped(c: np.ndarray) -> np.ndarray:
    """The positive semidefinite matrices nearest to the symmetric parts of c (m, d, d); I where c is not finite."""
    c = 0.5 * (c + np.swapaxes(c, 1, 2))
    c[~np.isfinite(c).all(axis=(1, 2))] = np.eye(c.shape[1])
    values, vectors = np.linalg.eigh(c)
    vectors *= np.sqrt(np.maximum(values, 0.0))[:, None, :]
    nearest: np.ndarray = vectors @ np.swapaxes(vectors, 1, 2)
    return nearest
