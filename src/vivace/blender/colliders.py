"""Collision objects of a Blender scene as colliders: what stands still, what moves as a whole, and what deforms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ..caches.animation import Animation, checked_triangles
from ..checks import as_numbers
from ..collisions.animated import AnimatedMesh
from ..collisions.convex import ConvexMesh
from ..collisions.sampled import Sampled
from ..errors import InputError
from ..mesh import Mesh
from ..mesh.topology import boundary_edges
from ..rigid.bodies import Body
from ..rigid.paths import Keyframes

STILL = 1e-5  # of its size that a thing may move, or deform, and still be said not to
FLAT = 1e-4  # of its size that a sheet may be thick, and still be flat
DEPTH = 0.2  # of its size that a flat sheet becomes a slab of, below it
CONVEX = 1e-3  # of its size that vertices may lie inside their hull


@dataclass(frozen=True, eq=False)
class Track:
    """A collision object over time.

    Attributes:
        name: of the object.
        triangles: (m, 3) vertex numbers.
        positions: (f, n, 3) in m, a row for each frame of the bake.
        friction: Coulomb's coefficient.
    """

    name: str
    triangles: np.ndarray
    positions: np.ndarray
    friction: float = 0.4

    def __post_init__(self) -> None:
        frames, n = np.shape(self.positions)[:2] if np.ndim(self.positions) == 3 else (0, 0)
        if not frames or not n:
            raise InputError(f"the collision object {self.name!r} has no vertices to touch")
        as_numbers(f"the positions of {self.name!r}", self.positions, (frames, n, 3))
        object.__setattr__(self, "triangles", checked_triangles(self.triangles, n))

    @property
    def size(self) -> float:
        """Its diagonal in the first frame (m)."""
        return float(np.linalg.norm(np.ptp(self.positions[0], axis=0))) or 1.0


def as_colliders(tracks: list[Track], time_step: float) -> tuple[list[Any], list[str]]:
    """What `Model.collide` takes for collision objects, and what people should know of it.

    One that stands still keeps its shape. One that is convex and moves as a whole is a rigid body along a path through
    its poses. The rest is for `deforming`.

    Args:
        tracks: the objects.
        time_step: seconds from frame to frame.
    """
    moves = [_motion(track) for track in tracks]
    among_moving = any(path is not None for path in moves)
    found: list[Any] = []
    notes: list[str] = []
    for track, path in zip(tracks, moves, strict=True):
        if path is None:
            found.append(_still(track, among_moving, notes))
        elif isinstance(path, str) or not _is_convex(track):
            found.append(deforming(track, time_step))
        else:
            shape = ConvexMesh(track.positions[0], friction=track.friction)
            found.append(Body(shape, path=_about(shape, path, time_step), friction=track.friction, name=track.name))
    return found, notes


def deforming(track: Track, time_step: float) -> AnimatedMesh:
    """A collider that goes from frame to frame vertex by vertex."""
    times = time_step * np.arange(len(track.positions))
    frames = Animation(times, track.positions.astype(np.float32), track.triangles, name=track.name)
    return AnimatedMesh(frames, friction=track.friction, name=track.name)


Path = tuple[np.ndarray, list[Rotation]]


def _motion(track: Track) -> Path | str | None:
    """None: it stands still; places and rotations of its middle in each frame; or "deforms"."""
    positions = np.asarray(track.positions, np.float64)
    first, near = positions[0], STILL * track.size
    if np.abs(positions - first).max() <= near:
        return None
    middle = positions.mean(axis=1)
    turns = []
    for frame in range(len(positions)):
        a, b = first - middle[0], positions[frame] - middle[frame]
        u, _, vt = np.linalg.svd(b.T @ a)  # the rotation that brings a nearest to b
        turn = u @ np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt)) or 1.0]) @ vt
        if np.abs(a @ turn.T - b).max() > 10 * near:
            return "deforms"
        turns.append(Rotation.from_matrix(turn))
    return middle, turns


def _about(shape: ConvexMesh, path: Path, time_step: float) -> Keyframes:
    """The path of the centre of mass, which is what a rigid body turns about; rotations without jumps of a turn."""
    middle, turns = path
    arm = np.array(shape.centre) - middle[0]
    shifts = np.array([m + turn.apply(arm) for m, turn in zip(middle, turns, strict=True)]) - np.array(shape.centre)
    vectors = [turns[0].as_rotvec()]
    for turn in turns[1:]:
        vectors.append(_nearest(turn.as_rotvec(), vectors[-1]))
    return Keyframes(time_step * np.arange(len(shifts)), shifts=shifts, rotations=np.array(vectors))


def _nearest(vector: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Of all rotation vectors that mean the same, the one nearest to the last."""
    angle = float(np.linalg.norm(vector))
    axis = vector / angle if angle > 1e-9 else last / (float(np.linalg.norm(last)) or 1.0)
    turns = np.round((float(last @ axis) - angle) / (2 * np.pi))
    found: np.ndarray = (angle + 2 * np.pi * turns) * axis
    return found


def _still(track: Track, among_moving: bool, notes: list[str]) -> Any:
    """A thing that stands still: closed ones as they are, flat sheets as slabs below them."""
    points = np.asarray(track.positions[0], np.float64)
    if not len(track.triangles):
        raise InputError(f"the collision object {track.name!r} has no faces to touch")
    normal = _flat(points, track)
    if normal is not None:
        low = points - DEPTH * track.size * normal
        return ConvexMesh(np.concatenate([points, low]), friction=track.friction)
    mesh = Mesh.from_triangles(points, track.triangles, name=track.name, repair=True, split=True)
    if _is_convex(track):
        return ConvexMesh(points, friction=track.friction)
    if len(boundary_edges(mesh.triangles)):
        raise InputError(
            f"the collision object {track.name!r} has holes, so that it has no inside; close them, or add a Solidify "
            "modifier"
        )
    if among_moving:
        notes.append(f"{track.name} is not convex and stands among others that move: cloth touches its convex hull")
        return ConvexMesh(points, friction=track.friction)
    return Sampled.of(mesh, friction=track.friction)


def _flat(points: np.ndarray, track: Track) -> np.ndarray | None:
    """The normal of a flat sheet; None where it is not flat."""
    _, _, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    if np.ptp(points @ axes[2]) > FLAT * track.size:
        return None
    corners = points[track.triangles]
    facing = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]).sum(axis=0)
    found: np.ndarray = axes[2] if facing @ axes[2] >= 0 else -axes[2]
    return found


def _is_convex(track: Track) -> bool:
    """Whether it is closed and all its vertices are on its hull."""
    if len(boundary_edges(track.triangles)):
        return False
    points = np.asarray(track.positions[0], np.float64)
    hull = ConvexMesh(points)
    depth = np.full(len(points), np.inf)
    for face in hull.faces:
        a, b, c = hull.vertices[face[:3]]
        normal = np.cross(b - a, c - a)
        depth = np.minimum(depth, np.abs((points - a) @ (normal / np.linalg.norm(normal))))
    return bool(depth.max() <= CONVEX * track.size)
