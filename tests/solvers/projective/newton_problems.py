"""Steps for newton-multigrid, and the matrices that it holds as dense float64 arrays."""

import numpy as np

from solvers.projective.kernels.block_twins import dense, symmetric, unturned, unwrapped
from solvers.rounding import rows
from vivace import Budget
from vivace.solvers import Deadline

U = 2.0**-24
H = 0.033
NAME = "newton-multigrid"


def states(system, seed=0):
    """Predictions to start from, with pins left where they are, as frames: gently bent, rough, scattered, collapsed."""
    rng = np.random.default_rng(seed)
    model = system.model
    rest = model.mesh.vertices.astype(np.float64)
    size = float(np.ptp(rest, axis=0).max()) or 1.0
    edge = size / np.sqrt(system.n)
    fall = np.tile(model.gravity, (system.n, 1))
    for q in (
        rest + 0.2 * size * np.sin(3 * rest[:, [1, 2, 0]] / size),
        rest + 0.3 * edge * rng.normal(size=rest.shape),
        size * rng.normal(size=rest.shape),
        np.full_like(rest, 0.25),
    ):
        yield system.frame(q, rng.normal(size=rest.shape), fall, rest[model.pinned])


def solve(solver, system, frame, budget, start=None):
    out = np.full((system.n, 4), np.nan, np.float32)
    first = rows(frame.s if start is None else start)
    outcome = solver.solve(first, rows(system.constant(frame)), out, Deadline.of(Budget(**budget)))
    assert (out[:, 3] == 0).all()
    return out[:, :3].astype(np.float64), outcome


def at(solver, system, frame, q):
    """Residual and Hessian at q."""
    solver.layout.load(rows(q), rows(system.constant(frame)))
    solver._look.run()
    solver._set_up.run()


def level_matrix(level, ties):
    """T and K as a matrix, whose diagonal blocks are the symmetric parts of T_i + Σ K_ij."""
    pairs = unturned(level.blocks[:-1]) if level.turned else unwrapped(level.blocks[:-3])
    matrix = dense(level.at, level.j, pairs, ties)
    for i in range(level.n):
        own = slice(3 * i, 3 * i + 3)
        matrix[own, own] = 0.5 * (matrix[own, own] + matrix[own, own].T)
    return matrix


def fine_matrix(solver):
    """H of the finest level in the order of the mesh."""
    layout = solver.layout
    matrix = level_matrix(solver.levels.fine, symmetric(solver.levels.fine.ties))
    place = (3 * layout.order[:, None] + np.arange(3)).ravel()
    out = np.empty_like(matrix)
    out[np.ix_(place, place)] = matrix
    return out


def largest(matrix):
    return np.abs(matrix).max()
