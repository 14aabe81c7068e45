"""Laying out the system's rows for the sweeps: per-vertex lists, in the order in which vertices are visited."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import compiled
from ...terms.kernels.curvature import position

PADDING = 4  # entries after the last, so that the sweeps may read a group of four past the end


@compiled
def split_rows(order, rank, indptr, indices, values, spring_at, spring_j, spring_w, spring_l, limits):
    """Rows of the reordered matrix, cut into spring neighbours and the others.

    Row i of the result is vertex order[i]. `values` are off-diagonals of Y; `spring_*` list the springs at each vertex.
    A neighbour with springs carries its a = -Y_ij on the first of them, so that each neighbour is read once. `limits`:
    number of spring entries, of others. Returns the seven arrays of `kernels.sweep`, padded for groups of four.
    """
    n = order.shape[0]
    out_at = np.zeros(n + 1, np.int32)
    out_j = np.zeros(limits[0] + PADDING, np.int32)
    out_a = np.zeros(limits[0] + PADDING, np.float32)
    out_wl = np.zeros(limits[0] + PADDING, np.float32)
    rest_at = np.zeros(n + 1, np.int32)
    rest_j = np.zeros(limits[1] + PADDING, np.int32)
    rest_a = np.zeros(limits[1] + PADDING, np.float32)
    owner = np.full(n, -1, np.int32)  # the spring entry that carries a neighbour's off-diagonal, while its row is made
    e = r = 0
    for i in range(n):
        v = order[i]
        first = e
        for s in range(spring_at[v], spring_at[v + 1]):
            j = spring_j[s]
            out_j[e] = rank[j]
            out_wl[e] = spring_w[s] * spring_l[s]
            if owner[j] < first:
                owner[j] = e
            e += 1
        for k in range(indptr[v], indptr[v + 1]):
            j = indices[k]
            if owner[j] >= first:
                out_a[owner[j]] = -values[k]
            else:
                rest_j[r] = rank[j]
                rest_a[r] = -values[k]
                r += 1
        out_at[i + 1] = e
        rest_at[i + 1] = r
    return out_at, out_j, out_a, out_wl, rest_at, rest_j[: max(r, 1)].copy(), rest_a[: max(r, 1)].copy()


@compiled
def sort_rows(at, j, a):
    """Sort each row by column, in place; returns where each row's columns pass its own number.

    In the order of colours those before are in earlier colours: what a forward sweep from zero has visited.
    """
    n = at.shape[0] - 1
    middle = np.empty(n, np.int32)
    for i in range(n):
        for k in range(at[i] + 1, at[i + 1]):
            column, value = j[k], a[k]
            to = k
            while to > at[i] and j[to - 1] > column:
                j[to], a[to] = j[to - 1], a[to - 1]
                to -= 1
            j[to], a[to] = column, value
        m = at[i]
        while m < at[i + 1] and j[m] < i:
            m += 1
        middle[i] = m
    return middle


@compiled
def spring_rows(order, rank, spring_at, spring_j, spring_w, spring_l):
    """The springs at each vertex in visiting order: row pointers, other ends and w l, padded for groups of four."""
    n = order.shape[0]
    out_at = np.zeros(n + 1, np.int32)
    out_j = np.zeros(spring_j.shape[0] + PADDING, np.int32)
    out_wl = np.zeros(spring_j.shape[0] + PADDING, np.float32)
    e = 0
    for i in range(n):
        for s in range(spring_at[order[i]], spring_at[order[i] + 1]):
            out_j[e] = rank[spring_j[s]]
            out_wl[e] = spring_w[s] * spring_l[s]
            e += 1
        out_at[i + 1] = e
    return out_at, out_j, out_wl


@compiled
def count_corners(counts, vertices, rank):
    """counts[rank of v] += number of corners at v."""
    for c in range(vertices.shape[0]):
        for k in range(vertices.shape[1]):
            counts[rank[vertices[c, k]]] += 1


@compiled
def assign_slots(cursor, vertices, rank):
    """The next free slot of each corner's vertex; `cursor` moves on."""
    slots = np.empty(vertices.shape, np.int32)
    for c in range(vertices.shape[0]):
        for k in range(vertices.shape[1]):
            i = rank[vertices[c, k]]
            slots[c, k] = cursor[i]
            cursor[i] += 1
    return slots


@compiled
def list_corners(vertices, n):
    """Of flat corners: where those of each vertex begin (n + 1,), the corners by vertex, their places in that list."""
    starts = np.zeros(n + 1, np.int32)
    for v in vertices:
        starts[v + 1] += 1
    for v in range(n):
        starts[v + 1] += starts[v]
    corners, places = np.empty(len(vertices), np.int32), np.empty(len(vertices), np.int32)
    cursor = starts[:n].copy()
    for c in range(len(vertices)):
        place = cursor[vertices[c]]
        cursor[vertices[c]] = place + 1
        corners[place], places[c] = c, place
    return starts, corners, places


@compiled
def pair_springs(n, pairs):
    """CSR of the springs at each vertex: (indptr, other end, number of the spring)."""
    at = np.zeros(n + 1, np.int32)
    for s in range(pairs.shape[0]):
        at[pairs[s, 0] + 1] += 1
        at[pairs[s, 1] + 1] += 1
    for i in range(n):
        at[i + 1] += at[i]
    cursor = at[:-1].copy()
    other = np.empty(2 * pairs.shape[0], np.int32)
    number = np.empty(2 * pairs.shape[0], np.int32)
    for s in range(pairs.shape[0]):
        i, j = pairs[s, 0], pairs[s, 1]
        other[cursor[i]], number[cursor[i]] = j, s
        other[cursor[j]], number[cursor[j]] = i, s
        cursor[i] += 1
        cursor[j] += 1
    return at, other, number


@compiled
def count_pairs(counts, vertices):
    """counts[v] += entries that the elements put into row v, off the diagonal and not yet merged."""
    for c in range(vertices.shape[0]):
        for k in range(vertices.shape[1]):
            counts[vertices[c, k]] += vertices.shape[1] - 1


@compiled
def fill_columns(cursor, columns, vertices):
    """Put every element's other vertices into the rows of each; `cursor` moves on."""
    corners = vertices.shape[1]
    for c in range(vertices.shape[0]):
        for k in range(corners):
            i = vertices[c, k]
            at = cursor[i]
            for other in range(corners):
                if other != k:
                    columns[at] = vertices[c, other]
                    at += 1
            cursor[i] = at


@compiled
def merge_columns(indptr, columns):
    """Sort each row and keep each column once, in place; returns the new row pointers."""
    n = indptr.shape[0] - 1
    merged = np.zeros(n + 1, np.int32)
    to = 0
    for i in range(n):
        begin, end = indptr[i], indptr[i + 1]
        for a in range(begin + 1, end):
            column = columns[a]
            b = a
            while b > begin and columns[b - 1] > column:
                columns[b] = columns[b - 1]
                b -= 1
            columns[b] = column
        first = to
        for a in range(begin, end):
            if to == first or columns[to - 1] != columns[a]:
                columns[to] = columns[a]
                to += 1
        merged[i + 1] = to
    return merged


@compiled
def add_stiffness(indptr, columns, values, diagonal, vertices, operator, weights):
    """Add w AᵀA of every constraint to the rows of its vertices: the same numbers to (i, j) and (j, i)."""
    corners, size = vertices.shape[1], operator.shape[1]
    for c in range(vertices.shape[0]):
        for k in range(corners):
            i = vertices[c, k]
            for other in range(k + 1):
                total = 0.0
                for r in range(size):
                    total += operator[c, r, k] * operator[c, r, other]
                total *= weights[c]
                if other == k:
                    diagonal[i] += total
                else:
                    j = vertices[c, other]
                    values[position(indptr, columns, i, j)] += total
                    values[position(indptr, columns, j, i)] += total


@compiled
def add_to_level(changed, delta, indptr, indices, values, at, columns, wide, single, diagonal, inverse):
    """A += QᵀΔQ on a level's own pattern: Δ diagonal with entries `delta` at `changed`, Q as CSR.

    Q's columns share an aggregate's neighbourhood, so almost every product has a place; the few that have none are
    added to both diagonals, which keeps the row sums and can only make the level stiffer.
    """
    touched = np.zeros(diagonal.shape[0], np.bool_)
    for c in range(changed.shape[0]):
        v = changed[c]
        for k in range(indptr[v], indptr[v + 1]):
            i = indices[k]
            for m in range(indptr[v], indptr[v + 1]):
                value = delta[c] * values[k] * values[m]
                if m == k:
                    diagonal[i] += value
                    continue
                to = at[i]
                if at[i + 1] > at[i]:
                    to = position(at, columns, i, indices[m])
                if to < at[i + 1] and columns[to] == indices[m]:
                    wide[to] += value
                else:
                    diagonal[i] += value
            touched[i] = True
    for i in range(diagonal.shape[0]):
        if touched[i]:
            inverse[i] = 1.0 / diagonal[i]
            for to in range(at[i], at[i + 1]):
                single[to] = -wide[to]


@compiled
def invert_level(at, columns, wide, diagonal, out):
    """The dense inverse of a small symmetric positive level, in float64 (Gauss-Jordan), written to `out` in float32.

    Compiled here because it is made again whenever pins change, and a threaded LAPACK may take a thousand times as long
    when somebody else has the cores. A pivot that rounding has made tiny is a mode that nothing holds: it is left out.
    """
    n = diagonal.shape[0]
    full = np.zeros((n, n))
    for i in range(n):
        full[i, i] = diagonal[i]
        for k in range(at[i], at[i + 1]):
            full[i, columns[k]] = wide[k]
    for p in range(n):
        pivot = full[p, p]
        scale = 1.0 / pivot if pivot > 1e-12 * diagonal[p] else 0.0
        full[p, p] = 1.0
        for k in range(n):
            full[p, k] *= scale
        for i in range(n):
            if i != p:
                factor = full[i, p]
                full[i, p] = 0.0
                for k in range(n):
                    full[i, k] -= factor * full[p, k]
    for i in range(n):
        for k in range(n):
            out[i, k] = 0.5 * (full[i, k] + full[k, i])
