"""Slow and obvious twins: how far two convex bodies are apart, or how deep they are in each other."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.optimize import lsq_linear
from scipy.spatial import ConvexHull

from vivace.collisions import Collider, ConvexMesh
from vivace.rigid.geometry import mass_properties


def turned(rng: np.random.Generator) -> np.ndarray:
    """A random rotation."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else -q


def half_sides(body: Collider) -> np.ndarray:
    """Of the core of a Sphere, Box or Capsule."""
    return body.encoded.shape[12:15]


def radius_of(body: Collider) -> float:
    return 0.0 if isinstance(body, ConvexMesh) else float(body.encoded.shape[15])


def corners_of(body: Collider) -> np.ndarray:
    """Of the core, in the frame of the body; some twice, if the core is flat."""
    if isinstance(body, ConvexMesh):
        return body.corners
    return np.array(list(product((-1.0, 1.0), repeat=3))) * half_sides(body)


def placed(body: Collider, position: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    return corners_of(body) @ rotation.T + position


def from_triangles(corners: np.ndarray) -> float:
    """How far zero is from (m, 3, 3) triangles: from their insides, and from their edges."""
    a, b, c = corners.transpose(1, 0, 2)
    normal = np.cross(b - a, c - a)
    solid = np.linalg.norm(normal, axis=1) > 1e-14  # of a sliver without area the edges are near enough
    matrices = np.stack([b - a, c - a, normal], axis=2)[solid]
    u, v, w = np.linalg.solve(matrices, -a[solid][:, :, None])[:, :, 0].T
    inside = (u >= 0) & (v >= 0) & (u + v <= 1)
    found = [np.abs(w[inside]) * np.linalg.norm(normal[solid][inside], axis=1)]
    for p, q in ((a, b), (b, c), (c, a)):
        t = np.clip(-np.sum(p * (q - p), axis=1) / np.sum((q - p) ** 2, axis=1), 0, 1)
        found.append(np.linalg.norm(p + t[:, None] * (q - p), axis=1))
    return float(np.concatenate(found).min())


def cores_apart(a: np.ndarray, b: np.ndarray) -> float:
    """Of the hulls of two sets of corners: zero against the hull of all differences; negative if it is inside."""
    differences = (a[:, None] - b[None]).reshape(-1, 3)
    hull = ConvexHull(differences)
    depth = hull.equations[:, 3].max()
    return float(depth) if depth <= 0 else from_triangles(differences[hull.simplices])


def boxes_apart(first: Collider, second: Collider, poses) -> float:
    """Of cores that are boxes, flat ones too, if they are apart: the nearest points, by least squares within bounds."""
    (p, q), (r, s) = poses
    matrix = np.column_stack([r * half_sides(first), -(s * half_sides(second))])
    used = np.abs(matrix).max(axis=0) > 0
    if not used.any():
        return float(np.linalg.norm(p - q))
    solution = lsq_linear(matrix[:, used], q - p, bounds=(-1, 1), method="bvls", tol=1e-15)
    return float(np.linalg.norm(matrix[:, used] @ solution.x - (q - p)))


def gap(first: Collider, second: Collider, poses) -> float:
    """Between the surfaces of two bodies; `poses` is (positions, rotations) of both. Exact for solid cores."""
    (p, q), (r, s) = poses
    radii = radius_of(first) + radius_of(second)
    rounded = not isinstance(first, ConvexMesh) and not isinstance(second, ConvexMesh)
    if rounded:
        apart = boxes_apart(first, second, poses)
        if apart > 1e-9:
            return apart - radii
    return cores_apart(placed(first, p, r), placed(second, q, s)) - radii


def first_poses(bodies) -> tuple[np.ndarray, np.ndarray]:
    found = mass_properties(bodies)
    return found.positions, found.rotations
