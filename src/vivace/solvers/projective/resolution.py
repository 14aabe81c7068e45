"""Whether float32 can tell the softest shape of a model from its stiffest constraint.

A solver that corrects all vertices at once, e = Y⁻¹ r, divides what rounding leaves in r by the stiffness of the mode
that it falls into. A force that stiff constraints make of an edge of length l is rounded by 2⁻²⁴ Y_ii l; a mode u of
the body answers with 1/λ times as much, λ = u·Yu / u·Du (D the diagonal of Y), so rounding alone moves it by 2⁻²⁴ l/λ
in every iteration. If that is much of the body's size L, the next residual is rounded by more, and within a few steps
positions are no longer finite. Solvers that sweep divide by Y_ii alone and do not do it.

The modes that matter are smooth: in them rounding adds up and stiff constraints cost nothing. So u is sought among 1,
x, y and z: to be moved as a whole, against inertia and pins, and to be stretched or sheared, which hinges do not mind.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import scipy.sparse.csgraph

from ...energy.system import System
from ...errors import InputError

ROUNDING = 2.0**-24
MOST_MOVED = 1.0  # of its size, as a whole: forces between vertices cancel but for rounding of rounding
MOST_DEFORMED = 1 / 64  # of its size
NOISE = 1e-14  # what float64 leaves of λ
FLAT = 1e-9  # a body whose extent in a direction is below the root of this share of its largest has none there


def check_resolved(system: System) -> None:
    """Refuse a system whose soft modes would be moved by rounding, for solvers that correct all vertices at once."""
    if not len(system.model.mesh.edges):
        return
    shift, shape, fine = soft_modes(system)
    moved, deformed = ROUNDING * fine / shift, ROUNDING * fine / shape
    if (moved <= MOST_MOVED).all() and (deformed <= MOST_DEFORMED).all():
        return
    worst = int(np.argmax(np.maximum(moved, deformed)))
    if shape[worst] < 10 * shift[worst]:
        what, remedy = "stretch or shear", "bring the stiffnesses nearer to each other"
        softness, by, most = shape[worst], deformed[worst], MOST_DEFORMED
    else:
        what, remedy = "move as a whole, held by its inertia and its pins,", "make it softer or pin it firmly"
        softness, by, most = shift[worst], moved[worst], MOST_MOVED
    stiffest = max(system.model.groups, key=lambda group: group.stiffest).kind.name
    raise InputError(
        f"the model can {what} {1 / softness:.2g} times as easily as its stiffest constraints, {stiffest!r}, give way; "
        f"on this mesh float32 positions can tell apart {most / (ROUNDING * fine[worst]):.2g}, and beyond that "
        f"rounding alone moves it by {by:.2g} of its size in an iteration: {remedy}, shorten the time step, or take a "
        "solver that sweeps, such as vivace or pbd-coloured"
    )


def soft_modes(system: System) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each body, λ of a move as a whole, the lowest λ of other modes, and l/L: edge length over size."""
    mesh, off, d = system.model.mesh, system.off, system.diagonal
    count, body = scipy.sparse.csgraph.connected_components(off, directed=False)

    weight = _sums(d[:, None], body, count)
    x = mesh.vertices - (_sums(d[:, None] * mesh.vertices, body, count) / weight).take(body, axis=0)
    size = np.zeros(count)
    np.maximum.at(size, body, np.abs(x).max(axis=1))
    size = 2.0 * np.maximum(size, 1e-300)
    u = np.column_stack([np.ones(system.n), x / size.take(body)[:, None]])
    # Y u in differences: Σ_j Y_ij (u_j - u_i) + tie_i u_i, because the tie is far below the rounding of Y_ii.
    yu = off @ u - np.asarray(off.sum(axis=1)).reshape(-1, 1) * u + system.tie[:, None] * u
    yu[:, 0] = system.tie
    i, k = np.array(list(combinations_with_replacement(range(4), 2))).T
    a, b = (np.empty((count, 4, 4)) for _ in range(2))
    a[:, i, k] = a[:, k, i] = _sums(u[:, k] * yu[:, i], body, count)
    b[:, i, k] = b[:, k, i] = _sums(u[:, i] * d[:, None] * u[:, k], body, count)
    lowest = _eigenvalues(a, b)
    shift = np.maximum(a[:, 0, 0] / b[:, 0, 0], NOISE)
    another = (lowest[:, 0] < 0.5 * shift) & (shift > 100 * NOISE)  # than the move as a whole is the softest
    shape = np.maximum(np.where(another, lowest[:, 0], lowest[:, 1]), NOISE)
    tail, head = mesh.edges.T
    way = mesh.vertices.take(tail, axis=0) - mesh.vertices.take(head, axis=0)
    lengths, at = np.sqrt(np.einsum("ei,ei->e", way, way)), body.take(tail)
    mean = np.bincount(at, lengths, minlength=count) / np.maximum(np.bincount(at, minlength=count), 1)
    alone = np.bincount(body, minlength=count) == 1  # a vertex without constraints has nothing to round
    return shift, shape, np.where(alone, 0.0, np.minimum(mean / size, 1.0))


def _sums(values: np.ndarray, body: np.ndarray, count: int) -> np.ndarray:
    """(count, k): sums of the rows of (n, k) values over each body."""
    sums = [np.bincount(body, column, minlength=count) for column in values.T] if count > 1 else [*values.sum(axis=0)]
    return np.column_stack(sums)


def _eigenvalues(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """λ of a u = λ b u for (m, 4, 4) matrices; 1 in directions in which b vanishes, as for flat bodies."""
    scale, axes = np.linalg.eigh(b)
    there = scale > FLAT * scale[:, -1:]
    root = np.where(there, 1.0 / np.sqrt(np.where(there, scale, 1.0)), 0.0)
    reduced = root[:, :, None] * (axes.transpose(0, 2, 1) @ a @ axes) * root[:, None, :]
    reduced += np.eye(4) * ~there[:, None, :]
    return np.linalg.eigvalsh(reduced)
