"""Passes of `positional` in place, four constraints at a time: those of a colour share no vertex.

Colours and chunks begin at multiples of 16 (see `solvers.positional.Listed`), so that λ and the parameters of four are
one row; what is left at the end of a colour is done one by one.
"""

from __future__ import annotations

import numpy as np

from ....backends.cpu.arguments import GRAIN, doubles, floats, ints, phase_kernel, rows
from ....backends.cpu.compiling import inlined
from ....backends.cpu.simd import (
    at,
    dot4,
    fourth4,
    lane4,
    load4,
    load4_flat,
    max4,
    splat4,
    sqrt4,
    square_norms4,
    store4,
    store4_flat,
    transpose4,
)
from ....backends.cpu.vectors import xyz4
from ....constraints.hinge import curved_hinge, flat_hinge, hinge_vector
from ....constraints.spring import length_of, stretch

LABEL = "constraints"  # what phases of these kernels are reported under

KAPPA, COMPLIANT = 0, 1  # places in the settings
TINY, ZERO = np.float32(1e-20), np.float32(0.0)  # 1/TINY/1e-10, of pinned vertices in one point, is finite


@inlined
def _scales(size, rest, weight, c, kappa, compliant, soft, lambdas):
    """-Δλ / |v| of constraints c to c + 3, and the squares of what they miss."""
    value = size - rest
    if compliant:
        before, a = load4_flat(lambdas, c), load4_flat(soft, c)
        value = value + a * before
        delta = value / max4(weight + a, splat4(TINY))
        store4_flat(lambdas, c, before - delta)
    else:
        delta = kappa * value / max4(weight, splat4(TINY))
    return delta / max4(size, splat4(np.float32(1e-10))), value * value


@inlined
def count_squares(sums, c, begin, total, squares):
    """Add four squares to the sums of their GRAIN constraints: see `positional.count_square`."""
    total = squares if c % GRAIN == 0 or c == begin else total + squares
    sums[c // GRAIN] = np.float64(lane4(total, 0)) + lane4(total, 1) + lane4(total, 2) + lane4(total, 3)
    return total


@phase_kernel(items="soft")
def stretch_pass(
    begin, end, iteration, vertices: ints, parameters: floats, soft: floats, lambdas: floats, q: rows, settings: floats,
    sums: doubles,
):  # fmt: skip
    """Springs."""
    kappa, compliant = settings[KAPPA], settings[COMPLIANT] != 0
    total = splat4(ZERO)
    last = begin + (end - begin) // 4 * 4
    for c in range(begin, last, 4):
        i0, j0, i1, j1 = at(vertices, 2 * c), at(vertices, 2 * c + 1), at(vertices, 2 * c + 2), at(vertices, 2 * c + 3)
        i2, j2, i3, j3 = (
            at(vertices, 2 * c + 4),
            at(vertices, 2 * c + 5),
            at(vertices, 2 * c + 6),
            at(vertices, 2 * c + 7),
        )
        a0, b0, a1, b1 = load4(q, i0), load4(q, j0), load4(q, i1), load4(q, j1)
        a2, b2, a3, b3 = load4(q, i2), load4(q, j2), load4(q, i3), load4(q, j3)
        d0, d1, d2, d3 = a0 - b0, a1 - b1, a2 - b2, a3 - b3
        wa, wb = fourth4(a0, a1, a2, a3), fourth4(b0, b1, b2, b3)
        size = length_of(square_norms4(d0, d1, d2, d3))
        scale, squares = _scales(size, load4_flat(parameters, c), wa + wb, c, kappa, compliant, soft, lambdas)
        total = count_squares(sums, c, begin, total, squares)
        to_a, to_b = scale * wa, scale * wb
        store4(q, i0, a0 - lane4(to_a, 0) * xyz4(d0))
        store4(q, j0, b0 + lane4(to_b, 0) * xyz4(d0))
        store4(q, i1, a1 - lane4(to_a, 1) * xyz4(d1))
        store4(q, j1, b1 + lane4(to_b, 1) * xyz4(d1))
        store4(q, i2, a2 - lane4(to_a, 2) * xyz4(d2))
        store4(q, j2, b2 + lane4(to_b, 2) * xyz4(d2))
        store4(q, i3, a3 - lane4(to_a, 3) * xyz4(d3))
        store4(q, j3, b3 + lane4(to_b, 3) * xyz4(d3))
    squares = 0.0 if last % GRAIN == 0 or last == begin else sums[last // GRAIN]
    for c in range(last, end):
        i, j = at(vertices, 2 * c), at(vertices, 2 * c + 1)
        xi, xj = load4(q, i), load4(q, j)
        d = xyz4(xi - xj)
        size = length_of(dot4(d, d))
        value, wi, wj = size - at(parameters, c), lane4(xi, 3), lane4(xj, 3)
        if compliant:
            value += at(soft, c) * at(lambdas, c)
        squares += value * value
        sums[c // GRAIN] = squares
        if compliant:
            delta = value / max(wi + wj + at(soft, c), TINY)
            lambdas[c] = at(lambdas, c) - delta
        else:
            delta = kappa * value / max(wi + wj, TINY)
        store4(q, i, xi - (wi * delta / size) * d)
        store4(q, j, xj + (wj * delta / size) * d)


@inlined
def _hinge(vertices, operator, q, c):
    """Σ c_k x_k of a hinge, its coefficients, and its inverse masses times them."""
    x0, x1 = load4(q, at(vertices, 4 * c)), load4(q, at(vertices, 4 * c + 1))
    x2, x3 = load4(q, at(vertices, 4 * c + 2)), load4(q, at(vertices, 4 * c + 3))
    a = load4_flat(operator, 4 * c)
    return hinge_vector(x0, x1, x2, x3, lane4(a, 1), lane4(a, 2), lane4(a, 3)), a, a * fourth4(x0, x1, x2, x3)


@inlined
def _turn(vertices, q, c, v, scale, weights):
    """x_k -= scale w_k c_k v."""
    move = scale * v
    i, j, k, m = at(vertices, 4 * c), at(vertices, 4 * c + 1), at(vertices, 4 * c + 2), at(vertices, 4 * c + 3)
    store4(q, i, load4(q, i) - lane4(weights, 0) * move)
    store4(q, j, load4(q, j) - lane4(weights, 1) * move)
    store4(q, k, load4(q, k) - lane4(weights, 2) * move)
    store4(q, m, load4(q, m) - lane4(weights, 3) * move)


@inlined
def _hinges(begin, end, vertices, parameters, soft, lambdas, q, settings, sums, operator, curved):
    kappa, compliant = settings[KAPPA], settings[COMPLIANT] != 0
    total = splat4(ZERO)
    last = begin + (end - begin) // 4 * 4
    for c in range(begin, last, 4):
        v0, a0, w0 = _hinge(vertices, operator, q, c)
        v1, a1, w1 = _hinge(vertices, operator, q, c + 1)
        v2, a2, w2 = _hinge(vertices, operator, q, c + 2)
        v3, a3, w3 = _hinge(vertices, operator, q, c + 3)
        b0, b1, b2, b3 = transpose4(a0 * w0, a1 * w1, a2 * w2, a3 * w3)
        size = sqrt4(square_norms4(v0, v1, v2, v3))
        at_rest = load4_flat(parameters, c) if curved else splat4(ZERO)
        scale, squares = _scales(size, at_rest, (b0 + b1) + (b2 + b3), c, kappa, compliant, soft, lambdas)
        total = count_squares(sums, c, begin, total, squares)
        _turn(vertices, q, c, v0, lane4(scale, 0), w0)
        _turn(vertices, q, c + 1, v1, lane4(scale, 1), w1)
        _turn(vertices, q, c + 2, v2, lane4(scale, 2), w2)
        _turn(vertices, q, c + 3, v3, lane4(scale, 3), w3)
    whole = 0.0 if last % GRAIN == 0 or last == begin else sums[last // GRAIN]
    for c in range(last, end):
        v, a, w = _hinge(vertices, operator, q, c)
        size, weight = np.sqrt(dot4(v, v)), dot4(a, w)
        value = size - (at(parameters, c) if curved else ZERO)
        if compliant:
            value += at(soft, c) * at(lambdas, c)
        whole += value * value
        sums[c // GRAIN] = whole
        if compliant:
            delta = value / max(weight + at(soft, c), TINY)
            lambdas[c] = at(lambdas, c) - delta
        else:
            delta = kappa * value / max(weight, TINY)
        _turn(vertices, q, c, v, delta / max(size, np.float32(1e-10)), w)


@phase_kernel(items="soft")
def flat_hinge_pass(
    begin, end, iteration, vertices: ints, parameters: floats, soft: floats, lambdas: floats, q: rows, settings: floats,
    sums: doubles, operator: floats,
):  # fmt: skip
    """Hinges that are flat at rest."""
    _hinges(begin, end, vertices, parameters, soft, lambdas, q, settings, sums, operator, False)


@phase_kernel(items="soft")
def curved_hinge_pass(
    begin, end, iteration, vertices: ints, parameters: floats, soft: floats, lambdas: floats, q: rows, settings: floats,
    sums: doubles, operator: floats,
):  # fmt: skip
    """Hinges with a rest shape."""
    _hinges(begin, end, vertices, parameters, soft, lambdas, q, settings, sums, operator, True)


WIDE = {stretch: stretch_pass, flat_hinge: flat_hinge_pass, curved_hinge: curved_hinge_pass}
