"""Meshes cut by a blade: elements part along the faces that lie nearest to it, and none of them vanishes or changes.

A blade is what a stroke on a screen sweeps: triangles from the eye through each piece of the stroke, endlessly far. Two
elements that share a face (an edge of two triangles, a triangle of two tetrahedra, a vertex of two lines) part there if
the way from the middle of one to the middle of the other, across the middle of the face, leads through it. Seen in the
dual mesh these ways are the edges, so what is found is a path, or a surface, of whole faces along the stroke, with ends
where the stroke ends. Its teeth are taken off.

A vertex is then doubled once for each fan of elements around it beyond the first, a fan being what is still joined
across faces at the vertex. At the tip of a cut the fan stays one, and so does the vertex.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ..checks import as_numbers
from ..errors import InputError
from . import topology
from .mesh import Mesh, as_mesh
from .splitting import doubled

MOST_POINTS = 256  # of a stroke
ROUNDS = 8  # of making a cut shorter
MOST_MOVES = 30  # rounds of moving elements away from edges that would be pinched
MOST_ROUNDS = 200  # at the last of which nothing would be cut
TIGHTER = 1.001  # times shorter, at least


@dataclass(frozen=True, eq=False)
class Cut:
    """What a cut made of a mesh.

    Attributes:
        mesh: with the same elements in the same order; new vertices come after the old ones.
        parents: (n',) the vertex of the old mesh that each is, or is a copy of.
        parted: (p, 2) pairs of elements that have parted; `part` makes the same cut of them, to the vertex.
    """

    mesh: Mesh
    parents: np.ndarray
    parted: np.ndarray

    @property
    def doubled(self) -> np.ndarray:
        """The old vertices that have become several, each once."""
        return np.unique(self.parents[np.bincount(self.parents)[self.parents] > 1])


def cut(mesh: Mesh, eye: object, stroke: object, positions: object = None) -> Cut:
    """Cut a mesh along a stroke.

    Args:
        mesh: a surface, a body or a wire.
        eye: (3,) from where the stroke is seen.
        stroke: (k, 3) points that it goes through; how far from the eye they are does not matter. 2 to 256.
        positions: (n, 3) where the vertices are; by default at rest.

    Raises:
        InputError: where nothing would part.
    """
    as_mesh(mesh)
    now = mesh.vertices if positions is None else as_numbers("positions", positions, (mesh.n_vertices, 3))
    apex, points = as_numbers("eye", eye, (3,)), np.asarray(stroke, float)
    if points.ndim != 2 or points.shape[1] != 3 or not 2 <= len(points) <= MOST_POINTS or not np.isfinite(points).all():
        raise InputError(f"a stroke has 2 to {MOST_POINTS} points of three finite numbers, not shape {points.shape}")
    elements = next(x for x in (mesh.tets, mesh.triangles, mesh.lines) if len(x))
    faces, pairs = _joints(elements)
    ways = _ways(now, elements, faces, pairs)
    parting = _tightened(_crossed(ways, apex, points), pairs, _sizes(now, faces))
    for attempt in range(MOST_ROUNDS):
        parts, copied = _doubled(mesh.n_vertices, elements, faces, pairs, parting)
        if not len(copied):
            raise InputError("the stroke parts nothing: draw it over the body, from its border or across a few edges")
        parents = np.concatenate([np.arange(mesh.n_vertices), copied])
        pinched = _pinched(parts, parents) if mesh.is_volumetric else np.zeros((0, 2), np.int64)
        if not len(pinched):
            break
        parting = _unpinched(parting, pinched, elements, faces, pairs, closing=attempt >= MOST_MOVES)
    return _made(mesh, parts.astype(np.int32), copied, pairs[parting])


def part(mesh: Mesh, pairs: object) -> Cut:
    """Make a cut again that is known by what it has parted.

    Args:
        mesh: as it was before the cut.
        pairs: (p, 2) numbers of tetrahedra, triangles or lines that share a face and are to part: `Cut.parted`.

    Raises:
        InputError: for numbers of elements that share no face, and where nothing would part.
    """
    as_mesh(mesh)
    elements = next(x for x in (mesh.tets, mesh.triangles, mesh.lines) if len(x))
    wanted = np.asarray(pairs)
    if wanted.ndim != 2 or wanted.shape[1] != 2 or not len(wanted) or wanted.dtype.kind not in "iu":
        raise InputError(f"a cut is known by pairs of elements, whole numbers of shape (p, 2), not {wanted.shape}")
    if wanted.min() < 0 or wanted.max() >= len(elements):
        raise InputError(f"a cut parts elements 0 to {len(elements) - 1} of this body, not {wanted.max()}")
    faces, joined = _joints(elements)
    codes = [np.sort(rows, axis=1).astype(np.int64) @ (len(elements), 1) for rows in (joined, wanted)]
    apart = np.flatnonzero(~np.isin(codes[1], codes[0]))
    if len(apart):
        a, b = wanted[apart[0]].tolist()
        raise InputError(f"elements {a} and {b} share no face, so nothing parts there: the cut is of another body")
    parting = np.isin(codes[0], codes[1])
    parts, copied = _doubled(mesh.n_vertices, elements, faces, joined, parting)
    if not len(copied):
        raise InputError("the cut parts nothing")
    return _made(mesh, parts.astype(np.int32), copied, joined[parting])


def _made(mesh: Mesh, elements: np.ndarray, copied: np.ndarray, parted: np.ndarray) -> Cut:
    n = mesh.n_vertices
    parents = np.concatenate([np.arange(n), copied]).astype(np.int32)
    groups = {
        name: np.concatenate([members, n + np.flatnonzero(np.isin(copied, members))]).astype(np.int32)
        for name, members in mesh.groups.items()
    }
    vertices = mesh.vertices[parents]
    if mesh.is_volumetric:
        triangles = topology.boundary_of_tets(elements)
        made = Mesh(vertices, triangles, elements, mesh.name, groups, repairs=mesh.repairs)
    elif len(mesh.triangles):
        made = replace(mesh, vertices=vertices, triangles=elements, groups=groups, surface=None)
    else:
        made = replace(mesh, vertices=vertices, lines=elements, groups=groups)
    return Cut(made, parents, parted)


def _joints(elements: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Faces (f, k - 1) of two elements (m, k), and the pair of elements (f, 2) at each.

    A face of more elements, as the vertices of a branching wire are, comes once for each two that follow each other.
    """
    m, k = elements.shape
    without = np.array([[c for c in range(k) if c != corner] for corner in range(k)])
    faces = np.sort(elements[:, without].reshape(m * k, k - 1), axis=1)
    order = np.lexsort(faces.T[::-1])
    same = np.flatnonzero((faces[order[1:]] == faces[order[:-1]]).all(axis=1))
    first, second = order[same], order[same + 1]
    return faces[first], np.column_stack([first // k, second // k])


def _ways(positions: np.ndarray, elements: np.ndarray, faces: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """(f, 3, 3): from the middle of one element, over that of the face, to that of the other."""
    middles = positions[elements].mean(axis=1)
    return np.stack([middles[pairs[:, 0]], positions[faces].mean(axis=1), middles[pairs[:, 1]]], axis=1)


def _crossed(ways: np.ndarray, eye: np.ndarray, stroke: np.ndarray) -> np.ndarray:
    """(f,) whether each way goes to the other side of the blade: meets it an odd number of times."""
    found = np.zeros(len(ways), bool)
    rays = stroke - eye
    sizes = np.linalg.norm(rays, axis=1)
    rays = rays / np.where(sizes > 0, sizes, 1.0)[:, None]
    seen = ways - eye
    for p, q in pairwise(rays):
        normal = np.cross(p, q)
        size = float(normal @ normal)
        if size < 1e-20:  # the pointer has not moved
            continue
        height = seen @ normal
        for a, b in ((0, 1), (1, 2)):
            crossing = np.flatnonzero((height[:, a] >= 0) != (height[:, b] >= 0))
            if not len(crossing):
                continue
            down, up = height[crossing, a], height[crossing, b]
            share = (down / (down - up))[:, None]
            point = (1 - share) * seen[crossing, a] + share * seen[crossing, b]
            # point = α p + β q; within the wedge, its second border counted and not the first.
            alpha, beta = np.cross(point, q) @ normal, np.cross(p, point) @ normal
            found[crossing] ^= (alpha >= 0) & (beta > 0)
    return found


def _sizes(positions: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """(f,) lengths of edges, areas of triangles, 1 for vertices."""
    corners, sizes = positions[faces], np.ones(len(faces))
    if faces.shape[1] == 2:
        sizes = np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1)
    elif faces.shape[1] == 3:
        sizes = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    return sizes


def _tightened(parting: np.ndarray, pairs: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The same cut without teeth: an element that the stroke meets goes to the side with which it shares more.

    Then its faces that part no longer do, and the others do: the ends of the cut stay where they are. Only elements at
    the first cut are looked at, so that it stays along the stroke.
    """
    parting = parting.copy()
    met = np.unique(pairs[parting])
    near = np.flatnonzero(np.isin(pairs, met).any(axis=1))
    faces: dict[int, list[int]] = {element: [] for element in met.tolist()}
    for face, (a, b) in zip(near.tolist(), pairs[near].tolist(), strict=True):
        for element in (a, b):
            if element in faces:
                faces[element].append(face)
    for _ in range(ROUNDS):
        changed = False
        for own in faces.values():
            cut_off = sum(float(sizes[face]) for face in own if parting[face])
            kept = sum(float(sizes[face]) for face in own if not parting[face])
            if kept * TIGHTER < cut_off and any(parting[face] for face in own) and kept > 0:
                parting[own] = ~parting[own]
                changed = True
        if not changed:
            break
    return parting


def _doubled(
    n: int, elements: np.ndarray, faces: np.ndarray, pairs: np.ndarray, parting: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Elements on vertices of their own where they part, and the vertex that each new one is a copy of."""
    corners = np.arange(elements.size).reshape(elements.shape)
    links = []
    for column in faces[~parting].T:
        here, there = pairs[~parting].T
        mine = corners[here, (elements[here] == column[:, None]).argmax(axis=1)]
        theirs = corners[there, (elements[there] == column[:, None]).argmax(axis=1)]
        links.append(np.column_stack([mine, theirs]))
    joined = np.concatenate(links) if links else np.zeros((0, 2), np.int64)
    fans = topology.connected_components(corners.size, joined)[1].reshape(elements.shape)
    return doubled(n, elements, fans, np.unique(faces[parting]))


def _unpinched(
    parting: np.ndarray, pinched: np.ndarray, elements: np.ndarray, faces: np.ndarray, pairs: np.ndarray, closing: bool
) -> np.ndarray:
    """A cut without edges (k, 2) at which the body would hang together by the edge alone.

    Of the elements around such an edge, the smallest lot between two faces that part goes to the other side. Where a
    cut ends inside a body that may be of no use; `closing`: then it is closed again around the edge.
    """
    parting, moved = parting.copy(), set[int]()
    for u, v in np.unique(np.sort(pinched, axis=1), axis=0).tolist():
        here = np.flatnonzero((faces == u).any(axis=1) & (faces == v).any(axis=1))
        if closing:
            parting[here] = False
            continue
        around = np.unique(pairs[here])
        if moved & set(around.tolist()):
            continue  # what went to the other side for one edge does not come back for the next
        joined = np.searchsorted(around, pairs[here[~parting[here]]])
        count, lots = topology.connected_components(len(around), joined)
        if count > 1:
            smallest = around[lots == np.bincount(lots).argmin()]
            moved.update(smallest.tolist())
            for element in smallest.tolist():
                own = (pairs == element).any(axis=1)
                parting[own] = ~parting[own]
    return parting


def _pinched(tets: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """(k, 2) old numbers of the edges at which the boundary of tetrahedra has more than two triangles."""
    edges: np.ndarray = parents[topology.nonmanifold_edges(topology.boundary_of_tets(tets))]
    return edges.reshape(-1, 2)
