"""Block matrices of random graphs as the kernels store them, and as dense float64 arrays."""

import numpy as np

from kernel_twins import EPS32, to_rows
from vivace.backends.cpu.executor import Plan
from vivace.energy.kernels.assemble import sort_rows
from vivace.solvers.projective.kernels import block_contacts as contacts
from vivace.solvers.projective.kernels import block_galerkin as galerkin
from vivace.solvers.projective.kernels import block_multigrid as multigrid
from vivace.solvers.projective.kernels.block_lists import mirrors


def run(kernel, items, *, threads=1, iteration=0, **arrays):
    Plan([kernel.over(0, items, **arrays)], threads).run(1, first=iteration)


def graph(n, chance, rng):
    """A symmetric pattern: row pointers, middle, columns, mirrors."""
    near = np.triu(rng.random((n, n)) < chance, 1)
    near |= near.T
    at = np.concatenate([[0], np.cumsum(near.sum(axis=1))]).astype(np.int32)
    j = np.nonzero(near)[1].astype(np.int32)
    return at, sort_rows(at, j, np.zeros(len(j), np.float32)), j, mirrors(at, j)


def wrapped(m):
    """(k, 3, 3) as rows (D, A, B)."""
    out = np.zeros((3 * len(m), 4), np.float32)
    for d in range(3):
        for c in range(3):
            out[d::3, c] = m[:, c, (c + d) % 3]
    return out


def unwrapped(rows):
    out = np.zeros((len(rows) // 3, 3, 3))
    for d in range(3):
        for c in range(3):
            out[:, c, (c + d) % 3] = rows[d::3, c]
    return out


def unturned(rows):
    """(u, s) as s I + u uᵀ."""
    u, s = rows[:, :3].astype(np.float64), rows[:, 3].astype(np.float64)
    return s[:, None, None] * np.eye(3) + u[:, :, None] * u[:, None, :]


def symmetric(ties):
    """Rows (D, A) as symmetric blocks."""
    d, a = ties[0::2].astype(np.float64), ties[1::2].astype(np.float64)
    out = np.zeros((len(d), 3, 3))
    for c in range(3):
        out[:, c, c] = d[:, c]
        out[:, c, (c + 1) % 3] = out[:, (c + 1) % 3, c] = a[:, c]
    return out


def dense(at, j, pairs, ties):
    """H of T and K = -H_ij: the diagonal is T_i + Σ_j K_ij."""
    n = len(at) - 1
    out = np.zeros((n, 3, n, 3))
    for i in range(n):
        out[i, :, i] += ties[i]
        for k in range(at[i], at[i + 1]):
            out[i, :, j[k]] -= pairs[k]
            out[i, :, i] += pairs[k]
    return out.reshape(3 * n, 3 * n)


def lean(problem, m, rng):
    """Make blocks m less symmetric, around triangles: as much comes in at a vertex as goes out, as with tetrahedra.

    The matrix stays symmetric, and so do its diagonal blocks.
    """
    at, j, mirror = problem.at, problem.j, problem.mirror
    where = {(i, int(j[k])): k for i in range(problem.n) for k in range(at[i], at[i + 1])}
    for a, b in list(where):
        for c in range(b + 1, problem.n):
            if a < b and (b, c) in where and (a, c) in where:
                turn = 0.1 * np.cross(np.eye(3), rng.normal(size=3))
                for i, k in ((a, b), (b, c), (c, a)):
                    m[where[i, k]] += turn
                    m[mirror[where[i, k]]] -= turn


class Problem:
    """A positive matrix in one of the two forms, with factors, and vectors to work on."""

    def __init__(self, form, n=37, seed=0):
        rng = np.random.default_rng(seed)
        self.n, self.form = n, form
        self.at, self.middle, self.j, self.mirror = graph(n, 0.15, rng)
        above = self.j > np.repeat(np.arange(n), np.diff(self.at))
        u = rng.normal(size=(len(self.j), 4)) * [1, 1, 1, 0]
        u[:, 3] = rng.random(len(u))
        u[self.mirror[above]] = u[above]
        self.tie = (0.1 + rng.random(n)).astype(np.float32)
        self.ties = np.zeros((2 * n, 4), np.float32)
        self.slot_at = np.concatenate([[0], np.cumsum(rng.integers(0, 3, n))]).astype(np.int32)
        self.slots = (0.3 * rng.normal(size=(self.slot_at[-1], 4))).astype(np.float32)  # rows (u, s) of contacts
        self.slots[:, 3] = np.abs(self.slots[:, 3])
        run(contacts.hold_ties, n, tie=self.tie, slot_at=self.slot_at, slots=self.slots, ties=self.ties)
        self.factors = np.zeros((2 * n, 4), np.float32)
        if form == "turned":
            self.blocks = u.astype(np.float32)
            half = np.arange(len(self.j), dtype=np.int32)[: self.at[n // 2]]  # springs in some rows, scalars in others
            self.blocks[len(half) :, :3] = 0.0
            self.blocks[self.mirror[: len(half)], :3] = self.blocks[: len(half), :3]
            self.pairs = unturned(self.blocks)
            spring = (self.blocks[:, :3] != 0).any(axis=1)
            row = np.repeat(np.arange(n), np.diff(self.at))
            spring_at = np.concatenate([[0], np.cumsum(np.bincount(row[spring], minlength=n))]).astype(np.int32)
            still = np.bincount(row, np.where(spring, 0, self.blocks[:, 3]), minlength=n).astype(np.float32)
            own = {"spring_at": spring_at, "entry": np.flatnonzero(spring).astype(np.int32), "still": still}
            run(galerkin.factor_turned, n, **own, blocks=self.blocks, ties=self.ties, factors=self.factors)
        else:
            m = unturned(u)
            lean(self, m, rng)
            self.blocks = wrapped(m)
            self.pairs = unwrapped(self.blocks)
            own = {"row_at": self.at, "tie_shift": np.zeros(1, np.float32)}
            run(galerkin.factor_wrapped, n, **own, blocks=self.blocks, ties=self.ties, factors=self.factors)
        self.matrix = dense(self.at, self.j, self.pairs, symmetric(self.ties))
        self.r, self.e, self.left = (to_rows(rng.normal(size=(n, 3))) for _ in range(3))
        self.arrays = {"row_at": self.at, "middle": self.middle, "j": self.j, "blocks": self.blocks}
        self.arrays |= {"factors": self.factors, "r": self.r, "e": self.e, "left": self.left}

    def kernel(self, name):
        return getattr(multigrid, f"{name}_{self.form}")

    def run(self, kernel, items=None, **more):
        """With those of the own arrays that the kernel takes, and more."""
        run(kernel, self.n if items is None else items, **{**kernel.select(self.arrays), **more})


def flat(rows):
    return rows[:, :3].astype(np.float64).ravel()


def close(found, expected, matrix, x, factor=100):
    """To rounding of a product with `matrix`: EPS32 |H| |x|, and what a diagonal block's condition makes of it."""
    size = np.abs(matrix) @ np.abs(x)
    np.testing.assert_allclose(found, expected, rtol=0, atol=factor * EPS32 * size.max())
