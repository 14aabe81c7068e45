"""Elements that are held to one rotation while a body is tangled: finding them, and their part in a plan.

`hyperelastic/tangles.py` says what is done and why. Held elements store κ/2 volume ‖F - R‖², whose second derivative is
the constant matrix that Y has of them anyway; so their local pass is κ volume Aᵀ R, whatever the positions are.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.arguments import floats, ints, phase_kernel, rows
from ...backends.cpu.compiling import compiled, spliced
from .inversion import deformation

LABEL = "local passes"
OWN = 0.01  # what the mean of F counts beside vertices that are held by others: for what those leave open


@compiled
def inverted(q, vertices, flags):
    """Set the flags (m,) of tetrahedra whose volume is not positive; returns how many there are."""
    count = 0
    for t in range(len(flags)):
        i, a, b, c = vertices[4 * t], vertices[4 * t + 1], vertices[4 * t + 2], vertices[4 * t + 3]
        ax, ay, az = q[a, 0] - q[i, 0], q[a, 1] - q[i, 1], q[a, 2] - q[i, 2]
        bx, by, bz = q[b, 0] - q[i, 0], q[b, 1] - q[i, 1], q[b, 2] - q[i, 2]
        cx, cy, cz = q[c, 0] - q[i, 0], q[c, 1] - q[i, 1], q[c, 2] - q[i, 2]
        volume = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
        flags[t] = not volume > 0.0
        count += flags[t]
    return count


@compiled
def widen(vertices, flags, n):
    """Flag all tetrahedra, too, that have a vertex in common with a flagged one."""
    near = np.zeros(n, np.bool_)
    for t in range(len(flags)):
        if flags[t]:
            for k in range(4):
                near[vertices[4 * t + k]] = True
    for t in range(len(flags)):
        for k in range(4):
            flags[t] = flags[t] or near[vertices[4 * t + k]]


@compiled
def parts_of(vertices, flags, n):
    """The vertex (n,) that each vertex of flagged tetrahedra has its part's name from: the first that it hangs with."""
    name = np.arange(n)
    for t in range(len(flags)):
        if flags[t]:
            a = _first(name, vertices[4 * t])
            for k in range(1, 4):
                b = _first(name, vertices[4 * t + k])
                name[max(a, b)] = min(a, b)
                a = min(a, b)
    for v in range(n):
        name[v] = name[name[v]]  # those before v are done
    return name


@spliced
def _first(name, v):
    while name[v] != v:
        name[v] = name[name[v]]
        v = name[v]
    return v


@compiled
def means(q, rest, vertices, inverse, volumes, flags, name, fixed):
    """What each part has turned by, as a matrix (n, 9) at the vertex that it is named after; `fixed`: pins (n,).

    That of the vertices which something else holds, pins and elements that are not flagged [kabsch1976]. Where these
    are too few to tell, and where there are none, the mean of F. The rotation nearest to it is the part's.
    """
    n = len(q)
    mean, held, size, spread = np.zeros((n, 9)), np.zeros((n, 9)), np.zeros(n), np.zeros(n)
    count, here, there = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3))
    inside, outside = np.zeros(n, np.bool_), fixed.copy()
    for t in range(len(flags)):
        for k in range(4):
            if flags[t]:
                inside[vertices[4 * t + k]] = True
            else:
                outside[vertices[4 * t + k]] = True
        if flags[t]:
            part, f = name[vertices[4 * t]], deformation(t, q, vertices, inverse)
            size[part] += volumes[t]
            for k in range(9):
                mean[part, k] += volumes[t] * f[k]
    for v in range(n):
        if inside[v] and outside[v]:
            part = name[v]
            count[part] += 1.0
            for k in range(3):
                here[part, k] += q[v, k]
                there[part, k] += rest[v, k]
    for v in range(n):
        if inside[v] and outside[v]:
            part = name[v]
            for k in range(3):
                x = rest[v, k] - there[part, k] / count[part]
                spread[part] += x * x
                for c in range(3):
                    held[part, 3 * c + k] += (q[v, c] - here[part, c] / count[part]) * x
    for v in range(n):
        if size[v] > 0.0:
            for k in range(9):
                mean[v, k] /= size[v]
                if spread[v] > 0.0:
                    mean[v, k] = held[v, k] / spread[v] + OWN * mean[v, k]
    return mean


@compiled
def held_energies(q, vertices, inverse, weights, elements, turns, energies):
    """Energies (m,) of held elements in the place of their own; `weights` is κ volume of each of these."""
    for e in range(len(elements)):
        t = elements[e]
        f = deformation(t, q, vertices, inverse)
        total = 0.0
        for k in range(9):
            total += (f[k] - turns[e, k]) ** 2
        energies[t] = 0.5 * weights[e] * total


@compiled
def held_shares(q, vertices, inverse, weights, elements, turns, slots, shares):
    """The gradient of each by its corners, in their slots."""
    for e in range(len(elements)):
        t = elements[e]
        f = deformation(t, q, vertices, inverse)
        w, r = weights[e], turns[e]
        p = (
            w * (f[0] - r[0]), w * (f[1] - r[1]), w * (f[2] - r[2]), w * (f[3] - r[3]), w * (f[4] - r[4]),
            w * (f[5] - r[5]), w * (f[6] - r[6]), w * (f[7] - r[7]), w * (f[8] - r[8]),
        )  # fmt: skip
        first = slots[4 * t]
        for c in range(3):
            shares[first, c] = 0.0
        for k in range(3):
            i, at = slots[4 * t + k + 1], 9 * t + 3 * k
            for c in range(3):
                x = p[3 * c] * inverse[at] + p[3 * c + 1] * inverse[at + 1] + p[3 * c + 2] * inverse[at + 2]
                shares[i, c] = x
                shares[first, c] -= x


# --- phases: nothing to do unless `count` says that something is held -------------------------------------------------


@spliced
def _corner(inverse, t, k):
    """b of corner k: a row of the inverse, or minus the sum of the three."""
    at = 9 * t
    if k == 0:
        return (
            -(inverse[at] + inverse[at + 3] + inverse[at + 6]),
            -(inverse[at + 1] + inverse[at + 4] + inverse[at + 7]),
            -(inverse[at + 2] + inverse[at + 5] + inverse[at + 8]),
        )
    at += 3 * (k - 1)
    return inverse[at], inverse[at + 1], inverse[at + 2]


@spliced
def _put(out, i, x, y, z):
    out[i, 0], out[i, 1], out[i, 2], out[i, 3] = x, y, z, 0.0


@phase_kernel(items="weights")
def turned_local(
    begin, end, iteration, count: ints, held: ints, inverse: floats, weights: floats, turns: floats, slots: ints,
    out: rows,
):  # fmt: skip
    """κ volume Aᵀ R of held elements [begin, end), in the slots of their corners."""
    if count[0] > 0:
        for t in range(begin, end):
            if held[t] != 0:
                w, r = weights[t], 9 * t
                for k in range(4):
                    x, y, z = _corner(inverse, t, k)
                    _put(
                        out, slots[4 * t + k],
                        w * (turns[r] * x + turns[r + 1] * y + turns[r + 2] * z),
                        w * (turns[r + 3] * x + turns[r + 4] * y + turns[r + 5] * z),
                        w * (turns[r + 6] * x + turns[r + 7] * y + turns[r + 8] * z),
                    )  # fmt: skip


@phase_kernel(items="weights", label="Hessian")
def turned_diagonal(
    begin, end, iteration, count: ints, held: ints, inverse: floats, weights: floats, slots: ints, straight: rows,
    mixed: rows,
):  # fmt: skip
    """Their corners' own second derivatives, as `phases.diagonal` has them."""
    if count[0] > 0:
        for t in range(begin, end):
            if held[t] != 0:
                for k in range(4):
                    x, y, z = _corner(inverse, t, k)
                    own = weights[t] * (x * x + y * y + z * z)
                    _put(straight, slots[4 * t + k], own, own, own)
                    _put(mixed, slots[4 * t + k], 0.0, 0.0, 0.0)


@phase_kernel(items="weights", label="Hessian")
def turned_pairs(
    begin, end, iteration, count: ints, held: ints, inverse: floats, weights: floats, second: ints, third: ints,
    out: rows,
):  # fmt: skip
    """Their second derivatives by two corners, as `phases.pairs` has them."""
    if count[0] > 0:
        for t in range(begin, end):
            if held[t] != 0:
                places = 9 * t, 9 * t + 3, 9 * t + 6, np.int64(second[t]), second[t] + 3, np.int64(third[t])
                pair = 0
                for i in range(3):
                    ax, ay, az = _corner(inverse, t, i)
                    for k in range(i + 1, 4):
                        bx, by, bz = _corner(inverse, t, k)
                        both = weights[t] * (ax * bx + ay * by + az * bz)
                        to = places[pair]
                        _put(out, to, both, both, both)
                        _put(out, to + 1, 0.0, 0.0, 0.0)
                        _put(out, to + 2, 0.0, 0.0, 0.0)
                        pair += 1
