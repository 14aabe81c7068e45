"""Bodies that are fine on the surface and coarse inside, as mesh generators for graphics make them."""

from __future__ import annotations

import numpy as np
import scipy.spatial

from ..checks import check_count, check_room, check_seed, check_size, many
from . import measure, topology
from .mesh import Mesh

# Lumps on a ball of radius 1 that make a sitting rabbit facing +z: direction, height, angular width (rad). Those off
# the plane x = 0 are there twice, mirrored.
_LUMPS = [
    ((0.0, 0.62, 0.78), 0.45, 0.42),  # head
    ((0.32, 0.95, 0.25), 1.15, 0.16),  # ears
    ((0.45, -0.80, 0.60), 0.32, 0.26),  # paws
    ((0.48, -0.80, -0.55), 0.32, 0.30),  # hind legs
    ((0.0, -0.15, -0.98), 0.30, 0.20),  # tail
]
_SURFACE_SHARE = 7  # surface vertices for each inner one: 14K and 2K in [fratarcangeli2013, Tab. 1, s1]
_DEPTH = 1.5  # how deep the outermost inner vertices lie, in surface edges
_CROWDING = 0.04  # radii of inner vertices are U^this for uniform U: most lie near the surface
_MOST, _RELIEFS = 118, 12  # tetrahedra at a vertex, and rounds in which those with more are relieved
_ROUNDS = 6  # of evening out the surface
_JOGGLE = 1e-7  # of radii, for the eyes of Delaunay only
_POOR = 0.05  # tetrahedra of a lower quality than this are worth moving an inner vertex for


def _radius(directions: np.ndarray) -> np.ndarray:
    """How far the rabbit's surface is from its centre, for (n, 3) unit directions; 1 without lumps."""
    out = np.ones(len(directions))
    for towards, height, width in _LUMPS:
        for side in (1.0, -1.0) if towards[0] else (1.0,):
            axis = np.array(towards) * [side, 1.0, 1.0]
            out += height * np.exp((directions @ axis / np.linalg.norm(axis) - 1.0) / width**2)
    return out


def _shaped(ball: np.ndarray) -> np.ndarray:
    """Map the unit ball to the rabbit, one to one.

    The lumps fade as r² towards the centre: r (1 + r² (R - 1)) rises with r for every R > 2/3, so no point overtakes
    another on its ray, and the map is smooth at the centre.
    """
    r = np.linalg.norm(ball, axis=1)
    directions = ball / np.maximum(r, 1e-12)[:, None]
    shaped: np.ndarray = ball * (1.0 + r * r * (_radius(directions) - 1.0))[:, None]
    return shaped


def rabbit(surface: int = 14_002, inner: int | None = None, height: float = 1.0, *, seed: int = 0) -> Mesh:
    """A sitting rabbit of tetrahedra, fine on its surface and coarse inside.

    It sits on y = 0 and faces +z. Groups: "surface", "ears", "bottom". By default about the counts of the rabbit in
    [fratarcangeli2013, Tab. 1, s1]: 16K vertices, 80K edges of which 42K on the surface, 50K tetrahedra. Few vertices
    inside for many outside make vertices of high valence, and so many colours.

    Args:
        surface: vertices on the surface, 100 or more.
        inner: vertices inside, 10 or more; by default one for seven on the surface.
        height: in m.
        seed: of where the vertices lie; the same seed gives the same mesh.
    """
    surface = check_count("surface", surface, 100)
    inner = check_count("inner", max(10, surface // _SURFACE_SHARE - 2) if inner is None else inner, 10)
    check_size("height", height)
    check_seed(seed)
    total = surface + inner
    check_room(f"a rabbit of {many(surface)} and {many(inner)} vertices", total, 4 * total, corners=4, each=600)
    rng = np.random.default_rng(seed)
    sphere = _evened(_scattered(surface, rng))
    edge = np.sqrt(8.0 * np.pi / (np.sqrt(3.0) * surface))  # of as many equilateral triangles on the unit sphere
    depth = min(_DEPTH * edge, 0.6)
    inside = _evened(_scattered(inner, rng)) * ((1.0 - depth) * rng.random(inner) ** _CROWDING)[:, None]
    ball = np.vstack([sphere, inside])
    tets = _relieved(ball, surface, depth, rng)
    vertices = _without_slivers(_shaped(ball), tets, surface, rng)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    vertices = (vertices - [0.0, low[1], 0.0]) * (height / (high[1] - low[1]))
    groups = {
        "surface": np.arange(surface),
        "ears": np.flatnonzero(vertices[:, 1] > 0.8 * height),
        "bottom": np.flatnonzero(vertices[:, 1] < 0.03 * height),
    }
    return Mesh.from_tets(vertices, tets, name="rabbit", groups=groups)


def _directions(rng: np.random.Generator, n: int) -> np.ndarray:
    towards = rng.normal(size=(n, 3))
    directions: np.ndarray = towards / np.linalg.norm(towards, axis=1, keepdims=True)
    return directions


def _scattered(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n random directions, as dense as the rabbit's surface is large there."""
    chosen = np.zeros((0, 3))
    while len(chosen) < n:
        towards = _directions(rng, 4 * n)
        radius = _radius(towards)
        # The surface of a star-shaped body for each solid angle is R √(R² + |∇R|²); ∇R by differences.
        step = 1e-4
        squares = np.zeros(len(towards))
        for axis in np.eye(3):
            moved = towards + step * axis
            length = np.linalg.norm(moved, axis=1)
            squares += ((_radius(moved / length[:, None]) - radius) / step) ** 2
        area = radius * np.sqrt(radius**2 + squares)
        chosen = np.vstack([chosen, towards[rng.random(len(towards)) * area.max() < area]])
    return chosen[:n]


def _evened(sphere: np.ndarray) -> np.ndarray:
    """Move directions to where the mean of their neighbours on the rabbit's surface is seen, a few times."""
    for _ in range(_ROUNDS):
        edges = topology.unique_edges(scipy.spatial.ConvexHull(sphere).simplices)
        indptr, neighbours = topology.adjacency(len(sphere), edges)
        placed = sphere * _radius(sphere)[:, None]
        means = np.add.reduceat(placed[neighbours], indptr[:-1]) / np.diff(indptr)[:, None]
        sphere = means / np.linalg.norm(means, axis=1, keepdims=True)
    return sphere


def _delaunay(ball: np.ndarray, surface: int, rng: np.random.Generator) -> np.ndarray:
    """Join points on the unit sphere (the first `surface`) and inside it to tetrahedra of positive volume."""
    # With all surface points on one sphere, no Delaunay tetrahedron has four of them: that sphere is not empty. So
    # there are no slivers in the surface. But Qhull takes minutes over points on one sphere; a joggle spares it that.
    joggled = ball.copy()
    joggled[:surface] *= 1.0 - _JOGGLE * rng.random((surface, 1))
    tets = scipy.spatial.Delaunay(joggled).simplices
    volumes = measure.tet_volumes(ball, tets)
    tets[volumes < 0] = tets[volumes < 0][:, [0, 1, 3, 2]]
    # A sliver of four surface points that the joggling made lies flat on others: without it, their faces are outside.
    kept: np.ndarray = tets[(tets < surface).sum(axis=1) < 4]
    return kept


def _relieved(ball: np.ndarray, surface: int, depth: float, rng: np.random.Generator) -> np.ndarray:
    """Tetrahedra of which no more than `_MOST` meet at a vertex, if some rounds suffice: changes `ball`.

    Where more do, an inner vertex that few need moves half-way to the farthest of the neighbours.
    """
    for _ in range(_RELIEFS):
        tets = _delaunay(ball, surface, rng)
        count = np.bincount(tets.ravel(), minlength=len(ball))
        hubs = np.flatnonzero(count > _MOST)
        if not len(hubs):
            break
        indptr, neighbours = topology.adjacency(len(ball), topology.unique_edges(tets))
        idle = surface + np.argsort(count[surface:], kind="stable")[: len(hubs)]
        for hub, moved in zip(hubs, idle, strict=False):
            around = neighbours[indptr[hub] : indptr[hub + 1]]
            farthest = around[np.argmax(np.linalg.norm(ball[around] - ball[hub], axis=1))]
            towards = ball[farthest] * (1.0 - depth if farthest < surface else 1.0)
            ball[moved] = ball[hub] + 0.5 * (towards - ball[hub])
    return _delaunay(ball, surface, rng)


def _without_slivers(vertices: np.ndarray, tets: np.ndarray, surface: int, rng: np.random.Generator) -> np.ndarray:
    """Move inner vertices of poor tetrahedra, the worst first, to where the worst of their tetrahedra is best."""
    vertices = vertices.copy()
    corners = tets.ravel()
    order = np.argsort(corners, kind="stable")
    first = np.searchsorted(corners[order], np.arange(len(vertices) + 1))
    for _ in range(_ROUNDS):
        quality = measure.tet_quality(vertices, tets)
        poor = np.flatnonzero(quality < _POOR)
        poor = poor[np.argsort(quality[poor], kind="stable")]
        for k in dict.fromkeys(tets[poor].ravel().tolist()):  # each once, in that order
            if k >= surface:
                star = tets[order[first[k] : first[k + 1]] // 4]
                vertices[k] = _better_place(vertices[star], star == k, vertices[k], rng)
    return vertices


def _better_place(star: np.ndarray, mine: np.ndarray, here: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the best of some places for the vertex in the middle of (s, 4, 3) tetrahedra, where (s, 4) `mine`."""
    reach = np.linalg.norm(star - here, axis=2).max(axis=1).min()
    places = here + reach * np.repeat([0.0, 0.3, 0.1, 0.03], [1, 12, 12, 12])[:, None] * rng.normal(size=(37, 3))
    tried = np.where(mine[:, :, None], places[:, None, None, :], star)
    tets = np.arange(tried.size // 3).reshape(-1, 4)
    worst = measure.tet_quality(tried.reshape(-1, 3), tets).reshape(len(places), -1).min(axis=1)
    best: np.ndarray = places[np.argmax(worst)]
    return best
