"""Rigid bodies for the page: the surfaces of all that move as one mesh, whose vertices follow the poses of a step.

So packing, drawing and picking are those of soft bodies. What is fixed is scenery, as colliders of soft bodies are.
Among soft bodies, the vertices of this mesh come after theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..collisions.colliders import Plane
from ..errors import InputError
from ..pictures.bodies import colours_of, joined_surfaces
from ..pictures.camera import Camera
from ..pictures.scenery import Scenery
from ..rigid import rotation
from ..rigid.bodies import Bodies, Body
from ..scenes import RigidScene, Scene
from .messages import CameraView, SceneData
from .packing import pack

MOST_TRIANGLES = 40_000  # of round bodies together: a few hundred balls have about two hundred each
FINEST = 4  # steps along a quarter of a circle
ROOM = 0.2  # around the bodies, times their size: they will be thrown
SPREAD = 16.0  # times the size at the start: farther apart, positions are sent with 32 bits


class BodyMesh:
    """The bodies of a scene that are free or follow a path, as one mesh.

    Attributes:
        first: the number that the page has for the first vertex: how many soft ones there are.
        local: (n, 3) vertices in the frames of their bodies, in m.
        owner: (n,) the number of the body that each belongs to.
        triangles: (m, 3).
        colours: (n, 3), a hue for each body.
        immovable: vertices of bodies that follow a path.
        start: (n, 3) where the vertices are at first.
    """

    def __init__(self, scene: RigidScene | Scene):
        bodies, moving = bodies_of(scene), moving_bodies(scene)
        if not moving:
            raise InputError(f"no body of the scene {scene.name!r} moves, so there is nothing to watch")
        drawn = [bodies[k] for k in moving]
        self.first, soft = _soft_parts(scene)
        self.local, owner, self.triangles = joined_surfaces([body.shape for body in drawn], MOST_TRIANGLES, FINEST)
        self.colours = colours_of(
            [*drawn[:1] * soft, *drawn], self.local, owner + soft
        )  # soft ones have the first hues
        self.owner = np.array(moving)[owner]
        led = np.array([body.path is not None for body in bodies])
        self.immovable = np.flatnonzero(led[self.owner])
        first = Bodies.of(list(bodies))
        self.start = self.placed(first.positions, first.orientations)

    def placed(self, positions: np.ndarray, orientations: np.ndarray) -> np.ndarray:
        """(n, 3) the vertices of bodies with these poses, as float32."""
        turned = rotation.matrices(orientations)[self.owner]
        found: np.ndarray = np.einsum("nij,nj->ni", turned, self.local) + positions[self.owner]
        return found.astype(np.float32)

    def point(self, corners: list[int], weights: list[float]) -> tuple[int, np.ndarray]:
        """The body that has these vertices, by the page's numbers, and the mean of them by weight, in its frame."""
        count = self.first + len(self.local)
        if max(corners) >= count:
            raise InputError(f"there is no vertex {max(corners)} to grab: the scene has {count}")
        own = [corner - self.first for corner in corners]
        bodies = {int(self.owner[corner]) if corner >= 0 else -1 for corner in own}
        total = sum(weights)
        if len(bodies) > 1 or -1 in bodies or not 0.5 < total < 2:
            raise InputError("a body is grabbed at a point of one of its triangles, whose weights sum to one")
        return bodies.pop(), np.array(weights) @ self.local[own] / total


def bodies_of(scene: RigidScene | Scene) -> tuple[Body, ...]:
    """The rigid bodies of a scene; of soft ones, those that they touch."""
    if isinstance(scene, RigidScene):
        return tuple(scene.bodies)
    collisions = scene.model.collisions
    return () if collisions is None else tuple(collisions.bodies)


def moving_bodies(scene: RigidScene | Scene) -> list[int]:
    """The numbers of those that are drawn as they move."""
    return [k for k, body in enumerate(bodies_of(scene)) if not body.fixed and not isinstance(body.shape, Plane)]


def _soft_parts(scene: RigidScene | Scene) -> tuple[int, int]:
    """How many soft vertices a scene has, and how many soft bodies."""
    if isinstance(scene, RigidScene):
        return 0, 0
    mesh = scene.model.mesh
    return mesh.n_vertices, max(1, sum(name.startswith("body-") for name in mesh.groups))


@dataclass(frozen=True, eq=False)
class BodyReport:
    """A step of rigid bodies as the page has it, with the names of `Report`.

    Attributes:
        sweeps: iterations of the contact solver, of all substeps.
        residual: the largest change of an impulse in the last of them, in N s.
        residuals: (k, 2) iterations of the last substep, from 0, and their residuals.
        stages: milliseconds by stage, in order.
        colours: of the contacts; None for solvers that do not colour.
        contacts: how many.
        depth: the deepest overlap (m).
        poses: (M, 7) positions of all bodies (m), and unit quaternions, the scalar first.
        mesh: what is drawn of them.
    """

    sweeps: int
    residual: float
    residuals: np.ndarray
    stages: dict[str, float]
    colours: int | None
    contacts: int
    depth: float
    poses: np.ndarray
    mesh: BodyMesh
    corrected: int = 0
    note: str = ""

    @property
    def ms(self) -> float:
        """The whole step (ms)."""
        return sum(self.stages.values())

    @cached_property
    def positions(self) -> np.ndarray:
        """(n, 3) vertices (m): found when somebody looks, which is not the physics thread."""
        return self.mesh.placed(self.poses[:, :3], self.poses[:, 3:])


class RigidBackdrop:
    """A scene of rigid bodies as the page draws it, with its number."""

    def __init__(self, number: int, scene: RigidScene, mesh: BodyMesh):
        self.number, self.scene, self.mesh = number, scene, mesh
        self._size = float(np.ptp(mesh.start, axis=0).max())

    @property
    def triangles(self) -> np.ndarray:
        """(m, 3) all that are drawn."""
        return self.mesh.triangles

    @property
    def terms(self) -> tuple[()]:
        """None: they are rigid."""
        return ()

    def strain(self, positions: np.ndarray) -> tuple[np.ndarray, float, float]:
        """None: they are rigid."""
        return np.zeros(0, np.float32), 0.0, 0.0

    def spread(self, positions: np.ndarray) -> bool:
        """Whether a body is so far from the others that 16 bits are too few for a place."""
        return bool(np.ptp(positions, axis=0).max() > SPREAD * self._size)

    @cached_property
    def message(self) -> bytes:
        """What stays the same from frame to frame."""
        scene, mesh = self.scene, self.mesh
        low, high = mesh.start.min(axis=0).astype(float), mesh.start.max(axis=0).astype(float)
        standing = [body.shape for body in scene.bodies if body.fixed]
        scenery = Scenery.of(standing, low, high) if standing else None
        room = ROOM * self._size if len({*mesh.owner.tolist()}) > 1 else self._size
        low, high = low - room * np.array([1.0, 0.0, 1.0]), high + room * np.array([1.0, 0.3, 1.0])
        low, high = scenery.frame(low, high) if scenery else (low, high)
        camera = Camera.framing(low, high, direction=scene.view)
        none = np.zeros((0, 3))
        arrays: dict[str, np.ndarray] = {
            "triangles": mesh.triangles.astype(np.uint32),
            "edges": np.zeros(0, np.uint32),
            "pinned": np.zeros(0, np.uint32),
            "colours": (255 * np.clip(mesh.colours, 0, 1) + 0.5).astype(np.uint8).ravel(),
            "immovable": mesh.immovable.astype(np.uint32),
            "scenery_vertices": (scenery.vertices if scenery else none).astype(np.float32).ravel(),
            "scenery_triangles": (scenery.triangles if scenery else none).astype(np.uint32).ravel(),
        }
        seen = CameraView(list(camera.eye), list(camera.target), list(camera.up), camera.fov_degrees)
        ground = scenery.ground if scenery else None
        about = self.number, scene.name, self._summary()
        height = None if ground is None else float(ground)
        return pack(SceneData(*about, "rigid", len(mesh.local), 0, seen, height, arrays={}), arrays)

    def _summary(self) -> str:
        return counted(sum(not body.immovable for body in self.scene.bodies))


def counted(bodies: int) -> str:
    """So many rigid bodies, in words."""
    return f"{bodies:,} rigid {'body' if bodies == 1 else 'bodies'}"
