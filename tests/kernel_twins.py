"""Slow, obvious float64 twins of the compiled kernels. They read the same arrays and follow the printed equations."""

from __future__ import annotations

import numpy as np

from vivace.solvers.projective.kernels.acceleration import BLOCK

EPS32 = float(np.finfo(np.float32).eps)
EPS64 = float(np.finfo(np.float64).eps)
SMALLEST_LENGTH = 1e-10  # m: below this a spring has no direction


def blocks(n):
    """How many blocks sums over n vertices are made in."""
    return -(-n // BLOCK)


def to_rows(x):
    """(n, 3) as the (n, 4) float32 rows of the kernels."""
    out = np.zeros((len(x), 4), np.float32)
    out[:, :3] = x
    return out


# --- the sweep -----------------------------------------------------------------------------------------------------


def residual(i, rows, tie, base, q):
    """r_i = k_i (c_i - q_i) + Σ_e (w_e l_e / |d_e| - a_e) d_e + Σ_j a_j (q_j - q_i), and its terms' sizes summed."""
    spring_at, spring_j, spring_a, spring_wl, other_at, other_j, other_a = rows
    q, base = np.asarray(q, np.float64)[:, :3], np.asarray(base, np.float64)[:, :3]
    terms = [base[i], -float(tie[i]) * q[i]]
    for e in range(spring_at[i], spring_at[i + 1]):
        d = q[i] - q[spring_j[e]]
        length = max(np.linalg.norm(d), SMALLEST_LENGTH)
        terms += [float(spring_wl[e]) / length * d, -float(spring_a[e]) * d]
    for k in range(other_at[i], other_at[i + 1]):
        terms.append(float(other_a[k]) * (q[other_j[k]] - q[i]))
    return np.sum(terms, axis=0), float(np.sum([np.linalg.norm(t) for t in terms])), len(terms)


def residual_tolerance(size, terms):
    """A sum of m float32 terms errs by at most (m - 1) u Σ|t|; each term brings at most five roundings of its own."""
    return (terms + 5) * EPS32 * size


# --- projections -----------------------------------------------------------------------------------------------------


def signed_singular_values(f):
    """U, σ, Vᵀ of f with U and V rotations; the smallest σ has the sign of det f."""
    u, s, vt = np.linalg.svd(f)
    s = s.copy()
    if np.linalg.det(u) < 0:
        u[:, 2], s[2] = -u[:, 2], -s[2]
    if np.linalg.det(vt) < 0:
        vt[2], s[2] = -vt[2], -s[2]
    return u, s, vt


def nearest_rotation(f):
    """U Vᵀ with the sign of the smallest singular value fixed: the minimiser of ‖f - R‖ over rotations."""
    u, _, vt = signed_singular_values(np.asarray(f, np.float64))
    return u @ vt


# --- the local pass --------------------------------------------------------------------------------------------------


def local_shares(vertices, operator, weights, parameters, q, project):
    """Share of corner k of constraint c: w Σ_r A_rk p_r with p = project(A q); (m, k, 3)."""
    q = np.asarray(q, np.float64)[:, :3]
    shares = np.zeros((*vertices.shape, 3))
    for c, corners in enumerate(vertices):
        a = operator[c].astype(np.float64)
        p = project(a @ q[corners], parameters[c].astype(np.float64))
        shares[c] = float(weights[c]) * a.T @ p
    return shares


# --- matrices --------------------------------------------------------------------------------------------------------


def dense_from_rows(rows, tie):
    """The matrix that the arrays of the sweep describe: Y_ij = -a, Y_ii = k_i + Σ a."""
    spring_at, spring_j, spring_a, _, other_at, other_j, other_a = rows
    n = len(tie)
    y = np.zeros((n, n))
    for i in range(n):
        for at, j, a in ((spring_at, spring_j, spring_a), (other_at, other_j, other_a)):
            for e in range(at[i], at[i + 1]):
                y[i, j[e]] -= float(a[e])
        y[i, i] = float(tie[i]) - y[i].sum()
    return y
