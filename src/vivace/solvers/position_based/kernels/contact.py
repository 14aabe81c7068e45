"""Contacts: a separation z = Σ a_k x_k that must not get below a gap along a normal, with Coulomb's friction.

Position based solvers treat them as projected Gauss-Seidel does: a contact remembers what it has pushed in this step,
N along its normal and T across it (m), and both may be taken back as long as N stays positive and |T| below μ N:

    N ← max(0, N - (n·z - gap)),      T ← T - u_t, shortened to μ_k N if longer than μ_s N,

u the motion of z since the step began. Unlike friction in proportion to what one iteration pushes [macklin2014,
section 6.1], this does not depend on how the push is divided among iterations: a body on a slope rests up to the angle
of friction and slides beyond it, as in the closed form.

In projective dynamics a contact is the energy w/2 depth² and a tangential spring of the same stiffness that slips at μ
times the normal force. It couples four vertices, for a few frames; so that the matrix keeps its pattern, the coupling
w aaᵀ is replaced by the diagonal w |a_k| Σ_j |a_j|, which lies above it, taken about the positions of the last
projection: a majorant like all others of projective dynamics, so that no step raises the energy.

Rows: planes (n, gap), before (z when the step began), impulses (T, N). Contacts of a vertex with a wall have z = x.
The table of a pass: vertices, coefficients a, planes, before, impulses, friction (μ_s, μ_k), q, then what each needs.
"""

from __future__ import annotations

import numpy as np

from ....backends.cpu.arguments import floats, ints, phase_kernel, rows
from ....backends.cpu.compiling import inlined
from ....backends.cpu.simd import at, dot4, lane4, load4, make4, store4
from ....backends.cpu.vectors import xyz4
from ...kernels.contact import separation

LABEL = "contacts"  # what phases of these kernels are reported under

ZERO = np.float32(0.0)


@inlined
def push(z, plane, before, impulse, static, kinetic):
    """How z has to move, and the impulse after it."""
    n = xyz4(plane)
    pushed = lane4(impulse, 3)
    total = max(ZERO, pushed - (dot4(n, z) - lane4(plane, 3)))
    across = xyz4(impulse)
    u = (z - before) + (total - pushed) * n
    t = across - (u - dot4(n, u) * n)
    size = np.sqrt(dot4(t, t))
    if size > static * total:
        t = t * (kinetic * total / size if size > ZERO else ZERO)
    return (total - pushed) * n + (t - across), t + make4(ZERO, ZERO, ZERO, total)


@phase_kernel(items="impulses")
def push_contacts(
    begin, end, iteration, vertices: ints, a: floats, planes: rows, before: rows, impulses: rows, friction: floats,
    q: rows,
):  # fmt: skip
    """Contacts of one colour, in place."""
    for c in range(begin, end):
        z, weight = separation(vertices, a, c, q)
        if weight <= ZERO:
            continue
        plane, impulse = load4(planes, c), load4(impulses, c)
        if dot4(xyz4(plane), z) >= lane4(plane, 3) and lane4(impulse, 3) <= ZERO:
            continue  # apart: most of them, most of the time
        move, impulse = push(z, plane, load4(before, c), impulse, at(friction, 2 * c), at(friction, 2 * c + 1))
        store4(impulses, c, impulse)
        move = (np.float32(1.0) / weight) * move
        for k in range(4):
            v = at(vertices, 4 * c + k)
            x = load4(q, v)
            store4(q, v, x + (at(a, 4 * c + k) * lane4(x, 3)) * move)


@phase_kernel(items="impulses")
def push_contacts_apart(
    begin, end, iteration, vertices: ints, a: floats, planes: rows, before: rows, impulses: rows, friction: floats,
    q: rows, targets: ints, slots: rows, shares: floats,
):  # fmt: skip
    """Every contact by itself, its four corrections into slots.

    All corners take the smallest of their shares, so that what one side gains the other loses.
    """
    for c in range(begin, end):
        z, weight = separation(vertices, a, c, q)
        share = at(shares, at(vertices, 4 * c))
        for k in range(1, 4):
            share = min(share, at(shares, at(vertices, 4 * c + k)))
        old = load4(impulses, c)
        move, impulse = push(z, load4(planes, c), load4(before, c), old, at(friction, 2 * c), at(friction, 2 * c + 1))
        if weight <= ZERO:
            move, impulse, weight = move - move, old, np.float32(1.0)
        store4(impulses, c, old + share * (impulse - old))
        move = (share / weight) * move
        for k in range(4):
            v = at(vertices, 4 * c + k)
            store4(slots, at(targets, 4 * c + k), (at(a, 4 * c + k) * lane4(load4(q, v), 3)) * move)


@phase_kernel(items="order")
def visit_contacts(
    begin, end, iteration, vertices: ints, a: floats, planes: rows, before: rows, impulses: rows, friction: floats,
    q: rows, order: ints, starts: ints, incidences: ints, moved: rows, shares: floats, weights: floats,
):  # fmt: skip
    """Corrections of the vertices of one colour by their contacts, summed; an impulse for every corner."""
    omega = weights[min(iteration, weights.shape[0] - 1)]
    for place in range(begin, end):
        v = at(order, place)
        acc, share = load4(moved, v), omega * at(shares, v)
        for e in range(at(starts, v), at(starts, v + 1)):
            c = at(incidences, e) // 4
            z, weight = separation(vertices, a, c, q)
            if weight <= ZERO:
                continue
            old = load4(impulses, e)
            static, kinetic = at(friction, 2 * c), at(friction, 2 * c + 1)
            move, impulse = push(z, load4(planes, c), load4(before, c), old, static, kinetic)
            store4(impulses, e, old + share * (impulse - old))
            acc += (at(a, at(incidences, e)) / weight) * move
        store4(moved, v, acc)


@phase_kernel(items="starts-1")
def push_walls(
    begin, end, iteration, vertices: ints, planes: rows, before: rows, impulses: rows, friction: floats, q: rows,
    starts: ints,
):  # fmt: skip
    """Walls that a vertex touches, one vertex after the other: `starts` says where the contacts of each begin."""
    for place in range(begin, end):
        v = at(vertices, at(starts, place))
        x = load4(q, v)
        if lane4(x, 3) <= ZERO:
            continue
        for c in range(at(starts, place), at(starts, place + 1)):
            plane, impulse = load4(planes, c), load4(impulses, c)
            if dot4(xyz4(plane), x) >= lane4(plane, 3) and lane4(impulse, 3) <= ZERO:
                continue
            move, impulse = push(
                xyz4(x), plane, load4(before, c), impulse, at(friction, 2 * c), at(friction, 2 * c + 1)
            )
            store4(impulses, c, impulse)
            x += move
        store4(q, v, x)
