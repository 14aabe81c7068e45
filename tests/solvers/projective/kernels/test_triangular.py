"""Substitution with triangular factors, and the tree that cuts it into tasks, against dense arithmetic and plain loops.

Substitution is checked one row at a time from the kernel's own values, so that no error is carried along and the
tolerance is the rounding of one float32 sum.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from kernel_twins import EPS32
from vivace.backends.cpu.executor import Plan
from vivace.solvers.projective.kernels.triangular import (
    elimination_tree,
    low_rank_subtract,
    low_rank_weights,
    runs_of,
    scale_by,
    substitute_backward,
    substitute_forward,
    subtree_tasks,
)

SIZES = (1, 2, 9, 60, 200)


def random_rows(n, seed):
    """All four lanes are filled: a kernel that mixed them up would show."""
    return np.random.default_rng(seed).standard_normal((n, 4)).astype(np.float32)


def symmetric_pattern(n, seed, chance=None):
    """Which entries of a random symmetric matrix are not zero; some parts do not hang together."""
    rng = np.random.default_rng(seed)
    near = np.triu(rng.random((n, n)) < (chance or 1.5 / n), 1)
    return near | near.T


def filled(near):
    """The pattern of L below the diagonal: eliminating k joins all that are left of its neighbours."""
    full = near.copy()
    for k in range(len(near)):
        later = np.flatnonzero(full[:, k])
        later = later[later > k]
        full[np.ix_(later, later)] |= ~np.eye(len(later), dtype=bool)
    return np.tril(full, -1)


def compressed(pattern):
    """(indptr, indices) by rows."""
    counts = pattern.sum(axis=1)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), np.nonzero(pattern)[1].astype(np.int32)


# --- runs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chance", [0.0, 0.1, 0.6, 1.0])
@pytest.mark.parametrize("n", SIZES)
def test_runs_are_the_columns(n, chance):
    """Columns c, c + 1, ..., c + length - 1 of all runs of a row are its columns, and no two runs touch."""
    pattern = np.random.default_rng(n).random((n, n)) < chance
    row_at, columns, lengths = runs_of(*compressed(pattern))
    assert (row_at[0], row_at[-1]) == (0, len(columns))
    assert len(columns) == len(lengths)
    for i in range(n):
        own = range(row_at[i], row_at[i + 1])
        listed = [int(columns[run]) + k for run in own for k in range(lengths[run])]
        assert listed == np.flatnonzero(pattern[i]).tolist()
        assert all(columns[run] + lengths[run] < columns[run + 1] for run in own[:-1])


# --- the tree ---------------------------------------------------------------------------------------------------------


def parents_from_the_matrix(near):
    """Without the factor: row i hangs below it the roots of all trees that its earlier neighbours are in."""
    n = len(near)
    parent = np.full(n, -1)
    for i in range(n):
        for j in np.flatnonzero(near[i, :i]):
            root = j
            while parent[root] not in (-1, i):
                root = parent[root]
            if root != i:
                parent[root] = i
    return parent


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", SIZES)
def test_the_tree_is_that_of_the_matrix(n, seed):
    """The first entry below the diagonal of each column of L, which is known from the matrix too."""
    near = symmetric_pattern(n, seed)
    lower = filled(near)
    parent = elimination_tree(*compressed(lower.T))
    np.testing.assert_array_equal(parent, parents_from_the_matrix(near))
    assert (parent >= 0).any() or n < 3
    for j in range(n):  # what a column holds is above it in the tree: this is what tasks rely on
        above, p = set(), int(parent[j])
        while p >= 0:
            above.add(p)
            p = int(parent[p])
        assert set(np.flatnonzero(lower[:, j]).tolist()) <= above


def descendants(parent, root):
    """The root and all below it, by walking up from everybody."""
    out = []
    for j in range(len(parent)):
        p = j
        while p >= 0 and p != root:
            p = int(parent[p])
        if p == root:
            out.append(j)
    return out


def tasks_twin(parent, work, share):
    """Roots of the largest subtrees that have at most `share` of the work, and what is in none of them."""
    n, limit = len(parent), share * work.sum()
    below = [descendants(parent, j) for j in range(n)]
    small = [work[own].sum() <= limit for own in below]
    roots = [j for j in range(n) if small[j] and (parent[j] < 0 or not small[parent[j]])]
    taken = set().union(*(below[j] for j in roots)) if roots else set()
    return [below[j] for j in roots], [j for j in range(n) if j not in taken]


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("n", SIZES)
def test_tasks_are_the_largest_subtrees_that_are_small_enough(n, share):
    """Every row once; subtrees first, in the order of their roots, and what is above them last, children first."""
    parent = elimination_tree(*compressed(filled(symmetric_pattern(n, n)).T))
    work = np.random.default_rng(n).integers(1, 9, n).astype(np.float64)
    order, task_at = subtree_tasks(parent, work, share)
    found = [order[begin:end].tolist() for begin, end in pairwise(task_at)]
    subtrees, above = tasks_twin(parent, work, share)
    assert found == [*subtrees, above]
    assert sorted(order.tolist()) == list(range(n))
    place = np.argsort(order)
    children = np.flatnonzero(parent >= 0)
    assert (place[children] < place[parent[children]]).all()
    if share == 1.0:
        assert not above
    if share == 0.0:
        assert not subtrees


def test_a_chain_is_cut_near_its_end():
    """0 - 1 - ... - 9, one unit of work each: three tenths are rows 0 to 2, the rest is above."""
    parent = np.append(np.arange(1, 10), -1).astype(np.int32)
    order, task_at = subtree_tasks(parent, np.ones(10), 0.3)
    assert order.tolist() == list(range(10))
    assert task_at.tolist() == [0, 3, 10]


# --- substitution -----------------------------------------------------------------------------------------------------


class Lower:
    """A random L with ones on its diagonal in the order of its tasks, as the kernels read it and as a dense twin."""

    def __init__(self, n, seed=0, share=0.3, chance=None):
        rng = np.random.default_rng(seed)
        pattern = filled(symmetric_pattern(n, seed, chance))
        parent = elimination_tree(*compressed(pattern.T))
        order, self.task_at = subtree_tasks(parent, 1.0 + pattern.sum(axis=0), share)
        pattern = pattern[np.ix_(order, order)]
        assert not np.triu(pattern).any()
        self.n, self.tasks = n, len(self.task_at) - 2
        values = rng.uniform(-1, 1, (n, n)).astype(np.float32)
        self.dense = np.where(pattern, values, 0).astype(np.float64)
        value_at, indices = compressed(pattern)
        row_at, columns, lengths = runs_of(value_at, indices)
        self.arrays = {"row_at": row_at, "columns": columns, "lengths": lengths, "value_at": value_at}
        self.arrays |= {"values": values[pattern], "task_at": self.task_at}

    def forward(self, b, x):
        first = substitute_forward.over(0, self.tasks, **self.arrays, b=b, x=x, chunks=self.tasks)
        return [first, substitute_forward.over(self.tasks, self.tasks + 1, **self.arrays, b=b, x=x)]

    def backward(self, x):
        first = substitute_backward.over(self.tasks, self.tasks + 1, **self.arrays, x=x)
        return [first, substitute_backward.over(0, self.tasks, **self.arrays, x=x, chunks=self.tasks)]


def check_sums(found, terms):
    """A sum of m float32 products errs by at most (m + 3) u Σ|terms|, reading u as EPS32."""
    assert (np.abs(found - terms.sum(axis=0)) <= (len(terms) + 3) * EPS32 * np.abs(terms).sum(axis=0)).all()


@pytest.mark.parametrize("chance", [None, 1.0], ids=["sparse", "full"])
@pytest.mark.parametrize("n", SIZES)
def test_forward(n, chance):
    """x_i = b_i - Σ_(j<i) L_ij x_j, whatever x held before."""
    lower, b, x = Lower(n, chance=chance), random_rows(n, 1), np.full((n, 4), np.nan, np.float32)
    Plan(lower.forward(b, x), 2).run()
    wide = x.astype(np.float64)
    for i in range(n):
        j = np.flatnonzero(lower.dense[i])
        check_sums(x[i], np.vstack([b[i].astype(np.float64), -lower.dense[i, j, None] * wide[j]]))
    assert len(lower.arrays["values"]) > n or n < 60


@pytest.mark.parametrize("chance", [None, 1.0], ids=["sparse", "full"])
@pytest.mark.parametrize("n", SIZES)
def test_backward(n, chance):
    """x'_j = x_j - Σ_(i>j) L_ij x'_i, in place."""
    lower, x = Lower(n, chance=chance), random_rows(n, 2)
    before = x.astype(np.float64)
    Plan(lower.backward(x), 2).run()
    wide = x.astype(np.float64)
    for j in range(n):
        i = np.flatnonzero(lower.dense[:, j])
        check_sums(x[j], np.vstack([before[j], -lower.dense[i, j, None] * wide[i]]))


@pytest.mark.parametrize("share", [0.02, 0.2, 1.0])
def test_both_ways_solve_the_system(share):
    """(I + L) D (I + L)ᵀ x = b, by numpy.linalg.solve; errors grow by the matrix' condition."""
    n = 80
    lower, b, x = Lower(n, share=share), random_rows(n, 3), np.zeros((n, 4), np.float32)
    lower.dense *= 0.25
    lower.arrays["values"] *= np.float32(0.25)
    d = np.random.default_rng(4).uniform(0.5, 2.0, n)
    scaling = scale_by.over(0, n, inverse=(1 / d).astype(np.float32), x=x)
    Plan([*lower.forward(b, x), scaling, *lower.backward(x)], 2).run()
    unit = np.eye(n) + lower.dense
    a = unit * d @ unit.T
    exact = np.linalg.solve(a, b.astype(np.float64))
    assert np.abs(x - exact).max() <= 10 * EPS32 * np.linalg.cond(unit) ** 2 * np.abs(exact).max()
    assert lower.tasks > 1


def test_threads_do_not_change_a_bit():
    """Subtrees need nothing of each other: any number of threads, and one serial phase over all rows."""
    n, found = 200, []
    lower, b = Lower(n, share=0.1), random_rows(n, 5)
    assert lower.tasks > 4
    every = {**lower.arrays, "task_at": np.array([0, n], np.int32)}
    for threads in (0, 1, 2, 3):
        x = np.zeros((n, 4), np.float32)
        if threads:
            Plan([*lower.forward(b, x), *lower.backward(x)], threads).run()
        else:
            Plan(
                [substitute_forward.over(0, 1, **every, b=b, x=x), substitute_backward.over(0, 1, **every, x=x)], 1
            ).run()
        found.append(x.tobytes())
    assert len(set(found)) == 1


def test_scale_by():
    """x_i = x_i / d_i, to the rounding of a product; d's inverse is given."""
    x, inverse = random_rows(50, 6), np.random.default_rng(7).uniform(0.1, 9, 50).astype(np.float32)
    before = x.copy()
    Plan([scale_by.over(10, 50, inverse=inverse, x=x)], 2).run()
    np.testing.assert_array_equal(x[:10], before[:10])
    np.testing.assert_array_equal(x[10:], inverse[10:, None] * before[10:])


@pytest.mark.parametrize("rank", [0, 1, 3, 7])
def test_low_rank_correction(rank):
    """t = C x_changed and x -= Z t, with the first `rank` of seven; none at all leaves x to the bit."""
    n, room = 40, 7
    rng = np.random.default_rng(8)
    x, weights = random_rows(n, 9), np.full((room, 4), np.nan, np.float32)
    changed = rng.permutation(n)[:room].astype(np.int32)
    small, spread = np.zeros(room * room, np.float32), np.zeros(n * room, np.float32)
    small[: rank * rank] = rng.standard_normal(rank * rank)
    spread[: n * rank] = rng.standard_normal(n * rank)
    before = x.astype(np.float64)
    rows = {"rank": np.array([rank]), "x": x, "weights": weights}
    weighing = low_rank_weights.over(0, 1, changed=changed, small=small, **rows)
    Plan([weighing, low_rank_subtract.over(0, n, spread=spread, **rows)], 2).run()
    if rank == 0:
        np.testing.assert_array_equal(x, before)
        return
    c, z = small[: rank * rank].reshape(rank, rank).astype(np.float64), spread[: n * rank].reshape(n, rank)
    for i in range(rank):
        check_sums(weights[i], c[i, :, None] * before[changed[:rank]])
    for i in range(n):
        check_sums(x[i], np.vstack([before[i], -z[i, :, None].astype(np.float64) * weights[:rank]]))
    assert np.isnan(weights[rank:]).all()
