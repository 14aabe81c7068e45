"""Surfaces to look for contacts between, and the slow and obvious search for them: every pair, one by one."""

from __future__ import annotations

import numpy as np
import pytest

from vivace.collisions.kernels.proximity import ALONG, AT_START, CORNER, INSIDE, NONE, SIDE, approach
from vivace.collisions.surfaces import Surfaces

THICKNESS = 0.05


def rows(x: np.ndarray) -> np.ndarray:
    out = np.zeros((len(x), 4), np.float32)
    out[:, :3] = x
    return out


def sheet(k: int, spacing: float = 1.0, height: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """A flat cloth of k x k vertices."""
    i = np.arange(k * k).reshape(k, k)
    a, b, c, d = (part.reshape(-1) for part in (i[:-1, :-1], i[1:, :-1], i[:-1, 1:], i[1:, 1:]))
    x = np.stack([i // k * spacing, np.full((k, k), height), i % k * spacing], axis=-1).reshape(-1, 3)
    return x, np.concatenate([np.stack([a, c, b], 1), np.stack([b, c, d], 1)]).astype(np.int32)


def pile(layers: int, k: int, gap: float, spacing: float, seed: int = 0, noise: float = 0.0):
    """Cloths on top of each other, each turned and shifted a little."""
    rng = np.random.default_rng(seed)
    parts, triangles = [], []
    for layer in range(layers):
        x, t = sheet(k, spacing, layer * gap)
        angle, shift = rng.uniform(0, 0.3), rng.uniform(0, spacing, 2)
        turn = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
        parts.append(x @ turn.T + [shift[0], 0, shift[1]])
        triangles.append(t + layer * k * k)
    x = np.concatenate(parts)
    return x + noise * rng.standard_normal(x.shape), np.concatenate(triangles)


def limits(surfaces: Surfaces, is_edges: bool, four: tuple[int, ...]) -> tuple[float, float]:
    """The least distance that a pair may have to keep, by its corners, and how near it has to come to count."""
    if len(surfaces.thicknesses) == 1:
        return surfaces.thickness, surfaces.thickness + surfaces.margin
    t, split = surfaces.thicknesses[list(four)], 2 if is_edges else 1
    least, most = (0.5 * (side(t[:split]) + side(t[split:])) for side in (np.min, np.max))
    return least, most * (surfaces.thickness + surfaces.margin) / surfaces.thickness


def twin(surfaces: Surfaces, q: np.ndarray, s: np.ndarray) -> dict[tuple, tuple]:
    """Every pair, by `approach`; which of them count, from the definition in `kernels/surface_contacts.py`."""
    x, y = q[:, :3].astype(float), s[:, :3].astype(float)
    triangles = surfaces.triangles
    neighbours = {v: set() for v in range(len(x))}
    for a, b in surfaces.edges.tolist():
        neighbours[a].add(b)
        neighbours[b].add(a)

    def results(is_edges: bool, pairs: list[tuple[int, ...]]):
        fours, d = np.array(pairs).reshape(-1, 4), y - x
        starts = (x[fours[:, 1:]] - x[fours[:, :1]]).reshape(-1, 9).tolist()
        ways = (d[fours[:, 1:]] - d[fours[:, :1]]).reshape(-1, 9).tolist()
        for four, start, way in zip(pairs, starts, ways, strict=True):
            yield four, approach(is_edges, tuple(start), tuple(way), *limits(surfaces, is_edges, four))

    def counts(v: int, t: int, z: np.ndarray, region: int) -> bool:
        p, corners = x[v] - z, triangles[t]
        if region >= SIDE:
            ends = corners[region - SIDE], corners[(region - SIDE + 1) % 3]
            sharing = [u for u, other in enumerate(triangles) if set(ends) <= set(other.tolist())]
            around = (
                {int(c) for u in sharing for c in triangles[u]} - set(ends) - {int(corners[(region - SIDE + 2) % 3])}
            )
        else:
            corner = int(corners[region - CORNER])
            sharing = [u for u, other in enumerate(triangles) if corner in other]
            around = neighbours[corner]
        cosines = [z @ (x[j] - p) / (np.linalg.norm(z) * np.linalg.norm(x[j] - p)) for j in around]
        return t == min(sharing) and max(cosines, default=-1.0) <= 0.01

    found = {}
    places = {tuple(corners): t for t, corners in enumerate(triangles.tolist())}
    apart = [(v, *corners) for v in surfaces.vertices.tolist() for corners in places if v not in corners]
    for four, (kind, time, c, z, region) in results(False, apart):
        v, t = four[0], places[four[1:]]
        if kind == NONE or (kind == AT_START and region != INSIDE and not counts(v, t, np.array(z), region)):
            continue
        found[(False, *four)] = kind, time, c, z
    edges = surfaces.edges.tolist()
    apart = [(*e, *f) for i, e in enumerate(edges) for f in edges[i + 1 :] if not set(e) & set(f)]
    for four, (kind, time, c, z, region) in results(True, apart):
        if kind != NONE and (region == INSIDE or (region == ALONG and kind != AT_START)):
            found[(True, *four)] = kind, time, c, z
    return found


def compare(surfaces: Surfaces, q: np.ndarray, s: np.ndarray) -> dict[tuple, tuple]:
    found, expected = surfaces.find(q, s, 2), twin(surfaces, q, s)
    rows_of = {}
    for k, four in enumerate(found.vertices.tolist()):
        is_edges = k >= found.vertex_triangle
        turned = is_edges and four[:2] > four[2:]
        key = (is_edges, *four[2:], *four[:2]) if turned else (is_edges, *four)
        assert key not in rows_of
        rows_of[key] = k, -1.0 if turned else 1.0
    assert set(rows_of) == set(expected)
    for four, (_, _, c, z) in expected.items():
        k, sign = rows_of[four]
        mine = found.coefficients[k] if sign > 0 else -found.coefficients[k][[2, 3, 0, 1]]
        distance = np.linalg.norm(z)
        if distance > 1e-3 * surfaces.thickness:
            np.testing.assert_allclose(mine, c, atol=2e-5)
            np.testing.assert_allclose(sign * found.planes[k, :3], np.array(z) / distance, atol=1e-5)
        assert np.linalg.norm(found.planes[k, :3]) == pytest.approx(1.0, abs=1e-6)
    return expected


def soup(seed: int, count: int, size: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-0.5, 0.5, (count, 1, 3)) + size * rng.standard_normal((count, 3, 3))
    return x.reshape(-1, 3), np.arange(3 * count, dtype=np.int32).reshape(-1, 3)
