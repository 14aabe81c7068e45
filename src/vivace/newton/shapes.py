"""The shapes of a Newton model as colliders: those of the world stand still, those of bodies go with their body."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ..collisions.colliders import Box, Capsule, Collider, Plane, Sphere
from ..collisions.convex import ConvexMesh
from ..collisions.sampled import Sampled
from ..errors import InputError
from ..mesh import Mesh
from ..rigid.bodies import Body
from .mapping import as_numpy

PLANE, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, CONE, CONVEX = 1, 3, 4, 5, 6, 7, 8, 9, 10  # Newton's GeoType
COLLIDE_PARTICLES = 1 << 2  # of its ShapeFlags
AROUND = 24  # corners of what is round

Pose = tuple[np.ndarray, Rotation]


def pose_of(row: np.ndarray) -> Pose:
    """Place and rotation of a Warp transform: three numbers, and a quaternion with the scalar last."""
    return np.asarray(row[:3], np.float64), Rotation.from_quat(row[3:7])


class Follower:
    """The path of a collider on a body that Newton moves: in each step evenly from one pose of the body to another.

    Args:
        pose: of the body when the collider was made.
        centre: of the collider then (m), which is what a `Body` turns about.
        body: the number of the body in the Newton model.
    """

    def __init__(self, pose: Pose, centre: np.ndarray, body: int):
        self.body = body
        place, turn = pose
        self._centre, self._arm, self._from = centre, turn.inv().apply(centre - place), turn.inv()
        self._first = self._last = pose
        self._begin, self._seconds = 0.0, 1.0

    def go(self, first: Pose, last: Pose, begin: float, seconds: float) -> None:
        """Let the body be at the first pose at the time `begin` (s), and at the last one `seconds` later."""
        self._first, self._last, self._begin, self._seconds = first, last, begin, seconds

    def __call__(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Shift and rotation vector at a time (s)."""
        share = min(max((time - self._begin) / self._seconds, 0.0), 1.0)
        (a, r), (b, s) = self._first, self._last
        turn = Rotation.from_rotvec(share * (s * r.inv()).as_rotvec()) * r
        place = a + share * (b - a)
        return place + turn.apply(self._arm) - self._centre, (turn * self._from).as_rotvec()


def led(pose: Pose, velocity: np.ndarray, centre: np.ndarray, seconds: float) -> Pose:
    """Where a body is after some seconds; `velocity`: linear and angular, of its centre of mass, seen from itself."""
    place, turn = pose
    turned = Rotation.from_rotvec(seconds * np.asarray(velocity[3:6], np.float64)) * turn
    middle = place + turn.apply(centre) + seconds * np.asarray(velocity[:3], np.float64)
    return middle - turned.apply(centre), turned


def colliders_of(source: Any) -> tuple[list[Collider | Body], list[Follower]]:
    """What particles of a `newton.Model` touch, and the paths of those that its bodies carry."""
    found: list[Collider | Body] = []
    followers: list[Follower] = []
    if not source.shape_count:
        return found, followers
    kinds, flags, bodies = (
        as_numpy(array).astype(int) for array in (source.shape_type, source.shape_flags, source.shape_body)
    )
    poses, scales = as_numpy(source.shape_transform, -1, 7), as_numpy(source.shape_scale, -1, 3).astype(np.float64)
    carriers = as_numpy(source.body_q, -1, 7)
    friction = as_numpy(source.shape_material_mu).astype(np.float64)
    for k in range(source.shape_count):
        if not flags[k] & COLLIDE_PARTICLES:
            continue
        place, turn = pose_of(poses[k])
        moved = bodies[k] >= 0
        if moved:
            at, how = pose_of(carriers[bodies[k]])
            place, turn = at + how.apply(place), how * turn
        # Newton takes the root of the product of both coefficients
        rough = float(np.sqrt(friction[k] * float(source.soft_contact_mu)))
        shape = _shape(source, k, int(kinds[k]), place, turn, scales[k], rough, moved)
        if moved:
            path = Follower(pose_of(carriers[bodies[k]]), _centre(shape), int(bodies[k]))
            followers.append(path)
            found.append(Body(shape, path=path, friction=rough, name=f"shape {k}"))
        else:
            found.append(shape)
    return found, followers


def _shape(
    source: Any, k: int, kind: int, place: np.ndarray, turn: Rotation, scale: np.ndarray, friction: float, moved: bool
) -> Collider:
    """One shape where it is; round ones that have no collider of their own as the hull of points on them."""
    axis, corner = turn.apply([0.0, 0.0, 1.0]), tuple(place.tolist())
    if kind == PLANE:
        if scale[0] > 0 and scale[1] > 0:  # of a width and a length: a slab below it
            thick = 0.1 * float(min(scale[:2]))
            half = (0.5 * scale[0], 0.5 * scale[1], 0.5 * thick)
            return Box(place - 0.5 * thick * axis, half, rotate=turn.as_matrix(), friction=friction)
        return Plane(corner, axis, friction=friction)
    if kind == SPHERE:
        return Sphere(corner, float(scale[0]), friction=friction)
    if kind == BOX:
        return Box(corner, tuple(scale), rotate=turn.as_matrix(), friction=friction)
    if kind == CAPSULE:
        half = float(scale[1]) * axis
        return Capsule(place - half, place + half, float(scale[0]), friction=friction)
    if kind in (CYLINDER, CONE, ELLIPSOID):
        return ConvexMesh(turn.apply(_round(kind, scale)) + place, friction=friction)
    if kind in (MESH, CONVEX):
        points = np.asarray(source.shape_source[k].vertices, np.float64).reshape(-1, 3) * scale
        faces = np.asarray(source.shape_source[k].indices, np.int32).reshape(-1, 3)
        points = turn.apply(points) + place
        if moved or kind == CONVEX:
            return ConvexMesh(points, friction=friction)
        return Sampled.of(Mesh.from_triangles(points, faces, name=f"shape {k}", repair=True), friction=friction)
    raise InputError(
        f"shape {k} of the Newton model is of type {kind}, which SolverVivace has no collider for; clear its flag "
        "COLLIDE_PARTICLES, or leave colliders=False"
    )


def _round(kind: int, scale: np.ndarray) -> np.ndarray:
    angles = np.linspace(0.0, 2 * np.pi, AROUND, endpoint=False)
    ring = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(AROUND)])
    if kind == ELLIPSOID:
        heights = np.cos(np.linspace(0.0, np.pi, AROUND // 2 + 1))
        rows = [ring * np.sqrt(1 - z * z) + [0, 0, z] for z in heights]
        found: np.ndarray = np.concatenate(rows) * scale
        return found
    radius, half = float(scale[0]), float(scale[1])
    bottom = ring * radius + [0, 0, -half]
    top = np.array([[0.0, 0.0, half]]) if kind == CONE else ring * radius + [0, 0, half]
    return np.concatenate([bottom, top])


def _centre(shape: Any) -> np.ndarray:
    """What a rigid body of this shape turns about."""
    if isinstance(shape, Capsule):
        middle: np.ndarray = 0.5 * (np.array(shape.start) + np.array(shape.end))
        return middle
    return np.array(shape.point if isinstance(shape, Plane) else shape.centre, np.float64)
