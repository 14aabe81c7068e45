"""Passes over impact zones: groups of vertices that finish a step with one common displacement."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import compiled

ROUNDING = 2.0**-21  # of the largest coordinate: what moving all corners alike changes in float32


@compiled
def violated(vertices, coefficients, planes, q, x, zone, least):
    """Contacts that touch on the way from q to x, or whose separation has shrunk below its `least`; float32 rows.

    Nor may it rest below half of that, or it would creep to zero. What is in one zone already moves as one. In the
    place of the gap, `planes` say whether a contact touches (`Surfaces` with every=True).
    """
    out = np.zeros(vertices.shape[0], np.bool_)
    reach = 0.0
    for v in range(x.shape[0]):
        for d in range(3):
            reach = max(reach, abs(np.float64(x[v, d])))
    rounding = ROUNDING * reach
    for c in range(vertices.shape[0]):
        before, after = 0.0, 0.0
        first, together = -1, True
        for k in range(4):
            v, a = vertices[c, k], np.float64(coefficients[c, k])
            if a == 0.0:
                continue
            first = zone[v] if first < 0 else first
            together = together and zone[v] >= 0 and zone[v] == first
            for d in range(3):
                before += a * np.float64(planes[c, d]) * np.float64(q[v, d])
                after += a * np.float64(planes[c, d]) * np.float64(x[v, d])
        allowed = before - rounding if after >= 0.5 * least[c] else before + rounding
        out[c] = (planes[c, 3] > 0 or (after < least[c] and after < allowed)) and not together
    return out


@compiled
def common_displacements(zone, count, masses, held, q, x, wall_vertices, wall_planes):
    """Mean displacement of each zone, by mass; that of a held vertex if there is one; kept out of walls.

    zone: (n,) number of a vertex's zone, -1 for none. A wall asks of a displacement no more than to stay where the step
    began, should that be behind it.
    """
    d, total, fixed = np.zeros((count, 3)), np.zeros(count), np.zeros(count, np.bool_)
    for v in range(zone.shape[0]):
        z = zone[v]
        if z < 0 or (fixed[z] and not held[v]):
            continue
        if held[v] and not fixed[z]:
            fixed[z], total[z] = True, 0.0
            d[z, 0] = d[z, 1] = d[z, 2] = 0.0
        total[z] += masses[v]
        for k in range(3):
            d[z, k] += masses[v] * (np.float64(x[v, k]) - np.float64(q[v, k]))
    for z in range(count):
        for k in range(3):
            d[z, k] /= total[z]
    for _ in range(8):
        for c in range(wall_vertices.shape[0]):
            v = wall_vertices[c]
            z = zone[v]
            if z < 0 or fixed[z]:
                continue
            along, before = 0.0, 0.0
            for k in range(3):
                along += wall_planes[c, k] * d[z, k]
                before += np.float64(wall_planes[c, k]) * np.float64(q[v, k])
            missing = min(0.0, wall_planes[c, 3] - before) - along
            if missing > 0:
                for k in range(3):
                    d[z, k] += missing * wall_planes[c, k]
    return d


@compiled
def displace(zone, d, held, q, x):
    """x = q + the displacement of the zone, for all vertices in one."""
    for v in range(zone.shape[0]):
        if zone[v] >= 0 and not held[v]:
            for k in range(3):
                x[v, k] = np.float32(np.float64(q[v, k]) + d[zone[v], k])


@compiled
def least_separations(vertices, coefficients, planes, q, least):
    """What each contact is to keep along its normal: four times its least distance, but no more than it had at q."""
    out = np.empty(vertices.shape[0])
    for c in range(vertices.shape[0]):
        before = 0.0
        for k in range(4):
            for d in range(3):
                before += np.float64(coefficients[c, k]) * np.float64(planes[c, d]) * np.float64(q[vertices[c, k], d])
        out[c] = min(before, 4.0 * least[c])
    return out


@compiled
def part(vertices, coefficients, planes, targets, inverse, q, x, wall_vertices, wall_planes, passes):
    """Move what is nearer than its target apart, along the normals and by inverse mass, one contact after the other.

    Vertices stay on their side of the walls they touch, or where they began, should that be behind one.
    """
    for _ in range(passes):
        largest = 0.0
        for c in range(vertices.shape[0]):
            along, weight = 0.0, 0.0
            for k in range(4):
                v, a = vertices[c, k], np.float64(coefficients[c, k])
                weight += a * a * inverse[v]
                for d in range(3):
                    along += a * np.float64(planes[c, d]) * np.float64(x[v, d])
            missing = targets[c] - along
            if missing <= 0.0 or weight <= 0.0:
                continue
            largest = max(largest, missing / max(targets[c], 1e-12))
            for k in range(4):
                v = vertices[c, k]
                step = missing * np.float64(coefficients[c, k]) * inverse[v] / weight
                for d in range(3):
                    x[v, d] = np.float32(np.float64(x[v, d]) + step * np.float64(planes[c, d]))
        for c in range(wall_vertices.shape[0]):
            v = wall_vertices[c]
            if inverse[v] == 0.0:
                continue
            along, before = 0.0, 0.0
            for d in range(3):
                along += np.float64(wall_planes[c, d]) * np.float64(x[v, d])
                before += np.float64(wall_planes[c, d]) * np.float64(q[v, d])
            missing = min(np.float64(wall_planes[c, 3]), before) - along
            if missing > 0.0:
                for d in range(3):
                    x[v, d] = np.float32(np.float64(x[v, d]) + missing * np.float64(wall_planes[c, d]))
        if largest < 0.05:
            return


@compiled
def calm(vertices, coefficients, planes, targets, inverse, q, x):
    """Half-way to a common displacement, for contacts that touch on the way though they end far enough apart."""
    for c in range(vertices.shape[0]):
        along, total = 0.0, 0.0
        for k in range(4):
            total += inverse[vertices[c, k]]
            for d in range(3):
                along += np.float64(coefficients[c, k]) * np.float64(planes[c, d]) * np.float64(x[vertices[c, k], d])
        if planes[c, 3] <= 0 or along < targets[c] or total <= 0.0:
            continue
        for d in range(3):
            mean, weight = 0.0, 0.0
            for k in range(4):
                v = vertices[c, k]
                share = 1.0 / max(inverse[v], 1e-6 * total)
                mean += share * (np.float64(x[v, d]) - np.float64(q[v, d]))
                weight += share
            mean /= weight
            for k in range(4):
                v = vertices[c, k]
                if inverse[v] > 0.0:
                    x[v, d] = np.float32(0.5 * (np.float64(x[v, d]) + np.float64(q[v, d]) + mean))
