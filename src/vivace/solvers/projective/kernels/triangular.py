"""Back-substitution with sparse triangular factors, three coordinates at once, in float32.

Rows of a factor are long and come in runs of neighbouring columns (supernodes), so a row is stored as runs: one column
number and one length for each, and the values of all runs in a stream. A run then needs no index for each entry.

    x_i = b_i - Σ_{j<i} L_ij x_j                      forward, first row to last
    x_i = x_i / d_i
    x_j = x_j - L_ij x_i for the j < i of row i       backward, last row to first

Both read the rows of L, so only one copy of the factor has to pass through the cache.

The rows of a subtree of the elimination tree depend on no row outside it (forward) and on none outside it but its
ancestors (backward): subtrees are tasks for different threads, and what is above them is one more task, done alone.

What both read: row_at (first run of a row), columns, lengths, value_at (first value of a row), values, ...
"""

from __future__ import annotations

import numpy as np

from ....backends.cpu.arguments import count, floats, ints, longs, phase_kernel, rows
from ....backends.cpu.compiling import compiled, inlined
from ....backends.cpu.simd import at, load4, splat4, store4

LABEL = "back-substitution"  # what phases of these kernels are reported under


@compiled
def runs_of(indptr, indices):
    """CSR or CSC pattern, sorted, as runs: (first run of each row, first columns, lengths)."""
    n = indptr.shape[0] - 1
    row_at = np.zeros(n + 1, np.int32)
    columns = np.empty(indices.shape[0], np.int32)
    lengths = np.empty(indices.shape[0], np.int32)
    count = 0
    for i in range(n):
        for k in range(indptr[i], indptr[i + 1]):
            if k > indptr[i] and indices[k] == indices[k - 1] + 1:
                lengths[count - 1] += 1
            else:
                columns[count] = indices[k]
                lengths[count] = 1
                count += 1
        row_at[i + 1] = count
    return row_at, columns[:count].copy(), lengths[:count].copy()


@compiled
def elimination_tree(indptr, indices):
    """Parent of every column of a lower triangular factor (CSC, sorted, without its diagonal); -1 for roots."""
    n = indptr.shape[0] - 1
    parent = np.full(n, -1, np.int32)
    for j in range(n):
        if indptr[j + 1] > indptr[j]:
            parent[j] = indices[indptr[j]]
    return parent


@compiled
def subtree_tasks(parent, work, share):
    """Cut the tree into subtrees that have at most `share` of the work each, and the rest above them.

    Returns (order, task_at): rows subtree by subtree, children before parents, those above all subtrees last; and where
    each task begins.
    """
    n = parent.shape[0]
    below = work.copy()
    for j in range(n):
        if parent[j] >= 0:
            below[parent[j]] += below[j]
    limit = share * work.sum()
    task = np.full(n, -1, np.int32)  # the root of each row's subtree, -1 above them
    for back in range(n):
        j = n - 1 - back
        p = parent[j]
        if p >= 0 and task[p] >= 0:
            task[j] = task[p]
        elif below[j] <= limit:
            task[j] = j
    count = np.zeros(n + 1, np.int32)
    for j in range(n):
        count[n if task[j] < 0 else task[j]] += 1
    begin = np.zeros(n + 2, np.int32)
    for t in range(n + 1):
        begin[t + 1] = begin[t] + count[t]
    cursor = begin[: n + 1].copy()
    order = np.empty(n, np.int32)
    for j in range(n):  # within a task the old order, in which children come before their parents
        t = n if task[j] < 0 else task[j]
        order[cursor[t]] = j
        cursor[t] += 1
    kept = np.empty(n + 3, np.int32)
    tasks = 0
    for t in range(n):
        if count[t] > 0:
            kept[tasks] = begin[t]
            tasks += 1
    kept[tasks] = begin[n]
    kept[tasks + 1] = n
    return order, kept[: tasks + 2].copy()


@inlined
def _subtract_row(total, i, row_at, columns, lengths, value_at, values, x):
    """total - Σ values x over the runs of row i, in four sums so that additions need not wait for each other."""
    zero = splat4(np.float32(0.0))
    a, b, c = zero, zero, zero
    v = at(value_at, i)
    for run in range(at(row_at, i), at(row_at, i + 1)):
        j = at(columns, run)
        length = at(lengths, run)
        k = 0
        while k + 4 <= length:
            total -= at(values, v + k) * load4(x, j + k)
            a += at(values, v + k + 1) * load4(x, j + k + 1)
            b += at(values, v + k + 2) * load4(x, j + k + 2)
            c += at(values, v + k + 3) * load4(x, j + k + 3)
            k += 4
        while k < length:
            total -= at(values, v + k) * load4(x, j + k)
            k += 1
        v += length
    return total - ((a + b) + c)


@phase_kernel(items="task_at-1")
def substitute_forward(
    begin, end, iteration, row_at: ints, columns: ints, lengths: ints, value_at: longs, values: floats, b: rows,
    x: rows, task_at: ints,
):  # fmt: skip
    """L x = b, L with ones on its diagonal, for the rows of tasks [begin, end)."""
    for i in range(at(task_at, begin), at(task_at, end)):
        store4(x, i, _subtract_row(load4(b, i), i, row_at, columns, lengths, value_at, values, x))


@phase_kernel(items="x")
def scale_by(begin, end, iteration, inverse: floats, x: rows):
    """x_i = x_i / d_i."""
    for i in range(begin, end):
        store4(x, i, at(inverse, i) * load4(x, i))


@phase_kernel(items="task_at-1")
def substitute_backward(
    begin, end, iteration, row_at: ints, columns: ints, lengths: ints, value_at: longs, values: floats, x: rows,
    task_at: ints,
):  # fmt: skip
    """Lᵀ x = x, in place, for the rows of tasks [begin, end)."""
    first, last = at(task_at, begin), at(task_at, end)
    for back in range(last - first):
        i = last - 1 - back
        xi = load4(x, i)
        v = at(value_at, i)
        for run in range(at(row_at, i), at(row_at, i + 1)):
            j = at(columns, run)
            length = at(lengths, run)
            for k in range(length):
                store4(x, j + k, load4(x, j + k) - at(values, v + k) * xi)
            v += length


@phase_kernel
def low_rank_weights(begin, end, iteration, rank: count, changed: ints, small: floats, x: rows, weights: rows):
    """t = C x at the changed vertices: Woodbury's correction, its small matrix first."""
    for i in range(rank):
        total = splat4(np.float32(0.0))
        for k in range(rank):
            total += at(small, i * rank + k) * load4(x, at(changed, k))
        store4(weights, i, total)


@phase_kernel(items="x")
def low_rank_subtract(begin, end, iteration, rank: count, spread: floats, x: rows, weights: rows):
    """x -= Z t."""
    if rank == 0:
        return
    for i in range(begin, end):
        total = load4(x, i)
        for k in range(rank):
            total -= at(spread, i * rank + k) * load4(weights, k)
        store4(x, i, total)
