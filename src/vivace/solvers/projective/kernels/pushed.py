"""What is pushed out of a wall when a solve has ended takes its neighbours along.

A hem that lands on its edge ends behind the wall: contacts are softer than what falls on them. Pushed back alone it
would press the edges above it to half of their length, for one step. So these keep the length that the solver gave
them, but for a share, and hand the push on, ring by ring, as position based dynamics does [mueller2007, section 3.3]:
what one end of an edge is given the other is given back, by how heavy they are.
"""

from __future__ import annotations

import numpy as np

from ....backends.cpu.compiling import compiled


@compiled
def _is_pressed(q, ended, i, j, most):
    """Whether the edge from i to j has changed by more than a share of the length that it ended with."""
    now = before = 0.0
    for axis in range(3):
        a, b = np.float64(q[j, axis]) - np.float64(q[i, axis]), np.float64(ended[j, axis]) - np.float64(ended[i, axis])
        now, before = now + a * a, before + b * b
    return abs(np.sqrt(now) - np.sqrt(before)) > most * np.sqrt(before)


@compiled
def take_along(q, ended, rank, order, indptr, indices, inverse, walls, planes, most, passes):
    """Move vertices next to those that were pushed, and these; which have been looked at, in that order.

    Args:
        q: (n, 4) where vertices are, in the order of the layout; changed.
        ended: (n, 4) where the solver left them.
        rank: for each vertex of the mesh its place in the layout; `order` is the other way round.
        order: see `rank`.
        indptr: neighbours in the mesh, CSR.
        indices: see `indptr`.
        inverse: (n,) 1/kg, or anything in proportion to that, of vertices of the mesh; 0 for what is held.
        walls: (w,) vertices, in the order of the layout, that must stay in front of planes.
        planes: (w, 4) normals and offsets of these.
        most: share of its length by which an edge may have changed.
        passes: over all that is looked at; each looks one ring further.
    """
    seen, looked = np.zeros(len(q), np.bool_), np.empty(len(q), np.int32)
    count = 0
    for i in range(len(q)):
        if q[i, 0] == ended[i, 0] and q[i, 1] == ended[i, 1] and q[i, 2] == ended[i, 2]:
            continue
        v = order[i]
        for k in range(indptr[v], indptr[v + 1]):
            if _is_pressed(q, ended, i, rank[indices[k]], most):
                seen[i] = True
                looked[count] = i
                count += 1
                break
    if count == 0:
        return looked[:0]
    for _ in range(passes):
        still = True
        for p in range(count):
            i = looked[p]
            v = order[i]
            for k in range(indptr[v], indptr[v + 1]):
                j = rank[indices[k]]
                if not _is_pressed(q, ended, i, j, most):
                    continue
                now = before = 0.0
                for axis in range(3):
                    a = np.float64(q[j, axis]) - np.float64(q[i, axis])
                    b = np.float64(ended[j, axis]) - np.float64(ended[i, axis])
                    now, before = now + a * a, before + b * b
                now, before = np.sqrt(now), np.sqrt(before)
                total = inverse[v] + inverse[indices[k]]
                if not (total > 0.0 and now > 1e-6 * before):
                    continue
                still = False
                target = before * (1.0 + most if now > before else 1.0 - most)
                share = (now - target) / (now * total)
                for axis in range(3):
                    a = np.float64(q[j, axis]) - np.float64(q[i, axis])
                    q[i, axis] = np.float32(q[i, axis] + share * inverse[v] * a)
                    q[j, axis] = np.float32(q[j, axis] - share * inverse[indices[k]] * a)
                if not seen[j]:
                    seen[j] = True
                    looked[count] = j
                    count += 1
        for c in range(len(walls)):
            i = walls[c]
            if seen[i] and inverse[order[i]] > 0.0:
                depth = np.float64(planes[c, 3])
                for axis in range(3):
                    depth -= np.float64(planes[c, axis]) * np.float64(q[i, axis])
                if depth > 0.0:
                    for axis in range(3):
                        q[i, axis] = np.float32(q[i, axis] + depth * planes[c, axis])
        if still:
            break
    return looked[:count]
