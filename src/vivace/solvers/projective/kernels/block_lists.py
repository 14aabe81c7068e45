"""What coarse blocks are made of (`block_galerkin`): lists of fine entries and vertices with their weights.

All are CSR-like: `at` says where the list of a coarse entry or node begins. P is (p_at, p_j, p_w), columns rising.
"""

from __future__ import annotations

import numpy as np

from ....backends.cpu.compiling import compiled


@compiled
def mirrors(at, j):
    """For entry (i, j) the place of (j, i); rows are sorted and the pattern is symmetric."""
    out = np.empty(j.shape[0], np.int32)
    for i in range(at.shape[0] - 1):
        for k in range(at[i], at[i + 1]):
            out[k] = find(at, j, j[k], i)
    return out


@compiled
def find(at, j, row, column):
    """The place of a column in a sorted row that has it."""
    low, high = at[row], at[row + 1] - 1
    while low < high:
        half = (low + high) // 2
        if j[half] < column:
            low = half + 1
        else:
            high = half
    return low


@compiled
def _merge(first, second, p_at, p_j, p_w, nodes, left, right):
    """The nodes of two rows of P in rising order, with both rows' weights; returns how many."""
    a, b, count = p_at[first], p_at[second], 0
    while a < p_at[first + 1] or b < p_at[second + 1]:
        here = p_j[a] if a < p_at[first + 1] else np.int32(2147483647)
        there = p_j[b] if b < p_at[second + 1] else np.int32(2147483647)
        nodes[count] = min(here, there)
        left[count] = right[count] = 0.0
        if here <= there:
            left[count] = p_w[a]
            a += 1
        if there <= here:
            right[count] = p_w[b]
            b += 1
        count += 1
    return count


@compiled
def pair_lists(at, middle, j, wanted, p_at, p_j, p_w, coarse_at, coarse_j, symmetric, per):
    """For each coarse entry I < J the fine entries i < j in K_IJ and their weights; `wanted`: those that take part.

    Symmetric blocks have the weight -δ_I δ_J. Others have two, of the block and of its transpose: p_iI p_jJ -
    (p_iI p_iJ + p_jI p_jJ)/2 and its mirror: together -δ_I δ_J of the symmetric part, and the antisymmetric one as it
    is. `per`: weights that the lists have for an entry, 1 or 2; of a symmetric one the second is zero.
    """
    most = 2
    for i in range(p_at.shape[0] - 1):
        most = max(most, p_at[i + 1] - p_at[i])
    nodes = np.empty(2 * most, np.int32)
    left, right = np.empty(2 * most), np.empty(2 * most)
    out_at = np.zeros(coarse_j.shape[0] + 1, np.int64)
    number, weight = np.empty(0, np.int32), np.empty(0, np.float32)
    cursor = out_at[:-1].copy()
    for fill in range(2):
        for i in range(at.shape[0] - 1):
            for k in range(middle[i], at[i + 1]):
                if not wanted[k]:
                    continue
                count = _merge(i, j[k], p_at, p_j, p_w, nodes, left, right)
                for a in range(count):
                    for b in range(a + 1, count):
                        own = 0.5 * (left[a] * left[b] + right[a] * right[b])
                        one, two = left[a] * right[b] - own, right[a] * left[b] - own
                        if symmetric:
                            one, two = one + two, 0.0
                        if one == 0.0 and two == 0.0:
                            continue
                        entry = find(coarse_at, coarse_j, nodes[a], nodes[b])
                        if fill == 0:
                            out_at[entry + 1] += 1
                            continue
                        to = cursor[entry]
                        number[to], weight[per * to] = k, one
                        if per == 2:
                            weight[per * to + 1] = two
                        cursor[entry] += 1
        if fill == 0:
            out_at = np.cumsum(out_at)
            cursor = out_at[:-1].copy()
            number, weight = np.empty(out_at[-1], np.int32), np.empty(per * out_at[-1], np.float32)
    return out_at.astype(np.int32), number, weight


@compiled
def tie_lists(p_at, p_j, p_w, coarse_at, coarse_j):
    """For each coarse entry I < J the vertices whose ties are in K_IJ, with -p_iI p_iJ."""
    out_at = np.zeros(coarse_j.shape[0] + 1, np.int64)
    number, weight = np.empty(0, np.int32), np.empty(0, np.float32)
    cursor = out_at[:-1].copy()
    for fill in range(2):
        for i in range(p_at.shape[0] - 1):
            for a in range(p_at[i], p_at[i + 1]):
                for b in range(a + 1, p_at[i + 1]):
                    entry = find(coarse_at, coarse_j, p_j[a], p_j[b])
                    if fill == 0:
                        out_at[entry + 1] += 1
                    else:
                        number[cursor[entry]], weight[cursor[entry]] = i, -p_w[a] * p_w[b]
                        cursor[entry] += 1
        if fill == 0:
            out_at = np.cumsum(out_at)
            cursor = out_at[:-1].copy()
            number, weight = np.empty(out_at[-1], np.int32), np.empty(out_at[-1], np.float32)
    return out_at.astype(np.int32), number, weight


@compiled
def loose_lists(at, middle, j, p_at, p_j, p_w, sums, nodes_count):
    """For each coarse node I the pairs of which one end is in no aggregate, with δ_I (ρ_i - ρ_j)."""
    most = 2
    for i in range(p_at.shape[0] - 1):
        most = max(most, p_at[i + 1] - p_at[i])
    nodes = np.empty(2 * most, np.int32)
    left, right = np.empty(2 * most), np.empty(2 * most)
    out_at = np.zeros(nodes_count + 1, np.int64)
    number, weight = np.empty(0, np.int32), np.empty(0, np.float32)
    cursor = out_at[:-1].copy()
    for fill in range(2):
        for i in range(at.shape[0] - 1):
            for k in range(middle[i], at[i + 1]):
                if sums[i] == sums[j[k]]:
                    continue
                count = _merge(i, j[k], p_at, p_j, p_w, nodes, left, right)
                for a in range(count):
                    if fill == 0:
                        out_at[nodes[a] + 1] += 1
                    else:
                        to = cursor[nodes[a]]
                        number[to], weight[to] = k, (left[a] - right[a]) * (sums[i] - sums[j[k]])
                        cursor[nodes[a]] += 1
        if fill == 0:
            out_at = np.cumsum(out_at)
            cursor = out_at[:-1].copy()
            number, weight = np.empty(out_at[-1], np.int32), np.empty(out_at[-1], np.float32)
    return out_at.astype(np.int32), number, weight


@compiled
def corner_lists(at, j, vertices, slots, scales):
    """For each entry (i, j) above the diagonal, where tetrahedra share both: places of their shares at i and j, scales.

    `vertices` and `slots` (m, 4) in the order of the rows; `scales` (m,).
    """
    out_at = np.zeros(j.shape[0] + 1, np.int64)
    here, there, scale = np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32)
    cursor = out_at[:-1].copy()
    for fill in range(2):
        for t in range(vertices.shape[0]):
            for a in range(4):
                for b in range(4):
                    if vertices[t, a] >= vertices[t, b]:
                        continue
                    entry = find(at, j, vertices[t, a], vertices[t, b])
                    if fill == 0:
                        out_at[entry + 1] += 1
                        continue
                    to = cursor[entry]
                    here[to], there[to], scale[to] = slots[t, a], slots[t, b], scales[t]
                    cursor[entry] += 1
        if fill == 0:
            out_at = np.cumsum(out_at)
            cursor = out_at[:-1].copy()
            size = out_at[-1]
            here, there, scale = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.float32)
    return out_at.astype(np.int32), here, there, scale


@compiled
def pair_places(at, j, vertices, rows):
    """For each entry (i, j) above the diagonal, the pairs of corners (i, j) of elements: where their blocks are.

    Corners of an element are in rising order; `rows` (m, 6) of tetrahedra and (m, 3) of triangles says where the blocks
    of its pairs begin (`hyperelastic.kernels.phases.pairs`, `membrane_blocks.membrane_pairs`).
    """
    out_at = np.zeros(j.shape[0] + 1, np.int64)
    places, cursor = np.empty(0, np.int32), out_at[:-1].copy()
    for fill in range(2):
        for t in range(vertices.shape[0]):
            pair = 0
            for a in range(vertices.shape[1] - 1):
                for b in range(a + 1, vertices.shape[1]):
                    entry = find(at, j, vertices[t, a], vertices[t, b])
                    if fill == 0:
                        out_at[entry + 1] += 1
                    else:
                        places[cursor[entry]] = rows[t, pair]
                        cursor[entry] += 1
                    pair += 1
        if fill == 0:
            out_at = np.cumsum(out_at)
            cursor = out_at[:-1].copy()
            places = np.empty(out_at[-1], np.int32)
    return out_at.astype(np.int32), places
