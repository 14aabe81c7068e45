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
from numba import njit

from .gradients import xyz4
from .simd import at, dot4, lane4, load4, make4, store4
from .team import floats, ints, longs, phase_kernel, rows

ZERO = np.float32(0.0)


@njit(inline="always")
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


@njit(inline="always")
def separation(vertices, a, c, q):
    """z of contact c, and the inverse mass it feels; a adds up to zero, so differences lose nothing."""
    x0, x1 = load4(q, at(vertices, 4 * c)), load4(q, at(vertices, 4 * c + 1))
    x2, x3 = load4(q, at(vertices, 4 * c + 2)), load4(q, at(vertices, 4 * c + 3))
    a0, a1, a2, a3 = at(a, 4 * c), at(a, 4 * c + 1), at(a, 4 * c + 2), at(a, 4 * c + 3)
    z = xyz4(a1 * (x1 - x0) + a2 * (x2 - x0) + a3 * (x3 - x0))
    weight = a0 * a0 * lane4(x0, 3) + a1 * a1 * lane4(x1, 3) + a2 * a2 * lane4(x2, 3) + a3 * a3 * lane4(x3, 3)
    return z, weight


@phase_kernel
def begin_contacts(table, begin, end, iteration):
    """before = z at q; and gaps that are violated there already are lowered, to recover by so many metres a step."""
    vertices, a, planes, before = ints(table, 0), floats(table, 1), rows(table, 2), rows(table, 3)
    q, recovery = rows(table, 6), floats(table, 7)[0]
    for c in range(begin, end):
        z, _ = separation(vertices, a, c, q)
        plane = load4(planes, c)
        gap = min(lane4(plane, 3), dot4(xyz4(plane), z) + recovery)
        store4(planes, c, xyz4(plane) + make4(ZERO, ZERO, ZERO, gap))
        store4(before, c, z)


@phase_kernel
def begin_walls(table, begin, end, iteration):
    """The same for contacts with walls: z = x."""
    vertices, planes, before = ints(table, 0), rows(table, 2), rows(table, 3)
    q, recovery = rows(table, 6), floats(table, 7)[0]
    for c in range(begin, end):
        x = xyz4(load4(q, at(vertices, c)))
        plane = load4(planes, c)
        gap = min(lane4(plane, 3), dot4(xyz4(plane), x) + recovery)
        store4(planes, c, xyz4(plane) + make4(ZERO, ZERO, ZERO, gap))
        store4(before, c, x)


@phase_kernel
def push_contacts(table, begin, end, iteration):
    """Contacts of one colour, in place."""
    vertices, a, planes, before = ints(table, 0), floats(table, 1), rows(table, 2), rows(table, 3)
    impulses, friction, q = rows(table, 4), floats(table, 5), rows(table, 6)
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


@phase_kernel
def push_contacts_apart(table, begin, end, iteration):
    """Every contact by itself, its four corrections into slots; all corners take the smallest of their shares, so that
    what one side gains the other loses."""
    vertices, a, planes, before = ints(table, 0), floats(table, 1), rows(table, 2), rows(table, 3)
    impulses, friction, q = rows(table, 4), floats(table, 5), rows(table, 6)
    targets, slots, shares = ints(table, 8), rows(table, 9), floats(table, 10)
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


@phase_kernel
def visit_contacts(table, begin, end, iteration):
    """Corrections of the vertices of one colour by their contacts, summed; an impulse for every corner."""
    vertices, a, planes, before = ints(table, 0), floats(table, 1), rows(table, 2), rows(table, 3)
    impulses, friction, q = rows(table, 4), floats(table, 5), rows(table, 6)
    order, starts, incidences = ints(table, 8), ints(table, 9), ints(table, 10)
    moved, shares, weights = rows(table, 11), floats(table, 12), floats(table, 13)
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


@phase_kernel
def push_walls(table, begin, end, iteration):
    """Walls that a vertex touches, one vertex after the other: `starts` says where the contacts of each begin."""
    vertices, planes, before, impulses = ints(table, 0), rows(table, 2), rows(table, 3), rows(table, 4)
    friction, q, starts = floats(table, 5), rows(table, 6), ints(table, 8)
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


@njit(cache=True, nogil=True)
def fall_asleep(q, x, walls, pairs, held, limit):
    """Vertices in contact that a step would move by less than `limit` (m), and that nobody holds, stay at q."""
    touching = np.zeros(len(x), np.bool_)
    for v in walls:
        touching[v] = True
    for c in range(pairs.shape[0]):
        for k in range(4):
            touching[pairs[c, k]] = True
    for v in range(len(x)):
        if touching[v] and not held[v]:
            square = np.float32(0.0)
            for axis in range(3):
                moved = x[v, axis] - q[v, axis]
                square += moved * moved
            if square < limit * limit:
                for lane in range(4):
                    x[v, lane] = q[v, lane]


# --- projective dynamics --------------------------------------------------------------------------------------------
# The table of a pass: vertices, coefficients, planes, before, friction, weights, slots, q, out, how many contacts.


@njit(inline="always")
def pull(z, plane, before, static, kinetic):
    """p - z: back to the gap along the normal, and against the motion across it; nothing where they are apart."""
    n = xyz4(plane)
    depth = lane4(plane, 3) - dot4(n, z)
    if depth <= ZERO:
        return z - z
    u = (z - before) + depth * n
    u = u - dot4(n, u) * n
    size = np.sqrt(dot4(u, u))
    share = np.float32(1.0) if size <= static * depth else kinetic * depth / size
    return depth * n - share * u


@phase_kernel
def pull_contacts(table, begin, end, iteration):
    """What each contact adds to the right-hand sides of its four vertices."""
    vertices, a, planes, before = ints(table, 0), floats(table, 1), rows(table, 2), rows(table, 3)
    friction, weights, slots, q, out = (
        floats(table, 4),
        floats(table, 5),
        ints(table, 6),
        rows(table, 7),
        rows(table, 8),
    )
    for c in range(begin, min(end, longs(table, 9)[0])):
        z, _ = separation(vertices, a, c, q)
        force = pull(z, load4(planes, c), load4(before, c), at(friction, 2 * c), at(friction, 2 * c + 1))
        w = at(weights, c)
        reach = abs(at(a, 4 * c)) + abs(at(a, 4 * c + 1)) + abs(at(a, 4 * c + 2)) + abs(at(a, 4 * c + 3))
        for k in range(4):
            coefficient = at(a, 4 * c + k)
            x = load4(q, at(vertices, 4 * c + k))
            store4(out, at(slots, 4 * c + k), (w * abs(coefficient) * reach) * x + (w * coefficient) * force)


@phase_kernel
def pull_walls(table, begin, end, iteration):
    """The same for contacts with walls."""
    vertices, planes, before = ints(table, 0), rows(table, 2), rows(table, 3)
    friction, weights, slots, q, out = (
        floats(table, 4),
        floats(table, 5),
        ints(table, 6),
        rows(table, 7),
        rows(table, 8),
    )
    for c in range(begin, min(end, longs(table, 9)[0])):
        x = xyz4(load4(q, at(vertices, c)))
        force = pull(x, load4(planes, c), load4(before, c), at(friction, 2 * c), at(friction, 2 * c + 1))
        store4(out, at(slots, c), at(weights, c) * (x + force))


@njit(cache=True, nogil=True, error_model="numpy")
def take_walls(
    vertices, planes, friction, keys, old_keys, old_forces, rank, previous, start, diagonal, stiffness, recovery, to,
    to_planes, to_before, to_friction, to_weights, to_keys, to_places, lowered, added,
):  # fmt: skip
    """The contacts that `start` violates into the arrays of the passes, in the order given; returns how many there are.

    `lowered` gets the planes of all: a gap that is violated at `previous` already recovers by so many metres a step.
    `added` gets the weights, a stiffness (N/m) or, if that is negative, `diagonal` of the vertex. `old_forces`: rows
    (T, N) of what held the contacts `old_keys` when the last step ended. Both lists of keys are sorted. `to_places`:
    rows of `previous` and of the gap, before what was remembered.
    """
    count, room, old = 0, to_planes.shape[0], 0
    for c in range(len(vertices)):
        v = vertices[c]
        nx, ny, nz, gap = planes[c, 0], planes[c, 1], planes[c, 2], planes[c, 3]
        there = nx * previous[v, 0] + ny * previous[v, 1] + nz * previous[v, 2]
        least = min(gap, there + recovery)
        lowered[c, 0], lowered[c, 1], lowered[c, 2], lowered[c, 3] = nx, ny, nz, least
        weight = diagonal[v] if stiffness < 0 else stiffness
        raised, tx, ty, tz = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
        while old < len(old_keys) and old_keys[old] < keys[c]:
            old += 1
        if old < len(old_keys) and old_keys[old] == keys[c]:
            tx, ty, tz = old_forces[old, 0] / weight, old_forces[old, 1] / weight, old_forces[old, 2] / weight
            along = tx * nx + ty * ny + tz * nz
            tx, ty, tz = tx - along * nx, ty - along * ny, tz - along * nz
            raised = old_forces[old, 3] / weight
        if nx * start[v, 0] + ny * start[v, 1] + nz * start[v, 2] >= gap + raised:
            continue
        if count < room:
            to[count], to_keys[count] = rank[v], keys[c]
            to_planes[count, 0], to_planes[count, 1], to_planes[count, 2] = nx, ny, nz
            to_planes[count, 3] = least + raised
            to_places[count, 0], to_places[count, 1], to_places[count, 2] = (
                previous[v, 0],
                previous[v, 1],
                previous[v, 2],
            )
            to_places[count, 3] = least
            to_before[count, 0] = previous[v, 0] + tx
            to_before[count, 1] = previous[v, 1] + ty
            to_before[count, 2] = previous[v, 2] + tz
            to_friction[2 * count], to_friction[2 * count + 1] = friction[c, 0], friction[c, 1]
            to_weights[count] = weight
            added[v] += weight
        count += 1
    return count


@njit(cache=True, nogil=True)
def any_behind(vertices, planes, places, q, count, deep):
    """Whether some vertex is further behind its wall than so many metres; walls where `places` have them."""
    for c in range(count):
        v, behind = vertices[c], places[c, 3]
        for axis in range(3):
            behind -= planes[c, axis] * q[v, axis]
        if behind > deep:
            return True
    return False


@phase_kernel
def press_walls(table, begin, end, iteration):
    """If some vertex is behind its wall, go on with the forces that contacts hold with now: planes raised and places
    moved by them. What that changes is added to the residual r.

    `pressing`: rounds after which it is looked at, and whether it was so; `deep`: how far behind counts (m).
    """
    vertices, planes, before = ints(table, 0), rows(table, 2), rows(table, 3)
    friction, weights, q = floats(table, 4), floats(table, 5), rows(table, 7)
    places, pressing, deep, r = rows(table, 10), longs(table, 11), floats(table, 12)[0], rows(table, 13)
    pressing[1] = 0
    count = min(end, longs(table, 9)[0])
    if iteration == 0 or iteration % pressing[0] != 0 or not any_behind(vertices, planes, places, q, count, deep):
        return
    pressing[1] = 1
    for c in range(begin, count):
        v = at(vertices, c)
        x, plane, place = xyz4(load4(q, v)), load4(planes, c), load4(places, c)
        n, static, kinetic = xyz4(plane), at(friction, 2 * c), at(friction, 2 * c + 1)
        way = pull(x, plane, load4(before, c), static, kinetic)
        along = dot4(n, way)
        raised, moved = n + make4(ZERO, ZERO, ZERO, lane4(place, 3) + along), xyz4(place) + (way - along * n)
        store4(planes, c, raised)
        store4(before, c, moved)
        store4(r, v, load4(r, v) + at(weights, c) * (pull(x, raised, moved, static, kinetic) - way))


@phase_kernel
def remember_walls(table, begin, end, iteration):
    """The forces (T, N) that contacts hold their vertices with, at the end of a step."""
    vertices, planes, before = ints(table, 0), rows(table, 2), rows(table, 3)
    friction, weights, q, forces = floats(table, 4), floats(table, 5), rows(table, 7), rows(table, 10)
    for c in range(begin, min(end, longs(table, 9)[0])):
        x, plane, w = xyz4(load4(q, at(vertices, c))), load4(planes, c), at(weights, c)
        n = xyz4(plane)
        way = pull(x, plane, load4(before, c), at(friction, 2 * c), at(friction, 2 * c + 1))
        along = dot4(n, way)
        store4(forces, c, w * (way - along * n) + make4(ZERO, ZERO, ZERO, w * along))


@phase_kernel
def keep_out(table, begin, end, iteration):
    """Push what has ended behind its wall back to it."""
    vertices, planes, q = ints(table, 0), rows(table, 1), rows(table, 2)
    for c in range(begin, min(end, longs(table, 3)[0])):
        x, plane = load4(q, at(vertices, c)), load4(planes, c)
        depth = lane4(plane, 3) - dot4(xyz4(plane), x)
        if depth > ZERO:
            store4(q, at(vertices, c), x + depth * xyz4(plane))
