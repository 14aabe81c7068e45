"""Where a point of a cloth is in the cloth: what the page needs to draw threads and a hem.

Flat pieces with an edge have coordinates in their own plane, along the edges that most of their boundary follows; other
open surfaces have a hem only; closed ones and the boundaries of solid bodies have neither.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from ..mesh import Mesh
from ..mesh.topology import boundary_edges, connected_components

FLAT = 0.02  # thickness of what passes for flat, over its width
STRAIGHT = 0.25  # share of a boundary that must agree on a direction; a round cloth has none
ALONG = 4  # places on a boundary edge that distances are measured to
FAR = 1e3  # m: no hem is that wide
MOST_PIECES = 4096  # more are drawn without threads: each takes a moment


def cloth_coordinates(mesh: Mesh) -> np.ndarray:
    """(n, 4) float32: two coordinates in the cloth (m), distance from its boundary (m), and 1 where it is woven.

    (0, 4) where nothing is cloth. Distances are `FAR` where there is no boundary.
    """
    none = np.zeros((0, 4), np.float32)
    if len(mesh.tets) or not len(mesh.triangles):
        return none
    boundary = boundary_edges(mesh.triangles)
    count, piece = connected_components(mesh.n_vertices, mesh.edges)
    if not len(boundary) or count > MOST_PIECES:
        return none
    found = np.zeros((mesh.n_vertices, 4), np.float32)
    found[:, 2] = FAR
    by_piece = np.argsort(piece, kind="stable")
    members = np.split(by_piece, np.cumsum(np.bincount(piece, minlength=count))[:-1])
    owner = piece[boundary[:, 0]]
    for k in np.unique(owner):
        places, own = mesh.vertices[members[k]], boundary[owner == k]
        ends = mesh.vertices[own]
        found[members[k], 2] = _distances(places, ends)
        flat = _flattened(places, ends)
        if flat is not None:
            found[members[k], :2] = flat
            found[members[k], 3] = 1
    return found


def _distances(places: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """(n,) of places to edges, whose `ends` are (k, 2, 3); found at a few places along each."""
    parts = (np.arange(ALONG) / ALONG)[:, None, None]
    on = ((1 - parts) * ends[:, 0] + parts * ends[:, 1]).reshape(-1, 3)
    # An edge may be the last of its vertex, so both ends count.
    away, _ = cKDTree(np.concatenate([on, ends[:, 1]])).query(places)
    return np.asarray(away)


def _flattened(places: np.ndarray, ends: np.ndarray) -> np.ndarray | None:
    """(n, 2) coordinates in the plane of the places, from their middle; None where they are not in one."""
    middle = (places.min(axis=0) + places.max(axis=0)) / 2
    _, sizes, axes = np.linalg.svd(places - places.mean(axis=0), full_matrices=False)
    if len(sizes) < 3 or sizes[2] > FLAT * sizes[1]:
        return None
    sides = (ends[:, 1] - ends[:, 0]) @ axes[:2].T
    lengths = np.hypot(*sides.T)
    # Directions that differ by a right angle are the same for a weave: they agree when taken four times.
    mean = np.sum(lengths * np.exp(4j * np.arctan2(sides[:, 1], sides[:, 0])))
    turn = np.angle(mean) / 4 if abs(mean) > STRAIGHT * lengths.sum() else 0.0
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    flat: np.ndarray = (places - middle) @ axes[:2].T @ rotation
    return flat
