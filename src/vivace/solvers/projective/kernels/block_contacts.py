"""Contacts for Newton's multigrid: their forces alone, and what they add to the Hessian.

The right-hand sides of projective dynamics (`contact`) hold w x as well as the force, and the diagonal takes it away
again. What float32 leaves of that is nothing to a matrix that is as stiff along a wall as across it; here, where what
slides is held by its inertia alone, it would be felt as a force. So slots get forces, and ties have no contacts.

A contact's curvature is w [n nᵀ + t (I - n nᵀ)] in its separation z = Σ a_k x_k: t is 1 where friction holds, less
where it slips, 0 where the two are apart; kept as s I + u uᵀ, one row (u, s). Across its plane a contact that is open
counts as one that is closed, or the next step would go through it. Products with the Hessian have all of it, four
vertices coupled; what preconditions them has blocks on the diagonal, |a_k| Σ |a_l| of it, which lie above.
"""

from __future__ import annotations

import numpy as np

from ....backends.cpu.arguments import count, doubles, floats, ints, phase_kernel, rows
from ....backends.cpu.compiling import inlined
from ....backends.cpu.simd import at, dot4, lane4, load4, make4, splat4, store4, yzx4
from ....backends.cpu.vectors import xyz4
from ...kernels.contact import separation
from .acceleration import BLOCK
from .contact import pull

LABEL = "contacts"  # what phases of these kernels are reported under

ZERO, ONE = np.float32(0.0), np.float32(1.0)


@phase_kernel(items="planes")
def contact_forces(
    begin, end, iteration, vertices: ints, a: floats, planes: rows, before: rows, friction: floats, weights: floats,
    slots: ints, q: rows, out: rows, used: count,
):  # fmt: skip
    """As `pull_contacts`, with its table: w a_k times the way back."""
    for c in range(begin, min(end, used)):
        z, _ = separation(vertices, a, c, q)
        force = pull(z, load4(planes, c), load4(before, c), at(friction, 2 * c), at(friction, 2 * c + 1))
        for k in range(4):
            store4(out, at(slots, 4 * c + k), (at(weights, c) * at(a, 4 * c + k)) * force)


@phase_kernel(items="vertices")
def wall_forces(
    begin, end, iteration, vertices: ints, planes: rows, before: rows, friction: floats, weights: floats, slots: ints,
    q: rows, out: rows, used: count,
):  # fmt: skip
    """As `pull_walls`, with its table: w times the way back."""
    for c in range(begin, min(end, used)):
        x = xyz4(load4(q, at(vertices, c)))
        force = pull(x, load4(planes, c), load4(before, c), at(friction, 2 * c), at(friction, 2 * c + 1))
        store4(out, at(slots, c), at(weights, c) * force)


@inlined
def _turned(z, plane, before, static, kinetic, w):
    """The row (u, s) of a contact at z."""
    n = xyz4(plane)
    depth = lane4(plane, 3) - dot4(n, z)
    t = ZERO
    if depth > ZERO:
        across = z - before
        across = across - dot4(n, across) * n
        size = np.float32(np.sqrt(dot4(across, across)))
        t = ONE if size <= static * depth else min(kinetic * depth / size, ONE)
    return np.float32(np.sqrt((ONE - t) * w)) * n + make4(ZERO, ZERO, ZERO, t * w)


@phase_kernel(items="turned")
def turn_contacts(
    begin, end, iteration, vertices: ints, a: floats, planes: rows, before: rows, friction: floats, weights: floats,
    slots: ints, q: rows, out: rows, used: count, turned: rows,
):  # fmt: skip
    """Rows (u, s) of contacts, and into slots what their four vertices are held by."""
    for c in range(begin, min(end, used)):
        z, _ = separation(vertices, a, c, q)
        static, kinetic = at(friction, 2 * c), at(friction, 2 * c + 1)
        row = _turned(z, load4(planes, c), load4(before, c), static, kinetic, at(weights, c))
        store4(turned, c, row)
        reach = abs(at(a, 4 * c)) + abs(at(a, 4 * c + 1)) + abs(at(a, 4 * c + 2)) + abs(at(a, 4 * c + 3))
        for k in range(4):
            share = reach * abs(at(a, 4 * c + k))
            scaled = np.float32(np.sqrt(share)) * xyz4(row) + make4(ZERO, ZERO, ZERO, share * lane4(row, 3))
            store4(out, at(slots, 4 * c + k), scaled)


@phase_kernel(items="turned")
def turn_walls(
    begin, end, iteration, vertices: ints, planes: rows, before: rows, friction: floats, weights: floats, slots: ints,
    q: rows, out: rows, used: count, turned: rows,
):  # fmt: skip
    """The same for contacts with walls."""
    for c in range(begin, min(end, used)):
        x = xyz4(load4(q, at(vertices, c)))
        static, kinetic = at(friction, 2 * c), at(friction, 2 * c + 1)
        row = _turned(x, load4(planes, c), load4(before, c), static, kinetic, at(weights, c))
        store4(turned, c, row)
        store4(out, at(slots, c), row)


@phase_kernel(items="tie")
def hold_ties(begin, end, iteration, tie: floats, slot_at: ints, slots: rows, ties: rows):
    """T_i = tie_i I + Σ (s I + u uᵀ) over the slots of vertex i: two rows (D, A), as coarse levels have them."""
    for i in range(begin, end):
        even, d, a = at(tie, i), splat4(ZERO), splat4(ZERO)
        for k in range(at(slot_at, i), at(slot_at, i + 1)):
            row = load4(slots, k)
            even += lane4(row, 3)
            d += row * row
            a += row * yzx4(row)
        store4(ties, 2 * i, xyz4(d) + make4(even, even, even, ZERO))
        store4(ties, 2 * i + 1, xyz4(a))


@phase_kernel(items="turned")
def contact_products(
    begin, end, iteration, vertices: ints, a: floats, slots: ints, p: rows, out: rows, used: count, turned: rows
):
    """Into slots, what each contact adds to the product of the Hessian and p at its four vertices."""
    for c in range(begin, min(end, used)):
        z, _ = separation(vertices, a, c, p)
        row = load4(turned, c)
        force = lane4(row, 3) * z + dot4(row, z) * xyz4(row)
        for k in range(4):
            store4(out, at(slots, 4 * c + k), at(a, 4 * c + k) * force)


@phase_kernel(items="vertices")
def wall_products(begin, end, iteration, vertices: ints, slots: ints, p: rows, out: rows, used: count, turned: rows):
    """The same for contacts with walls."""
    for c in range(begin, min(end, used)):
        x, row = xyz4(load4(p, at(vertices, c))), load4(turned, c)
        store4(out, at(slots, c), lane4(row, 3) * x + dot4(row, x) * xyz4(row))


@inlined
def _missed(z, z_old, plane, w):
    """How much more energy the trapezium rule gives a contact than it gets: more when it closes, less when it opens."""
    n = xyz4(plane)
    new, old = lane4(plane, 3) - dot4(n, z), lane4(plane, 3) - dot4(n, z_old)
    if (new > ZERO) == (old > ZERO):
        return 0.0
    return 0.5 * np.float64(w) * abs(np.float64(new) * np.float64(old)) * (1.0 if new > ZERO else -1.0)


@phase_kernel(items="planes")
def contact_gains(
    begin, end, iteration, vertices: ints, a: floats, planes: rows, weights: floats, q: rows, q_old: rows,
    used: count, partial: doubles,
):  # fmt: skip
    """What the trapezium rule gives contacts too much of, in blocks.

    It gives w (δ⁺ + δ_old⁺)(δ - δ_old)/2 for a depth that goes from δ_old to δ, where the energy changes by
    w (δ⁺² - δ_old⁺²)/2; they differ where δ changes its sign.
    """
    for first in range(begin, end, BLOCK):
        total = 0.0
        for c in range(first, min(first + BLOCK, end, used)):
            z, _ = separation(vertices, a, c, q)
            z_old, _ = separation(vertices, a, c, q_old)
            total += _missed(z, z_old, load4(planes, c), at(weights, c))
        partial[first // BLOCK] = total


@phase_kernel(items="planes")
def wall_gains(
    begin, end, iteration, vertices: ints, planes: rows, weights: floats, q: rows, q_old: rows, used: count,
    partial: doubles,
):  # fmt: skip
    """The same for contacts with walls."""
    for first in range(begin, end, BLOCK):
        total = 0.0
        for c in range(first, min(first + BLOCK, end, used)):
            v = at(vertices, c)
            total += _missed(xyz4(load4(q, v)), xyz4(load4(q_old, v)), load4(planes, c), at(weights, c))
        partial[first // BLOCK] = total
