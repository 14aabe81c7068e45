"""L-BFGS around a linear correction e = H r, H ≈ Y⁻¹ symmetric and positive [liu2017; nocedal2006, Alg. 7.4].

Every pair is kept as three vectors: the step s, the change y of the gradient, and u = H y. Because H is linear, u is
the difference of two corrections that were computed anyway, and the two loops of the recursion become arithmetic on the
products of these vectors: one pass makes all products, one thread does the recursion on numbers, one pass adds up

    d = e + Σ a_j u_j - Σ (a_j - b_j) s_j.

A step is judged by the trapezium rule: ε(q + d) - ε(q) ≈ -(r_old + r)·d/2, exact for a quadratic; both residuals are
there anyway, and in float32 their products with d say more than the difference of two energies. A step that would have
raised ε is taken back, the pairs are forgotten, and the plain correction (shorter and shorter if need be) is taken.

Where bodies buckle, pairs tell of a curvature that is nearly none, and of a minimum far away. Steps of the usual kind
have up to four times the slope d·r of a plain one, e·r, whatever corrects and whatever is moved. With more than
FARTHEST times, the pairs are forgotten and the plain correction is taken. And since nobody judges the last step of all,
whoever takes it looks at LEAP, and judges it where that is large: an edge was stretched to 150 times its length.
"""

from __future__ import annotations

import numpy as np

from ....backends.cpu.arguments import doubles, longs, phase_kernel, rows
from ....backends.cpu.compiling import inlined
from ....backends.cpu.simd import lane4, load4, splat4, store4
from .acceleration import BLOCK

LABEL = "acceleration"  # what phases of these kernels are reported under

COUNT, NEWEST, REJECTED, SCALE, REJECTIONS, LEAP = range(6)  # slots of the state
STATE_SIZE = 8
FARTHEST = 100.0  # times the slope of a plain correction: that of a step of pairs at most
FAR = 4.0  # likewise: a LEAP beyond is judged even if it is the last
PRODUCTS = 5  # of the pair in slot i: s_i·r, y_i·e, s_i·y, y_i·s, y_i·u, where (s, y, u) is the newest pair; then e·r


@inlined
def _total(v):
    return np.float64(lane4(v, 0)) + np.float64(lane4(v, 1)) + np.float64(lane4(v, 2))


@phase_kernel(items="q")
def judge_blocks(begin, end, iteration, q: rows, q_old: rows, r: rows, r_old: rows, partial: doubles):
    """r·d and r_old·d in blocks, d = q - q_old."""
    if iteration == 0:
        return
    for first in range(begin, end, BLOCK):
        new, old = splat4(np.float32(0.0)), splat4(np.float32(0.0))
        for i in range(first, min(first + BLOCK, end)):
            d = load4(q, i) - load4(q_old, i)
            new += load4(r, i) * d
            old += load4(r_old, i) * d
        partial[2 * (first // BLOCK)] = _total(new)
        partial[2 * (first // BLOCK) + 1] = _total(old)


@phase_kernel
def judge(begin, end, iteration, partial: doubles, state: doubles, settings: doubles, rejected: doubles):
    """Take the last step back if it raised the energy.

    `settings`: keep pairs from step to step; first scale; share of the slope by which it may rise, twice over.
    `rejected`: set when it was a plain correction that raised it.
    """
    state[REJECTED] = 0.0
    if iteration == 0:
        state[SCALE] = settings[1]
        state[REJECTIONS] = 0.0
        if settings[0] == 0.0:
            state[COUNT] = 0.0
        return
    new = old = 0.0
    for b in range(partial.shape[0] // 2):
        new += partial[2 * b]
        old += partial[2 * b + 1]
    if not new + old >= -settings[2] * abs(old):  # also when they are not numbers
        state[REJECTED] = 1.0
        state[REJECTIONS] += 1.0
        if state[COUNT] == 0.0:
            state[SCALE] *= 0.5
            rejected[0] = 1.0
        state[COUNT] = 0.0


@phase_kernel(items="q")
def take_back(begin, end, iteration, q: rows, q_old: rows, r: rows, r_old: rows, state: doubles):
    """q = q_old and r = r_old, if the step was rejected."""
    if state[REJECTED] == 0.0:
        return
    for i in range(begin, end):
        store4(q, i, load4(q_old, i))
        store4(r, i, load4(r_old, i))


@phase_kernel(items="q")
def pair_products(
    begin, end, iteration, q: rows, q_old: rows, r: rows, r_old: rows, e: rows, e_old: rows, s: rows, y: rows, u: rows,
    partial: doubles, state: doubles, pressing: longs,
):  # fmt: skip
    """Write the newest pair into its slot and make all products with it, in blocks.

    `pressing[1]`: contacts have renewed their forces (`contact.press_walls`): the problem is another, and pairs say
    nothing about it.
    """
    pressed = pressing[1] != 0
    if pressed:
        return
    n = q.shape[0]
    memory = s.shape[0] // n
    columns = PRODUCTS * memory + 1
    count = int(state[COUNT])
    adding = iteration > 0 and state[REJECTED] == 0.0
    newest = int(state[NEWEST])
    if adding:
        newest = (newest + 1) % memory
        count = min(count + 1, memory)
    for first in range(begin, end, BLOCK):
        last = min(first + BLOCK, end)
        offset = newest * n
        if adding:
            for i in range(first, last):
                store4(s, offset + i, load4(q, i) - load4(q_old, i))
                store4(y, offset + i, load4(r_old, i) - load4(r, i))
                store4(u, offset + i, load4(e_old, i) - load4(e, i))
        er = splat4(np.float32(0.0))
        for i in range(first, last if count > 0 else first):
            er += load4(e, i) * load4(r, i)
        partial[(first // BLOCK + 1) * columns - 1] = _total(er)
        for age in range(count):
            slot = (newest - age + memory) % memory
            own = slot * n
            sr, ye = splat4(np.float32(0.0)), splat4(np.float32(0.0))
            sy, ys, yu = splat4(np.float32(0.0)), splat4(np.float32(0.0)), splat4(np.float32(0.0))
            for i in range(first, last):
                si, yi = load4(s, own + i), load4(y, own + i)
                sr += si * load4(r, i)
                ye += yi * load4(e, i)
                sy += si * load4(y, offset + i)
                ys += yi * load4(s, offset + i)
                yu += yi * load4(u, offset + i)
            to = (first // BLOCK) * columns + PRODUCTS * slot
            partial[to] = _total(sr)
            partial[to + 1] = _total(ye)
            partial[to + 2] = _total(sy)
            partial[to + 3] = _total(ys)
            partial[to + 4] = _total(yu)


@phase_kernel
def recursion(
    begin, end, iteration, partial: doubles, state: doubles, sy: doubles, yu: doubles, weights: doubles, pressing: longs
):
    """The two loops on numbers: weights of u and s in the direction."""
    memory = weights.shape[0] // 2
    columns = PRODUCTS * memory + 1
    blocks = partial.shape[0] // columns
    count = int(state[COUNT])
    newest = int(state[NEWEST])
    if pressing[1] != 0:
        count = 0
        state[COUNT] = 0.0
    elif iteration > 0 and state[REJECTED] == 0.0:
        newest = (newest + 1) % memory
        count = min(count + 1, memory)
        for age in range(count):
            slot = (newest - age + memory) % memory
            a = b = c = 0.0
            for block in range(blocks):
                to = block * columns + PRODUCTS * slot
                a += partial[to + 2]
                b += partial[to + 3]
                c += partial[to + 4]
            sy[slot * memory + newest] = a
            sy[newest * memory + slot] = b
            yu[slot * memory + newest] = c
            yu[newest * memory + slot] = c
        if not (sy[newest * memory + newest] > 0.0 and yu[newest * memory + newest] > 0.0):
            count = 0  # rounding, or a concave direction: what was learnt does not hold here
        state[NEWEST] = newest
        state[COUNT] = count
    for slot in range(memory):
        weights[slot] = weights[memory + slot] = 0.0
    # First loop, newest to oldest; weights[slot] = a_slot.
    for age in range(count):
        i = (newest - age + memory) % memory
        product = 0.0
        for block in range(blocks):
            product -= partial[block * columns + PRODUCTS * i]
        for younger in range(age):
            k = (newest - younger + memory) % memory
            product -= weights[k] * sy[i * memory + k]
        weights[i] = product / sy[i * memory + i]
    # Second loop, oldest to newest; weights[memory + slot] = -(a - b).
    for back in range(count):
        age = count - 1 - back
        i = (newest - age + memory) % memory
        product = 0.0
        for block in range(blocks):
            product -= partial[block * columns + PRODUCTS * i + 1]
        for other in range(count):
            k = (newest - other + memory) % memory
            product -= weights[k] * yu[i * memory + k]
            if other > age:
                product -= weights[memory + k] * sy[k * memory + i]
        weights[memory + i] = -(weights[i] - product / sy[i * memory + i])
    plain = along = 0.0
    for block in range(blocks):
        plain += partial[(block + 1) * columns - 1]
    for age in range(count):
        i = (newest - age + memory) % memory
        for block in range(blocks):
            to = block * columns + PRODUCTS * i
            along += weights[i] * partial[to + 1] + weights[memory + i] * partial[to]
    state[LEAP] = 1.0
    if count > 0:
        state[LEAP] = (plain + along) / plain
        if not state[LEAP] <= FARTHEST:  # also when it is not a number
            state[COUNT], state[LEAP] = 0.0, 1.0


@phase_kernel(items="q")
def quasi_newton_step(
    begin, end, iteration, q: rows, q_old: rows, r: rows, r_old: rows, e: rows, e_old: rows, s: rows, u: rows,
    state: doubles, weights: doubles,
):  # fmt: skip
    """q += d; keep what the next iteration compares with."""
    n = q.shape[0]
    memory = weights.shape[0] // 2
    count, newest = int(state[COUNT]), int(state[NEWEST])
    scale = np.float32(state[SCALE]) if count == 0 else np.float32(1.0)
    for first in range(begin, end, BLOCK):  # block by block, so that q stays in the cache while d is added up
        last = min(first + BLOCK, end)
        for i in range(first, last):
            qi, ei = load4(q, i), load4(e, i)
            store4(q_old, i, qi)
            store4(r_old, i, load4(r, i))
            store4(e_old, i, ei)
            store4(q, i, qi + scale * ei)
        for age in range(count):
            slot = (newest - age + memory) % memory
            own = slot * n
            of_u, of_s = np.float32(weights[slot]), np.float32(weights[memory + slot])
            for i in range(first, last):
                store4(q, i, load4(q, i) + (of_u * load4(u, own + i) + of_s * load4(s, own + i)))
