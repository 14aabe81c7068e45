"""Passes over a graph by one thread: greedy colouring and its orders, checks, and tidying up.

Graphs are CSR: the neighbours of v are indices[indptr[v] : indptr[v + 1]], in any order.
"""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import compiled
from .bits import UNCOLOURED, WORD

# What `inspect_graph` finds.
SOUND, SOUND_UNSORTED, HAS_LOOPS, BAD_POINTER, BAD_INDEX = range(5)


@compiled
def degree_range(indptr):
    """The smallest and the largest degree."""
    smallest, largest = indptr[1] - indptr[0], indptr[1] - indptr[0]
    for v in range(1, indptr.shape[0] - 1):
        degree = indptr[v + 1] - indptr[v]
        smallest, largest = min(smallest, degree), max(largest, degree)
    return smallest, largest


@compiled
def palette_offsets(indptr):
    """Where the words of each vertex's palette start: Δv + 1 bits each."""
    n = indptr.shape[0] - 1
    offsets = np.empty(n + 1, np.int64)
    offsets[0] = 0
    for v in range(n):
        offsets[v + 1] = offsets[v] + (indptr[v + 1] - indptr[v]) // WORD + 1
    return offsets


@compiled
def close_gaps(colours):
    """Renumber the colours so that none is empty, keeping their order and what has none (-1); return how many."""
    highest = -1
    for v in range(colours.shape[0]):
        highest = max(highest, colours[v])
    number = np.zeros(highest + 1, np.int32)
    for v in range(colours.shape[0]):
        if colours[v] >= 0:
            number[colours[v]] = 1
    count = 0
    for c in range(highest + 1):
        used = number[c]
        number[c] = count
        count += used
    if count <= highest:
        for v in range(colours.shape[0]):
            if colours[v] >= 0:
                colours[v] = number[colours[v]]
    return count


# --- greedy ---------------------------------------------------------------------------------------------------------


@compiled
def greedy(indptr, indices, order):
    """[fratarcangeli2013, Alg. 1]: visit in the given order, take the smallest permissible colour."""
    n = indptr.shape[0] - 1
    colours = np.full(n, UNCOLOURED, np.int32)
    forbidden_for = np.full(n + 1, -1, np.int32)  # the last vertex that a colour was forbidden to
    for v in order:  # 2
        for e in range(indptr[v], indptr[v + 1]):  # 3
            c = colours[indices[e]]
            if c >= 0:
                forbidden_for[c] = v
        c = 0
        while forbidden_for[c] == v:
            c += 1
        colours[v] = c  # 4
    return colours


@compiled
def smallest_last_order(indptr, indices):
    """v_1, ..., v_n, selected from the last: each has the smallest degree among those left [matula1983].

    Vertices of equal degree wait in one bucket, a doubly linked list; the last to enter is the first to leave. Taking
    a vertex lowers the degree of a neighbour by one, so the search for the next bucket goes back one step an edge at
    most, and all searches together make O(n + E) steps.
    """
    n = indptr.shape[0] - 1
    order = np.empty(n, np.int32)
    degree = np.empty(n, np.int32)
    before, after = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    highest = 0
    for v in range(n):
        degree[v] = indptr[v + 1] - indptr[v]
        highest = max(highest, degree[v])
    front = np.full(highest + 1, -1, np.int32)
    for v in range(n):
        after[v] = front[degree[v]]
        if after[v] >= 0:
            before[after[v]] = v
        front[degree[v]] = v
    d = 0
    for k in range(n - 1, -1, -1):
        while front[d] < 0:
            d += 1
        v = front[d]
        front[d] = after[v]
        if after[v] >= 0:
            before[after[v]] = -1
        degree[v] = -1  # selected
        order[k] = v
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            if degree[u] < 0:
                continue
            if before[u] >= 0:
                after[before[u]] = after[u]
            else:
                front[degree[u]] = after[u]
            if after[u] >= 0:
                before[after[u]] = before[u]
            degree[u] -= 1
            before[u], after[u] = -1, front[degree[u]]
            if after[u] >= 0:
                before[after[u]] = u
            front[degree[u]] = u
            d = min(d, degree[u])
    return order


# --- checks ---------------------------------------------------------------------------------------------------------


@compiled
def find_conflict(indptr, indices, colours):
    """The first edge, in the order they are stored, between two vertices of one colour; (-1, -1) if there is none."""
    for v in range(indptr.shape[0] - 1):
        for e in range(indptr[v], indptr[v + 1]):
            if colours[v] == colours[indices[e]] and indices[e] != v:
                return v, indices[e]
    return -1, -1


@compiled
def inspect_graph(indptr, indices):
    """(SOUND, ...) or what is wrong and where: the vertex, and the place in `indices`."""
    n = indptr.shape[0] - 1
    for v in range(n):
        if indptr[v + 1] < indptr[v]:
            return BAD_POINTER, v, 0
    loops, ordered = False, True
    for v in range(n):
        for e in range(indptr[v], indptr[v + 1]):
            j = indices[e]
            if j < 0 or j >= n:
                return BAD_INDEX, v, e
            loops |= j == v
            ordered &= e == indptr[v] or indices[e - 1] <= j
    return (HAS_LOOPS if loops else SOUND if ordered else SOUND_UNSORTED), 0, 0


@compiled
def without_loops(indptr, indices):
    """The same graph without edges from a vertex to itself."""
    n = indptr.shape[0] - 1
    pointers, kept = np.zeros(n + 1, np.int32), np.empty(indices.shape[0], np.int32)
    w = 0
    for v in range(n):
        for e in range(indptr[v], indptr[v + 1]):
            kept[w] = indices[e]
            w += indices[e] != v
        pointers[v + 1] = w
    return pointers, kept[:w].copy()


@compiled
def transposed(indptr, indices):
    """All edges turned round. Its rows are sorted, whatever the order they had."""
    n = indptr.shape[0] - 1
    pointers, turned = np.zeros(n + 1, np.int32), np.empty(indices.shape[0], np.int32)
    for j in indices:
        pointers[j + 1] += 1
    for v in range(n):
        pointers[v + 1] += pointers[v]
    place = pointers[:n].copy()
    for v in range(n):
        for e in range(indptr[v], indptr[v + 1]):
            turned[place[indices[e]]] = v
            place[indices[e]] += 1
    return pointers, turned


@compiled
def is_symmetric(indptr, indices):
    """Whether every edge comes in both directions, equally often; rows must be sorted.

    Walking the vertices v in ascending order meets each neighbour j once for every v in its row, in ascending order:
    so v must be the next entry of row j that has not been met.
    """
    n = indptr.shape[0] - 1
    following = indptr[:n].copy()
    for v in range(n):
        for e in range(indptr[v], indptr[v + 1]):
            j = indices[e]
            if following[j] >= indptr[j + 1] or indices[following[j]] != v:
                return False
            following[j] += 1
    return True


@compiled
def find_one_way(indptr, indices):
    """An edge (v, j) that v lists more often than j lists it. Slow: only for the message about a bad graph."""
    for v in range(indptr.shape[0] - 1):
        for e in range(indptr[v], indptr[v + 1]):
            j = indices[e]
            there, back = 0, 0
            for k in range(indptr[v], indptr[v + 1]):
                there += indices[k] == j
            for k in range(indptr[j], indptr[j + 1]):
                back += indices[k] == v
            if there > back:
                return v, j, there, back
    return -1, -1, 0, 0
