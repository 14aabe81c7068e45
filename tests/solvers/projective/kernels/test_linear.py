"""Corrections e ≈ Y⁻¹ r on random symmetric matrices, against the equations in float64.

A sweep is checked one row at a time, from the kernel's own newest values, so that no error is carried along and the
tolerance is the rounding of one float32 sum.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from kernel_twins import EPS32
from vivace.backends.cpu.executor import Plan
from vivace.colouring import colour
from vivace.energy.kernels.assemble import sort_rows
from vivace.solvers.projective.kernels.linear import (
    add_prolonged,
    add_prolonged_unless,
    apply_dense,
    backward_sweep,
    forward_from_zero,
    left_by_forward,
    residual_of,
    restrict_rows,
    scale_rows,
)

SIZES = (1, 2, 17, 60, 700)


class Matrix:
    """A random symmetric positive matrix in the order of its colours, as the kernels read it and as a dense twin."""

    def __init__(self, n, seed=0, degree=5):
        rng = np.random.default_rng(seed)
        pairs = rng.integers(0, n, (degree * n // 2, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        values = rng.uniform(-0.5, 2.0, len(pairs))  # springs push and pull; hinges make some entries positive
        half = sp.coo_array((values, (pairs[:, 0], pairs[:, 1])), shape=(n, n))
        off = sp.csr_array(-(half + half.T))
        off.sort_indices()
        order, self.pointers = colour(off.indptr.astype(np.int32), off.indices.astype(np.int32), "greedy").order()
        off = sp.csr_array(off[order][:, order])
        self.n, self.at = n, off.indptr.astype(np.int32)
        self.j, self.a = off.indices.astype(np.int32), (-off.data).astype(np.float32)
        self.middle = sort_rows(self.at, self.j, self.a)
        off = sp.csr_array((-self.a.astype(np.float64), self.j, self.at), shape=(n, n))
        single = (np.abs(off).sum(axis=1) + rng.uniform(0.1, 1.0, n)).astype(np.float32)
        self.diagonal = single.astype(np.float64)
        self.inverse = np.float32(1.0) / single
        self.tie = (self.diagonal + off.sum(axis=1)).astype(np.float32)
        self.off = off
        self.arrays = {"row_at": self.at, "middle": self.middle, "j": self.j, "a": self.a, "inverse": self.inverse}

    @property
    def dense(self):
        return self.off.toarray() + np.diag(self.diagonal)

    @property
    def colours(self):
        return [(int(begin), int(end)) for begin, end in pairwise(self.pointers)]

    def row(self, i):
        """Columns and a = -Y_ij of a row, in float64."""
        here = slice(self.at[i], self.at[i + 1])
        return self.j[here], self.a[here].astype(np.float64)

    def phase(self, kernel, *items, **arrays):
        """A kernel over [begin, end) with those of the matrix' arrays that it takes, and others."""
        return kernel.over(*items, **kernel.select(self.arrays), **arrays)

    def forward(self, **arrays):
        return [self.phase(forward_from_zero, *colour, **arrays) for colour in self.colours]

    def backward(self, **arrays):
        return [self.phase(backward_sweep, *colour, **arrays) for colour in reversed(self.colours)]


def random_rows(n, seed):
    """All four lanes are filled: a kernel that mixed them up would show."""
    return np.random.default_rng(seed).standard_normal((n, 4)).astype(np.float32)


def run(*phases, threads=1):
    Plan(phases, threads).run()


def rectangle(n, m, seed=3):
    """A random n x m matrix as CSR arrays (rows of 0 to 6 entries) and in float64."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n), np.minimum(np.arange(n) % 7, m))
    columns = np.concatenate([rng.choice(m, min(i % 7, m), replace=False) for i in range(n)]).astype(np.int64)
    p = sp.csr_array((rng.standard_normal(len(rows)).astype(np.float32), (rows, columns)), shape=(n, m))
    p.sort_indices()
    arrays = {"row_at": p.indptr.astype(np.int32), "j": p.indices.astype(np.int32), "a": p.data}
    return arrays, sp.csr_array(p.astype(np.float64))


def check_sums(found, expected, sizes, terms):
    """A sum of m float32 products errs by at most (m + 3) u Σ|terms|, reading u as EPS32."""
    tolerance = (np.asarray(terms).reshape(-1, 1) + 3) * EPS32 * sizes
    assert (np.abs(found - expected) <= tolerance).all()


@pytest.mark.parametrize("n", SIZES)
def test_scaling_is_a_jacobi_iteration_from_zero(n):
    """e_i = ω r_i / Y_ii."""
    y, r, e = Matrix(n), random_rows(n, 1), np.full((n, 4), np.nan, np.float32)
    run(scale_rows.over(0, n, inverse=y.inverse, r=r, e=e, omega=np.array([0.7], np.float32)))
    np.testing.assert_allclose(e, 0.7 * r.astype(np.float64) / y.diagonal[:, None], rtol=4 * EPS32)


@pytest.mark.parametrize("n", SIZES)
def test_forward_sweep_solves_the_lower_triangle(n):
    """(D + L) e = r, whatever e held before: entries to the right of the diagonal must not be read."""
    y, r, e = Matrix(n), random_rows(n, 1), np.full((n, 4), np.nan, np.float32)
    run(*y.forward(r=r, e=e))
    assert np.isfinite(e).all()
    for i in range(n):
        j, a = y.row(i)
        before = j < i
        terms = np.vstack([r[i].astype(np.float64), a[before, None] * e[j[before]]]) / y.diagonal[i]
        check_sums(e[i], terms.sum(axis=0), np.abs(terms).sum(axis=0), len(terms) + 2)


@pytest.mark.parametrize("n", SIZES)
def test_what_a_forward_sweep_leaves_is_the_residual(n):
    """r - Y e = -U e after a forward sweep from zero: the first half of a row need not be read again."""
    y, r, e, left = Matrix(n), random_rows(n, 1), np.zeros((n, 4), np.float32), np.full((n, 4), np.nan, np.float32)
    run(*y.forward(r=r, e=e), y.phase(left_by_forward, 0, n, e=e, left=left))
    wide = e.astype(np.float64)
    size = np.abs(r) + np.abs(y.off) @ np.abs(wide) + y.diagonal[:, None] * np.abs(wide)
    check_sums(left, r - y.off @ wide - y.diagonal[:, None] * wide, size, np.diff(y.at) + 5)
    check_sums(left, -sp.triu(y.off, 1) @ wide, np.abs(y.off) @ np.abs(wide), np.diff(y.at))


@pytest.mark.parametrize("n", SIZES)
def test_backward_sweep_visits_rows_from_the_last_to_the_first(n):
    """e_i = (r_i - Σ_j Y_ij e_j) / Y_ii with new values behind i and old ones before it."""
    y, r, e = Matrix(n), random_rows(n, 1), random_rows(n, 2)
    old = e.copy()
    run(*y.backward(r=r, e=e))
    for i in range(n):
        j, a = y.row(i)
        read = np.where((j > i)[:, None], e[j], old[j]).astype(np.float64)
        terms = np.vstack([r[i].astype(np.float64), a[:, None] * read]) / y.diagonal[i]
        check_sums(e[i], terms.sum(axis=0), np.abs(terms).sum(axis=0), len(terms) + 2)


def test_backward_sweep_of_one_serial_phase_is_the_same():
    """Rows of a colour are independent of each other, so colour by colour and row by row is one order."""
    n = 60
    y, r, e = Matrix(n), random_rows(n, 1), random_rows(n, 2)
    serial = e.copy()
    run(*y.backward(r=r, e=e))
    run(y.phase(backward_sweep, 0, n, r=r, e=serial, serial=True))
    np.testing.assert_array_equal(e, serial)


def applied(n, phases, r, e):
    """The matrix that the phases multiply r by, column after column."""
    columns = np.zeros((n, n))
    plan = Plan(phases, 1)
    for first in range(0, n, 4):
        r[:] = 0
        count = min(4, n - first)
        r[np.arange(first, first + count), np.arange(count)] = 1
        plan.run()
        columns[:, first : first + count] = e[:, :count]
    return columns


def test_forward_and_backward_together_are_symmetric_and_positive():
    """H = (D + U)⁻¹ D (D + L)⁻¹: a forward sweep alone is not symmetric, and nothing could accelerate it."""
    n = 60
    y, r, e = Matrix(n), np.zeros((n, 4), np.float32), np.zeros((n, 4), np.float32)
    h = applied(n, [*y.forward(r=r, e=e), *y.backward(r=r, e=e)], r, e)
    lower = np.linalg.inv(np.tril(y.dense))
    exact = lower.T @ np.diag(y.diagonal) @ lower
    scale = np.abs(lower.T) @ np.diag(y.diagonal) @ np.abs(lower)
    assert (np.abs(h - exact) <= 30 * EPS32 * scale).all()  # some ten roundings a row, on both ways
    assert np.abs(h - h.T).max() <= 30 * EPS32 * scale.max()
    assert np.linalg.eigvalsh(0.5 * (h + h.T))[0] > 0
    forward = applied(n, y.forward(r=r, e=e), r, e)
    assert np.abs(forward - forward.T).max() > 0.01 * np.abs(forward).max()


@pytest.mark.parametrize(("n", "m"), [(60, 9), (700, 150), (3, 1), (2, 5)])
def test_restriction_and_prolongation_are_products(n, m):
    """R x writes over what was there; P x is added to it. Rows of 0 to 6 entries."""
    arrays, p = rectangle(n, m)
    x, before, to = random_rows(m, 4), random_rows(n, 5), np.full((n, 4), np.nan, np.float32)
    terms, size = np.diff(arrays["row_at"]), np.abs(p) @ np.abs(x)
    run(restrict_rows.over(0, n, **arrays, source=x, to=to))
    check_sums(to, p @ x.astype(np.float64), size, terms)
    to[:] = before
    run(add_prolonged.over(0, n, **arrays, source=x, to=to))
    check_sums(to, before + p @ x.astype(np.float64), size + np.abs(before), terms + 1)


def test_prolongation_stops_at_a_rejected_step():
    """Rejected: nothing is added. Else the same bits as without the switch."""
    n, m = 60, 9
    arrays, _ = rectangle(n, m)
    x, before, rejected = random_rows(m, 4), random_rows(n, 5), np.ones(1)
    to, other = before.copy(), before.copy()
    run(add_prolonged_unless.over(0, n, **arrays, source=x, to=to, rejected=rejected))
    np.testing.assert_array_equal(to, before)
    rejected[0] = 0.0
    run(add_prolonged_unless.over(0, n, **arrays, source=x, to=to, rejected=rejected))
    run(add_prolonged.over(0, n, **arrays, source=x, to=other))
    np.testing.assert_array_equal(to, other)
    assert (to != before).any()


@pytest.mark.parametrize("n", [1, 2, 7, 64])
def test_dense_product(n):
    """e = A⁻¹ r with the last column of odd sizes included."""
    inverse = np.random.default_rng(6).standard_normal((n, n)).astype(np.float32)
    r, e = random_rows(n, 7), np.full((n, 4), np.nan, np.float32)
    run(apply_dense.over(0, n, inverse=inverse, r=r, e=e))
    check_sums(e, inverse.astype(np.float64) @ r, np.abs(inverse).astype(np.float64) @ np.abs(r), n)


@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_residual_is_taken_in_differences(shift):
    """left = r - Y e. Far from zero only the tie's own rounding grows, not that of every neighbour."""
    n = 300
    y, r, e, left = Matrix(n), random_rows(n, 1), random_rows(n, 2), np.full((n, 4), np.nan, np.float32)
    e += np.float32(shift)
    run(y.phase(residual_of, 0, n, tie=y.tie, r=r, e=e, left=left))
    wide, tie = e.astype(np.float64), y.tie.astype(np.float64)
    expected, size = r - tie[:, None] * wide, np.abs(r) + np.abs(tie)[:, None] * np.abs(wide)
    for i in range(n):
        j, a = y.row(i)
        differences = a[:, None] * (wide[j] - wide[i])
        expected[i] += differences.sum(axis=0)
        size[i] += np.abs(differences).sum(axis=0)
    check_sums(left, expected, size, np.diff(y.at) + 2)


def test_threads_do_not_change_a_bit():
    """Every kernel on teams of one, two and three."""
    n, m = 1500, 700
    y, (arrays, _) = Matrix(n), rectangle(n, m)
    inverse = np.random.default_rng(6).standard_normal(m * m).astype(np.float32)
    found = []
    for threads in (1, 2, 3):
        r, x = random_rows(n, 1), random_rows(m, 4)
        e, left, to, rest, coarse = (np.zeros((k, 4), np.float32) for k in (n, n, n, n, m))
        run(
            *y.forward(r=r, e=e),
            y.phase(left_by_forward, 0, n, e=e, left=left),
            apply_dense.over(0, m, inverse=inverse, r=x, e=coarse),
            add_prolonged.over(0, n, **arrays, source=coarse, to=e),
            *y.backward(r=r, e=e),
            restrict_rows.over(0, n, **arrays, source=coarse, to=to),
            y.phase(residual_of, 0, n, tie=y.tie, r=r, e=to, left=rest),
            threads=threads,
        )
        found.append(b"".join(array.tobytes() for array in (e, left, to, rest, coarse)))
    assert found[0] == found[1] == found[2]
