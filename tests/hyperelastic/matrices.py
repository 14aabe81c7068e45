"""Matrices that decompositions and materials are tried on."""

import numpy as np


def rotations(m, seed=0):
    """Random rotations (m, 3, 3)."""
    q, r = np.linalg.qr(np.random.default_rng(seed).standard_normal((m, 3, 3)))
    q = q * np.sign(np.einsum("mii->mi", r))[:, None, :]
    q[np.linalg.det(q) < 0, :, 0] *= -1
    return q


def adversarial(m, seed=0, reach=100):
    """Random matrices, and among them inverted, flat, line-like, zero, repeated, graded, huge and tiny ones."""
    rng = np.random.default_rng(seed)
    f = rng.standard_normal((m, 3, 3))
    tenths = np.array_split(np.arange(m), 10)
    turn, other = rotations(m, seed + 1), rotations(m, seed + 2)

    def with_values(some, values):
        f[some] = np.einsum("mij,mj,mkj->mik", turn[some], np.broadcast_to(values, (len(some), 3)), other[some])

    with_values(tenths[1], [1.0, 1.0, 0.0])  # flat
    with_values(tenths[2], [2.0, 0.0, 0.0])  # a line
    f[tenths[2][::7]] = 0.0
    f[tenths[3]] = np.eye(3) + 1e-9 * f[tenths[3]]  # three nearly equal values
    with_values(tenths[4], [1.5, 1.5, -1.5])  # inverted, and repeated
    f[tenths[5]] = rng.integers(-2, 3, (len(tenths[5]), 3, 3))  # exact zeros, repeated rows
    f[tenths[6]] *= 10.0 ** rng.uniform(-18, 0, (len(tenths[6]), 1, 3))  # columns of different size
    f[tenths[7]] *= 10.0 ** rng.uniform(-18, 0, (len(tenths[7]), 3, 1))  # rows likewise
    f[tenths[8]] *= 10.0 ** rng.uniform(-reach, reach, (len(tenths[8]), 1, 1))
    return f
