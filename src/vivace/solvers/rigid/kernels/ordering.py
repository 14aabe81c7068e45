"""Contacts in visiting order: sets of those between the same bodies, colours one after the other, and their rows."""

from __future__ import annotations

import numpy as np

from ....backends.cpu.compiling import compiled


@compiled
def runs(pairs):
    """Contact sets of contacts that come sorted by their bodies, the lower number first.

    The bodies of each set (S, 2), and where its contacts begin (S + 1,); none of both if contacts are not sorted so.
    """
    count = pairs.shape[0]
    sets, starts = np.empty((count, 2), np.int32), np.empty(count + 1, np.int32)
    found = 0
    for k in range(count):
        i, j = pairs[k, 0], pairs[k, 1]
        same = False
        if k > 0:
            a, b = pairs[k - 1, 0], pairs[k - 1, 1]
            if i < a or (i == a and j < b):
                return sets[:0], starts[:0]
            same = i == a and j == b
        if i >= j:
            return sets[:0], starts[:0]
        if not same:
            sets[found, 0], sets[found, 1], starts[found] = i, j, k
            found += 1
    starts[found] = count
    return sets[:found], starts[: found + 1]


@compiled
def sorted_by(numbers, most):
    """The order in which numbers from 0 to below `most` ascend, equal ones as they come; and where each begins."""
    starts = np.zeros(most + 1, np.int64)
    for k in range(numbers.shape[0]):
        starts[numbers[k] + 1] += 1
    for m in range(most):
        starts[m + 1] += starts[m]
    at, order = starts[:-1].copy(), np.empty(numbers.shape[0], np.int64)
    for k in range(numbers.shape[0]):
        m = numbers[k]
        order[at[m]] = k
        at[m] += 1
    return order, starts


@compiled
def members(order, starts):
    """Contacts set by set, sets in this order, and where each begins then."""
    visit, places = np.empty(starts[-1], np.int64), np.empty(order.shape[0] + 1, np.int32)
    w = 0
    for s in range(order.shape[0]):
        places[s] = w
        for k in range(starts[order[s]], starts[order[s] + 1]):
            visit[w] = k
            w += 1
    places[order.shape[0]] = w
    return visit, places


@compiled
def touching(pairs, bodies):
    """Row pointers, and 2 k + side of the contacts that touch each body, in order."""
    starts = np.zeros(bodies + 1, np.int32)
    for k in range(pairs.shape[0]):
        starts[pairs[k, 0] + 1] += 1
        starts[pairs[k, 1] + 1] += 1
    for m in range(bodies):
        starts[m + 1] += starts[m]
    at, out = starts[:-1].copy(), np.empty(2 * pairs.shape[0], np.int32)
    for k in range(pairs.shape[0]):
        for side in range(2):
            m = pairs[k, side]
            out[at[m]] = 2 * k + side
            at[m] += 1
    return starts, out


@compiled
def fill_rows(order, frames, arms, b, rates, friction, radii, kinds, out):
    """The rows that `factorised` reads, (K, 24)."""
    for p in range(order.shape[0]):
        k = order[p]
        for c in range(3):
            out[p, c], out[p, 3 + c] = frames[k, 0, c], frames[k, 1, c]
            out[p, 6 + c], out[p, 9 + c] = arms[k, 0, c], arms[k, 1, c]
            out[p, 16 + c], out[p, 19 + c] = rates[k, c], friction[k, c]
        for c in range(4):
            out[p, 12 + c] = b[k, c]
        out[p, 22], out[p, 23] = radii[k], kinds[k]


@compiled
def local_rates(diagonal, kinds, coupled, omega, out):
    """ω ÷ A_ii of normal, tangents and spin (K, 3); where sliding and spin share a set, they share an r, too."""
    for k in range(diagonal.shape[0]):
        n, t, s = diagonal[k, 0], max(diagonal[k, 1], diagonal[k, 2]), diagonal[k, 3]
        if kinds[k] == coupled:
            t = s = max(t, s)
        out[k, 0] = omega / n if n > 0.0 else 0.0
        out[k, 1] = omega / t if t > 0.0 else 0.0
        out[k, 2] = omega / s if s > 0.0 else 0.0
