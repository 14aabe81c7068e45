"""V-cycles and conjugate gradients on the Hessian: symmetric matrices of 3 x 3 blocks, three coordinates in a register.

Rows are stored without their diagonal as in `linear`: row pointers `at`, columns `j` in rising order, `middle` where a
row's columns pass its own number, and a = -H_ij. Blocks have one of two forms:

    turned   one row of four (u, s) stands for s I + u uᵀ: what springs and all that is alike in x, y, z are made of
    wrapped  three rows (D, A, B) of four, the wrapped diagonals of any 3 x 3 matrix M:
                 D = (M₀₀, M₁₁, M₂₂)    A = (M₀₁, M₁₂, M₂₀)    B = (M₀₂, M₁₀, M₂₁)
             so that M x = D x + A (x₁, x₂, x₀) + B (x₂, x₀, x₁), lane by lane; Mᵀ has D, (B₁, B₂, B₀), (A₂, A₀, A₁)

Diagonal blocks are kept as factors L D Lᵀ, two rows (l₁₀, l₂₀, l₂₁, 0) and (1/d₀, 1/d₁, 1/d₂, 0). A sheet's blocks are
a million times as stiff along it as across: rounded to float32, an inverse may be indefinite; L D Lᵀ never is.
"""

from __future__ import annotations

import numpy as np

from ....backends.cpu.arguments import doubles, floats, ints, phase_kernel, rows, scalar
from ....backends.cpu.compiling import inlined
from ....backends.cpu.simd import at, dot4, lane4, load4, make4, splat4, store4, yzx4
from .acceleration import ALPHA, BETA, BLOCK, OLD_PRODUCT

LABEL = "sweeps"  # what phases of these kernels are reported under

BROKEN = 14  # of conjugate gradients' state: rounding has the better of them, nothing more is added in this Newton step
DENSE_SHIFT = 1e-7  # of a diagonal, relative: what float32 blocks leave uncertain of the coarsest matrix


@inlined
def zxy4(x):
    """(z, x, y, w) of x = (x, y, z, w)."""
    return yzx4(yzx4(x))


@inlined
def flat4(x):
    """x with nothing in its fourth lane."""
    return make4(lane4(x, 0), lane4(x, 1), lane4(x, 2), np.float32(0.0))


@inlined
def solve_block(factors, i, r):
    """x with L D Lᵀ x = r for diagonal block i."""
    lower, inverse = load4(factors, 2 * i), load4(factors, 2 * i + 1)
    a, b, c = lane4(lower, 0), lane4(lower, 1), lane4(lower, 2)
    x = lane4(r, 0)
    y = lane4(r, 1) - a * x
    z = (lane4(r, 2) - b * x - c * y) * lane4(inverse, 2)
    y = y * lane4(inverse, 1) - c * z
    x = x * lane4(inverse, 0) - a * y - b * z
    return make4(x, y, z, np.float32(0.0))


@inlined
def add_turned(total, begin, end, j, blocks, x):
    """total + Σ (s I + u uᵀ) x_j over entries [begin, end); the fourth lane is of no meaning."""
    second = splat4(np.float32(0.0))  # two sums, so that one addition need not wait for the other
    k = begin
    while k + 2 <= end:
        m, v = load4(blocks, k), load4(x, at(j, k))
        total += lane4(m, 3) * v + dot4(m, v) * m
        m, v = load4(blocks, k + 1), load4(x, at(j, k + 1))
        second += lane4(m, 3) * v + dot4(m, v) * m
        k += 2
    if k < end:
        m, v = load4(blocks, k), load4(x, at(j, k))
        total += lane4(m, 3) * v + dot4(m, v) * m
    return total + second


@inlined
def add_wrapped(total, begin, end, j, blocks, x):
    """total + Σ M x_j over entries [begin, end)."""
    second, third = splat4(np.float32(0.0)), splat4(np.float32(0.0))
    for k in range(begin, end):
        v = load4(x, at(j, k))
        total += load4(blocks, 3 * k) * v
        second += load4(blocks, 3 * k + 1) * yzx4(v)
        third += load4(blocks, 3 * k + 2) * zxy4(v)
    return total + (second + third)


# --- sweeps: the table is at, middle, j, blocks, factors, r, e, left ----------------------------------------------


@phase_kernel(items="e")
def forward_turned(
    begin, end, iteration, row_at: ints, middle: ints, j: ints, blocks: rows, factors: rows, r: rows, e: rows
):
    """e_i = H_ii⁻¹ (r_i + Σ_{j<i} a e_j): a forward sweep from zero."""
    for i in range(begin, end):
        store4(e, i, solve_block(factors, i, add_turned(load4(r, i), at(row_at, i), at(middle, i), j, blocks, e)))


@phase_kernel(items="left")
def left_turned(begin, end, iteration, row_at: ints, middle: ints, j: ints, blocks: rows, e: rows, left: rows):
    """r'_i = Σ_{j>i} a e_j: the residual after a forward sweep from zero."""
    for i in range(begin, end):
        total = add_turned(splat4(np.float32(0.0)), at(middle, i), at(row_at, i + 1), j, blocks, e)
        store4(left, i, flat4(total))


@phase_kernel(items="e")
def backward_turned(begin, end, iteration, row_at: ints, j: ints, blocks: rows, factors: rows, r: rows, e: rows):
    """e_i = H_ii⁻¹ (r_i + Σ_j a e_j), from the last row of [begin, end) to the first."""
    for back in range(end - begin):
        i = end - 1 - back
        total = add_turned(load4(r, i), at(row_at, i), at(row_at, i + 1), j, blocks, e)
        store4(e, i, solve_block(factors, i, total))


@phase_kernel(items="e")
def forward_wrapped(
    begin, end, iteration, row_at: ints, middle: ints, j: ints, blocks: rows, factors: rows, r: rows, e: rows
):
    """As `forward_turned`, over wrapped blocks."""
    for i in range(begin, end):
        store4(e, i, solve_block(factors, i, add_wrapped(load4(r, i), at(row_at, i), at(middle, i), j, blocks, e)))


@phase_kernel(items="left")
def left_wrapped(begin, end, iteration, row_at: ints, middle: ints, j: ints, blocks: rows, e: rows, left: rows):
    """As `left_turned`, over wrapped blocks."""
    for i in range(begin, end):
        store4(left, i, add_wrapped(splat4(np.float32(0.0)), at(middle, i), at(row_at, i + 1), j, blocks, e))


@phase_kernel(items="e")
def backward_wrapped(begin, end, iteration, row_at: ints, j: ints, blocks: rows, factors: rows, r: rows, e: rows):
    """As `backward_turned`, over wrapped blocks."""
    for back in range(end - begin):
        i = end - 1 - back
        total = add_wrapped(load4(r, i), at(row_at, i), at(row_at, i + 1), j, blocks, e)
        store4(e, i, solve_block(factors, i, total))


# --- the coarsest level ---------------------------------------------------------------------------------------------


@phase_kernel
def factor_dense(
    begin, end, iteration, row_at: ints, j: ints, blocks: rows, ties: rows, lower: doubles, scales: doubles,
    room: doubles,
):  # fmt: skip
    """L and 1/d of the whole coarsest matrix, in float64: `lower` (3n)² and `scales` (3n + 1,).

    The last of `scales` says whether it is positive definite; if not, the level is swept.
    """
    n = row_at.shape[0] - 1
    size = 3 * n
    for k in range(size * size):
        lower[k] = 0.0
    for i in range(n):
        for c in range(3):
            own, other = (3 * i + c) * size + 3 * i, (c + 1) % 3
            lower[own + c] += ties[2 * i, c]
            lower[own + other] += ties[2 * i + 1, c]
            lower[(3 * i + other) * size + 3 * i + c] += ties[2 * i + 1, c]
            for k in range(row_at[i], row_at[i + 1]):
                to = (3 * i + c) * size + 3 * j[k]
                for d in range(3):
                    value = blocks[3 * k + d, c]
                    lower[to + (c + d) % 3] -= value
                    lower[own + (c + d) % 3] += value
    scales[size] = 1.0
    for p in range(size):  # until its turn has come, what pivot p was at first
        scales[p] = lower[p * size + p]
    for p in range(size):
        first = lower[p * size + p] * (1.0 + DENSE_SHIFT)
        if not first > 1e-12 * scales[p]:
            scales[size] = 0.0
            return
        scales[p] = 1.0 / first
        for i in range(p + 1, size):
            room[i] = lower[i * size + p]
        for i in range(p + 1, size):
            factor = room[i] * scales[p]
            for k in range(p + 1, i + 1):  # along a row, so that four are done at once
                lower[i * size + k] -= factor * room[k]
            lower[i * size + p] = factor


@phase_kernel
def solve_dense(
    begin, end, iteration, row_at: ints, middle: ints, j: ints, blocks: rows, factors: rows, r: rows, e: rows,
    lower: doubles, scales: doubles, room: doubles,
):  # fmt: skip
    """e = A⁻¹ r on the coarsest level; `room` (3n,). A forward and a backward sweep where there are no factors."""
    n = r.shape[0]
    size = 3 * n
    if scales[size] == 0.0:
        for i in range(n):
            store4(e, i, solve_block(factors, i, add_wrapped(load4(r, i), row_at[i], middle[i], j, blocks, e)))
        for back in range(n):
            i = n - 1 - back
            total = add_wrapped(load4(r, i), row_at[i], row_at[i + 1], j, blocks, e)
            store4(e, i, solve_block(factors, i, total))
        return
    for p in range(size):
        value = np.float64(r[p // 3, p % 3])
        for k in range(p):
            value -= lower[p * size + k] * room[k]
        room[p] = value
    for p in range(size):
        room[p] *= scales[p]
    for back in range(size):  # by columns of Lᵀ, which are rows of L
        p = size - 1 - back
        value = room[p]
        for k in range(p):
            room[k] -= lower[p * size + k] * value
    for i in range(n):
        for c in range(3):
            e[i, c] = room[3 * i + c]
        e[i, 3] = 0.0


# --- conjugate gradients ----------------------------------------------------------------------------------------------


@phase_kernel(items="q_old")
def begin_newton(begin, end, iteration, q: rows, q_old: rows, r: rows, r_old: rows, left: rows, d: rows):
    """Keep q and r, and start from d = 0: conjugate gradients' residual is r."""
    for i in range(begin, end):
        store4(q_old, i, load4(q, i))
        ri = load4(r, i)
        store4(r_old, i, ri)
        store4(left, i, ri)
        store4(d, i, splat4(np.float32(0.0)))


@phase_kernel
def newton_weight(begin, end, iteration, partial: doubles, state: doubles):
    """β = z·r / (z·r of before). A preconditioner that rounding has made indefinite ends the iteration."""
    product = 0.0
    for b in range(partial.shape[0]):
        product += partial[b]
    if iteration == 0:
        state[BROKEN] = 0.0
    if not (product >= 0.0 and np.isfinite(product)):
        state[BROKEN] = 1.0
    state[BETA] = product / state[OLD_PRODUCT] if iteration > 0 and state[OLD_PRODUCT] > 0.0 else 0.0
    state[OLD_PRODUCT] = product


@phase_kernel(items="r")
def product_turned(
    begin, end, iteration, row_at: ints, j: ints, blocks: rows, tie: floats, r: rows, p: rows, hp: rows,
    partial: doubles, slot_at: ints, slots: rows,
):  # fmt: skip
    """H p, and p·r and p·Hp in blocks: (H p)_i = tie_i p_i + Σ (s I + u uᵀ)(p_i - p_j) + contacts' slots."""
    for first in range(begin, end, BLOCK):
        along, curved = 0.0, 0.0
        for i in range(first, min(first + BLOCK, end)):
            pi = load4(p, i)
            total, second = at(tie, i) * pi, splat4(np.float32(0.0))
            for k in range(at(slot_at, i), at(slot_at, i + 1)):
                total += load4(slots, k)
            k, last = at(row_at, i), at(row_at, i + 1)
            while k + 2 <= last:
                m, v = load4(blocks, k), pi - load4(p, at(j, k))
                total += lane4(m, 3) * v + dot4(m, v) * m
                m, v = load4(blocks, k + 1), pi - load4(p, at(j, k + 1))
                second += lane4(m, 3) * v + dot4(m, v) * m
                k += 2
            if k < last:
                m, v = load4(blocks, k), pi - load4(p, at(j, k))
                total += lane4(m, 3) * v + dot4(m, v) * m
            total = flat4(total + second)
            store4(hp, i, total)
            along += np.float64(dot4(pi, load4(r, i)))
            curved += np.float64(dot4(pi, total))
        partial[2 * (first // BLOCK)] = along
        partial[2 * (first // BLOCK) + 1] = curved


@phase_kernel(items="r")
def product_wrapped(
    begin, end, iteration, row_at: ints, j: ints, blocks: rows, tie: floats, r: rows, p: rows, hp: rows,
    partial: doubles, slot_at: ints, slots: rows,
):  # fmt: skip
    """As `product_turned`, over wrapped blocks."""
    for first in range(begin, end, BLOCK):
        along, curved = 0.0, 0.0
        for i in range(first, min(first + BLOCK, end)):
            pi = load4(p, i)
            total = at(tie, i) * pi
            for k in range(at(slot_at, i), at(slot_at, i + 1)):
                total += load4(slots, k)
            for k in range(at(row_at, i), at(row_at, i + 1)):
                v = pi - load4(p, at(j, k))
                total += load4(blocks, 3 * k) * v + load4(blocks, 3 * k + 1) * yzx4(v)
                total += load4(blocks, 3 * k + 2) * zxy4(v)
            store4(hp, i, total)
            along += np.float64(dot4(pi, load4(r, i)))
            curved += np.float64(dot4(pi, total))
        partial[2 * (first // BLOCK)] = along
        partial[2 * (first // BLOCK) + 1] = curved


@phase_kernel
def newton_length(begin, end, iteration, partial: doubles, state: doubles):
    """α = p·r / p·Hp; nothing where either is not positive, which only rounding can do."""
    along, curved = 0.0, 0.0
    for b in range(partial.shape[0] // 2):
        along += partial[2 * b]
        curved += partial[2 * b + 1]
    sound = state[BROKEN] == 0.0 and along > 0.0 and curved > 0.0 and np.isfinite(along / curved)
    state[ALPHA] = along / curved if sound else 0.0
    if not sound:
        state[BROKEN] = 1.0


@phase_kernel(items="q")
def newton_step(begin, end, iteration, q: rows, q_old: rows, d: rows, left: rows, p: rows, hp: rows, state: doubles):
    """d += α p, r -= α H p, and q = q_old + d: whenever time is up, what has been found is there."""
    if state[BROKEN] != 0.0:
        return
    alpha = np.float32(state[ALPHA])
    for i in range(begin, end):
        di = load4(d, i) + alpha * load4(p, i)
        store4(d, i, di)
        store4(left, i, load4(left, i) - alpha * load4(hp, i))
        store4(q, i, load4(q_old, i) + di)


@phase_kernel(items="q")
def shorten(begin, end, iteration, q: rows, q_old: rows, d: rows, share: scalar):
    """d ← share d, and q = q_old + d; with nothing left of d, also where it was no number."""
    for i in range(begin, end):
        di = share * load4(d, i) if share > 0 else splat4(np.float32(0.0))
        store4(d, i, di)
        store4(q, i, load4(q_old, i) + di)
