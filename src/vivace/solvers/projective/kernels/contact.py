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

from ....backends.cpu.arguments import count, floats, ints, longs, phase_kernel, rows, scalar
from ....backends.cpu.compiling import compiled, inlined
from ....backends.cpu.simd import at, dot4, lane4, load4, make4, store4
from ....backends.cpu.vectors import xyz4
from ...kernels.contact import separation

LABEL = "contacts"  # what phases of these kernels are reported under

ZERO = np.float32(0.0)

# --- projective dynamics --------------------------------------------------------------------------------------------
# The table of a pass: vertices, coefficients, planes, before, friction, weights, slots, q, out, how many contacts.


@inlined
def slowed(u, depth, static, kinetic):
    """What friction takes of a motion u across the normal: all that μ_s depth can hold, else μ_k depth of it."""
    size = np.sqrt(dot4(u, u))
    share = np.float32(1.0) if size <= static * depth else kinetic * depth / size
    return share * u


@inlined
def pull(z, plane, before, static, kinetic):
    """p - z: back to the gap along the normal, and against the motion across it; nothing where they are apart."""
    n = xyz4(plane)
    depth = lane4(plane, 3) - dot4(n, z)
    if depth <= ZERO:
        return z - z
    u = (z - before) + depth * n
    return depth * n - slowed(u - dot4(n, u) * n, depth, static, kinetic)


@phase_kernel(items="planes")
def pull_contacts(
    begin, end, iteration, vertices: ints, a: floats, planes: rows, before: rows, friction: floats, weights: floats,
    slots: ints, q: rows, out: rows, used: count,
):  # fmt: skip
    """What each contact adds to the right-hand sides of its four vertices."""
    for c in range(begin, min(end, used)):
        z, _ = separation(vertices, a, c, q)
        force = pull(z, load4(planes, c), load4(before, c), at(friction, 2 * c), at(friction, 2 * c + 1))
        w = at(weights, c)
        reach = abs(at(a, 4 * c)) + abs(at(a, 4 * c + 1)) + abs(at(a, 4 * c + 2)) + abs(at(a, 4 * c + 3))
        for k in range(4):
            coefficient = at(a, 4 * c + k)
            x = load4(q, at(vertices, 4 * c + k))
            store4(out, at(slots, 4 * c + k), (w * abs(coefficient) * reach) * x + (w * coefficient) * force)


@phase_kernel(items="vertices")
def pull_walls(
    begin, end, iteration, vertices: ints, planes: rows, before: rows, friction: floats, weights: floats, slots: ints,
    q: rows, out: rows, used: count,
):  # fmt: skip
    """The same for contacts with walls."""
    for c in range(begin, min(end, used)):
        x = xyz4(load4(q, at(vertices, c)))
        force = pull(x, load4(planes, c), load4(before, c), at(friction, 2 * c), at(friction, 2 * c + 1))
        store4(out, at(slots, c), at(weights, c) * (x + force))


@compiled
def take_walls(
    vertices, planes, friction, motions, shares, keys, old_keys, old_forces, rank, previous, start, diagonal,
    stiffness, recovery, to, to_planes, to_before, to_friction, to_weights, to_keys, to_places, lowered, added,
):  # fmt: skip
    """The contacts that `start` violates into the arrays of the passes, in the order given; returns how many there are.

    `lowered` gets the planes of all: a gap that is violated at `previous` already recovers by `recovery` (c,) (m).
    `added` gets the weights, a stiffness (N/m) or, if that is negative, `diagonal` of the vertex, and of that the share
    that a contact has. `old_forces`: rows (T, N) of what held the contacts `old_keys` when the last step ended. Both
    lists of keys are sorted. `motions`: how far each contact carries its vertex in the step; a vertex that does not
    slip ends at `previous` and that way. `to_places`: rows of this place and of the gap, before what was remembered.
    """
    count, room, old = 0, to_planes.shape[0], 0
    for c in range(len(vertices)):
        v = vertices[c]
        nx, ny, nz, gap = planes[c, 0], planes[c, 1], planes[c, 2], planes[c, 3]
        px, py, pz = previous[v, 0] + motions[c, 0], previous[v, 1] + motions[c, 1], previous[v, 2] + motions[c, 2]
        there = nx * px + ny * py + nz * pz
        least = min(gap, there + recovery[c])
        lowered[c, 0], lowered[c, 1], lowered[c, 2], lowered[c, 3] = nx, ny, nz, least
        weight = shares[c] * (diagonal[v] if stiffness < 0 else stiffness)
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
            to_places[count, 0], to_places[count, 1], to_places[count, 2], to_places[count, 3] = px, py, pz, least
            to_before[count, 0], to_before[count, 1], to_before[count, 2] = px + tx, py + ty, pz + tz
            to_friction[2 * count], to_friction[2 * count + 1] = friction[c, 0], friction[c, 1]
            to_weights[count] = weight
            added[v] += weight
        count += 1
    return count


@compiled
def any_behind(vertices, planes, places, q, count, deep):
    """Whether some vertex is further behind its wall than so many metres; walls where `places` have them."""
    for c in range(count):
        v, behind = vertices[c], places[c, 3]
        for axis in range(3):
            behind -= planes[c, axis] * q[v, axis]
        if behind > deep:
            return True
    return False


@phase_kernel(items="planes")
def press_walls(
    begin, end, iteration, vertices: ints, planes: rows, before: rows, friction: floats, weights: floats, q: rows,
    used: count, places: rows, pressing: longs, deep: scalar, r: rows,
):  # fmt: skip
    """If some vertex is behind its wall, go on with the forces that contacts hold with now.

    Planes are raised and places moved by them, and what that changes is added to the residual r.
    `pressing`: rounds after which it is looked at, and whether it was so; `deep`: how far behind counts (m).
    """
    pressing[1] = 0
    count = min(end, used)
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


@compiled
def any_patch_behind(vertices, a, planes, places, q, begin, end, deep):
    """The same for the points of patches, which are some of the contacts over four vertices."""
    for c in range(begin, end):
        behind = places[c, 3]
        for k in range(3):
            v, weight = vertices[4 * c + k], a[4 * c + k]
            for axis in range(3):
                behind -= weight * planes[c, axis] * q[v, axis]
        if behind > deep:
            return True
    return False


@phase_kernel(items="planes")
def press_patches(
    begin, end, iteration, vertices: ints, a: floats, planes: rows, before: rows, friction: floats, weights: floats,
    q: rows, patches: longs, places: rows, pressing: longs, deep: scalar, r: rows,
):  # fmt: skip
    """As `press_walls`, for contacts `patches[0]` to `patches[1]`; to be called after it."""
    first, last = patches[0], patches[1]
    if first == last or iteration == 0 or iteration % pressing[0] != 0:
        return
    if not any_patch_behind(vertices, a, planes, places, q, first, last, deep):
        return
    pressing[1] = 1
    for c in range(first, last):
        z, _ = separation(vertices, a, c, q)
        plane, place = load4(planes, c), load4(places, c)
        n, static, kinetic = xyz4(plane), at(friction, 2 * c), at(friction, 2 * c + 1)
        way = pull(z, plane, load4(before, c), static, kinetic)
        along = dot4(n, way)
        raised, moved = n + make4(ZERO, ZERO, ZERO, lane4(place, 3) + along), xyz4(place) + (way - along * n)
        store4(planes, c, raised)
        store4(before, c, moved)
        more = at(weights, c) * (pull(z, raised, moved, static, kinetic) - way)
        for k in range(3):
            v = at(vertices, 4 * c + k)
            store4(r, v, load4(r, v) + at(a, 4 * c + k) * more)


@phase_kernel(items="forces")
def remember_patches(
    begin, end, iteration, vertices: ints, a: floats, planes: rows, before: rows, friction: floats, weights: floats,
    q: rows, forces: rows,
):  # fmt: skip
    """As `remember_walls`, for patches begin to end."""
    for c in range(begin, end):
        z, _ = separation(vertices, a, c, q)
        plane, w = load4(planes, c), at(weights, c)
        n = xyz4(plane)
        way = pull(z, plane, load4(before, c), at(friction, 2 * c), at(friction, 2 * c + 1))
        along = dot4(n, way)
        store4(forces, c, w * (way - along * n) + make4(ZERO, ZERO, ZERO, w * along))


@phase_kernel(items="forces")
def remember_walls(
    begin, end, iteration, vertices: ints, planes: rows, before: rows, friction: floats, weights: floats, q: rows,
    used: count, forces: rows,
):  # fmt: skip
    """The forces (T, N) that contacts hold their vertices with, at the end of a step."""
    for c in range(begin, min(end, used)):
        x, plane, w = xyz4(load4(q, at(vertices, c))), load4(planes, c), at(weights, c)
        n = xyz4(plane)
        way = pull(x, plane, load4(before, c), at(friction, 2 * c), at(friction, 2 * c + 1))
        along = dot4(n, way)
        store4(forces, c, w * (way - along * n) + make4(ZERO, ZERO, ZERO, w * along))


@phase_kernel(items="vertices")
def keep_out(begin, end, iteration, vertices: ints, planes: rows, before: rows, friction: floats, q: rows, used: count):
    """Push what is behind its wall back to it, and back across it as friction does, by μ times that way at most."""
    for c in range(begin, min(end, used)):
        v = at(vertices, c)
        x, plane = load4(q, v), load4(planes, c)
        n = xyz4(plane)
        depth = lane4(plane, 3) - dot4(n, x)
        if depth > ZERO:
            x = x + depth * n
            u = xyz4(x) - xyz4(load4(before, c))
            store4(q, v, x - slowed(u - dot4(n, u) * n, depth, at(friction, 2 * c), at(friction, 2 * c + 1)))


@compiled
def surrounded(vertices, order, indptr, indices, added):
    """Which of these contacts, of visited vertices, have only neighbours in the graph that touch (`added` > 0) too."""
    some = np.ones(len(vertices), np.bool_)
    for c in range(len(vertices)):
        v = order[vertices[c]]
        for k in range(indptr[v], indptr[v + 1]):
            if not added[indices[k]] > 0:
                some[c] = False
                break
    return some
