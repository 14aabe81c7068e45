"""The colouring kernels once more, as slow and plain as they can be said: sets, dictionaries, no threads."""

from __future__ import annotations

import numpy as np

MASK = 2**64 - 1
STEP = 0x9E3779B97F4A7C15


def mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def draw(seed: int, rounds: int, v: int) -> int:
    key = mix((seed + STEP * (rounds + 1)) & MASK)
    return mix((key + STEP * v) & MASK)


def rows_of(indptr, indices) -> list[list[int]]:
    return [indices[indptr[v] : indptr[v + 1]].tolist() for v in range(len(indptr) - 1)]


def close_gaps(colours) -> np.ndarray:
    return np.unique(np.array(colours, np.int32), return_inverse=True)[1].astype(np.int32)


def brooks_vizing(indptr, indices, seed, shrink, heuristic=True):
    """[fratarcangeli2016, Alg. 2], a palette as a Python set."""
    rows = rows_of(indptr, indices)
    palettes = [set(range(int(len(row) / shrink) + 1)) for row in rows]
    highest = [max(palette) for palette in palettes]
    taken: list[set[int]] = [set() for _ in rows]
    colours: dict[int, int] = {}
    rounds = 0
    while len(colours) < len(rows):
        uncoloured = [v for v in range(len(rows)) if v not in colours]
        tentative = {}
        for v in uncoloured:
            choice = sorted(palettes[v])
            tentative[v] = choice[((draw(seed, rounds, v) >> 32) * len(choice)) >> 32]
        accepted = {}
        for v in uncoloured:
            rivals = [j for j in rows[v] if j in tentative and tentative[j] == tentative[v]]
            if not rivals or (heuristic and v > max(rivals)):
                accepted[v] = tentative[v]
        for v, c in accepted.items():
            for j in rows[v]:
                palettes[j].discard(c)
                taken[j].add(c)
        colours.update(accepted)
        for v in uncoloured:
            if v not in colours and len(palettes[v]) < (1 if heuristic else 2 + rounds // 16):
                new = [c for c in range(highest[v] + 1, len(rows[v]) + 1) if c not in taken[v]]
                if new:
                    palettes[v].add(new[0])
                    highest[v] = new[0]
        rounds += 1
    return close_gaps([colours[v] for v in range(len(rows))]), rounds


def greedy(indptr, indices, order):
    rows, colours = rows_of(indptr, indices), {}
    for v in order:
        forbidden = {colours[j] for j in rows[v] if j in colours}
        colours[v] = min(set(range(len(rows[v]) + 1)) - forbidden)
    return np.array([colours[v] for v in range(len(rows))], np.int32)


def smallest_last_order(indptr, indices):
    """Of those with the smallest degree, the one whose degree changed last is selected first."""
    rows = rows_of(indptr, indices)
    degree, changed, clock = [len(row) for row in rows], list(range(len(rows))), len(rows)
    left, order = set(range(len(rows))), []
    while left:
        v = min(left, key=lambda u: (degree[u], -changed[u]))
        left.remove(v)
        order.append(v)
        for u in rows[v]:
            if u in left:
                degree[u] -= 1
                changed[u] = clock
                clock += 1
    return order[::-1]


def by_weight(indptr, indices, seed, current_degree):
    """Jones-Plassmann, or largest degree first: rounds of local maxima, smallest free colours."""
    rows, colours, rounds = rows_of(indptr, indices), {}, 0
    while len(colours) < len(rows):
        left = {v: [j for j in rows[v] if j not in colours] for v in range(len(rows)) if v not in colours}
        weight = {v: (len(left[v]) if current_degree else 0, draw(seed, 0, v)) for v in left}
        new = {}
        for v, neighbours in left.items():
            if all(weight[v] > weight[j] for j in neighbours):
                forbidden = {colours[j] for j in rows[v] if j in colours}
                new[v] = min(set(range(len(rows[v]) + 1)) - forbidden)
        colours.update(new)
        rounds += 1
    return np.array([colours[v] for v in range(len(rows))], np.int32), rounds


def luby(indptr, indices, seed):
    rows, colours, rounds, number = rows_of(indptr, indices), {}, 0, 0
    while len(colours) < len(rows):
        candidates = {v for v in range(len(rows)) if v not in colours}
        while candidates:
            joined = {
                v for v in candidates if all(draw(seed, 0, v) > draw(seed, 0, j) for j in rows[v] if j in candidates)
            }
            colours.update(dict.fromkeys(joined, number))
            candidates -= joined | {j for v in joined for j in rows[v]}
            rounds += 1
        number += 1
    return np.array([colours[v] for v in range(len(rows))], np.int32), rounds


def balanced(indptr, indices, start, passes=16):
    rows, colours = rows_of(indptr, indices), start.tolist()
    groups = [[v for v in range(len(rows)) if start[v] == c] for c in range(max(colours, default=-1) + 1)]
    sizes = [len(group) for group in groups]
    for _ in range(passes):
        moved = False
        for group in groups:
            for v in [v for v in group if sizes[colours[v]] >= min(sizes) + 2]:
                allowed = set(range(len(sizes))) - {colours[j] for j in rows[v]}
                best = min(allowed, key=lambda c: (sizes[c], c != colours[v], c))
                if sizes[best] + 2 <= sizes[colours[v]]:
                    sizes[best] += 1
                    sizes[colours[v]] -= 1
                    colours[v] = best
                    moved = True
        if not moved:
            break
    return np.array(colours, np.int32)


def first_conflict(indptr, indices, colours):
    for v, row in enumerate(rows_of(indptr, indices)):
        for j in row:
            if j != v and colours[v] == colours[j]:
                return v, j
    return None
