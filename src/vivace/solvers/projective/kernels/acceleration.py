"""From corrections e ≈ Y⁻¹ r to the next iterate: plain, Chebyshev, conjugate gradients, L-BFGS.

Sums over all vertices are made in blocks of fixed length and added up by one thread in a fixed order, so that they are
the same on any number of threads. Products are in float32, sums in float64.
"""

from __future__ import annotations

import numpy as np

from ....backends.cpu.arguments import doubles, floats, ints, phase_kernel, rows
from ....backends.cpu.compiling import inlined
from ....backends.cpu.simd import at, dot4, load4, store4

LABEL = "acceleration"  # what phases of these kernels are reported under

BLOCK = 512  # vertices whose products are added up together

# Slots of a solver's state (float64).
OMEGA, RHO, GAMMA, SINCE, LEVEL, BEST, IMPROVED, RESTART, RESTARTS = range(9)  # Chebyshev
BETA, ALPHA, OLD_PRODUCT = range(3)  # conjugate gradients
EXACT = 15  # both: corrections are exact, nothing has to be weighed
STATE_SIZE = 16


@inlined
def _column(partial, column, columns, blocks):
    total = 0.0
    for b in range(blocks):
        total += partial[b * columns + column]
    return total


@phase_kernel(items="q")
def add_correction(begin, end, iteration, q: rows, e: rows):
    """q += e."""
    for i in range(begin, end):
        store4(q, i, load4(q, i) + load4(e, i))


@phase_kernel(items="x")
def product_blocks(begin, end, iteration, x: rows, y: rows, partial: doubles, state: doubles):
    """Σ x·y in blocks, where they are wanted."""
    if state[EXACT] != 0.0:
        return
    for first in range(begin, end, BLOCK):
        total = 0.0
        for i in range(first, min(first + BLOCK, end)):
            total += np.float64(dot4(load4(x, i), load4(y, i)))
        partial[first // BLOCK] = total


# --- Chebyshev ----------------------------------------------------------------------------------------------------


@phase_kernel
def chebyshev_weight(begin, end, iteration, partial: doubles, state: doubles, settings: doubles):
    """ω of this iteration [fratarcangeli2018, Alg. 1], and whether ρ has to be smaller.

    settings: ρ, delay S, γ, watch, γ of the first iteration. A polynomial of Chebyshev's with the right ρ makes no mode
    larger than it was at the start. So a residual above the start's (in the norm √(r·e), in which modes count by their
    energy) proves that ρ is too large here: go back to the best iterate and begin anew with 1 - ρ twice as large; where
    there is no acceleration left to give up, with half of γ. From step to step ρ and γ return to what was asked for.
    """
    size = 0.0
    for b in range(partial.shape[0]):
        size += partial[b]
    state[RESTART] = 0.0
    watch = settings[3] > 0
    if iteration == 0:
        state[SINCE], state[LEVEL], state[BEST], state[RESTARTS] = 0.0, size, size, 0.0
        if not watch or state[GAMMA] == 0.0:
            state[RHO], state[GAMMA] = settings[0], settings[2]
        state[RHO] = min(settings[0], 1.0 - 0.8 * (1.0 - state[RHO]))
        state[GAMMA] = min(settings[2], 1.1 * state[GAMMA])
    elif watch and not size <= state[LEVEL]:  # also when it is not a number
        if state[RHO] > 0.5:
            state[RHO] = 1.0 - 2.0 * (1.0 - state[RHO])
        elif state[RHO] > 0.0:
            state[RHO] = 0.0
        else:
            state[GAMMA] *= 0.5
        state[RESTART] = 1.0
        state[RESTARTS] += 1.0
        state[SINCE] = 0.0
        state[LEVEL] = state[BEST]
        return
    state[IMPROVED] = 1.0 if size <= state[BEST] else 0.0
    state[BEST] = min(state[BEST], size)
    since = state[SINCE]
    rho = state[RHO]
    first = max(1.0, settings[1]) if state[RESTARTS] == 0.0 else 1.0
    if since < first:
        state[OMEGA] = 1.0
    elif since == first:
        state[OMEGA] = 2.0 / (2.0 - rho * rho)
    else:
        state[OMEGA] = 4.0 / (4.0 - rho * rho * state[OMEGA])
    state[SINCE] = since + 1.0


@phase_kernel(items="q")
def chebyshev_step(begin, end, iteration, q: rows, e: rows, old: rows, best: rows, state: doubles, settings: doubles):
    """q ← ω (γ e + q - q_old) + q_old [fratarcangeli2018, Eq. 26]; q_old ← q. Or back to the best iterate."""
    if state[RESTART] != 0.0:
        for i in range(begin, end):
            store4(q, i, load4(best, i))
            store4(old, i, load4(best, i))
        return
    omega = np.float32(state[OMEGA])
    gamma = np.float32(min(state[GAMMA], settings[4]) if iteration == 0 else state[GAMMA])
    improved = state[IMPROVED] != 0.0
    for i in range(begin, end):
        qi = load4(q, i)
        before = qi if iteration == 0 else load4(old, i)
        if improved:
            store4(best, i, qi)
        store4(old, i, qi)
        store4(q, i, before + omega * (gamma * load4(e, i) + (qi - before)))


# --- conjugate gradients ------------------------------------------------------------------------------------------


@phase_kernel
def conjugate_weight(begin, end, iteration, partial: doubles, state: doubles):
    """β = z·r / (z·r of before)."""
    product = 0.0
    for b in range(partial.shape[0]):
        product += partial[b]
    state[BETA] = product / state[OLD_PRODUCT] if iteration > 0 and state[OLD_PRODUCT] > 0.0 else 0.0
    state[OLD_PRODUCT] = product
    if state[EXACT] != 0.0:
        state[BETA] = 0.0


@phase_kernel(items="p")
def conjugate_direction(begin, end, iteration, e: rows, p: rows, state: doubles):
    """p ← z + β p."""
    beta = np.float32(state[BETA])
    for i in range(begin, end):
        store4(p, i, load4(e, i) + beta * load4(p, i) if iteration > 0 else load4(e, i))


@phase_kernel(items="r")
def conjugate_products(
    begin, end, iteration, row_at: ints, j: ints, a: floats, tie: floats, r: rows, p: rows, partial: doubles,
    state: doubles,
):  # fmt: skip
    """p·r and p·Yp in blocks. (Y p)_i = tie_i p_i + Σ a (p_i - p_j)."""
    if state[EXACT] != 0.0:
        return
    for first in range(begin, end, BLOCK):
        along, curved = 0.0, 0.0
        for i in range(first, min(first + BLOCK, end)):
            pi = load4(p, i)
            yp = at(tie, i) * pi
            for k in range(at(row_at, i), at(row_at, i + 1)):
                yp += at(a, k) * (pi - load4(p, at(j, k)))
            along += np.float64(dot4(pi, load4(r, i)))
            curved += np.float64(dot4(pi, yp))
        partial[2 * (first // BLOCK)] = along
        partial[2 * (first // BLOCK) + 1] = curved


@phase_kernel
def conjugate_length(begin, end, iteration, partial: doubles, state: doubles):
    """α = p·r / p·Yp: the minimum along p of a quadratic that lies above ε and touches it, so ε cannot rise."""
    blocks = partial.shape[0] // 2
    along, curved = _column(partial, 0, 2, blocks), _column(partial, 1, 2, blocks)
    state[ALPHA] = along / curved if curved > 0.0 else 0.0
    if state[EXACT] != 0.0:
        state[ALPHA] = 1.0


@phase_kernel(items="q")
def conjugate_step(begin, end, iteration, q: rows, p: rows, state: doubles):
    """q += α p."""
    alpha = np.float32(state[ALPHA])
    for i in range(begin, end):
        store4(q, i, load4(q, i) + alpha * load4(p, i))
